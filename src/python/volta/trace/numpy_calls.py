"""A call of a function of NumPy with arrays that stand in for real ones, which may be written into arrays that it makes."""

from __future__ import annotations

import contextlib
import dis
import functools
import math
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import operations
from .drawn import REFUSAL
from .elementwise import broadcast, operand
from .numpy_types import LARGE, converted, settled
from .of_numpy import NumpyArray, stood, unwritten
from .symbolic import Symbolic, Trace
from .tree import Comparer, chained

#: Packages whose own code is none of a function.
_LIBRARIES = ("numpy", "volta", "torch")

#: What a thread that traces a function has in the place of functions of NumPy, by their names.
_here = threading.local()
_lock = threading.Lock()
_tracing = 0


class _Watched(types.ModuleType):
    """The module of NumPy while a function is traced: a function that names `np.zeros` and its like gets what makes arrays that
    can be written with what is traced. Compiled code that runs inside of that function asks the module as well, and needs
    NumPy's own arrays: there the instruction of the function is a call, and here it is one that takes an attribute."""

    def __getattribute__(self, name: str) -> Any:
        made = getattr(_here, "made", None)
        if made is not None and name in made and _is_named(sys._getframe(1)):
            if made[name] is None:
                raise InputError(f"numpy.{name}: {REFUSAL}")
            return made[name]
        return super().__getattribute__(name)


def _is_named(frame: types.FrameType) -> bool:
    """Whether a function of a user takes an attribute at this moment; what a module does when it is imported is not its."""
    if frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES or frame.f_code.co_name == "<module>":
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


@contextlib.contextmanager
def watched(made: Mapping[str, Any]) -> Iterator[None]:
    """Inside, in this thread, functions that are traced get other things by some of NumPy's names; `None` refuses."""
    global _tracing
    before = getattr(_here, "made", None)
    with _lock:
        _tracing += 1
        np.__class__ = _Watched
    _here.made = {"random": None, **made}
    try:
        yield
    finally:
        _here.made = before
        with _lock:
            _tracing -= 1
            if not _tracing:
                np.__class__ = types.ModuleType


def _makers(trace: Trace) -> dict[str, Callable[..., Any]]:
    """What makes arrays: `zeros` and its like for arrays that can be written with what is traced, `array` and its like for
    lists of it, and all of them for arrays that are too large to have."""

    def shaped(shape: Any) -> tuple[int, ...]:
        return (operator.index(shape),) if hasattr(shape, "__index__") else tuple(operator.index(n) for n in shape)

    def zeros(shape: Any, dtype: Any = float, *_: Any, **__: Any) -> NumpyArray:
        return NumpyArray(broadcast(operand(trace, np.dtype(dtype or float).type(0)), shaped(shape)), dtype or float)

    def empty(shape: Any, dtype: Any = float, *_: Any, **__: Any) -> NumpyArray:
        return unwritten(trace, shaped(shape), dtype or float)

    def ones(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
        return full(shape, 1, dtype or float, *args, **kwargs)

    def full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        sizes, traced = shaped(shape), isinstance(fill_value, NumpyArray)
        if not traced and math.prod(sizes) <= LARGE:
            return np.full(shape, fill_value, dtype, *args, **kwargs)
        value = fill_value.value if traced else operand(trace, fill_value)
        kind = np.dtype(dtype or (fill_value.dtype if traced else np.asarray(fill_value).dtype))
        return NumpyArray(broadcast(converted(value, kind), sizes), kind)

    def tri(rows: int, columns: int | None = None, k: int = 0, dtype: Any = float, *, sign: Comparer = "<=", **more: Any) -> Any:
        shape = (operator.index(rows), operator.index(rows if columns is None else columns))
        if math.prod(shape) <= LARGE:
            return (np.tri if sign == "<=" else np.eye)(*shape, k, dtype, **more)
        there = Symbolic(trace, shape, lambda i: chained(i[1], sign, i[0] + operator.index(k)), "bool", 1)
        return NumpyArray(converted(there, np.dtype(dtype or float)), dtype or float)

    def gathered(original: Callable[..., Any], copies: bool) -> Callable[..., Any]:
        def make(value: Any, *args: Any, **kwargs: Any) -> Any:
            dtype = kwargs.get("dtype", args[0] if args else None)
            if isinstance(value, NumpyArray):
                out = NumpyArray(value.value, value.dtype) if copies else value
                return out if dtype is None else out.astype(dtype)
            if not isinstance(value, (list, tuple)) or not _holds_traced(value):
                return original(value, *args, **kwargs)
            expected = original(stood(value))
            out = NumpyArray(settled("array", _stacked(trace, value), expected), expected.dtype)
            return out if dtype is None else out.astype(dtype)

        return make

    lists = {n: gathered(getattr(np, n), n == "array") for n in ("array", "asarray", "asanyarray", "ascontiguousarray")}
    eye = functools.partial(tri, sign="=")
    return {"zeros": zeros, "empty": empty, "ones": ones, "full": full, "tri": tri, "eye": eye, **lists}


def _stacked(trace: Trace, values: Sequence[Any]) -> Symbolic:
    rows = [_stacked(trace, v) if isinstance(v, (list, tuple)) else v for v in values]
    return operations.stack([r.value if isinstance(r, NumpyArray) else operand(trace, r) for r in rows], 0)


def _holds_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(v, NumpyArray) or (isinstance(v, (list, tuple)) and _holds_traced(v)) for v in values)


def traced(f: Callable[..., Any], inputs: Sequence[tuple[Symbolic, Any]], numbers: dict[str, Any]) -> list[Any]:
    """What a function of NumPy arrays, which come with their types, returns: arrays, or numbers where it returns such."""
    reason = "the function writes to one of its inputs: return what it writes"
    given = [NumpyArray(x, dtype, only_read=reason) for x, dtype in inputs]
    with watched(_makers(inputs[0][0].trace if inputs else Trace())):
        values = f(*given, **numbers)
    results = list(values) if isinstance(values, (tuple, list)) else [values]
    return [r.value if isinstance(r, NumpyArray) else r for r in results]
