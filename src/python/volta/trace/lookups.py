"""Elements at places: parts of arrays that are replaced, arrays read at indices that are data, and the order of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import InputError
from .elementwise import apply, broadcast, common, hull, number
from .operations import axes_of, flip
from .symbolic import REPEATED, Index, Symbolic
from .tree import Call, Logic, Node, Reduction, all_of, chained, chosen, node


def order(a: Symbolic, axis: int, descending: bool) -> Symbolic:
    """The places of the elements of each row in order, of equal ones the first one first: an element stands behind as many as
    are before it in that order."""
    (at,) = axes_of(axis, a.ndim)
    if a.ndim == 0:
        return a.trace.constant(0)
    source, n = number(a).short(REPEATED), a.shape[at]
    k = a.trace.variable()

    def rank(index: Index) -> Node:
        here, there = source.at(index), source.at((*index[:at], k, *index[at + 1 :]))
        equal = Logic("and", chained(there, "=", here), chained(k, "<", index[at]))
        before = Logic("or", chained(there, ">" if descending else "<", here), equal)
        return Reduction("sum", [(k, 0, n)], before, node(1))

    ranks = a.trace.define(a.shape, rank, "int")

    def element(index: Index) -> Node:
        there = chained(ranks.at((*index[:at], k, *index[at + 1 :])), "=", index[at])
        return Call("floor", Reduction("min", [(k, 0, n)], there, k))

    out = a.trace.define(a.shape, element, "int")
    out.bounds = (0, max(n - 1, 0))
    return out


def scatter_slice(a: Symbolic, part: Symbolic, axis: int, start: int | None, stop: int | None, step: int) -> Symbolic:
    """An array with a slice of it replaced."""
    (at,) = axes_of(axis, a.ndim)
    ranges = [range(n) for n in a.shape]
    ranges[at] = ranges[at][slice(start, stop, step)]
    return scatter_box(a, part, ranges)


def scatter_box(a: Symbolic, part: Symbolic, ranges: Sequence[range]) -> Symbolic:
    """An array with the places that ranges of its axes give replaced by those of an array of their sizes."""
    base, new = number(a), number(part)
    if all(len(r) == n for r, n in zip(ranges, a.shape)) and all(r.step > 0 for r in ranges):
        return part
    # The grammar divides from below: a range that runs down is turned round.
    upward = [r if r.step > 0 else r[::-1] for r in ranges]
    new = flip(new, [i for i, r in enumerate(ranges) if r.step < 0])

    def element(index: Index) -> Node:
        place, guards = [], []
        for i, r, n in zip(index, upward, a.shape):
            shift = i - r.start
            place.append(shift // r.step)
            if len(r) != n:
                guards.append(chained(r.start, "<=", i, "<", max(r.start, r.stop)))
                guards += [chained(shift % r.step, "=", 0)] if r.step > 1 else []
        return chosen(all_of(guards), new.at(tuple(place)), base.at(index))

    bounds = hull([base.bounds, new.bounds])
    out = Symbolic(a.trace, a.shape, element, common((base, new)), base.weight + new.weight + 1, bounds)
    return apply("not_equal", out, a.trace.constant(0)) if a.kind == "bool" else out


#: Elements of an axis among which a place is looked for that the function computes.
SEARCHED = 1 << 12


def gather(a: Symbolic, places: Sequence[Symbolic | None]) -> Symbolic:
    """Elements at places that arrays of integers give: one for each axis or `None`, broadcast as NumPy does.

    Places that data give count from the front: a negative one is none, if it is not known when the function is traced.
    """
    given = [(i, counted_from_front(p, a.shape[i])) for i, p in enumerate(places) if p is not None]
    shape = np.broadcast_shapes(*(p.shape for _, p in given))
    spread = {i: broadcast(p, shape) for i, p in given}
    axes = list(spread)
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    front = axes[0] if together else 0
    rest = [i for i in range(a.ndim) if i not in spread]
    sizes = [a.shape[i] for i in rest]
    out_shape = (*sizes[:front], *shape, *sizes[front:])

    def place(index: Index) -> Index:
        at = index[front : front + len(shape)]
        free = iter((*index[:front], *index[front + len(shape) :]))
        return tuple(spread[i].at(at) if i in spread else next(free) for i in range(a.ndim))

    return _looked_up(a, out_shape, place, spread)


def _looked_up(a: Symbolic, shape: tuple[int, ...], place: Callable[[Index], Index], given: dict[int, Symbolic]) -> Symbolic:
    """A view whose index along some axes is given: by integers of the grammar, or by values, which are searched."""
    if any(p.kind not in ("int", "rounded") for p in given.values()):
        raise InputError("an index is one of integers: cast it, or use numpy.where for a mask")
    searched = [i for i, p in given.items() if p.kind == "rounded"]
    if not searched:
        return a.view(shape, place)
    if any(a.shape[i] > SEARCHED for i in searched):
        raise InputError(f"an index that the function computes is covered for axes of {SEARCHED} elements at most")
    source = number(a).short(REPEATED)
    # A place outside of the array is none: the mean of nothing has no value.
    inside = all(
        p.bounds is not None and -n <= p.bounds[0] <= p.bounds[1] < n for p, n in ((given[i], a.shape[i]) for i in searched)
    )

    def element(index: Index) -> Node:
        at, ranges, guards = list(place(index)), [], []
        for i in searched:
            k, wanted, n = a.trace.variable(), at[i], a.shape[i]
            bounds = given[i].bounds
            here = chained(k, "=", wanted)
            guards.append(here if bounds is not None and bounds[0] >= 0 else Logic("or", here, chained(k, "=", wanted + n)))
            ranges.append((k, 0, n))
            at[i] = k
        return Reduction("sum" if inside else "mean", ranges, all_of(guards), source.at(tuple(at)))

    out = a.trace.define(shape, element, source.kind)
    out.bounds = source.bounds
    return apply("not_equal", out, a.trace.constant(0)) if a.kind == "bool" else out


def counted_from_front(places: Symbolic, size: int) -> Symbolic:
    """Places of a dimension of so many, of which known ones may count from its end."""
    known = places.known
    if known is None or known.size == 0 or known.min() >= 0:
        return places
    if known.min() < -size:
        raise InputError(f"index {known.min()} of a dimension of size {size}")
    return places.trace.constant(np.where(known < 0, known + size, known))


def along(a: Symbolic, at: int, places: Symbolic) -> Symbolic:
    """For each place the element of its own row, column and so on, at that place of an axis."""
    found = counted_from_front(places, a.shape[at])
    return _looked_up(a, places.shape, lambda index: (*index[:at], found.at(index), *index[at + 1 :]), {at: found})
