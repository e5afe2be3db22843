"""NumPy functions: arrays that stand in for real ones take NumPy's operations through its protocols."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import networks, operations
from .elementwise import LOGIC, PRIMITIVES, apply, broadcast, cast, operand, power, truth, where
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

    def __init__(self, value: Symbolic) -> None:
        self.value = value

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
        return NumpyArray(operations.permute(self.value, tuple(reversed(range(self.ndim)))))

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        raise InputError("a traced function cannot branch on data: use where")

    def __float__(self) -> float:
        raise InputError("a traced function has no values: float(...) of an array is not possible")

    def __int__(self) -> int:
        raise InputError("a traced function has no values: int(...) of an array is not possible")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise InputError("a traced array has no values: this NumPy operation is not covered")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NumpyArray(_ufunc(ufunc.__name__, method, [_value(self, x) for x in inputs], kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = _FUNCTIONS.get(func.__name__)
        if found is None:
            raise InputError(f"numpy.{func.__name__} is not covered")
        try:
            return found(*args, **kwargs)
        except TypeError as e:
            raise InputError(f"numpy.{func.__name__} with these arguments is not covered: {e}") from e

    def __getitem__(self, key: Any) -> NumpyArray:
        return NumpyArray(_getitem(self.value, key))

    def reshape(self, *shape: Any) -> Any:
        """As `numpy.reshape`."""
        return _FUNCTIONS["reshape"](self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _FUNCTIONS["transpose"](self, given or None)

    def astype(self, dtype: Any, **_: Any) -> NumpyArray:
        """A cast: to integers towards zero, between floats nothing over the reals."""
        kinds: dict[str, Kind] = {"f": "float", "i": "int", "u": "int", "b": "bool"}
        kind = kinds.get(np.dtype(dtype).kind)
        if kind is None:
            raise InputError(f"a cast to {dtype} is not covered")
        return NumpyArray(cast(self.value, kind))

    def __getattr__(self, name: str) -> Any:
        # Methods that NumPy has as functions too.
        if name in _METHODS:
            return lambda *args, **kwargs: _FUNCTIONS[name](self, *args, **kwargs)
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
    keys = list(key) if isinstance(key, tuple) else [key]
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
        elif isinstance(k, NumpyArray):
            arrays += [None] * (axis - len(arrays)) + [k.value]
        elif isinstance(k, bool) or not hasattr(k, "__index__"):
            raise InputError(f"an index {k!r} is not covered")
        elif any(isinstance(o, NumpyArray) for o in keys):
            raise InputError("an index that mixes arrays and numbers is not covered")
        else:
            a = operations.select(a, axis, operator.index(k))
            continue
        axis += 1
    return operations.gather(a, arrays) if arrays else a


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


def _clip(a: NumpyArray, low: Any = None, high: Any = None, **more: Any) -> NumpyArray:
    used = [k for k, v in more.items() if v is not None]
    if used:
        raise InputError(f"numpy.clip with {used[0]} is not covered")
    bounds = [None if b is None else _value(a, b) for b in (low, high)]
    return NumpyArray(networks.clamp(a.value, *bounds))


def _cumsum(a: NumpyArray, axis: Any = None, **_: Any) -> NumpyArray:
    source = a.value if axis is not None else operations.reshape(a.value, (a.size,))
    return NumpyArray(operations.cumulative("sum", source, 0 if axis is None else axis))


def _like(value: float | None) -> Found:
    def full(a: NumpyArray, fill: Any = None, **_: Any) -> NumpyArray:
        number = fill if value is None else value
        kind = a.value.kind
        given = {"float": float, "int": int, "rounded": int, "bool": bool}[kind](number)
        return NumpyArray(broadcast(operand(a.value.trace, given), a.shape))

    return full


def _reshape(a: NumpyArray, shape: Any, order: str = "C", **more: Any) -> NumpyArray:
    if order != "C" or any(v is not None for v in more.values()):
        raise InputError(f"numpy.reshape with {next(iter(more), 'order')} is not covered")
    return NumpyArray(operations.reshape(a.value, [shape] if isinstance(shape, int) else shape))


def _einsum(subscripts: Any, *operands: Any, **more: Any) -> NumpyArray:
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
    return operations.roll(a, operator.index(shift), axis)


_FUNCTIONS: dict[str, Found] = {
    **{n: _reducer(n) for n in ("sum", "prod", "mean")},
    **{n: _extreme(n) for n in ("max", "min")},
    "amax": _extreme("max"),
    "amin": _extreme("min"),
    "any": _on_arrays(lambda a, axis=None, **_: _any_or_all(True, a, axis)),
    "all": _on_arrays(lambda a, axis=None, **_: _any_or_all(False, a, axis)),
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
    "cumsum": _cumsum,
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
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size if isinstance(a, NumpyArray) else math.prod(np.shape(a)),
}
_METHODS = frozenset(
    (
        *("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin", "dot", "cumsum", "clip"),
        *("ravel", "swapaxes", "squeeze", "repeat", "diagonal", "copy"),
    )
)


def _moved(a: Symbolic, source: int, target: int) -> Symbolic:
    (p,), (q,) = operations.axes_of(source, a.ndim), operations.axes_of(target, a.ndim)
    order = [i for i in range(a.ndim) if i != p]
    order.insert(q, p)
    return operations.permute(a, order)


def traced(f: Callable[..., Any], inputs: Sequence[Symbolic], numbers: dict[str, Any]) -> list[Any]:
    """What a function of NumPy arrays returns: arrays, or numbers where it returns such."""
    values = f(*(NumpyArray(x) for x in inputs), **numbers)
    results = list(values) if isinstance(values, (tuple, list)) else [values]
    return [r.value if isinstance(r, NumpyArray) else r for r in results]
