"""What NumPy says of a call before anything is computed: the shape and the type of its result.

Each operation of a traced function is called on stand-ins as well, arrays of the same shapes and types that hold one
number. Types follow rules that nobody writes down twice: the sum of two truth values is a truth value, that of two bytes a
byte, of which the lowest bits are kept. A call that NumPy refuses is refused, with its words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arg
from ..errors import Error, InputError
from .bits import held, within
from .elementwise import cast
from .symbolic import Kind, Symbolic

#: Elements of an array of which NumPy computes as many where it is asked what it says.
LARGE = 1 << 20

KINDS: dict[str, Kind] = {"f": "float", "i": "int", "u": "int", "b": "bool"}


def dtype_of(array: arg.Array) -> np.dtype[Any]:
    """The type of NumPy for the elements of an array."""
    return np.dtype(np.bool_ if array.is_bool else arg.numpy_type(array.type))


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of one number, which takes no memory: 0 for integers, which is an index of everything, 1 for floats."""
    one: np.ndarray[Any, Any] = np.full((), 1 if dtype.kind == "f" else 0, dtype)
    return np.broadcast_to(one, shape)


def said(name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a call on stand-ins gives."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return call(*args, **kwargs)
    except Error:
        raise
    except (TypeError, ValueError, IndexError, OverflowError, AttributeError, KeyError) as e:
        raise InputError(f"numpy.{name}: {e}") from e


def converted(value: Symbolic, dtype: np.dtype[Any]) -> Symbolic:
    """A cast: to integers towards zero, of which a type keeps the lowest bits; between floats nothing over the reals."""
    kind = KINDS.get(dtype.kind)
    if kind is None:
        raise InputError(f"a cast to {dtype} is not covered")
    if kind != "int":
        return cast(value, kind)
    # A float that the integers of a type do not reach has no value as one of them: what is left out is no matter.
    return (within if value.kind == "float" else held)(cast(value, "int"), arg.type_name(dtype))


def settled(name: str, value: Symbolic, expected: Any, shape: bool = True) -> Symbolic:
    """A value whose shape is compared with NumPy's, and which is what NumPy's type holds of it."""
    if shape and value.shape != expected.shape:
        raise InputError(f"numpy.{name} gives shape {expected.shape}, and its formula {value.shape}: this is a bug of volta")
    if KINDS.get(expected.dtype.kind) == "int" and value.kind == "float":
        raise InputError(f"numpy.{name} gives integers here, and its formula floats: that is not covered")
    return converted(value, expected.dtype)
