"""Lanes that a load leaves out and gives no value, followed to what they spoil: in Triton's own intermediate text (TTIR).

`tl.load(p, mask=m)` without `other` has no value where `m` is false. PTX hides that: its registers hold something, often 0. Most
kernels load, compute lane by lane and store under the same mask, and nothing is wrong; a reduction, a product, an address or a
store that takes in those lanes is.

Each value carries the conjuncts of masks outside of which it has no value, as expressions over the coordinates of its dimensions:
`m[:, None] < M` is of dimension 0 alone. A sum over dimension 1 is then of lanes that have a value, and hands the conjunct on to
its result; a sum over dimension 0 is not. Two masks are one where their expressions are: shapes, splats and broadcasts are read
through, so that the mask of a load in a loop is that of a store behind it.

This warns and proves nothing, so that every doubt is silence: operations that are not listed, conditions that do not depend on the
lane, and each comparison of the same dimension between the load and its use, which may be what keeps the lanes out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .ttir import LINE, NAME

_LOCATION = re.compile(r" loc\((.*)\)$")
_ARGUMENT = re.compile(r"(%[\w$.\-]+):")
_CARRIED = re.compile(r"(%[\w$.\-]+) = (%[\w$.\-]+(?:#\d+)?)")
_AXIS = re.compile(r"axis = (\d+)")
_ORDER = re.compile(r"order = array<i32: ([\d, ]+)>")
_SHAPE = re.compile(r"tensor<((?:\d+x)*)")
_SPLAT = re.compile(r"dense<([^>\[\]]*)>")
_PLACE = re.compile(r'"([^"]+)":(\d+):')

#: Operations that compute lane by lane, beside those of the dialects arith and math.
_LANES = frozenset(("tt.addptr", "tt.bitcast", "tt.fp_to_fp", "tt.int_to_ptr", "tt.ptr_to_int", "tt.clampf", "tt.mulhiui"))
#: Whole numbers that stay within bounds whatever they are made of.
_BOUNDED = frozenset(("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui", "arith.remsi", "arith.remui"))
_SYMMETRIC = frozenset(("arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"))
#: What a mask may be of, read through to the coordinates that it is made of.
_SHAPED = frozenset(("tt.splat", "tt.expand_dims", "tt.broadcast", "tt.trans"))
#: Operations between a value and what its expression names; what is further away is a name of its own.
_DEPTH = 48
#: Times that the values of loops are followed around.
_ROUNDS = 8


@dataclass(eq=False)
class Op:
    """An operation; `text` is its line without names, shapes and location, `rank` the dimensions of its value."""

    name: str
    results: list[str]
    operands: list[str]
    text: str
    rank: int
    location: str
    regions: list[list[Op]] = field(default_factory=list)
    #: The names that a loop carries its operands under.
    carried: list[str] = field(default_factory=list)


#: Conjuncts of masks outside of which a value has no lanes, each with the load that left them out.
Lanes = dict[int, Op]
Place = tuple[str, int]


@dataclass(frozen=True)
class Use:
    """A load that leaves lanes without a value, and what takes them in: a file and a line of each."""

    load: Place
    taker: Place
    what: str


def undefined_uses(text: str) -> list[Use]:
    """Where lanes without a value reach a result."""
    if "tt.load" not in text:
        return []
    places = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
    try:
        found = _Flow(_operations(text)).uses
    except (IndexError, KeyError, ValueError):
        return []  # Another version of Triton may write it in another way.
    located = [(_place(load.location, places), _place(taker.location, places), what) for load, taker, what in found]
    return sorted({Use(load, taker, what) for load, taker, what in located if load and taker}, key=lambda u: (u.load, u.taker))


def _place(location: str, places: dict[str, str]) -> Place | None:
    """The innermost line of an operation that is none of Triton's own library."""
    for _ in range(64):
        known = re.sub(r"#loc\d*", lambda m: places.get(m[0], "unknown"), location)
        if known == location:
            break
        location = known
    listed = [(file, int(line)) for file, line in _PLACE.findall(location)]
    return next((p for p in listed if "/triton/language/" not in p[0].replace("\\", "/")), None)


def _operations(text: str) -> list[Op]:
    """The operations of the kernel. Regions beside each other use the same names, so that each value gets one of its own."""
    top: list[Op] = []
    blocks, owners, scopes = [top], list[Op](), [dict[str, str]()]
    numbers = itertools.count()

    def bind(name: str) -> str:
        return scopes[-1].setdefault(name, f"{name}@{next(numbers)}")

    def value(name: str) -> str:
        return next((scope[name] for scope in reversed(scopes) if name in scope), name)

    def enter(op: Op) -> None:
        op.regions.append([])
        blocks.append(op.regions[-1])
        scopes.append({})

    for line in text.partition("tt.func public @")[2].splitlines()[1:]:
        plain, _, _ = line.strip().partition(" loc(")
        located = _LOCATION.search(line)
        location = located[1] if located else ""
        if plain.startswith("^"):
            for name in _ARGUMENT.findall(line):
                bind(name)
        elif plain.startswith("}"):
            if not owners:
                break
            blocks.pop()
            scopes.pop()
            if plain.endswith("{"):
                enter(owners[-1])
            else:
                owners.pop().location = location
        elif parts := LINE.match(plain):
            rest = parts["rest"]
            carried = _CARRIED.findall(rest) if parts["op"] in ("scf.for", "scf.while") else []
            sources = [source for _, source in carried] or NAME.findall(rest.partition(" : ")[0])
            operands = [value(n) for n in sources]
            shapes = _SHAPE.findall(rest.rpartition(" : ")[2])
            told = _SPLAT.sub(r"\1", _SHAPE.sub("tensor<", NAME.sub("%", rest)))
            names = [] if parts["results"] is None else [parts["results"]]
            if parts["count"] is not None:
                names = [f"{names[0]}#{i}" for i in range(int(parts["count"]))]
            rank = shapes[-1].count("x") if shapes else 0
            op = Op(parts["op"], [bind(n) for n in names], operands, f"{parts['op']}{told}", rank, location)
            blocks[-1].append(op)
            if plain.endswith("{"):
                owners.append(op)
                enter(op)
                op.carried = [bind(target) for target, _ in carried]
    return top


def _every(ops: Iterable[Op]) -> Iterator[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from _every(region)


class _Expressions:
    """Values as expressions over the coordinates of a tile, each once, by number."""

    def __init__(self, ops: Iterable[Op]) -> None:
        self.definitions = {result: op for op in _every(ops) for result in op.results}
        self.numbers: dict[tuple[str, tuple[int, ...], tuple[int, ...]], int] = {}
        self.nodes: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []
        #: The dimensions that each is of.
        self.dims: list[frozenset[int]] = []
        #: The comparisons that each is made of, itself among them.
        self.tests: list[frozenset[int]] = []
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        self._moved: dict[tuple[int, tuple[int, ...]], int] = {}

    def make(self, head: str, at: Sequence[int] = (), parts: Sequence[int] = ()) -> int:
        """The number of an expression: `at` are the dimensions that it is of by itself."""
        key = (head, tuple(at), tuple(parts))
        if key not in self.numbers:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
            self.dims.append(frozenset(at).union(*(self.dims[p] for p in parts)))
            own = frozenset((number,)) if head.startswith("arith.cmp") else frozenset[int]()
            self.tests.append(own.union(*(self.tests[p] for p in parts)))
        return self.numbers[key]

    def of(self, name: str, at: tuple[int, ...], depth: int = 0) -> int:
        """A value whose dimensions lie `at` those of a tile."""
        known = self._known.get((name, at))
        if known is None:
            known = self._known[name, at] = self._of(name, at, depth)
        return known

    def _of(self, name: str, at: tuple[int, ...], depth: int) -> int:
        op = self.definitions.get(name)
        if op is None or depth > _DEPTH:
            return self.make(name, at)
        if op.name in _SHAPED and op.operands:
            return self.of(op.operands[0], _inner(op, at), depth + 1)
        if op.name == "arith.constant" or op.name == "tt.get_program_id":
            return self.make(op.text.replace("tensor<", "").rstrip(">"))
        if op.name == "tt.make_range":
            return self.make(op.text, at)
        if not _is_lanewise(op):
            return self.make(name, at)
        parts = [self.of(o, at, depth + 1) for o in op.operands]
        head = op.text.replace("tensor<", "").rstrip(">")
        if op.name == "arith.cmpi" and (" sg" in head or " ug" in head):
            head, parts = head.replace(" sg", " sl").replace(" ug", " ul"), parts[::-1]
        return self.make(head, (), sorted(parts) if op.name in _SYMMETRIC else parts)

    def conjuncts(self, number: int) -> frozenset[int]:
        """What a mask is the conjunction of, as far as it depends on the lane."""
        head, _, parts = self.nodes[number]
        if head.startswith("arith.andi"):
            return frozenset[int]().union(*(self.conjuncts(p) for p in parts))
        return frozenset((number,)) if self.dims[number] else frozenset()

    def moved(self, number: int, to: tuple[int, ...]) -> int:
        """An expression where dimension `d` is `to[d]`."""
        if (number, to) not in self._moved:
            head, at, parts = self.nodes[number]
            self._moved[number, to] = self.make(head, [to[d] for d in at], [self.moved(p, to) for p in parts])
        return self._moved[number, to]


def _inner(op: Op, at: tuple[int, ...]) -> tuple[int, ...]:
    """Where the dimensions of the operand of a change of shape lie."""
    if op.name == "tt.expand_dims":
        axis = int((_AXIS.search(op.text) or ("", "0"))[1])
        return at[:axis] + at[axis + 1 :]
    if op.name == "tt.trans":
        order = [int(n) for n in (_ORDER.search(op.text) or ("", ""))[1].split(",") if n.strip()]
        return tuple(at[order.index(d)] for d in range(len(order))) if len(order) == len(at) else at
    return () if op.name == "tt.splat" else at


def _is_lanewise(op: Op) -> bool:
    return op.name.startswith(("arith.", "math.", "tt.precise_")) or op.name in _LANES


class _Flow:
    """Lanes without a value, from the loads that leave them out to what takes them in."""

    def __init__(self, ops: list[Op]) -> None:
        self.expressions = _Expressions(ops)
        self.lanes: dict[str, Lanes] = {}
        self.uses: set[tuple[Op, Op, str]] = set()
        for _ in range(_ROUNDS):
            before = sum(map(len, self.lanes.values()))
            self._block(ops)
            if sum(map(len, self.lanes.values())) == before:
                break

    def _block(self, ops: Iterable[Op]) -> None:
        for op in ops:
            for name, lanes in zip(op.results, self._results(op)):
                self._add(name, lanes)

    def _add(self, name: str, lanes: Lanes) -> None:
        if lanes:
            self.lanes[name] = {**lanes, **self.lanes.get(name, {})}

    def _of(self, name: str) -> Lanes:
        return self.lanes.get(name, {})

    def _tests(self, names: Iterable[str], rank: int) -> frozenset[int]:
        at = tuple(range(rank))
        return frozenset[int]().union(*(self.expressions.tests[self.expressions.of(n, at)] for n in names))

    def _left(self, lanes: Lanes, tests: Iterable[int]) -> Lanes:
        """What no test may keep out: a test of the same dimension may."""
        kept = frozenset[int]().union(*(self.expressions.dims[t] for t in tests))
        return {a: load for a, load in lanes.items() if not self.expressions.dims[a] & kept}

    def _take(self, op: Op, lanes: Lanes, what: str) -> None:
        self.uses.update((load, op, what) for load in lanes.values())

    def _results(self, op: Op) -> list[Lanes]:
        """The lanes that each result of an operation lacks; what takes them in is written down."""
        if op.name in ("tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"):
            return self._access(op)
        if op.name == "tt.reduce":
            axis = int((_AXIS.search(op.text) or ("", "0"))[1])
            return [self._reduced(op, self._of(name), axis) for name in op.operands]
        if op.name == "tt.scan":
            return [self._scanned(op, self._of(name)) for name in op.operands]
        if op.name == "tt.dot" and len(op.operands) >= 3:
            left, right, sums = (self._of(name) for name in op.operands[:3])
            for lanes, axis in ((left, op.rank - 1), (right, op.rank - 2)):
                self._take(op, {a: load for a, load in lanes.items() if axis in self.expressions.dims[a]}, "the product")
            return [{a: load for a, load in {**left, **right, **sums}.items() if self._is_of(a, left, right, sums, op.rank)}]
        if op.name in _SHAPED and op.operands:
            return [self._reshaped(op)]
        if op.name in ("scf.for", "scf.if"):
            return self._region(op)
        if not _is_lanewise(op) or op.name in _BOUNDED or not op.rank:
            return []
        found: Lanes = {}
        for name in op.operands:
            if lanes := self._of(name):
                found |= self._left(lanes, self._tests([n for n in op.operands if n != name], op.rank))
        return [found] * len(op.results)

    def _is_of(self, conjunct: int, left: Lanes, right: Lanes, sums: Lanes, rank: int) -> bool:
        """Whether a conjunct of the factors of a product is one of its value: the dimension that is summed over is none."""
        dims = self.expressions.dims[conjunct]
        return conjunct in sums or (conjunct in left and rank - 1 not in dims) or (conjunct in right and rank - 2 not in dims)

    def _access(self, op: Op) -> list[Lanes]:
        """A load, a store or an atomic: its lanes are those of its mask."""
        pointer, *others = op.operands
        stores = op.name != "tt.load"
        masks = others[1:2] if stores and op.name != "tt.atomic_cas" else [] if stores else others[:1]
        at = tuple(range(op.rank))
        mask = frozenset[int]().union(*(self.expressions.conjuncts(self.expressions.of(m, at)) for m in masks))
        tests = mask | self._tests(masks, op.rank)
        self._take(op, self._left(self._of(pointer), tests), "an address")
        if stores:
            self._take(op, self._left(self._of(others[0]), tests), "a store")
            return []
        return [] if len(others) > 1 else [dict.fromkeys(mask, op)]

    def _reduced(self, op: Op, lanes: Lanes, axis: int) -> Lanes:
        dims = self.expressions.dims
        self._take(op, {a: load for a, load in lanes.items() if axis in dims[a]}, "the reduction")
        to = tuple(d - (d > axis) for d in range(axis + 8))
        return {self.expressions.moved(a, to): load for a, load in lanes.items() if axis not in dims[a]}

    def _scanned(self, op: Op, lanes: Lanes) -> Lanes:
        """A scan takes in the lanes before each, so that those that a bound from above leaves out spoil none that is inside."""
        axis = int((_AXIS.search(op.text) or ("", "0"))[1])
        backwards = "reverse = true" in op.text
        bounded = {a: load for a, load in lanes.items() if axis in self.expressions.dims[a] and self._is_bound(a, axis)}
        if backwards:
            self._take(op, bounded, "the scan")
        return {a: load for a, load in lanes.items() if axis not in self.expressions.dims[a] or (a in bounded and not backwards)}

    def _is_bound(self, conjunct: int, axis: int) -> bool:
        """Whether it is `x < b` for an `x` that grows along a dimension, and a `b` that is one number there."""
        head, _, parts = self.expressions.nodes[conjunct]
        if not head.startswith(("arith.cmpi sl", "arith.cmpi ul")) or axis in self.expressions.dims[parts[1]]:
            return False
        grows = [parts[0]]
        while grows:
            head, _, inner = self.expressions.nodes[grows.pop()]
            if head.startswith("arith.addi"):
                grows += [p for p in inner if axis in self.expressions.dims[p]]
            elif not head.startswith("tt.make_range"):
                return False
        return True

    def _reshaped(self, op: Op) -> Lanes:
        """The lanes of an operand where its dimensions lie in the result."""
        lanes = self._of(op.operands[0])
        if not lanes or op.name == "tt.splat":
            return {}
        to = _inner(op, tuple(range(op.rank)))
        return {self.expressions.moved(a, to): load for a, load in lanes.items() if max(self.expressions.dims[a]) < len(to)}

    def _region(self, op: Op) -> list[Lanes]:
        """A loop carries lanes around; of a branch either side is the result."""
        for target, source in zip(op.carried, op.operands):
            self._add(target, self._of(source))
        for region in op.regions:
            self._block(region)
            given = region[-1].operands if region and region[-1].name == "scf.yield" else []
            for target, source in zip(op.carried[1:], given):
                self._add(target, self._of(source))
            if not op.carried:
                for target, source in zip(op.results, given):
                    self._add(target, self._of(source))
        return [self._of(target) for target in op.carried[1:]]
