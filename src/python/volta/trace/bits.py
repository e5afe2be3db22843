"""Bits of integers as arithmetic: shifts to the right and masks of adjacent bits, by numbers that are known.

The integers of a formula have no width. What a type of up to 32 bits keeps of them is the remainder by a power of two,
written wherever the bounds of an integer do not show that it is all of it. Masks that take the sign along with other bits
are not covered.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .elementwise import apply, number
from .symbolic import Symbolic, bounds_of


def shifted_right(x: Symbolic, by: Symbolic) -> Symbolic:
    """x >> by: the quotient by a power of two, rounded down."""
    if by.known is None or (by.known < 0).any() or (by.known > 62).any():
        raise InputError("a shift by a number that is not known is not covered")
    return apply("integer_quotient", number(x), x.trace.constant(1 << by.known.astype(np.int64)))


def masked(x: Symbolic, y: Symbolic) -> Symbolic:
    """x & y, where one of them is known and has adjacent bits."""
    x, mask = (x, y) if y.known is not None else (y, x)
    if mask.known is None or not mask.known.size or len(values := set(mask.known.reshape(-1).tolist())) != 1:
        raise InputError("bits of two numbers that are not known are not covered")
    (bits,) = values
    low = bits & -bits
    width = bits // low + 1 if low else 1
    source, one = number(x), x.trace.constant
    if bits < 0 and bits == -low:
        return apply("subtract", source, apply("integer_remainder", source, one(low)))
    if bits < 0 or width & (width - 1):
        raise InputError(f"the bits {bits:#x} of a number are not covered")
    if low == 0:
        return apply("multiply", source, one(0))
    whole = apply("integer_remainder", source, one(low * width))
    return whole if low == 1 else apply("subtract", whole, apply("integer_remainder", whole, one(low)))


def held(x: Symbolic, type_name: str) -> Symbolic:
    """What an integer type (`s8`, `u32` and so on) holds of an integer: its lowest bits, which are the integer itself where
    its bounds say so. A type of 64 bits is taken to hold any: the grammar has no power of two beyond 63 bits."""
    low, high = bounds_of(type_name)
    if x.bounds is not None and low <= x.bounds[0] and x.bounds[1] <= high:
        return x
    if type_name == "u64" and (x.bounds is None or x.bounds[0] < low):
        raise InputError("what may be negative as an unsigned integer of 64 bits is not covered")
    bits = int(type_name[1:])
    return within(narrowed(x, bits, type_name[0] == "s") if bits < 64 else x, type_name)


def within(x: Symbolic, type_name: str) -> Symbolic:
    """An integer that a type is known to hold."""
    return Symbolic(x.trace, x.shape, x.at, x.kind, x.weight, bounds_of(type_name))


def narrowed(x: Symbolic, bits: int, signed: bool) -> Symbolic:
    """The lowest bits of an integer, as a number of that width."""
    one = x.trace.constant
    half = 1 << (bits - 1)
    if not signed:
        return apply("integer_remainder", x, one(2 * half))
    return apply("subtract", apply("integer_remainder", apply("add", x, one(half)), one(2 * half)), one(half))
