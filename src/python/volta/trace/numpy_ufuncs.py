"""NumPy's universal functions and their methods (`reduce`, `accumulate`, `outer`) by the table of operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from . import bits, networks, operations
from .elementwise import LOGIC, PRIMITIVES, apply, cast, power, truth
from .numpy_types import converted
from .symbolic import Symbolic
from .tree import Digits

#: Names of NumPy for what the table calls otherwise.
_NAMES = {
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

#: Operations on the bits of integers.
BITS: dict[str, Callable[..., Symbolic]] = {
    "bitwise_and": bits.both,
    "bitwise_or": bits.either,
    "bitwise_xor": bits.one_of,
    "left_shift": bits.shifted_left,
    "right_shift": bits.shifted_right,
}

#: Sums of products.
PRODUCTS = {
    "matmul": "",
    "vecdot": "...i,...i->...",
    "matvec": "...ij,...j->...i",
    "vecmat": "...i,...ij->...j",
}

#: Functions with two results.
PAIRS: dict[str, tuple[Callable[..., Any], ...]] = {
    "divmod": (np.floor_divide, np.remainder),
    "modf": (lambda x: x - np.trunc(x), np.trunc),
}

#: Functions that no formula has.
_INVERSES = {
    "arctan": "inverse of a tangent",
    "arctan2": "inverse of a tangent",
    "arcsin": "inverse of a sine",
    "arccos": "inverse of a cosine",
}

#: Operations of the table that NumPy has not, or that differ there.
_NOT_HERE = frozenset(("rsqrt", "erf", "sigmoid", "relu", "integer_quotient", "integer_remainder"))


def called(ufunc: str, method: str, inputs: Sequence[Symbolic], kwargs: dict[str, Any]) -> Symbolic:
    """A universal function, or a method of it, of values."""
    dtype = kwargs.get("dtype")
    kwargs = {k: v for k, v in kwargs.items() if (k != "dtype" and v is not None) or k == "axis"}
    if method != "__call__" and dtype is not None:
        inputs = [converted(x, np.dtype(dtype)) for x in inputs]
    name = _NAMES.get(ufunc, ufunc)
    if method == "reduce" and ufunc in _REDUCERS:
        return reduced(_REDUCERS[ufunc], inputs[0], **{"axis": 0, **kwargs})
    if method == "reduce" and ufunc in ("logical_and", "logical_or"):
        return any_or_all(ufunc == "logical_or", inputs[0], **{"axis": 0, **kwargs})
    if method == "reduce" and ufunc == "logaddexp" and kwargs.keys() <= {"axis", "keepdims"}:
        return networks.log_sum_exp(inputs[0], kwargs.get("axis", 0), kwargs.get("keepdims", False))
    if method == "accumulate" and ufunc in _REDUCERS and kwargs.keys() <= {"axis"}:
        return operations.cumulative(_REDUCERS[ufunc], inputs[0], kwargs.get("axis", 0))
    if method == "outer" and not kwargs:
        left, right = inputs
        wide = operations.expand_dims(left, tuple(range(left.ndim, left.ndim + right.ndim)))
        return called(ufunc, "__call__", [wide, right], kwargs)
    if method != "__call__" or kwargs:
        raise InputError(f"numpy.{ufunc}.{method} is not covered" if not kwargs else f"numpy.{ufunc} with {next(iter(kwargs))}")
    kinds = {x.kind for x in inputs}
    if name in PRODUCTS:
        return operations.einsum(PRODUCTS[name], inputs) if name != "matmul" else operations.matmul(*inputs)
    if name in ("power", "float_power"):
        return _power(*inputs)
    if name == "divide":
        return apply(name, cast(inputs[0], "float"), inputs[1])
    if name in ("floor_divide", "remainder") and "float" not in kinds:
        return apply("integer_quotient" if name == "floor_divide" else "integer_remainder", *inputs)
    if name in LOGIC and (kinds == {"bool"} or ufunc.startswith("logical")):
        return apply(name, *inputs)
    if ufunc in BITS and "float" not in kinds:
        return BITS[ufunc](*inputs)
    if ufunc == "invert" and "float" not in kinds:
        return apply("subtract", inputs[0].trace.constant(-1), inputs[0])
    if ufunc in _INVERSES:
        raise InputError(
            f"numpy.{ufunc}: the language of formulas has no {_INVERSES[ufunc]}: compare with another kernel "
            "(volta.check(kernel, kernel)), or return its argument"
        )
    if ufunc == "heaviside":
        return networks.choose(inputs[0], "greater", 0, 1.0, networks.choose(inputs[0], "equal", 0, inputs[1], 0.0))
    if ufunc in ("deg2rad", "radians", "rad2deg", "degrees"):
        factor = math.pi / 180 if ufunc in ("deg2rad", "radians") else 180 / math.pi
        return networks.multiply(inputs[0], factor)
    if name in PRIMITIVES and name not in _NOT_HERE:
        return apply(name, *inputs)
    raise InputError(f"numpy.{ufunc} is not covered")


def _power(x: Symbolic, exponent: Symbolic) -> Symbolic:
    known, base = (v.at(()) if v.ndim == 0 else None for v in (exponent, x))
    if isinstance(known, Digits):
        return power(x, known.value)
    if isinstance(base, Digits) and base.value > 0 and "float" in (x.kind, exponent.kind):
        return apply("exp", networks.multiply(exponent, apply("log", x)))
    raise InputError("numpy.power with an exponent that depends on data is covered for a positive known number alone")


def reduced(name: str, a: Symbolic, axis: Any = None, keepdims: bool = False, **more: Any) -> Symbolic:
    """A reduction along axes, as NumPy is asked for one."""
    used = [k for k, v in more.items() if v is not None]
    if used:
        raise InputError(f"numpy.{name} with {used[0]} is not covered")
    return operations.reduce(name, a, axis, keepdims)


def any_or_all(is_any: bool, a: Symbolic, axis: Any = None, keepdims: bool = False) -> Symbolic:
    """Whether any or all elements along axes are true."""
    return truth(operations.reduce("max" if is_any else "min", truth(a), axis, keepdims))
