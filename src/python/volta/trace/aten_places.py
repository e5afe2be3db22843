"""Torch's operators that read and write at places: gather, scatter, index, sort and the like.

A write at places that are known when the function is traced is a choice by the index; an addition at places that data
give is a sum over all that is written, where it is written there. A write at such places whose values differ depends on
their order, which torch does not say: it is not covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import indices, lookups, operations, tables
from .elementwise import apply, broadcast, cast, hull, number, operand, where
from .symbolic import REPEATED, Index, Missing, Symbolic, Trace
from .tree import Node, Reduction, all_of, chained, chosen, node

Operation = Callable[..., Any]

#: Elements of a row of which the order is written down.
SORTED = 32


def _index(c: Trace, x: Symbolic, places: Sequence[Symbolic | None]) -> Symbolic:
    if any(p is not None and p.kind == "bool" for p in places):
        raise InputError("a mask as an index is not covered")
    return lookups.gather(x, places)


def _index_select(c: Trace, x: Symbolic, axis: int, places: Symbolic) -> Symbolic:
    (at,) = operations.axes_of(axis, x.ndim)
    return lookups.gather(x, [None] * at + [places])


def _gather(c: Trace, x: Symbolic, axis: int, places: Symbolic, **_: Any) -> Symbolic:
    (at,) = operations.axes_of(axis, x.ndim)
    return places.view(places.shape, lambda i: i) if x.ndim == 0 else lookups.along(x, at, places)


def _embedding(c: Trace, table: Symbolic, places: Symbolic, *_: Any, **__: Any) -> Symbolic:
    return lookups.gather(table, [places])


def _written(x: Symbolic, shape: tuple[int, ...], place: Callable[[Index], list[Node]], values: Symbolic, adds: bool) -> Symbolic:
    """An array with one number, or a sum, at each place that some index of `shape` gives; `place` gives the place."""
    if not adds and values.size != 1:
        raise InputError("values that are written at places which data give are not covered: add them, or write one number")
    source = broadcast(number(values), shape).short(REPEATED)
    base = number(x)
    bound = tuple(x.trace.variable() for _ in shape)

    def element(index: Index) -> Node:
        there = all_of(indices.equal(place(bound), index))
        inner = source.at(bound) if adds else node(1)
        if not bound:
            return chosen(there, inner, node(0))
        return Reduction("sum", [(v, 0, n) for v, n in zip(bound, shape)], there, inner)

    found = x.trace.define(x.shape, element, source.kind if adds else "int")
    if adds:
        return apply("add", base, found)
    return where(apply("greater", found, x.trace.constant(0)), broadcast(operations.reshape(values, ()), x.shape), x)


def _chosen(x: Symbolic, places: np.ndarray[Any, Any], values: Symbolic, last_wins: bool = False) -> Symbolic:
    """An array with the elements of `values` at known places: a row of `places` for each, in order."""
    if not last_wins and len({tuple(p) for p in places.tolist()}) != len(places):
        raise InputError("two values that are written at one place are not covered")
    base, new = number(x), number(values)
    rank = range(x.ndim)
    # The number of the value at each place, among those between the first place and the last along each axis.
    low, high = (places.min(0), places.max(0)) if len(places) else (np.zeros(x.ndim, int), np.zeros(x.ndim, int))
    span = tuple(int(n) for n in high - low + 1)
    if math.prod(span) > tables.LARGE:
        raise InputError(f"a write at places that lie as far apart as {span} is not covered")
    numbers = np.full(span, -1)
    numbers[tuple((places - low).T)] = np.arange(len(places))
    which, pieces = tables.table(numbers)

    def element(index: Index) -> Node:
        within = [chained(int(low[i]), "<=", index[i], "<=", int(high[i])) for i in rank if span[i] < x.shape[i]]
        at = which(tuple(index[i] - int(low[i]) for i in rank))
        there = chosen(all_of([*within, chained(at, ">=", 0)]), new.at(indices.unflat(at, values.shape)), base.at(index))
        return there if len(places) else base.at(index)

    kind = "float" if "float" in (base.kind, new.kind) else base.kind
    out = Symbolic(x.trace, x.shape, element, kind, base.weight + pieces + 1, hull([base.bounds, new.bounds]))
    return cast(out, "bool") if x.kind == "bool" else out


def index_put(
    c: Trace,
    x: Symbolic,
    places: Sequence[Symbolic | None],
    values: Symbolic,
    accumulate: bool = False,
    *_: Any,
    last_wins: bool = False,
) -> Symbolic:
    given = [(i, p) for i, p in enumerate(places) if p is not None]
    if len(given) == 1 and given[0][1].kind == "bool":
        return _at_mask(x, given[0][0], given[0][1], values, accumulate)
    if any(p.kind != "int" for _, p in given):
        raise InputError("a mask among other indices is not covered")
    axes = [i for i, _ in given]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise InputError("indices with whole axes between them are not covered")
    shape = np.broadcast_shapes(*(p.shape for _, p in given))
    spread = {i: broadcast(lookups.counted_from_front(p, x.shape[i]), shape) for i, p in given}
    first, rank = axes[0], len(shape)
    whole = (*x.shape[:first], *shape, *x.shape[first + len(axes) :])

    def place(index: Index) -> list[Node]:
        at = index[first : first + rank]
        return [*index[:first], *(spread[i].at(at) for i in axes), *index[first + rank :]]

    known = [p.known for _, p in given]
    if not accumulate and values.size != 1 and all(k is not None for k in known):
        grid = np.indices(whole).reshape(len(whole), -1)
        at = tuple(grid[first : first + rank])
        middle = [np.broadcast_to(np.asarray(k) % x.shape[i], shape)[at] for (i, _), k in zip(given, known)]
        rows = np.stack([*grid[:first], *middle, *grid[first + rank :]], 1)
        return _chosen(x, rows, broadcast(values, whole), last_wins)
    return _written(x, whole, place, broadcast(values, whole) if accumulate else values, accumulate)


def _at_mask(x: Symbolic, axis: int, mask: Symbolic, values: Symbolic, accumulate: bool) -> Symbolic:
    if values.size != 1:
        raise InputError("values that are written by a mask are not covered: use torch.where")
    rest = x.ndim - axis - mask.ndim
    wide = operations.reshape(mask, (*mask.shape, *(1,) * rest))
    value = operations.reshape(values, ())
    return where(wide, apply("add", x, value) if accumulate else value, x)


def _scatter(adds: bool) -> Operation:
    def call(c: Trace, x: Symbolic, axis: int, places: Symbolic, source: Any, *_: Any, **more: Any) -> Symbolic:
        if more.get("reduce") is not None:
            raise InputError("scatter with reduce is not covered")
        (at,) = operations.axes_of(axis, x.ndim)
        values = operand(c, source)
        if values.ndim:
            # The places say how much of the source is taken.
            values = values.view(places.shape, lambda index: index)
        if not adds and values.size != 1 and places.known is not None:
            grid = np.indices(places.shape).reshape(places.ndim, -1)
            grid[at] = np.asarray(places.known).reshape(-1)
            return _chosen(x, grid.T, values)

        def place(index: Index) -> list[Node]:
            return [*index[:at], places.at(index), *index[at + 1 :]]

        return _written(x, places.shape, place, broadcast(values, places.shape) if adds else values, adds)

    return call


def in_order(x: Symbolic, count: int, axis: int, largest: bool) -> tuple[Symbolic, Symbolic]:
    """The first so many elements of each row in order, and their places. Each is the extreme of what those before leave, which
    are the others: at each element, the extreme so far is held and the other one of both is left."""
    (at,) = operations.axes_of(axis, x.ndim)
    if x.ndim == 0:
        return x, x.trace.constant(0)
    if count > SORTED:
        raise InputError(f"the order of {count} elements is not covered")
    left = cast(number(x), "float").short(0)
    extreme, other = ("max", "minimum") if largest else ("min", "maximum")
    values = [operations.reduce(extreme, left, at, True)]
    for n in range(x.shape[at] - 1, x.shape[at] - count, -1):
        held = operations.take_slice(operations.cumulative(extreme, left, at), at, 0, n)
        left = apply(other, held, operations.take_slice(left, at, 1, n + 1)).short(0)
        values.append(operations.reduce(extreme, left, at, True))
    places = operations.take_slice(lookups.order(x, at, largest), at, 0, count)
    return operations.concatenate(values, at), places


def _topk(c: Trace, x: Symbolic, count: int, axis: int = -1, largest: bool = True, ordered: bool = True) -> Any:
    # Torch does not say which of equal elements come first.
    return in_order(x, count, axis, largest)[0], Missing("the places of topk depend on the order of equal elements: not covered")


def _sort(c: Trace, x: Symbolic, axis: int = -1, descending: bool = False, **more: Any) -> Any:
    (at,) = operations.axes_of(axis, x.ndim)
    values, places = in_order(x, x.shape[at] if x.ndim else 1, axis, more.get("descending", descending))
    stable = Missing("the places of a sort that is not stable depend on the order of equal elements: say stable=True")
    return values, places if more.get("stable") else stable


def _nth(c: Trace, x: Symbolic, place: int, axis: int, keepdims: bool) -> tuple[Symbolic, Missing]:
    (at,) = operations.axes_of(axis, x.ndim)
    found = operations.take_slice(in_order(x, place + 1, axis, False)[0], at, place, place + 1)
    value = found if keepdims or x.ndim == 0 else operations.squeeze(found, at)
    return value, Missing("the place of an element by its order is not covered: equal ones could stand there")


def _median(c: Trace, x: Symbolic, axis: int | None = None, keepdims: bool = False) -> Any:
    if axis is None:
        flat = operations.reshape(x, (x.size,))
        return _nth(c, flat, (x.size - 1) // 2, 0, False)[0]
    return _nth(c, x, (x.shape[axis] - 1) // 2, axis, keepdims)


def _kth_value(c: Trace, x: Symbolic, k: int, axis: int = -1, keepdims: bool = False) -> Any:
    return _nth(c, x, k - 1, axis, keepdims)


def _below(c: Trace, bounds: Symbolic, x: Any, right: bool) -> Symbolic:
    """How many of the bounds are below each element, or not above it."""
    values, row = operand(c, x), operations.expand_dims(bounds, tuple(range(operand(c, x).ndim)))
    sign = "less_equal" if right else "less"
    return operations.reduce("sum", apply(sign, row, operations.expand_dims(values, values.ndim)), values.ndim)


def _search(c: Trace, bounds: Symbolic, x: Any, *, right: bool = False, side: str | None = None, **_: Any) -> Symbolic:
    if bounds.ndim != 1:
        raise InputError("bounds that differ from row to row are not covered")
    return _below(c, bounds, x, right or side == "right")


#: By the name of the operator, without its overload.
OPERATIONS: dict[str, Operation] = {
    "index": _index,
    "_unsafe_index": _index,
    "index_select": _index_select,
    "gather": _gather,
    "embedding": _embedding,
    "index_put": index_put,
    "_unsafe_index_put": index_put,
    "scatter": _scatter(False),
    "scatter_add": _scatter(True),
    "topk": _topk,
    "sort": _sort,
    "median": _median,
    "kthvalue": _kth_value,
    "searchsorted": _search,
    "bucketize": lambda c, x, bounds, *, right=False, **_: _below(c, bounds, x, right),
}
