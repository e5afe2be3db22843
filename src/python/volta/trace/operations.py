"""Operations on whole arrays: reductions, products, and views; one for each, whatever library asks for it."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import indices
from .elementwise import apply, broadcast, common, hull, number
from .indices import ZERO
from .symbolic import LONG, REPEATED, WHOLE, Bounds, Index, Kind, Symbolic, Trace
from .tables import halves
from .tree import Call, Choice, Comparer, Node, Reduction, all_of, chained, chosen, node

Axes = int | Sequence[int] | None


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them for `None`."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    # An array of rank 0 has an axis 0 in torch: there is nothing along it.
    rank = max(rank, 1)
    out = tuple(operator.index(a) + (rank if a < 0 else 0) for a in given)
    if any(not 0 <= a < rank for a in out) or len(set(out)) != len(out):
        raise InputError(f"axis {axis} of an array of {rank} dimensions")
    return out


def reduce(name: str, a: Symbolic, axis: Axes = None, keepdims: bool = False) -> Symbolic:
    """`sum`, `prod`, `max`, `min` or `mean` along axes."""
    a = number(a)
    if name == "mean" and a.kind != "float":
        raise InputError("mean of integers is not covered: cast them to floats")
    axes = tuple(i for i in axes_of(axis, a.ndim) if i < a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    bound = {i: a.trace.variable() for i in axes}
    if name in ("max", "min", "mean") and any(a.shape[i] == 0 for i in axes):
        raise InputError(f"{name} of nothing")

    def element(index: Index) -> Node:
        place: dict[int, Node] = dict(zip(rest, index)) | bound
        inner = a.at(tuple(place[i] for i in range(a.ndim)))
        return Reduction(name, [(bound[i], 0, a.shape[i]) for i in axes], None, inner) if axes else inner

    kind: Kind = "float" if name == "mean" else a.kind
    out = a.trace.define(tuple(a.shape[i] for i in rest), element, kind)
    if name in ("max", "min"):
        out.bounds = a.bounds
    elif name in ("sum", "prod"):
        out.bounds = (_summed if name == "sum" else _multiplied)(a.bounds, math.prod(a.shape[i] for i in axes))
    if not keepdims:
        return out
    shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    return out.view(shape, lambda index: tuple(index[i] for i in rest))


def _summed(bounds: Bounds | None, count: int) -> Bounds | None:
    """What is known of the sum of up to so many integers."""
    return None if bounds is None else (min(bounds[0] * count, 0), max(bounds[1] * count, 0))


def _multiplied(bounds: Bounds | None, count: int) -> Bounds | None:
    """What is known of the product of up to so many integers."""
    return None if bounds is None or bounds[0] < 0 or count > 1024 else (0, max(bounds[1], 1) ** count)


def _products(arrays: Sequence[Symbolic]) -> Bounds | None:
    """What is known of the products of elements of arrays."""
    out: Bounds | None = (1, 1)
    for a in arrays:
        if out is None or a.bounds is None:
            return None
        ends = [p * q for p in out for q in a.bounds]
        out = min(ends), max(ends)
    return out


def variance(a: Symbolic, axis: Axes = None, keepdims: bool = False, correction: float = 0) -> Symbolic:
    """The variance along axes: the sum of squares of differences from the mean, over their number less a correction."""
    centred = apply("subtract", a, reduce("mean", a, axis, True))
    square = apply("square", centred)
    if correction == 0:
        return reduce("mean", square, axis, keepdims)
    count = math.prod(a.shape[i] for i in axes_of(axis, a.ndim)) if a.ndim else 1
    if count <= correction:
        raise InputError(f"the variance of {count} elements with a correction of {correction} has no value")
    return apply("divide", reduce("sum", square, axis, keepdims), a.trace.constant(float(count - correction)))


def cumulative(name: str, a: Symbolic, axis: int) -> Symbolic:
    """A reduction of an element and all before it."""
    a = number(a).short(REPEATED)
    (at,) = axes_of(axis, a.ndim)
    if a.ndim == 0:
        return a
    k = a.trace.variable()

    def element(index: Index) -> Node:
        place = (*index[:at], k, *index[at + 1 :])
        return Reduction(name, [(k, 0, a.shape[at])], chained(k, "<=", index[at]), a.at(place))

    out = a.trace.define(a.shape, element, a.kind)
    if name in ("max", "min"):
        out.bounds = a.bounds
    elif name in ("sum", "prod"):
        out.bounds = (_summed if name == "sum" else _multiplied)(a.bounds, a.shape[at])
    return out


def arg_extreme(name: str, a: Symbolic, axis: int | None, keepdims: bool = False) -> Symbolic:
    """The first place of a maximum or minimum."""
    source = number(a if axis is not None else reshape(a, (a.size,))).short(REPEATED)
    (at,) = axes_of(0 if axis is None else axis, source.ndim)
    if source.ndim == 0:
        return a.trace.constant(0)
    best = reduce(name, source, at)
    k = a.trace.variable()

    def element(index: Index) -> Node:
        place = (*index[:at], k, *index[at:])
        here = chained(source.at(place), "=", best.at(index))
        return Call("floor", Reduction("min", [(k, 0, source.shape[at])], here, k))

    out = a.trace.define(best.shape, element, "int")
    out.bounds = (0, max(source.shape[at] - 1, 0))
    if not keepdims:
        return out
    return expand_dims(out, at) if axis is not None else reshape(out, (1,) * a.ndim)


def matmul(a: Symbolic, b: Symbolic) -> Symbolic:
    """The product of matrices, of batches of them, and of vectors."""
    a, b = number(a).short(REPEATED), number(b).short(REPEATED)
    if a.ndim == 0 or b.ndim == 0:
        raise InputError("matmul of a number")
    rows, columns = a.ndim > 1, b.ndim > 1
    n = a.shape[-1]
    if n != b.shape[-2 if columns else -1]:
        raise InputError(f"matmul of shapes {a.shape} and {b.shape}")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = batch + ((a.shape[-2],) if rows else ()) + ((b.shape[-1],) if columns else ())
    left = broadcast(a, batch + a.shape[-2:]) if rows else a
    right = broadcast(b, batch + b.shape[-2:]) if columns else b
    k = a.trace.variable()

    def element(index: Index) -> Node:
        lead = index[: len(batch)]
        own = list(index[len(batch) :])
        i = (own.pop(0),) if rows else ()
        j = (own.pop(0),) if columns else ()
        p = left.at((*lead, *i, k) if rows else (k,))
        q = right.at((*lead, k, *j) if columns else (k,))
        return Reduction("sum", [(k, 0, n)], None, p * q)

    out = a.trace.define(shape, element, common((a, b)))
    out.bounds = _summed(_products([a, b]), n)
    return out


def einsum(subscripts: str, arrays: Sequence[Symbolic]) -> Symbolic:
    """A sum of products, with a letter for each index."""
    left, arrow, right = _without_dots(subscripts.replace(" ", ""), [a.ndim for a in arrays]).partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if not arrow:
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    arrays = [number(a).short(REPEATED) for a in arrays]
    if len(terms) != len(arrays) or any(len(t) != a.ndim for t, a in zip(terms, arrays)):
        raise InputError(f"einsum: `{subscripts}` does not fit the operands")
    sizes: dict[str, int] = {}
    for t, a in zip(terms, arrays):
        for c, n in zip(t, a.shape):
            # Axes of one place broadcast.
            if sizes.setdefault(c, n) == 1:
                sizes[c] = n
            if n not in (1, sizes[c]):
                raise InputError(f"einsum: `{c}` has two sizes")
    wide = [broadcast(a, tuple(sizes[c] for c in t)) for t, a in zip(terms, arrays)]
    trace = arrays[0].trace
    bound = {c: trace.variable() for c in sizes if c not in right}

    def element(index: Index) -> Node:
        at: dict[str, Node] = dict(zip(right, index)) | bound
        product = functools.reduce(operator.mul, (a.at(tuple(at[c] for c in t)) for t, a in zip(terms, wide)))
        return Reduction("sum", [(v, 0, sizes[c]) for c, v in bound.items()], None, product) if bound else product

    out = trace.define(tuple(sizes[c] for c in right), element, common(tuple(arrays)))
    out.bounds = _summed(_products(arrays), math.prod(sizes[c] for c in bound))
    return out


def _without_dots(subscripts: str, ranks: Sequence[int]) -> str:
    """With letters for the axes that `...` stands for; they are counted from the last one."""
    if "..." not in subscripts:
        return subscripts
    left, arrow, right = subscripts.partition("->")
    terms = left.split(",")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    counts = [r - len(t) + 3 if "..." in t else 0 for t, r in zip(terms, ranks)]
    if max(counts) > len(free) or min(counts) < 0:
        raise InputError(f"einsum: `{subscripts}` does not fit the operands")
    names = "".join(free[: max(counts)])
    out = ",".join(t.replace("...", names[len(names) - n :]) for t, n in zip(terms, counts))
    if not arrow:
        letters = left.replace(".", "").replace(",", "")
        right = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    return f"{out}->{right.replace('...', names)}"


def reshape(a: Symbolic, shape: Sequence[int]) -> Symbolic:
    """The same elements in the same order; one size may be -1. Dimensions that stay are left alone."""
    sizes = [operator.index(n) for n in shape]
    known = math.prod(n for n in sizes if n != -1)
    sizes = [a.size // max(known, 1) if n == -1 else n for n in sizes]
    if math.prod(sizes) != a.size:
        raise InputError(f"reshape of {a.shape} to {tuple(shape)}")
    if 0 in sizes:
        return Symbolic(a.trace, tuple(sizes), lambda _: ZERO, a.kind)
    groups = _groups(a.shape, tuple(sizes))

    def place(index: Index) -> Index:
        out: list[Node] = []
        for old, new in groups:
            own = index[new[0] : new[1]]
            old_sizes = a.shape[old[0] : old[1]]
            out += indices.unflat(indices.flat(own, tuple(sizes[new[0] : new[1]])), old_sizes)
        return tuple(out)

    return a.view(tuple(sizes), place)


Range = tuple[int, int]


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[Range, Range]]:
    """Runs of dimensions that hold equally many elements, the shortest that there are."""
    out = []
    i = j = 0
    while i < len(old) or j < len(new):
        p, q = i, j
        left = right = 1
        while True:
            if i < len(old) and (left <= right or j == len(new)):
                left, i = left * old[i], i + 1
            elif j < len(new):
                right, j = right * new[j], j + 1
            if left == right and (j > q or i > p):
                break
        out.append(((p, i), (q, j)))
    return out


def permute(a: Symbolic, axes: Sequence[int]) -> Symbolic:
    """Its axes in another order."""
    order = axes_of(list(axes), a.ndim) if a.ndim else ()
    if sorted(order) != list(range(a.ndim)):
        raise InputError(f"a transposition with axes {tuple(axes)} of an array of {a.ndim} dimensions")
    back = [order.index(i) for i in range(a.ndim)]
    return a.view(tuple(a.shape[i] for i in order), lambda index: tuple(index[b] for b in back))


def swap_axes(a: Symbolic, i: int, j: int) -> Symbolic:
    """Two axes exchanged."""
    order = list(range(a.ndim))
    if not order:
        return a
    (p,), (q,) = axes_of(i, a.ndim), axes_of(j, a.ndim)
    order[p], order[q] = order[q], order[p]
    return permute(a, order)


def expand_dims(a: Symbolic, axis: Axes) -> Symbolic:
    """With axes of size 1."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = a.ndim + len(given)
    places = axes_of(tuple(given), rank)
    rest = [i for i in range(rank) if i not in places]
    sizes = iter(a.shape)
    shape = tuple(1 if i in places else next(sizes) for i in range(rank))
    return a.view(shape, lambda index: tuple(index[i] for i in rest))


def squeeze(a: Symbolic, axis: Axes = None) -> Symbolic:
    """Without axes of size 1; those that are named have it."""
    places = tuple(i for i, n in enumerate(a.shape) if n == 1) if axis is None else axes_of(axis, a.ndim)
    if any(i < a.ndim and a.shape[i] != 1 for i in places):
        raise InputError(f"squeeze of axis {axis} of shape {a.shape}")
    rest = [i for i in range(a.ndim) if i not in places]

    def place(index: Index) -> Index:
        known = dict(zip(rest, index))
        return tuple(known.get(i, ZERO) for i in range(a.ndim))

    return a.view(tuple(a.shape[i] for i in rest), place)


def take_slice(a: Symbolic, axis: int, start: int | None, stop: int | None, step: int | None = 1) -> Symbolic:
    """Every `step`-th element of an axis from `start` to `stop`."""
    (at,) = axes_of(axis, a.ndim)
    first, last, by = slice(start, stop, step).indices(a.shape[at])
    shape = (*a.shape[:at], len(range(first, last, by)), *a.shape[at + 1 :])
    return a.view(shape, lambda index: (*index[:at], index[at] * by + first, *index[at + 1 :]))


def select(a: Symbolic, axis: int, at: int) -> Symbolic:
    """One place of an axis."""
    (axis,) = axes_of(axis, a.ndim)
    n = a.shape[axis]
    if not -n <= at < n:
        raise InputError(f"index {at} of a dimension of size {n}")
    return a.view((*a.shape[:axis], *a.shape[axis + 1 :]), lambda index: (*index[:axis], node(at % n), *index[axis:]))


def flip(a: Symbolic, axes: Axes) -> Symbolic:
    """Axes the other way round."""
    turned = axes_of(axes, a.ndim)

    def place(index: Index) -> Index:
        return tuple(a.shape[i] - 1 - x if i in turned else x for i, x in enumerate(index))

    return a.view(a.shape, place)


def roll(a: Symbolic, shift: int, axis: int) -> Symbolic:
    """Elements of an axis moved around."""
    (at,) = axes_of(axis, a.ndim)
    n = a.shape[at]
    by = -shift % max(n, 1)
    if by == 0:
        return a
    return a.view(a.shape, lambda index: (*index[:at], (index[at] + by) % n, *index[at + 1 :]))


def tile(a: Symbolic, times: Sequence[int]) -> Symbolic:
    """Several of it side by side."""
    lead = len(times) - a.ndim
    source = expand_dims(a, tuple(range(lead))) if lead > 0 else a
    shape = tuple(n * t for n, t in zip(source.shape, times))
    return source.view(shape, lambda index: tuple(i % n for i, n in zip(index, source.shape)))


def diagonal(a: Symbolic, offset: int = 0, first: int = 0, second: int = 1) -> Symbolic:
    """A diagonal of two axes, as the last axis."""
    (p,), (q,) = axes_of(first, a.ndim), axes_of(second, a.ndim)
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(a.shape[p] - down, a.shape[q] - right), 0)
    rest = [i for i in range(a.ndim) if i not in (p, q)]

    def place(index: Index) -> Index:
        own = {p: index[-1] + down, q: index[-1] + right, **dict(zip(rest, index))}
        return tuple(own[i] for i in range(a.ndim))

    return a.view((*(a.shape[i] for i in rest), length), place)


def triangle(a: Symbolic, diagonal: int, lower: bool) -> Symbolic:
    """The elements on one side of a diagonal, and 0 elsewhere."""
    sign: Comparer = "<=" if lower else ">="
    zero = node(0.0 if a.kind == "float" else 0)
    source = number(a)

    def element(index: Index) -> Node:
        return Choice(chained(index[-1], sign, index[-2] + diagonal), source.at(index), zero)

    out = Symbolic(a.trace, a.shape, element, source.kind, source.weight + 1, hull([source.bounds, (0, 0)]))
    return apply("not_equal", out, a.trace.constant(0)) if a.kind == "bool" else out


def concatenate(arrays: Sequence[Symbolic], axis: int) -> Symbolic:
    """Arrays one after the other along an axis."""
    parts = [n.short(WHOLE if n.kind == "int" else LONG) for n in map(number, arrays)]
    (at,) = axes_of(axis, parts[0].ndim)
    others = {tuple(n for i, n in enumerate(p.shape) if i != at) for p in parts}
    if len(others) != 1 or at >= parts[0].ndim:
        raise InputError("concatenate of arrays whose other dimensions differ")
    parts = [p for p in parts if p.shape[at]] or parts[:1]
    ends = np.cumsum([p.shape[at] for p in parts]).tolist()
    shape = tuple(ends[-1] if i == at else n for i, n in enumerate(parts[0].shape))

    def element(index: Index) -> Node:
        starts = [end - part.shape[at] for part, end in zip(parts, ends)]
        trees = [part.at((*index[:at], index[at] - start, *index[at + 1 :])) for part, start in zip(parts, starts)]
        return halves(trees, starts, index[at])

    weight = 1 + sum(p.weight for p in parts)
    out = Symbolic(parts[0].trace, shape, element, common(tuple(parts)), weight, hull([p.bounds for p in parts]))
    return apply("not_equal", out, out.trace.constant(0)) if all(a.kind == "bool" for a in arrays) else out


def stack(arrays: Sequence[Symbolic], axis: int) -> Symbolic:
    """Arrays side by side along a new axis."""
    (at,) = axes_of(axis, arrays[0].ndim + 1)
    return concatenate([expand_dims(a, at) for a in arrays], at)


def pad(a: Symbolic, amounts: Sequence[tuple[int, int]], value: Symbolic) -> Symbolic:
    """With so many places before and after each axis, or fewer where a number is negative."""
    source, fill = number(a), number(value)
    shape = tuple(n + p + q for n, (p, q) in zip(a.shape, amounts))
    if any(n < 0 for n in shape):
        raise InputError(f"a padding of {tuple(amounts)} leaves less than nothing of {a.shape}")

    def element(index: Index) -> Node:
        place = tuple(i - p for i, (p, _) in zip(index, amounts))
        guards = [indices.inside(i, n) for i, n, (p, q) in zip(place, a.shape, amounts) if p > 0 or q > 0]
        return chosen(all_of(guards), source.at(place), fill.at(()))

    return Symbolic(a.trace, shape, element, common((source, fill)), source.weight + 1, hull([source.bounds, fill.bounds]))


def counting(trace: Trace, start: Any, stop: Any, step: Any) -> Symbolic:
    """`arange`."""
    values = np.arange(start, stop, step)
    kind: Kind = "float" if values.dtype.kind == "f" else "int"

    def element(index: Index) -> Node:
        return index[0] * int(step) + int(start) if kind == "int" else float(start) + float(step) * index[0]

    out = Symbolic(trace, values.shape, element, kind, 1)
    if kind == "int":
        out.known = values
        out.bounds = (int(min(values, default=0)), int(max(values, default=0)))
    return out
