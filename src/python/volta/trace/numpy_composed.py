"""Functions of NumPy by others of NumPy: each takes traced arrays and calls what `of_numpy` has for them.

They are as NumPy's manual defines them, over the reals; an argument that is not taken here is a `TypeError`, which becomes
an error that names the function.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError

Array = Any


def _as_rows(a: Array) -> Array:
    return np.expand_dims(a, 0) if a.ndim == 1 else a


def _hstack(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays, axis=0 if arrays[0].ndim == 1 else 1)


def _column_stack(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.expand_dims(a, 1) if a.ndim == 1 else a for a in arrays], axis=1)


def _dstack(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.expand_dims(_as_rows(a), 2) if a.ndim < 3 else a for a in arrays], axis=2)


def _cut(a: Array, places: Sequence[int], axis: int) -> list[Array]:
    lead = (slice(None),) * (axis % a.ndim)
    bounds = [0, *places, a.shape[axis]]
    return [a[(*lead, slice(i, max(i, j)))] for i, j in itertools.pairwise(bounds)]


def _split(a: Array, parts: Any, axis: int = 0) -> list[Array]:
    if isinstance(parts, int) and a.shape[axis] % parts:
        raise InputError(f"numpy.split of {a.shape[axis]} elements into {parts} equal parts")
    return _array_split(a, parts, axis)


def _array_split(a: Array, parts: Any, axis: int = 0) -> list[Array]:
    if not isinstance(parts, int):
        return _cut(a, [operator.index(p) for p in parts], axis)
    each, more = divmod(a.shape[axis], parts)
    sizes = [each + 1] * more + [each] * (parts - more)
    return _cut(a, np.cumsum(sizes)[:-1].tolist(), axis)


def _average(a: Array, axis: Any = None, weights: Array = None, keepdims: bool = False) -> Array:
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if np.ndim(weights) != a.ndim:
        wide = [1] * a.ndim
        wide[axis] = -1
        weights = np.reshape(weights, wide)
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(weights + 0 * a, axis=axis, keepdims=keepdims)


def _norm(x: Array, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    is_row = isinstance(axis, int) or (axis is None and x.ndim == 1)
    if ord in (None, "fro") or (ord == 2 and is_row):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if not is_row:
        raise InputError(f"numpy.linalg.norm of order {ord} of a matrix is not covered")
    size = np.abs(x)
    if ord in (math.inf, -math.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if isinstance(ord, (int, float)) and ord > 0:
        return np.sum(size**ord, axis=axis, keepdims=keepdims) ** (1 / ord)
    raise InputError(f"numpy.linalg.norm of order {ord} is not covered")


def _tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    letters = "abcdefghijklmnopqrstuvwxyz"
    first, second = list(letters[: a.ndim]), list(letters[a.ndim : a.ndim + b.ndim])
    for i, j in zip(left, right):
        second[j] = first[i]
    out = [c for c in first if c not in second] + [c for c in second if c not in first]
    return np.einsum(f"{''.join(first)},{''.join(second)}->{''.join(out)}", a, b)


def _inner(a: Array, b: Array) -> Array:
    return a * b if 0 in (np.ndim(a), np.ndim(b)) else _tensordot(a, b, axes=(-1 % a.ndim, -1 % b.ndim))


def _kron(a: Array, b: Array) -> Array:
    rank = max(np.ndim(a), np.ndim(b))
    a, b = (np.reshape(x, (1,) * (rank - np.ndim(x)) + np.shape(x)) for x in (a, b))
    wide = np.reshape(a, [n for m in a.shape for n in (m, 1)]) * np.reshape(b, [n for m in b.shape for n in (1, m)])
    return np.reshape(wide, [m * n for m, n in zip(a.shape, b.shape)])


def _cross(a: Array, b: Array) -> Array:
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise InputError("numpy.cross of vectors that have not three elements is not covered")
    return np.roll(a, -1, -1) * np.roll(b, 1, -1) - np.roll(a, 1, -1) * np.roll(b, -1, -1)


def _diag(a: Array, k: int = 0) -> Array:
    if a.ndim == 2:
        return np.diagonal(a, k)
    if k:
        raise InputError("numpy.diag with k of a vector is not covered")
    return np.where(np.eye(a.shape[0], dtype=bool), a, 0.0)


def _diff(a: Array, n: int = 1, axis: int = -1) -> Array:
    lead = (slice(None),) * (axis % a.ndim)
    less = np.not_equal if a.dtype == np.bool_ else np.subtract
    for _ in range(n):
        a = less(a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))])
    return a


def _windows(a: Array, window_shape: Any, axis: Any = None) -> Array:
    sizes = [window_shape] if isinstance(window_shape, int) else list(window_shape)
    axes = range(a.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    for size, at in zip(sizes, [n % a.ndim for n in axes]):  # Of the array as it is given: each window adds an axis.
        lead = (slice(None),) * at
        count = a.shape[at] - size + 1
        a = np.stack([a[(*lead, slice(i, i + count))] for i in range(size)], axis=-1)
    return a


def _correlate(a: Array, v: Array, mode: str = "valid") -> Array:
    if a.ndim != 1 or np.shape(v)[0] > a.shape[0]:
        raise InputError("numpy.correlate by a window that is longer is not covered")
    before = {"valid": 0, "same": np.shape(v)[0] // 2, "full": np.shape(v)[0] - 1}[mode]
    after = {"valid": 0, "same": (np.shape(v)[0] - 1) // 2, "full": np.shape(v)[0] - 1}[mode]
    return _windows(np.pad(a, (before, after)), np.shape(v)[0]) @ v


def _convolve(a: Array, v: Array, mode: str = "full") -> Array:
    if np.shape(v)[0] > np.shape(a)[0]:
        a, v = v, a
    if mode == "same":
        size, whole = np.shape(v)[0], _correlate(a, v[::-1], "full")
        return whole[(size - 1) // 2 : (size - 1) // 2 + a.shape[0]]
    return _correlate(a, v[::-1], mode)


def _select(conditions: Sequence[Array], choices: Sequence[Array], default: Any = 0) -> Array:
    out = default
    for condition, choice in reversed(list(zip(conditions, choices))):
        out = np.where(condition, choice, out)
    return out


def _take(a: Array, places: Any, axis: int | None = None) -> Array:
    if axis is None:
        return np.ravel(a)[places]
    return a[(*(slice(None),) * (axis % a.ndim), places)]


def _meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    rank = len(arrays)
    order = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    shape = tuple(a.shape[0] for a in (arrays[i] for i in order))
    return [np.broadcast_to(np.reshape(a, [-1 if order[j] == i else 1 for j in range(rank)]), shape) for i, a in enumerate(arrays)]


def _broadcast_arrays(*arrays: Array) -> list[Array]:
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    return [np.broadcast_to(a, shape) for a in arrays]


def _at_least_2d(*arrays: Array) -> Any:
    out = [np.reshape(a, (1, -1)) if np.ndim(a) < 2 else a for a in arrays]
    return out[0] if len(out) == 1 else out


def _rot90(a: Array, k: int = 1) -> Array:
    for _ in range(k % 4):
        a = np.swapaxes(a, 0, 1)[::-1]
    return a


def _nan_to_num(x: Array, copy: bool = True, nan: float = 0.0) -> Array:
    return np.where(np.isnan(x), nan, x)


def _sum_of_numbers(name: str) -> Callable[..., Array]:
    neutral = {"nansum": 0.0, "nanmax": -math.inf, "nanmin": math.inf}
    plain: dict[str, Callable[..., Any]] = {"nansum": np.sum, "nanmax": np.max, "nanmin": np.min}

    def call(a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return plain[name](np.where(np.isnan(a), neutral[name], a), axis=axis, keepdims=keepdims)

    return call


def _apply_along_axis(f: Callable[..., Any], axis: int, a: Array, *args: Any) -> Array:
    rows, at = np.moveaxis(a, axis, -1), axis % a.ndim
    if rows.ndim == 1:
        return f(rows, *args)
    out = np.stack([_apply_along_axis(f, -1, row, *args) for row in rows])
    # What comes out of a row stands where the row stood.
    own = out.ndim - a.ndim + 1
    return np.moveaxis(out, list(range(-own, 0)), list(range(at, at + own)))


def _multi_dot(arrays: Sequence[Array]) -> Array:
    out = arrays[0]
    for a in arrays[1:]:
        out = np.matmul(out, a)
    return out


def _polyval(p: Any, x: Array) -> Array:
    out: Any = 0.0
    for coefficient in p:
        out = out * x + coefficient
    return out


def _digitize(x: Array, bins: Any, right: bool = False) -> Array:
    if np.ndim(bins) != 1 or not isinstance(bins, (list, tuple, np.ndarray)):
        raise InputError("numpy.digitize takes one row of bins that are known")
    known = np.asarray(bins)
    if (np.diff(known) >= 0).all():
        return _below(known, x, "left" if right else "right")
    return len(known) - _below(known[::-1], x, "right" if not right else "left")


def _below(bounds: Any, x: Array, side: str = "left") -> Array:
    if np.ndim(bounds) != 1:
        raise InputError("numpy.searchsorted takes one row of bounds")
    wide = np.expand_dims(x, x.ndim)
    return np.sum(bounds <= wide if side == "right" else bounds < wide, axis=-1)


def _insert_row(a: Array, place: int, value: Any, axis: int) -> Array:
    at = place % (a.shape[axis] + 1)
    first, second = _cut(a, [at], axis)
    middle = np.zeros_like(np.take(a, [0], axis)) + value
    return np.concatenate([first, middle, second], axis=axis)


def _delete_row(a: Array, place: int, axis: int) -> Array:
    at = operator.index(place) % a.shape[axis]
    first, _, second = _cut(a, [at, at + 1], axis)
    return np.concatenate([first, second], axis=axis)


#: By NumPy's names.
COMPOSED: dict[str, Callable[..., Any]] = {
    "vstack": lambda arrays: np.concatenate([_as_rows(a) for a in arrays], axis=0),
    "hstack": _hstack,
    "column_stack": _column_stack,
    "dstack": _dstack,
    "append": lambda a, b, axis: np.concatenate([a, b], axis=axis),
    "insert": _insert_row,
    "delete": _delete_row,
    "split": _split,
    "array_split": _array_split,
    "hsplit": lambda a, parts: _split(a, parts, 0 if a.ndim == 1 else 1),
    "vsplit": lambda a, parts: _split(a, parts, 0),
    "average": _average,
    "linalg.norm": _norm,
    "trace": lambda a, offset=0, axis1=0, axis2=1: np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1),
    "linalg.trace": lambda a, /, *, offset=0: np.sum(np.diagonal(a, offset, -2, -1), axis=-1),
    "linalg.outer": lambda a, b: np.outer(a, b),
    "linalg.cross": lambda a, b: np.cross(a, b),
    "linalg.tensordot": lambda a, b, /, *, axes=2: np.tensordot(a, b, axes),
    "linalg.matrix_transpose": lambda a: np.swapaxes(a, -1, -2),
    "tensordot": _tensordot,
    "inner": _inner,
    "vdot": lambda a, b: np.dot(np.ravel(a), np.ravel(b)),
    "kron": _kron,
    "cross": _cross,
    "diag": _diag,
    "diff": _diff,
    "sliding_window_view": _windows,
    "correlate": _correlate,
    "convolve": _convolve,
    "select": _select,
    "take": _take,
    "meshgrid": _meshgrid,
    "broadcast_arrays": _broadcast_arrays,
    "atleast_1d": lambda a: np.reshape(a, (1,)) if np.ndim(a) == 0 else a,
    "atleast_2d": _at_least_2d,
    "rot90": _rot90,
    "fliplr": lambda a: a[:, ::-1],
    "flipud": lambda a: a[::-1],
    "ptp": lambda a, axis=None, keepdims=False: np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims),
    "nan_to_num": _nan_to_num,
    **{n: _sum_of_numbers(n) for n in ("nansum", "nanmax", "nanmin")},
    "nanmean": lambda a, axis=None, keepdims=False: (
        np.nansum(a, axis=axis, keepdims=keepdims) / np.sum(~np.isnan(a), axis=axis, keepdims=keepdims).astype(np.float64)
    ),
    "count_nonzero": lambda a, axis=None, keepdims=False: np.sum(a != 0, axis=axis, keepdims=keepdims),
    "apply_along_axis": _apply_along_axis,
    "linalg.multi_dot": _multi_dot,
    "polyval": _polyval,
    "searchsorted": lambda bounds, x, side="left": _below(bounds, x, side),
    "digitize": _digitize,
    "round": lambda a, decimals=0: np.rint(a) if decimals == 0 else np.rint(a * 10.0**decimals) / 10.0**decimals,
    "around": lambda a, decimals=0: np.round(a, decimals),
    "fix": lambda a: np.trunc(a),
    "sinc": lambda x: np.where(x == 0, 1.0, np.sin(np.pi * x) / np.where(x == 0, 1.0, np.pi * x)),
    "median": lambda a, axis=None, keepdims=False: _median(a, axis, keepdims),
    "astype": lambda a, dtype, copy=True: a.astype(dtype),
    "matrix_transpose": lambda a: np.swapaxes(a, -1, -2),
}


def _median(a: Array, axis: int | None, keepdims: bool) -> Array:
    if axis is None:
        out = _median(np.ravel(a), 0, False)
        return np.reshape(out, (1,) * a.ndim) if keepdims else out
    n = a.shape[axis]
    middle = np.take(np.sort(a, axis=axis), [(n - 1) // 2, n // 2], axis=axis)
    return np.mean(middle, axis=axis, keepdims=keepdims)
