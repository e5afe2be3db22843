"""A call of a function of NumPy with arrays that stand in for real ones, which may be written into arrays that it makes."""

from __future__ import annotations

import contextlib
import sys
import threading
import unittest.mock
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import operations
from .elementwise import broadcast, operand
from .numpy_types import settled
from .of_numpy import NumpyArray, stood, unwritten
from .symbolic import Symbolic, Trace


@contextlib.contextmanager
def _made_here(trace: Trace) -> Iterator[None]:
    """Inside, in this thread and for others than NumPy and this package, `zeros` and `empty` give arrays that can be
    written with what is traced, and `array` and its like take lists of it."""
    thread = threading.get_ident()

    def is_own() -> bool:
        caller = sys._getframe(2).f_globals.get("__name__", "")
        return threading.get_ident() == thread and caller.partition(".")[0] not in ("numpy", "volta")

    def filled(original: Callable[..., Any], text: str | None) -> Callable[..., Any]:
        def make(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
            if not is_own():
                return original(shape, dtype, *args, **kwargs)
            sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
            if text is None:
                return unwritten(trace, sizes, dtype)
            return NumpyArray(broadcast(operand(trace, np.dtype(dtype).type(0)), sizes), dtype)

        return make

    def gathered(original: Callable[..., Any]) -> Callable[..., Any]:
        def make(value: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_own():
                return original(value, *args, **kwargs)
            dtype = kwargs.get("dtype", args[0] if args else None)
            if isinstance(value, NumpyArray):
                out = value if original is not np_array else NumpyArray(value.value, value.dtype)
                return out if dtype is None else out.astype(dtype)
            if not isinstance(value, (list, tuple)) or not _holds_traced(value):
                return original(value, *args, **kwargs)
            expected = original(stood(value))
            out = NumpyArray(settled("array", _stacked(trace, value), expected), expected.dtype)
            return out if dtype is None else out.astype(dtype)

        return make

    np_array = np.array
    with contextlib.ExitStack() as stack:
        for name, text in (("zeros", "0"), ("empty", None)):
            stack.enter_context(unittest.mock.patch.object(np, name, filled(getattr(np, name), text)))
        for name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
            stack.enter_context(unittest.mock.patch.object(np, name, gathered(getattr(np, name))))
        yield


def _stacked(trace: Trace, values: Sequence[Any]) -> Symbolic:
    rows = [_stacked(trace, v) if isinstance(v, (list, tuple)) else v for v in values]
    return operations.stack([r.value if isinstance(r, NumpyArray) else operand(trace, r) for r in rows], 0)


def _holds_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(v, NumpyArray) or (isinstance(v, (list, tuple)) and _holds_traced(v)) for v in values)


def traced(f: Callable[..., Any], inputs: Sequence[tuple[Symbolic, Any]], numbers: dict[str, Any]) -> list[Any]:
    """What a function of NumPy arrays, which come with their types, returns: arrays, or numbers where it returns such."""
    reason = "the function writes to one of its inputs: return what it writes"
    given = [NumpyArray(x, dtype, only_read=reason) for x, dtype in inputs]
    with _made_here(inputs[0][0].trace if inputs else Trace()):
        values = f(*given, **numbers)
    results = list(values) if isinstance(values, (tuple, list)) else [values]
    return [r.value if isinstance(r, NumpyArray) else r for r in results]
