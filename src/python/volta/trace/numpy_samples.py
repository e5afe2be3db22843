"""Functions of NumPy of rows of samples, by others of NumPy: curves through points, quantiles, differences, comparisons."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError

Array = Any


def _interp(x: Array, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    """The polygon through points whose first coordinates grow, and its ends beyond them."""
    count = np.shape(xp)[0]
    if np.ndim(xp) != 1 or np.shape(fp) != (count,) or not count:
        raise InputError("numpy.interp takes a row of points")
    if isinstance(xp, (list, tuple, np.ndarray)) and not (np.diff(np.asarray(xp, float)) > 0).all():
        raise InputError("numpy.interp takes points whose first coordinates grow")
    out = fp[count - 1]
    for i in range(count - 2, -1, -1):
        slope = (fp[i + 1] - fp[i]) / (xp[i + 1] - xp[i])
        out = np.where(x < xp[i + 1], slope * (x - xp[i]) + fp[i], out)
    out = np.where(x < xp[0], fp[0] if left is None else left, out)
    return out if right is None else np.where(x > xp[count - 1], right, out)


def _quantile(a: Array, q: Any, axis: int | None = None, keepdims: bool = False, method: str = "linear") -> Array:
    """Between the two elements that stand around a share of all."""
    if isinstance(q, (list, tuple)) or np.ndim(q):
        return np.stack([_quantile(a, one, axis, keepdims, method) for one in q])
    if method != "linear" or not isinstance(q, (int, float, np.number)) or not 0 <= q <= 1:
        raise InputError("numpy.quantile of a known share from 0 to 1 by the linear method is covered alone")
    if axis is None:
        found = _quantile(np.ravel(a), q, 0)
        return np.reshape(found, (1,) * a.ndim) if keepdims else found
    place = q * (a.shape[axis] - 1)
    low = min(int(place), a.shape[axis] - 1)
    rows = np.sort(a, axis=axis)
    first, second = (np.take(rows, [i], axis=axis) for i in (low, min(low + 1, a.shape[axis] - 1)))
    found = first + (second - first) * (place - low)
    return found if keepdims else np.squeeze(found, axis)


def _gradient(f: Array, step: Any = 1.0, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, and one-sided ones at the ends."""
    if np.ndim(step) or edge_order != 1:
        raise InputError("numpy.gradient with one distance and edges of order 1 is covered alone")
    axes = range(f.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    out = []
    for at in axes:
        lead, n = (slice(None),) * (at % f.ndim), f.shape[at]
        first = f[(*lead, slice(1, 2))] - f[(*lead, slice(0, 1))]
        middle = (f[(*lead, slice(2, None))] - f[(*lead, slice(None, n - 2))]) / 2.0
        last = f[(*lead, slice(n - 1, None))] - f[(*lead, slice(n - 2, n - 1))]
        out.append(np.concatenate([first, middle, last], axis=at) / step)
    return out[0] if len(out) == 1 else tuple(out)


def _trapezoid(y: Array, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    lead = (slice(None),) * (axis % y.ndim)
    widths = dx if x is None else np.diff(x)
    if x is not None and np.ndim(x) == 1:
        widths = np.reshape(widths, [-1 if i == axis % y.ndim else 1 for i in range(y.ndim)])
    return np.sum(widths * (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2.0, axis=axis)


def _is_close(a: Array, b: Array, rtol: float = 1e-5, atol: float = 1e-8) -> Array:
    return np.logical_or(np.abs(a - b) <= atol + rtol * np.abs(b), np.equal(a, b))


def _is_in(element: Array, test_elements: Any, invert: bool = False) -> Array:
    found = np.any(np.equal(np.expand_dims(element, np.ndim(element)), np.ravel(test_elements)), axis=-1)
    return np.logical_not(found) if invert else found


def _number_neutral(value: float, plain: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, axis=None, **more: plain(np.where(np.isnan(a), value, a), axis=axis, **more)


def _variance_of_numbers(a: Array, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Array:
    mean = np.nanmean(a, axis=axis, keepdims=True)
    count = np.sum(~np.isnan(a), axis=axis, keepdims=keepdims).astype(np.float64) - ddof
    return np.nansum((a - mean) ** 2, axis=axis, keepdims=keepdims) / count


def _block(arrays: Any) -> Array:
    def joined(value: Any, depth: int) -> Array:
        if not isinstance(value, list):
            return value
        return np.concatenate([joined(v, depth - 1) for v in value], axis=-depth)

    depth, value = 0, arrays
    while isinstance(value, list):
        depth, value = depth + 1, value[0]
    return joined(arrays, depth)


def _at_least_3d(a: Array) -> Array:
    return np.reshape(a, (1, -1, 1)) if np.ndim(a) < 2 else np.expand_dims(a, 2) if np.ndim(a) == 2 else a


def _resize(a: Array, new_shape: Any) -> Array:
    sizes = [new_shape] if isinstance(new_shape, int) else list(new_shape)
    count, flat = math.prod(sizes), np.ravel(a)
    return np.reshape(np.tile(flat, -(-count // max(a.size, 1)))[:count], sizes)


def _unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(x, axis, 0)[i] for i in range(x.shape[axis]))


def _roll_axis(a: Array, axis: int, start: int = 0) -> Array:
    at, to = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, at, to - 1 if at < to else to)


def _fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    if wrap or a.ndim != 2:
        raise InputError("numpy.fill_diagonal of a matrix without wrap is covered alone")
    n = min(a.shape)
    a[np.arange(n), np.arange(n)] = val


def _compress(condition: Any, a: Array, axis: int | None = None) -> Array:
    if not isinstance(condition, (list, tuple, np.ndarray)):
        raise InputError("numpy.compress by a condition that depends on data has no shape: use numpy.where")
    return np.take(a, np.flatnonzero(condition), axis=axis)


def _piecewise(x: Array, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    out = values[len(conditions)] if len(values) > len(conditions) else np.zeros_like(x)
    # The last one that holds wins.
    for condition, value in zip(conditions, values):
        out = np.where(condition, value, out)
    return out.astype(x.dtype)


def _covariance(m: Array, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Array:
    rows = np.atleast_2d(m) if rowvar or m.ndim == 1 else np.swapaxes(m, 0, 1)
    centred = rows - np.mean(rows, axis=1, keepdims=True)
    count = rows.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    if count <= 0:
        raise InputError(f"numpy.cov of {rows.shape[1]} samples has no value")
    out = np.matmul(centred, np.swapaxes(centred, 0, 1)) / float(count)
    return np.squeeze(out)


def _cumulative(name: str) -> Callable[..., Array]:
    plain: Callable[..., Array] = getattr(np, name)

    def call(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
        if include_initial or (axis is None and x.ndim != 1):
            raise InputError("a running sum or product from an initial value is not covered")
        return plain(x, axis=0 if axis is None else axis)

    return call


def _shifted_rows(x: Any, n: int | None = None, increasing: bool = False) -> Array:
    count = np.shape(x)[0] if n is None else operator.index(n)
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return np.stack([x**p for p in powers], axis=-1)


#: By NumPy's names.
SAMPLES: dict[str, Callable[..., Any]] = {
    "interp": _interp,
    "quantile": _quantile,
    "percentile": lambda a, q, axis=None, keepdims=False, method="linear": _quantile(
        a, [v / 100 for v in q] if isinstance(q, (list, tuple)) else q / 100, axis, keepdims, method
    ),
    "gradient": _gradient,
    "trapezoid": _trapezoid,
    "trapz": _trapezoid,
    "ediff1d": lambda a: np.diff(np.ravel(a)),
    "isclose": _is_close,
    "allclose": lambda *args, **kw: np.all(_is_close(*args, **kw)),
    "array_equal": lambda a, b: np.all(np.equal(a, b)) if np.shape(a) == np.shape(b) else False,
    "isin": _is_in,
    "nanprod": _number_neutral(1.0, np.prod),
    "nancumsum": _number_neutral(0.0, np.cumsum),
    "nancumprod": _number_neutral(1.0, np.cumprod),
    "nanvar": _variance_of_numbers,
    "nanstd": lambda a, axis=None, ddof=0, keepdims=False: np.sqrt(_variance_of_numbers(a, axis, ddof, keepdims)),
    "block": _block,
    "atleast_3d": _at_least_3d,
    "resize": _resize,
    "unstack": _unstack,
    "rollaxis": _roll_axis,
    "real": lambda a: a,
    "fill_diagonal": _fill_diagonal,
    "compress": _compress,
    "extract": lambda condition, a: _compress(np.ravel(condition), np.ravel(a)),
    "diagflat": lambda v, k=0: np.diag(np.ravel(v), k),
    "vander": _shifted_rows,
    "piecewise": _piecewise,
    "cov": _covariance,
    "cumulative_sum": _cumulative("cumsum"),
    "cumulative_prod": _cumulative("cumprod"),
    "linalg.vector_norm": lambda x, /, *, axis=None, keepdims=False, ord=2: np.linalg.norm(
        np.ravel(x) if axis is None else x, ord, 0 if axis is None else axis, keepdims
    ),
    "linalg.matrix_norm": lambda x, /, *, keepdims=False, ord="fro": np.linalg.norm(x, ord, (-2, -1), keepdims),
    "linalg.vecdot": lambda a, b, /, *, axis=-1: np.sum(a * b, axis=axis),
}
