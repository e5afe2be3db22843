"""Known numbers by their index: by a rule where there is one, else by choices that halve what is left.

A formula has no arrays of its own, and it reads only those of the kernel. So a table is a tree of comparisons whose depth
is the logarithm of its size, and a piece of it whose numbers are all the same, or integers that grow by equal steps, is one
leaf. NumPy finds the pieces, so that a long row costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InputError
from .tree import Choice, Node, chained, node

Index = tuple[Node, ...]
Array = np.ndarray[Any, Any]

#: Pieces of a table that a formula spells out; a text of a formula has a mebibyte at most.
MOST = 8192

#: Elements of a table of which the pieces are looked for.
LARGE = 1 << 24

_TOO_MANY = f"a table of more than {MOST} known numbers without a rule is too large for a formula: make it an argument"


def table(array: Array) -> tuple[Callable[[Index], Node], int]:
    """The element of a table by its index, and how many operations that takes where it is no number of its own."""
    array = _narrowest(array)
    if array.size <= 1:
        only = array.reshape(-1)[0].item() if array.size else 0
        return lambda _: node(only), 0
    axes = [i for i, n in enumerate(array.shape) if n > 1]
    rows = array.reshape([array.shape[i] for i in axes])
    if (rule := _repeated(rows)) is not None:
        first, step, each = rule
        return lambda index: index[axes[0]] // each * step + first, 1
    plan = _plan(rows)
    return lambda index: _tree(plan, tuple(index[i] for i in axes)), _pieces(plan)


def _narrowest(array: Array) -> Array:
    """With one place along each axis along which nothing changes."""
    for axis, n in enumerate(array.shape):
        if n > 1 and (array.strides[axis] == 0 or bool((array == array.take([0], axis)).all())):
            array = array[(slice(None),) * axis + (slice(0, 1),)]
    if array.size > LARGE:
        raise InputError(f"a table of {array.size} known numbers is too large for a formula: make it an argument")
    return array


def _exact(row: Array) -> Array:
    """Integers whose differences do not wrap."""
    small = row.dtype.kind == "i" and row.dtype.itemsize < 8
    if not small and (int(row.max()) > 1 << 61 or int(row.min()) < -(1 << 61)):
        return row.astype(object)
    return row.astype(np.int64)


def _repeated(rows: Array) -> tuple[int, int, int] | None:
    """Integers along one axis that grow by equal steps, by one step for so many places: the first, the step, the places."""
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        return None
    row = _exact(rows)
    first, each = int(row[0]), int((row != row[0]).argmax())
    step = int(row[each]) - first
    # Where the steps are unequal, what they would lead to may not fit.
    fits = abs(step) * len(row) < 1 << 62
    return (first, step, each) if fits and bool((row == first + step * (np.arange(len(row)) // each)).all()) else None


#: Where each piece begins and what it is: the first number and the step, or the pieces of a row.
Plan = list[tuple[int, Any]]


def _plan(rows: Array) -> Plan:
    """The pieces of a table."""
    if rows.ndim == 1:
        return _pieces_of(rows)
    out: Plan = []
    for at in range(len(rows)):
        if not at or not np.array_equal(rows[at], rows[at - 1]):
            out.append((at, _plan(rows[at])))
            if _pieces(out) > MOST:
                raise InputError(_TOO_MANY)
    return out


def _pieces(plan: Plan) -> int:
    return sum(_pieces(part) if isinstance(part, list) else 1 for _, part in plan)


def _pieces_of(row: Array) -> Plan:
    """The pieces of a row: numbers that are all the same, or integers that grow by equal steps."""
    if row.dtype.kind == "f":
        starts = np.concatenate([[0], np.flatnonzero(row[1:] != row[:-1]) + 1])
        if len(starts) > MOST:
            raise InputError(_TOO_MANY)
        return [(int(at), (row[at].item(), 0)) for at in starts]
    row = _exact(row)
    steps = row[1:] - row[:-1]
    changes = np.flatnonzero(steps[1:] != steps[:-1]) + 1
    out: Plan = []
    at = 0
    while at < len(row):
        after = int(np.searchsorted(changes, at, "right"))
        end = int(changes[after]) if after < len(changes) else len(steps)
        # Two numbers always have a step between them: that is no rule yet.
        step = int(steps[at]) if at < len(steps) and (end - at >= 2 or steps[at] == 0) else None
        out.append((at, (int(row[at]), step or 0)))
        at = at + 1 if step is None else end + 1
        if len(out) > MOST:
            raise InputError(_TOO_MANY)
    return out


def _tree(plan: Plan, index: Index) -> Node:
    """Choices between halves: of the pieces of the first axis."""
    at, rest = index[0], index[1:]
    parts = [_tree(part, rest) if isinstance(part, list) else _number(part, at, start) for start, part in plan]
    return halves(parts, [start for start, _ in plan], at)


def _number(part: tuple[int | float, int], at: Node, start: int) -> Node:
    first, step = part
    return (at - start) * step + int(first) if step else node(first)


def halves(parts: list[Node], starts: list[int], at: Node) -> Node:
    """The part in whose piece an index lies, by choices that halve what is left: the pieces begin at `starts`."""
    while len(parts) > 1:
        even = len(parts) // 2 * 2
        joined: list[Node] = [Choice(chained(at, "<", starts[i + 1]), parts[i], parts[i + 1]) for i in range(0, even, 2)]
        parts, starts = joined + parts[even:], starts[::2]
    return parts[0]
