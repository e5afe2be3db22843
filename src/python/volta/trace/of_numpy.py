"""NumPy functions: arrays that stand in for real ones take NumPy's operations through its protocols."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import aten_places, bits, networks, operations
from .bits import narrowed
from .elementwise import LOGIC, PRIMITIVES, apply, broadcast, cast, operand, power, truth, where
from .numpy_composed import COMPOSED
from .symbolic import Kind, Symbolic, Trace

#: Names of NumPy for what the table calls otherwise.
_UFUNCS = {
    "true_divide": "divide",
    "fmax": "maximum",
    "fmin": "minimum",
    "fabs": "absolute",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "invert": "logical_not",
}
_REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}

#: Operations of the table that NumPy has not, or that differ there.
_NOT_HERE = frozenset(("rsqrt", "erf", "sigmoid", "relu", "integer_quotient", "integer_remainder"))


class NumpyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a function that is traced."""

    __array_priority__ = 1000

    def __init__(self, value: Symbolic, base: NumpyArray | None = None, key: Any = None, only_read: str = "") -> None:
        self._value, self._base, self._key = value, base, key
        #: Why it must not be written, if so.
        self._only_read = only_read
        self._stale = False
        self._source: NumpyArray | None = base
        self._views: list[weakref.ref[NumpyArray]] = []

    @property
    def value(self) -> Symbolic:
        """What it holds now. A part of an array that was taken by an index is what the array holds there."""
        if self._stale:
            raise InputError("a view of an array that was written later is not covered: take it again")
        return self._value if self._base is None else _getitem(self._base.value, self._key)

    def looked_at(self, value: Symbolic) -> NumpyArray:
        """Another view of what it holds: it goes stale where this is written, and cannot be written itself."""
        out = NumpyArray(value, only_read="a write to a view (a transposed or reshaped array) is not covered")
        out._source = self
        source: NumpyArray | None = self
        while source is not None:
            source._views.append(weakref.ref(out))
            source = source._source
        return out

    def _write(self, value: Symbolic) -> None:
        if self._only_read:
            raise InputError(self._only_read)
        for view in (v() for v in self._views):
            if view is not None:
                view._stale = True
        if self._base is None:
            self._value = value
        else:
            self._base[self._key] = NumpyArray(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._write(written(self.value, key, _value(self, value)))

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.value.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """A type of the same kind; a formula has no widths."""
        return np.dtype({"float": np.float64, "int": np.int64, "rounded": np.int64, "bool": np.bool_}[self.value.kind])

    @property
    def T(self) -> NumpyArray:
        """With its dimensions reversed."""
        return self.looked_at(operations.permute(self.value, tuple(reversed(range(self.ndim)))))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NumpyArray]:
        return (self[i] for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        raise InputError("a traced function cannot branch on data: use where")

    def __float__(self) -> float:
        raise InputError("a traced function has no values: float(...) of an array is not possible")

    def __int__(self) -> int:
        raise InputError("a traced function has no values: int(...) of an array is not possible")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise InputError("a traced array has no values: this NumPy operation is not covered")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target = kwargs.pop("out", (None,))[0]
        if target is not None and not isinstance(target, NumpyArray):
            raise InputError(f"numpy.{ufunc.__name__} writes to an array that was made before")
        found = _ufunc(ufunc.__name__, method, [_value(self, x) for x in inputs], kwargs)
        if target is None:
            return NumpyArray(found)
        target[...] = NumpyArray(found)
        return target

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = _FUNCTIONS.get(func.__name__) or COMPOSED.get(func.__name__)
        if found is None:
            raise InputError(f"numpy.{func.__name__} is not covered")
        try:
            out = found(*args, **kwargs)
        except (TypeError, AttributeError, KeyError) as e:
            raise InputError(f"numpy.{func.__name__} with these arguments is not covered: {e}") from e
        if func.__name__ in _VIEWS and isinstance(args[0], NumpyArray) and isinstance(out, NumpyArray):
            return args[0].looked_at(out.value)
        return out

    def __getitem__(self, key: Any) -> NumpyArray:
        found = _getitem(self.value, key)
        if _is_plain(key):
            return NumpyArray(found, self, key, self._only_read)
        return NumpyArray(found)

    def reshape(self, *shape: Any) -> Any:
        """As `numpy.reshape`."""
        return self.looked_at(_reshape(self, shape[0] if len(shape) == 1 else shape).value)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.looked_at(_transpose(self.value, given or None))

    def astype(self, dtype: Any, **_: Any) -> NumpyArray:
        """A cast: to integers towards zero, between floats nothing over the reals."""
        kinds: dict[str, Kind] = {"f": "float", "i": "int", "u": "int", "b": "bool"}
        kind = kinds.get(np.dtype(dtype).kind)
        if kind is None:
            raise InputError(f"a cast to {dtype} is not covered")
        out, size = cast(self.value, kind), np.dtype(dtype).itemsize
        if kind == "int" and size <= 2 and self.value.kind in ("int", "rounded"):
            out = narrowed(out, 8 * size, np.dtype(dtype).kind == "i")
        return NumpyArray(out)

    def __getattr__(self, name: str) -> Any:
        # Methods that NumPy has as functions too.
        if name in _METHODS:
            found = getattr(np, name, _FUNCTIONS.get(name))
            return lambda *args, **kwargs: found(self, *args, **kwargs)  # type: ignore[misc]
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(f"numpy.ndarray.{name} is not covered")


def _value(like: NumpyArray, x: Any) -> Symbolic:
    return x.value if isinstance(x, NumpyArray) else operand(like.value.trace, x)


def _ufunc(ufunc: str, method: str, inputs: Sequence[Symbolic], kwargs: dict[str, Any]) -> Symbolic:
    kwargs = {k: v for k, v in kwargs.items() if k != "dtype" and v is not None}
    name = _UFUNCS.get(ufunc, ufunc)
    if method == "reduce" and ufunc in _REDUCERS:
        return _reduce(_REDUCERS[ufunc], inputs[0], **kwargs)
    if method == "reduce" and ufunc in ("logical_and", "logical_or"):
        return _any_or_all(ufunc == "logical_or", inputs[0], **kwargs)
    if method == "reduce" and ufunc == "logaddexp":
        return networks.log_sum_exp(inputs[0], kwargs.get("axis", 0), kwargs.get("keepdims", False))
    if method == "accumulate" and ufunc in _REDUCERS:
        return operations.cumulative(_REDUCERS[ufunc], inputs[0], kwargs.get("axis", 0))
    if method == "outer" and not kwargs:
        left, right = inputs
        wide = operations.expand_dims(left, tuple(range(left.ndim, left.ndim + right.ndim)))
        return _ufunc(ufunc, "__call__", [wide, right], kwargs)
    if method != "__call__" or kwargs:
        raise InputError(f"numpy.{ufunc}.{method} is not covered" if not kwargs else f"numpy.{ufunc} with {next(iter(kwargs))}")
    kinds = {x.kind for x in inputs}
    if name == "matmul":
        return operations.matmul(*inputs)
    if name in ("power", "float_power"):
        return _power(*inputs)
    if name == "divide" and "float" not in kinds:
        raise InputError("a quotient of integers is not covered: cast one to floats")
    if name in ("floor_divide", "remainder") and "float" not in kinds:
        return apply("integer_quotient" if name == "floor_divide" else "integer_remainder", *inputs)
    if name in LOGIC and (kinds == {"bool"} or ufunc.startswith("logical")):
        return apply(name, *inputs)
    if ufunc == "bitwise_and" and "float" not in kinds:
        return bits.masked(*inputs)
    if ufunc == "invert" and "float" not in kinds:
        return apply("subtract", inputs[0].trace.constant(-1), inputs[0])
    if ufunc == "right_shift":
        return bits.shifted_right(*inputs)
    if ufunc == "heaviside":
        return networks.choose(inputs[0], "greater", 0, 1.0, networks.choose(inputs[0], "equal", 0, inputs[1], 0.0))
    if ufunc in ("deg2rad", "radians", "rad2deg", "degrees"):
        factor = math.pi / 180 if ufunc in ("deg2rad", "radians") else 180 / math.pi
        return networks.multiply(inputs[0], factor)
    if name in PRIMITIVES and name not in _NOT_HERE:
        return apply(name, *inputs)
    raise InputError(f"numpy.{ufunc} is not covered")


def _power(x: Symbolic, exponent: Symbolic) -> Symbolic:
    if exponent.ndim or any(c not in "0123456789.-() " for c in exponent.at(())):
        raise InputError("numpy.power with an exponent that depends on data is not covered")
    number = float(exponent.at(()).strip("()"))
    return power(x, int(number) if exponent.kind != "float" else number)


def _reduce(name: str, a: Symbolic, axis: Any = None, keepdims: bool = False, **more: Any) -> Symbolic:
    used = [k for k, v in more.items() if v is not None]
    if used:
        raise InputError(f"numpy.{name} with {used[0]} is not covered")
    return operations.reduce(name, a, axis, keepdims)


def _any_or_all(is_any: bool, a: Symbolic, axis: Any = None, keepdims: bool = False, **_: Any) -> Symbolic:
    return truth(operations.reduce("max" if is_any else "min", truth(a), axis, keepdims))


def _getitem(a: Symbolic, key: Any) -> Symbolic:
    keys = _keys(a, key)
    if sum(k is Ellipsis for k in keys) > 1:
        raise InputError("an index has one `...` at most")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (a.ndim - used)
    if used > a.ndim:
        raise InputError(f"an index of {used} places into {a.ndim} dimensions")
    arrays: list[Symbolic | None] = []
    axis = 0
    for k in keys:
        if k is None:
            a = operations.expand_dims(a, axis)
        elif isinstance(k, slice):
            a = operations.take_slice(a, axis, k.start, k.stop, k.step)
        elif isinstance(k, Symbolic):
            if k.kind == "bool":
                raise InputError("a mask as an index is not covered: use numpy.where")
            arrays += [None] * (axis - len(arrays)) + [k]
        elif isinstance(k, bool) or not hasattr(k, "__index__"):
            raise InputError(f"an index {k!r} is not covered")
        else:
            a = operations.select(a, axis, operator.index(k))
            continue
        axis += 1
    return operations.gather(a, arrays) if arrays else a


def _is_plain(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return all(k is None or k is Ellipsis or isinstance(k, (int, slice, np.integer)) for k in keys)


def _keys(a: Symbolic, key: Any) -> list[Any]:
    """An index as a list: arrays of integers as values, known masks as the places where they are true."""
    out: list[Any] = []
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, NumpyArray):
            out.append(k.value)
        elif isinstance(k, (list, np.ndarray)) and np.asarray(k).ndim:
            known = np.asarray(k)
            out += [a.trace.constant(p) for p in (known.nonzero() if known.dtype.kind == "b" else (known,))]
        else:
            out.append(k)
    if any(isinstance(k, Symbolic) for k in out):
        # A number among arrays is an array.
        out = [a.trace.constant(operator.index(k)) if isinstance(k, (int, np.integer)) else k for k in out]
    return out


def written(a: Symbolic, key: Any, value: Symbolic) -> Symbolic:
    """An array with a value at an index."""
    # An array keeps its type.
    value = cast(value, "int" if a.kind == "rounded" else a.kind)
    keys = _keys(a, key)
    masks = [k for k in keys if isinstance(k, Symbolic) and k.kind == "bool"]
    if masks:
        if len(keys) != 1 or value.ndim:
            raise InputError("a write by a mask is one of a number: use numpy.where")
        wide = operations.reshape(masks[0], (*masks[0].shape, *(1,) * (a.ndim - masks[0].ndim)))
        return where(wide, value, a)
    if any(isinstance(k, Symbolic) for k in keys):
        if any(not isinstance(k, Symbolic) and k != slice(None) for k in keys):
            raise InputError("a write by arrays and slices is not covered")
        places = [k if isinstance(k, Symbolic) else None for k in keys]
        return aten_places.index_put(a.trace, a, places, value)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys[at : at + 1] = [slice(None)] * (a.ndim - used)
    shape, ranges, rest = [], [], iter(a.shape)
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        n = next(rest)
        if isinstance(k, slice):
            ranges.append(range(n)[k])
            shape.append(len(ranges[-1]))
        else:
            if not -n <= operator.index(k) < n:
                raise InputError(f"index {k} of a dimension of size {n}")
            ranges.append(range(operator.index(k) % n, operator.index(k) % n + 1))
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = operations.squeeze(value, 0)
    part = operations.reshape(broadcast(value, tuple(shape)), [len(r) for r in ranges])
    return operations.scatter_box(a, part.short(), ranges).short()


Found = Callable[..., Any]


def _on_arrays(f: Callable[..., Symbolic]) -> Found:
    """A function of the table as one of NumPy: its first argument is the array."""

    def call(a: NumpyArray, *args: Any, **kwargs: Any) -> NumpyArray:
        plain = [x.value if isinstance(x, NumpyArray) else x for x in args]
        return NumpyArray(f(a.value, *plain, **kwargs))

    return call


def _trace_of(values: Sequence[Any]) -> Trace:
    return next(v for v in values if isinstance(v, NumpyArray)).value.trace


def _many(values: Sequence[Any]) -> list[Symbolic]:
    trace = _trace_of(values)
    return [v.value if isinstance(v, NumpyArray) else operand(trace, v) for v in values]


def _reducer(name: str) -> Found:
    def call(a: NumpyArray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> NumpyArray:
        if out is not None:
            raise InputError(f"numpy.{name} with out is not covered")
        more = {k: v for k, v in more.items() if type(v).__name__ != "_NoValueType"}
        return NumpyArray(_reduce(name, a.value, axis, keepdims is True, **more))

    return call


def _extreme(name: str) -> Found:
    reduce = _reducer(name)
    return lambda a, axis=None, out=None, keepdims=False, **more: reduce(a, axis, None, out, keepdims, **more)


def _arg_extreme(name: str) -> Found:
    def call(a: NumpyArray, axis: Any = None, out: Any = None, keepdims: Any = False) -> NumpyArray:
        if out is not None:
            raise InputError(f"numpy.arg{name} with out is not covered")
        return NumpyArray(operations.arg_extreme(name, a.value, axis, keepdims is True))

    return call


def _spread(is_deviation: bool) -> Found:
    def call(
        a: NumpyArray, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **_: Any
    ) -> NumpyArray:
        found = operations.variance(a.value, axis, keepdims is True, ddof)
        return NumpyArray(apply("sqrt", found) if is_deviation else found)

    return call


def _where(condition: Any, x: Any, y: Any) -> NumpyArray:
    c, *values = _many([condition, x, y])
    if c.kind != "bool":
        raise InputError("numpy.where takes a comparison")
    return NumpyArray(where(c, *values))


def _joined(f: Callable[..., Symbolic]) -> Found:
    return lambda arrays, axis=0: NumpyArray(f(_many(arrays), axis))


def _clip(a: NumpyArray, a_min: Any = None, a_max: Any = None, **more: Any) -> NumpyArray:
    low, high = more.pop("min", a_min), more.pop("max", a_max)
    used = [k for k, v in more.items() if v is not None]
    if used:
        raise InputError(f"numpy.clip with {used[0]} is not covered")
    bounds = [None if b is None else _value(a, b) for b in (low, high)]
    return NumpyArray(networks.clamp(a.value, *bounds))


def _cumulative(name: str) -> Found:
    def call(a: NumpyArray, axis: Any = None, **_: Any) -> NumpyArray:
        source = a.value if axis is not None else operations.reshape(a.value, (a.size,))
        return NumpyArray(operations.cumulative(name, source, 0 if axis is None else axis))

    return call


def _like(value: float | None) -> Found:
    def full(a: NumpyArray, fill: Any = None, **_: Any) -> NumpyArray:
        number = fill if value is None else value
        kind = a.value.kind
        given: Any = {"float": float, "int": int, "rounded": int, "bool": bool}[kind](number)
        return NumpyArray(broadcast(operand(a.value.trace, given), a.shape))

    return full


def _reshape(a: NumpyArray, shape: Any, order: str = "C", **more: Any) -> NumpyArray:
    if order != "C" or any(v is not None for v in more.values()):
        raise InputError(f"numpy.reshape with {next(iter(more), 'order')} is not covered")
    return NumpyArray(operations.reshape(a.value, [shape] if isinstance(shape, int) else shape))


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False, **more: Any) -> NumpyArray:
    if more or not isinstance(subscripts, str):
        raise InputError("numpy.einsum takes its subscripts as a text")
    return NumpyArray(operations.einsum(subscripts, _many(operands)))


def _matmul(a: Any, b: Any, **_: Any) -> NumpyArray:
    x, y = _many([a, b])
    if 0 in (x.ndim, y.ndim):
        return NumpyArray(apply("multiply", x, y))
    if y.ndim > 2:
        raise InputError("numpy.dot of arrays of more than two dimensions is not covered")
    return NumpyArray(operations.matmul(x, y))


def _transpose(a: Symbolic, axes: Any = None) -> Symbolic:
    return operations.permute(a, tuple(reversed(range(a.ndim))) if axes is None else axes)


def _tile(a: Symbolic, times: Any) -> Symbolic:
    given = [times] if isinstance(times, int) else list(times)
    return operations.tile(a, [1] * (a.ndim - len(given)) + given)


def _repeat(a: Symbolic, repeats: Any, axis: Any = None) -> Symbolic:
    source = a if axis is not None else operations.reshape(a, (a.size,))
    (at,) = operations.axes_of(0 if axis is None else axis, source.ndim)
    wide = operations.expand_dims(source, at + 1)
    shape = list(wide.shape)
    shape[at + 1] = operator.index(repeats)
    out = list(source.shape)
    out[at] *= shape[at + 1]
    return operations.reshape(broadcast(wide, tuple(shape)), out)


def _roll(a: Symbolic, shift: Any, axis: Any = None) -> Symbolic:
    if axis is None:
        return operations.reshape(operations.roll(operations.reshape(a, (a.size,)), shift, 0), a.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for by, at in zip(shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes), axes):
        a = operations.roll(a, operator.index(by), at)
    return a


def _pad(a: NumpyArray, amounts: Any, mode: str = "constant", constant_values: Any = 0) -> NumpyArray:
    pairs = [(int(p), int(q)) for p, q in np.broadcast_to(np.asarray(amounts), (a.ndim, 2))]
    if mode == "constant":
        return NumpyArray(operations.pad(a.value, pairs, operand(a.value.trace, constant_values)))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise InputError(f"numpy.pad with the mode {mode} is not covered")
    out = a.value
    for axis, (pair, n) in enumerate(zip(pairs, a.shape)):
        places = np.pad(np.arange(n), pair, mode=mode)  # type: ignore[call-overload]
        out = operations.gather(out, [None] * axis + [out.trace.constant(places)])
    return NumpyArray(out)


def _take_along(a: NumpyArray, places: Any, axis: int) -> NumpyArray:
    (at,) = operations.axes_of(axis, a.ndim)
    found = _value(a, places)
    shape = [n if i == at else m for i, (m, n) in enumerate(zip(a.shape, found.shape))]
    wide = found if found.shape == tuple(shape) else broadcast(found, tuple(shape))
    return NumpyArray(operations.along(a.value, at, wide))


def _sort(a: NumpyArray, axis: int = -1, **_: Any) -> NumpyArray:
    return NumpyArray(aten_places.in_order(a.value, a.shape[axis], axis, False)[0])


#: Functions whose result shares its elements with their argument.
_VIEWS = frozenset(
    (
        *("reshape", "ravel", "transpose", "permute_dims", "swapaxes", "moveaxis", "expand_dims", "squeeze", "flip", "diagonal"),
        *("broadcast_to", "split", "array_split", "rot90", "fliplr", "flipud", "atleast_1d", "atleast_2d"),
    )
)
_FUNCTIONS: dict[str, Found] = {
    **{n: _reducer(n) for n in ("sum", "prod", "mean")},
    **{n: _extreme(n) for n in ("max", "min")},
    "amax": _extreme("max"),
    "amin": _extreme("min"),
    "any": _on_arrays(lambda a, axis=None, keepdims=False, **_: _any_or_all(True, a, axis, keepdims is True)),
    "all": _on_arrays(lambda a, axis=None, keepdims=False, **_: _any_or_all(False, a, axis, keepdims is True)),
    "var": _spread(False),
    "std": _spread(True),
    "argmax": _arg_extreme("max"),
    "argmin": _arg_extreme("min"),
    "where": _where,
    "concatenate": _joined(operations.concatenate),
    "stack": _joined(operations.stack),
    "einsum": _einsum,
    "dot": _matmul,
    "outer": lambda a, b: NumpyArray(operations.einsum("i,j->ij", [operations.reshape(x, (x.size,)) for x in _many([a, b])])),
    "cumsum": _cumulative("sum"),
    "cumprod": _cumulative("prod"),
    "pad": _pad,
    "take_along_axis": _take_along,
    "sort": _sort,
    "clip": _clip,
    "reshape": _reshape,
    "ravel": lambda a: _reshape(a, (-1,)),
    "transpose": _on_arrays(_transpose),
    "permute_dims": _on_arrays(_transpose),
    "swapaxes": _on_arrays(operations.swap_axes),
    "moveaxis": _on_arrays(lambda a, source, target: _moved(a, source, target)),
    "expand_dims": _on_arrays(operations.expand_dims),
    "squeeze": _on_arrays(operations.squeeze),
    "flip": _on_arrays(lambda a, axis=None: operations.flip(a, axis)),
    "roll": _on_arrays(_roll),
    "tile": _on_arrays(_tile),
    "repeat": _on_arrays(_repeat),
    "tril": _on_arrays(lambda a, k=0: operations.triangle(a, k, True)),
    "triu": _on_arrays(lambda a, k=0: operations.triangle(a, k, False)),
    "diagonal": _on_arrays(lambda a, offset=0, axis1=0, axis2=1: operations.diagonal(a, offset, axis1, axis2)),
    "broadcast_to": _on_arrays(lambda a, shape, **_: broadcast(a, tuple(shape))),
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "full_like": _like(None),
    "copy": _on_arrays(lambda a, **_: a),
    "flatten": _on_arrays(lambda a: operations.reshape(a, (a.size,))),
    "empty_like": lambda a, **_: unwritten(a.value.trace, a.shape),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size if isinstance(a, NumpyArray) else math.prod(np.shape(a)),
}
_METHODS = frozenset(
    (
        *("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin", "dot", "cumsum", "cumprod"),
        *("ravel", "swapaxes", "squeeze", "repeat", "diagonal", "copy", "clip", "round", "trace", "take"),
        *("flatten",),
    )
)


def _moved(a: Symbolic, source: int, target: int) -> Symbolic:
    (p,), (q,) = operations.axes_of(source, a.ndim), operations.axes_of(target, a.ndim)
    order = [i for i in range(a.ndim) if i != p]
    order.insert(q, p)
    return operations.permute(a, order)


def unwritten(trace: Trace, shape: tuple[int, ...]) -> NumpyArray:
    """Elements that have no value until they are written."""
    return NumpyArray(Symbolic(trace, shape, lambda _: "(0.0 / 0.0)", "float", 1))
