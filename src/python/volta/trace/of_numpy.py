"""NumPy functions: arrays that stand in for real ones take NumPy's operations through its protocols."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import aten_places, lookups, networks, numpy_places, numpy_views, operations
from .elementwise import apply, as_integer, broadcast, cast, operand, truth, where
from .numpy_composed import COMPOSED
from .numpy_samples import SAMPLES
from .numpy_types import KINDS, LARGE, converted, said, settled, stand_in
from .numpy_ufuncs import BITS, PAIRS, PRODUCTS, any_or_all, called, reduced
from .symbolic import NOTHING, Symbolic, Trace


class NumpyArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a function that is traced."""

    __array_priority__ = 1000

    def __init__(
        self, value: Symbolic, dtype: Any = None, base: NumpyArray | None = None, key: Any = None, only_read: str = ""
    ) -> None:
        self._value, self._base, self._key = value, base, key
        #: As of a real array. A value that is not finished yet has the widest of its kind.
        self.dtype = np.dtype(dtype or {"float": np.float64, "bool": np.bool_}.get(value.kind, np.int64))
        #: Why it must not be written, if so.
        self._only_read = only_read
        self._stale = False
        #: What the base held when this was read, and what that was.
        self._part: tuple[Symbolic, Symbolic] | None = None
        self._source: NumpyArray | None = base
        self._views: list[weakref.ref[NumpyArray]] = []

    @property
    def value(self) -> Symbolic:
        """What it holds now. A part of an array that was taken by an index is what the array holds there."""
        if self._stale:
            raise InputError("a view of an array that was written later is not covered: take it again")
        if self._base is None:
            return self._value
        whole = self._base.value
        if self._part is None or self._part[0] is not whole:
            self._part = whole, numpy_places.read(whole, self._key)
        return self._part[1]

    def looked_at(self, value: Symbolic) -> NumpyArray:
        """Another view of what it holds: it goes stale where this is written, and cannot be written itself."""
        out = NumpyArray(value, self.dtype, only_read="a write to a view (a transposed or reshaped array) is not covered")
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
            self._base[self._key] = NumpyArray(value, self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        # An array keeps its type.
        new = converted(_value(self, value), self.dtype)
        self._write(converted(numpy_places.written(self.value, _places(key), new), self.dtype))

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

    def __index__(self) -> int:
        raise InputError("a traced function has no values: a size or a bound of a slice that depends on data is not possible")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise InputError("a traced array has no values: this NumPy operation is not covered")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target = kwargs.pop("out", (None,))[0]
        name = ufunc.__name__
        if name == "conjugate":
            return self
        if target is not None and not isinstance(target, NumpyArray):
            raise InputError(f"numpy.{name} writes to an array that was made before")
        if name in PAIRS and method == "__call__" and not kwargs and target is None:
            return tuple(f(*inputs) for f in PAIRS[name])
        if name in ("left_shift", "right_shift"):
            # A shift by a number that is not known depends on the width of its type.
            width = said(name, getattr(ufunc, method), stood(inputs, False), {}).dtype.itemsize * 8
            found = BITS[name](*(_value(self, x) for x in inputs), width)
        else:
            found = called(name, method, [_value(self, x) for x in inputs], kwargs)
        is_whole = name not in PRODUCTS and _is_small(found, *inputs)
        expected = said(name, getattr(ufunc, method), stood(inputs, is_whole), stood(kwargs, is_whole))
        return _into(target, name, NumpyArray(settled(name, found, expected, is_whole), expected.dtype))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = f"linalg.{func.__name__}" if func.__module__ == "numpy.linalg" else func.__name__
        found = _FUNCTIONS.get(name) or COMPOSED.get(name) or SAMPLES.get(name)
        if found is None:
            raise InputError(f"numpy.{name} is not covered")
        target = kwargs.get("out")
        given = {k: v for k, v in kwargs.items() if k != "out"}
        try:
            out = found(*args, **given)
        except InputError as e:
            raise InputError(str(e) if "numpy." in str(e) else f"numpy.{name}: {e}") from e
        except (TypeError, AttributeError, KeyError, ValueError, IndexError) as e:
            raise InputError(f"numpy.{name} with these arguments is not covered: {e}") from e
        if name not in _OF_CALLS:
            is_whole = name not in _PRODUCTS and (name in _VIEWS or _is_small(out, *args, *given.values()))
            if name in _SELECTIONS and not is_whole:
                expected = stand_in((1,), args[0].dtype)
            else:
                expected = said(name, func, stood(args, is_whole), stood(given, is_whole))
            out = _as_numpy_says(name, out, expected, is_whole)
        if name in _VIEWS and isinstance(args[0], NumpyArray) and isinstance(out, NumpyArray):
            out = args[0].looked_at(out.value)
        return _into(target, name, out)

    def __getitem__(self, key: Any) -> NumpyArray:
        found = numpy_places.read(self.value, _places(key))
        if numpy_places.is_plain(key):
            return NumpyArray(found, self.dtype, self, key, self._only_read)
        return NumpyArray(found, self.dtype)

    def reshape(self, *shape: Any) -> Any:
        """As `numpy.reshape`."""
        return self.looked_at(_reshape(self, shape[0] if len(shape) == 1 else shape).value)

    def transpose(self, *axes: Any) -> Any:
        """As `numpy.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.looked_at(numpy_views.transpose(self.value, given or None))

    def astype(self, dtype: Any, **_: Any) -> NumpyArray:
        """A cast: to integers towards zero, between floats nothing over the reals."""
        return NumpyArray(converted(self.value, np.dtype(dtype)), dtype)

    def flatten(self) -> NumpyArray:
        """A copy of one dimension."""
        return NumpyArray(operations.reshape(self.value, (self.size,)), self.dtype)

    def __getattr__(self, name: str) -> Any:
        # Methods that NumPy has as functions too.
        if name in _METHODS:
            found = getattr(np, name, _FUNCTIONS.get(name))
            return lambda *args, **kwargs: found(self, *args, **kwargs)  # type: ignore[misc]
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError(f"numpy.ndarray.{name} is not covered")


def _is_small(*values: Any) -> bool:
    """Whether arrays are such that NumPy may be asked about all of them; of larger ones it is asked about one element."""
    arrays = (NumpyArray, Symbolic, np.ndarray)
    return all(_is_small(*v) if isinstance(v, (list, tuple)) else not isinstance(v, arrays) or v.size <= LARGE for v in values)


def _value(like: NumpyArray, x: Any) -> Symbolic:
    return x.value if isinstance(x, NumpyArray) else operand(like.value.trace, x)


def _places(key: Any) -> Any:
    """An index with values in the place of traced arrays."""
    if isinstance(key, tuple):
        return tuple(_places(k) for k in key)
    return key.value if isinstance(key, NumpyArray) else key


def stood(given: Any, is_whole: bool = True) -> Any:
    """Arguments with stand-ins for arrays; where that is not to be whole, of one element, since products take their time."""
    if isinstance(given, NumpyArray):
        return stand_in(given.shape if is_whole else (1,) * given.ndim, given.dtype)
    if isinstance(given, np.ndarray) and not is_whole:
        return stand_in((1,) * given.ndim, given.dtype)
    if isinstance(given, (list, tuple)):
        return type(given)(stood(x, is_whole) for x in given)
    return {k: stood(v, is_whole) for k, v in given.items()} if isinstance(given, dict) else given


def _as_numpy_says(name: str, out: Any, expected: Any, is_whole: bool) -> Any:
    """A result of a function with the shapes and types that NumPy gives its arrays."""
    if isinstance(out, (list, tuple)):
        if len(out) != len(expected):
            raise InputError(f"numpy.{name} gives {len(expected)} arrays, and its formula {len(out)}: this is a bug of volta")
        return type(out)(_as_numpy_says(name, o, e, is_whole) for o, e in zip(out, expected))
    if not isinstance(out, NumpyArray):
        return out
    value = settled(name, out.value, np.asarray(expected), is_whole)
    # A view stays one.
    same = out.dtype == expected.dtype and value.kind == out.value.kind
    return out if (same and value is out.value) or out._base is not None else NumpyArray(value, expected.dtype)


def _into(target: Any, name: str, out: Any) -> Any:
    """A result, or the array that it is to be written to."""
    if target is None:
        return out
    if not isinstance(target, NumpyArray) or not np.can_cast(out.dtype, target.dtype, "same_kind"):
        held = getattr(target, "dtype", type(target).__name__)
        raise InputError(f"numpy.{name} gives {out.dtype}, which is not written to an out of {held}: cast it")
    target[...] = out
    return target


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


def _kept(keepdims: Any) -> bool:
    return type(keepdims).__name__ != "_NoValueType" and bool(keepdims)


def _cast(a: NumpyArray, dtype: Any) -> Symbolic:
    return a.value if dtype is None else converted(a.value, np.dtype(dtype))


def _reducer(name: str) -> Found:
    def call(
        a: NumpyArray, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, **more: Any
    ) -> NumpyArray:
        more = {k: v for k, v in {**more, "out": out}.items() if type(v).__name__ != "_NoValueType"}
        source = _cast(a, dtype)
        source = cast(source, "float") if name == "mean" else source
        return NumpyArray(reduced(name, source, axis, _kept(keepdims), **more))

    return call


def _extreme(name: str) -> Found:
    reduce = _reducer(name)
    return lambda a, axis=None, out=None, keepdims=False, **more: reduce(a, axis, None, out, keepdims, **more)


def _quantifier(is_any: bool) -> Found:
    def call(a: NumpyArray, axis: Any = None, out: None = None, keepdims: Any = False) -> NumpyArray:
        if out is not None:
            raise InputError("numpy.any and numpy.all take out by its name")
        return NumpyArray(any_or_all(is_any, a.value, axis, _kept(keepdims)))

    return call


def _arg_extreme(name: str) -> Found:
    def call(a: NumpyArray, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> NumpyArray:
        if out is not None:
            raise InputError(f"numpy.arg{name} with out is not covered")
        return NumpyArray(operations.arg_extreme(name, a.value, axis, _kept(keepdims)))

    return call


def _spread(is_deviation: bool) -> Found:
    def call(
        a: NumpyArray,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        correction: float = 0,
    ) -> NumpyArray:
        if out is not None:
            raise InputError("numpy.var and numpy.std take out by its name")
        found = operations.variance(cast(_cast(a, dtype), "float"), axis, _kept(keepdims), ddof or correction)
        return NumpyArray(apply("sqrt", found) if is_deviation else found)

    return call


def _where(condition: Any, x: Any, y: Any) -> NumpyArray:
    c, *values = _many([condition, x, y])
    return NumpyArray(where(truth(c), *values))


def _concatenate(arrays: Any, axis: int | None = 0) -> NumpyArray:
    parts = _many(arrays)
    if axis is None:
        parts, axis = [operations.reshape(p, (p.size,)) for p in parts], 0
    return NumpyArray(operations.concatenate(parts, axis))


def _clip(a: NumpyArray, a_min: Any = None, a_max: Any = None, **more: Any) -> NumpyArray:
    low, high = more.pop("min", a_min), more.pop("max", a_max)
    used = [k for k, v in more.items() if v is not None]
    if used:
        raise InputError(f"numpy.clip with {used[0]} is not covered")
    bounds = [None if b is None else _value(a, b) for b in (low, high)]
    return NumpyArray(networks.clamp(a.value, *bounds))


def _cumulative(name: str) -> Found:
    def call(a: NumpyArray, axis: Any = None, dtype: Any = None) -> NumpyArray:
        source = _cast(a, dtype)
        source = source if axis is not None else operations.reshape(source, (a.size,))
        return NumpyArray(operations.cumulative(name, source, 0 if axis is None else axis))

    return call


def _like(a: NumpyArray, dtype: Any, shape: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The type and the shape of an array that is like another."""
    sizes = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return np.dtype(dtype or a.dtype), sizes


def _full_like(
    a: NumpyArray, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> NumpyArray:
    kind, sizes = _like(a, dtype, shape)
    return NumpyArray(broadcast(converted(_value(a, fill_value), kind), sizes))


def _ones_like(value: int) -> Found:
    return lambda a, *args, **kwargs: _full_like(a, value, *args, **kwargs)


def _empty_like(a: NumpyArray, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> NumpyArray:
    kind, sizes = _like(a, dtype, shape)
    return unwritten(a.value.trace, sizes, kind)


def _reshape(a: NumpyArray, shape: Any, order: str = "C", **more: Any) -> NumpyArray:
    if order != "C" or any(v is not None for v in more.values()):
        raise InputError(f"numpy.reshape with {next(iter(more), 'order')} is not covered")
    return NumpyArray(operations.reshape(a.value, [shape] if isinstance(shape, int) else shape))


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False, **more: Any) -> NumpyArray:
    if more or not isinstance(subscripts, str):
        raise InputError("numpy.einsum takes its subscripts as a text")
    return NumpyArray(operations.einsum(subscripts, _many(operands)))


def _matmul(a: Any, b: Any) -> NumpyArray:
    x, y = _many([a, b])
    if 0 in (x.ndim, y.ndim):
        return NumpyArray(apply("multiply", x, y))
    if y.ndim > 2:
        letters = "abcdefghijklmnopqrstuvwxyz"
        left, right = letters[: x.ndim - 1], letters[x.ndim - 1 : x.ndim + y.ndim - 2]
        return NumpyArray(operations.einsum(f"{left}z,{right[:-1]}z{right[-1]}->{left}{right}", [x, y]))
    return NumpyArray(operations.matmul(x, y))


def _pad(a: NumpyArray, amounts: Any, mode: str = "constant", constant_values: Any = 0) -> NumpyArray:
    pairs = [(int(p), int(q)) for p, q in np.broadcast_to(np.asarray(amounts), (a.ndim, 2))]
    if mode == "constant":
        if np.ndim(constant_values):
            raise InputError("numpy.pad with several constant_values is not covered")
        return NumpyArray(operations.pad(a.value, pairs, converted(_value(a, constant_values), a.dtype)))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise InputError(f"numpy.pad with the mode {mode} is not covered")
    out = a.value
    for axis, (pair, n) in enumerate(zip(pairs, a.shape)):
        places = np.pad(np.arange(n), pair, mode=mode)  # type: ignore[call-overload]
        out = lookups.gather(out, [None] * axis + [out.trace.constant(places)])
    return NumpyArray(out)


def _take_along(a: NumpyArray, places: Any, axis: int) -> NumpyArray:
    (at,) = operations.axes_of(axis, a.ndim)
    found = _value(a, places)
    shape = [n if i == at else m for i, (m, n) in enumerate(zip(a.shape, found.shape))]
    wide = found if found.shape == tuple(shape) else broadcast(found, tuple(shape))
    return NumpyArray(lookups.along(a.value, at, wide))


def _sort(a: NumpyArray, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> NumpyArray:
    source = a.value if axis is not None else operations.reshape(a.value, (a.size,))
    at = -1 if axis is None else axis
    found = aten_places.in_order(source, source.shape[at], at, False)[0]
    return NumpyArray(found if KINDS[a.dtype.kind] == "float" else as_integer(found))


def _argsort(a: NumpyArray, axis: int | None = -1, kind: Any = None, order: None = None, *, stable: Any = None) -> NumpyArray:
    """The places of a stable sort, which NumPy's other sorts agree with but for equal elements, of which they say nothing."""
    source = a.value if axis is not None else operations.reshape(a.value, (a.size,))
    return NumpyArray(lookups.order(source, -1 if axis is None else axis, False))


#: Functions that give elements of their argument at places.
_SELECTIONS = frozenset(("take", "take_along_axis", "insert", "delete"))

#: Functions that call a function: its own arrays are no stand-ins.
_OF_CALLS = frozenset(("apply_along_axis",))

#: Functions that multiply every element with many others.
_PRODUCTS = frozenset(
    (
        *("dot", "einsum", "tensordot", "inner", "vdot", "outer", "kron", "linalg.multi_dot", "linalg.outer"),
        *("linalg.matmul", "linalg.tensordot", "convolve", "correlate"),
    )
)

#: Functions whose result shares its elements with their argument.
_VIEWS = frozenset(
    (
        *("reshape", "ravel", "transpose", "permute_dims", "swapaxes", "moveaxis", "expand_dims", "squeeze", "flip", "diagonal"),
        *(
            "broadcast_to",
            "split",
            "array_split",
            "rot90",
            "fliplr",
            "flipud",
            "atleast_1d",
            "atleast_2d",
            "linalg.diagonal",
            "sliding_window_view",
        ),
    )
)
_FUNCTIONS: dict[str, Found] = {
    **{n: _reducer(n) for n in ("sum", "prod", "mean")},
    **{n: _extreme(n) for n in ("max", "min")},
    "amax": _extreme("max"),
    "amin": _extreme("min"),
    "any": _quantifier(True),
    "all": _quantifier(False),
    "var": _spread(False),
    "std": _spread(True),
    "argmax": _arg_extreme("max"),
    "argmin": _arg_extreme("min"),
    "where": _where,
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0: NumpyArray(operations.stack(_many(arrays), axis)),
    "einsum": _einsum,
    "dot": _matmul,
    "linalg.matmul": _matmul,
    "outer": lambda a, b: NumpyArray(operations.einsum("i,j->ij", [operations.reshape(x, (x.size,)) for x in _many([a, b])])),
    "cumsum": _cumulative("sum"),
    "cumprod": _cumulative("prod"),
    "pad": _pad,
    "take_along_axis": _take_along,
    "sort": _sort,
    "argsort": _argsort,
    "clip": _clip,
    "reshape": _reshape,
    "ravel": lambda a: _reshape(a, (-1,)),
    "transpose": _on_arrays(numpy_views.transpose),
    "permute_dims": _on_arrays(numpy_views.transpose),
    "swapaxes": _on_arrays(operations.swap_axes),
    "moveaxis": _on_arrays(lambda a, source, destination: numpy_views.moved(a, source, destination)),
    "expand_dims": _on_arrays(operations.expand_dims),
    "squeeze": _on_arrays(operations.squeeze),
    "flip": _on_arrays(lambda a, axis=None: operations.flip(a, axis)),
    "roll": _on_arrays(numpy_views.roll),
    "tile": _on_arrays(numpy_views.tile),
    "repeat": _on_arrays(numpy_views.repeat),
    "tril": _on_arrays(lambda a, k=0: operations.triangle(numpy_views.square(a), k, True)),
    "triu": _on_arrays(lambda a, k=0: operations.triangle(numpy_views.square(a), k, False)),
    "diagonal": _on_arrays(lambda a, offset=0, axis1=0, axis2=1: operations.diagonal(a, offset, axis1, axis2)),
    "linalg.diagonal": _on_arrays(lambda a, /, *, offset=0: operations.diagonal(a, offset, -2, -1)),
    "broadcast_to": _on_arrays(lambda a, shape, subok=False: broadcast(a, (shape,) if isinstance(shape, int) else tuple(shape))),
    "zeros_like": _ones_like(0),
    "ones_like": _ones_like(1),
    "full_like": _full_like,
    "copy": _on_arrays(lambda a, order="K", subok=False: a),
    "empty_like": _empty_like,
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size if isinstance(a, NumpyArray) else math.prod(np.shape(a)),
}
_METHODS = frozenset(
    (
        *("sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "argmax", "argmin", "dot", "cumsum", "cumprod"),
        *(
            "ravel",
            "swapaxes",
            "squeeze",
            "repeat",
            "diagonal",
            "copy",
            "clip",
            "round",
            "trace",
            "take",
            "argsort",
            "compress",
            "conj",
            "conjugate",
        ),
    )
)


def unwritten(trace: Trace, shape: tuple[int, ...], dtype: Any) -> NumpyArray:
    """Elements that have no value until they are written."""
    kind = KINDS.get(np.dtype(dtype).kind, "float")
    value = Symbolic(trace, shape, lambda _: NOTHING, "rounded" if kind == "int" else "float", 1)
    return NumpyArray(converted(value, np.dtype(dtype)), dtype)
