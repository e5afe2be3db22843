"""Smaller sizes for a task in KernelBench's form: the proof is over shapes at which every guard and loop still shows itself.

The sizes are the integers that the module assigns to names, and those that stand in `get_inputs` and `get_init_inputs`. A size is
lowered to a bound that follows from its name; what describes a window (kernel, stride, padding, dilation) stays. Equal sizes stay
equal where their bounds are, and elsewhere where a task asks for it; a power of two that divides a size divides the smaller one as
far as it can, and an odd one stays odd.

Not claimed: that what holds at smaller sizes holds at the declared ones. The launch at the declared sizes is recorded too, for
its limits, and a verdict at sizes where a loop ran once or a guard went one way is `thin-coverage`.
"""

from __future__ import annotations

import ast
import contextlib
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

_WINDOW = re.compile(r"kernel|stride|padding|dilation|pool|alpha|margin|eps|^p$|^k$|^dim$|axis|groups|num_layers", re.I)
_BATCH = re.compile(r"batch|^n?b$|^bs$", re.I)
_CHANNELS = re.compile(r"channel|features|heads|^c$|num_classes|groups|hidden", re.I)


@dataclass(frozen=True)
class Bounds:
    """The most that a size may be, by what its name says, and for other names by how many such a tensor of the inputs has."""

    batch: int
    channels: int
    others: tuple[int, int, int, int]
    awkward: bool = False

    def other(self, count: int, channels: bool) -> int:
        """The bound of a size whose name says nothing."""
        # Channels are a dimension more.
        return self.others[min(max(count, 1) + channels, 4) - 1]


#: From small to large, and one at which no block is full: what all leave uncovered is.
PLANS = (
    Bounds(2, 4, (512, 32, 16, 8)),
    Bounds(2, 4, (523, 37, 19, 11), awkward=True),
    Bounds(2, 8, (2048, 64, 32, 16)),
    Bounds(3, 6, (4099, 71, 37, 19), awkward=True),
)
#: Small sizes around one that is large.
NARROW = Bounds(2, 4, (64, 8, 8, 4))
#: A batch and another size that are equal from here on are taken for one.
_TIED = 256


def lowered(value: int, most: int, awkward: bool = False) -> int:
    """A size below a bound that keeps the power of two that divides it, as far as it fits; an awkward one is the bound."""
    if value <= most or awkward:
        return min(value, most)
    two = value & -value
    if two == 1:
        return most - 1 if most % 2 == 0 else most
    while two > most:
        two //= 2
    return most // two * two


class _Sizes(ast.NodeTransformer):
    def __init__(self, bounds: Bounds, other: int, channels: bool, tied: bool) -> None:
        self.bounds, self.other, self.channels, self.tied = bounds, other, channels, tied
        self.name = ""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """An integer that is a size."""
        if not _is_size(self.name, node):
            return node
        assert isinstance(node.value, int)
        if _BATCH.search(self.name):
            # One that is tied to another size is lowered as that one is.
            value = lowered(node.value, self.bounds.batch, self.tied and self.bounds.awkward)
        elif self.channels and _CHANNELS.search(self.name):
            value = lowered(node.value, self.bounds.channels)
        else:
            value = lowered(node.value, self.other, self.bounds.awkward)
        return ast.copy_location(ast.Constant(value), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """A number that is written as a product or sum of others."""
        if all(isinstance(c, (ast.BinOp, ast.Constant, ast.operator)) for c in ast.walk(node)):
            with contextlib.suppress(ArithmeticError, ValueError, TypeError):
                value = _product(node)
                if isinstance(value, int):
                    return self.visit_Constant(ast.copy_location(ast.Constant(value), node))
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """A named argument: its name says what it is."""
        before, self.name = self.name, node.arg or self.name
        self.generic_visit(node)
        self.name = before
        return node


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _product(node: ast.expr) -> int:
    """The value of an expression of small integers; nothing foreign is evaluated, and no power, which could be huge."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) < 1 << 40:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_product(node.left), _product(node.right))
    raise ValueError("no number")


def _is_size(name: str, node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, int):
        return False
    if _BATCH.search(name):
        return node.value > 1
    if _WINDOW.search(name) and not _CHANNELS.search(name):
        return node.value > 16
    return node.value > (2 if _CHANNELS.search(name) else 8)


def _assigned(tree: ast.Module) -> list[tuple[str, ast.Assign]]:
    out = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            out.append((statement.targets[0].id, statement))
    return out


def _ranks(tree: ast.Module, values: dict[str, ast.expr]) -> tuple[int, bool]:
    """How many dimensions of the inputs have names that say nothing, at most, and whether one has channels."""
    most, channels = 0, False
    named = 0  # as channels, where no input has three dimensions: the features of a row are as any other size
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name != "get_inputs":
            continue
        for call in ast.walk(function):
            if not isinstance(call, ast.Call):
                continue
            count = 0
            flat = _flat(call.args, values)
            for a in flat:
                name = a.id if isinstance(a, ast.Name) else ""
                constant = values.get(name, a)
                said = _BATCH.search(name) or _CHANNELS.search(name)
                channels = channels or (bool(_CHANNELS.search(name)) and len(flat) > 2)
                named += bool(_CHANNELS.search(name))
                count += not said and any(
                    _is_size(name, c) or (isinstance(c, ast.Name) and c.id in values) for c in ast.walk(constant)
                )
            most = max(most, count)
    return most + (0 if channels else min(named, 1)), channels


def _flat(arguments: list[ast.expr], values: dict[str, ast.expr]) -> list[ast.expr]:
    out: list[ast.expr] = []
    for a in arguments:
        inner = a.value if isinstance(a, ast.Starred) else a
        inner = values.get(inner.id, inner) if isinstance(inner, ast.Name) else inner
        out += inner.elts if isinstance(inner, (ast.Tuple, ast.List)) else [a]
    return out


def _tied(assigned: list[tuple[str, ast.Assign]]) -> bool:
    """Whether a batch is as large as another size, so that an operation may need both to be equal."""
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for name, statement in assigned:
        for c in ast.walk(statement.value):
            if isinstance(c, ast.Constant) and isinstance(c.value, int) and c.value >= _TIED:
                found[bool(_BATCH.search(name))].add(c.value)
    return bool(found[True] & found[False])


def sizes(task: str) -> dict[str, int]:
    """The integers that a task's text assigns to names."""
    out = {}
    for name, statement in _assigned(ast.parse(task)):
        with contextlib.suppress(ValueError):
            out[name] = _product(statement.value)
    return out


def shrink(task: str, bounds: Bounds, exact: Mapping[str, int] | None = None, *, tied: bool = False) -> str:
    """A task's text with smaller sizes, some of them given by name; `tied` keeps a batch as large as a size that it equals."""
    tree = ast.parse(task)
    assigned = _assigned(tree)
    count, channels = _ranks(tree, {n: s.value for n, s in assigned})
    tied = tied and _tied(assigned)
    if tied:
        count += 1
        bounds = replace(bounds, batch=bounds.other(count, channels))
    smaller = _Sizes(bounds, bounds.other(count, channels), channels, tied)
    for name, statement in assigned:
        smaller.name = name
        statement.value = ast.Constant(exact[name]) if exact and name in exact else smaller.visit(statement.value)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in ("get_inputs", "get_init_inputs"):
            smaller.name = ""
            smaller.visit(function)
    return ast.unparse(ast.fix_missing_locations(tree))
