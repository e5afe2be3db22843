"""Bits of integers as arithmetic.

The integers of a formula have no width, and their bits are those of two's complement without an end: bit k of x is
`x / 2^k % 2`, where quotients round down. A mask that is known is a few remainders by powers of two, and two numbers that are
joined are the sum of their bits. What a type of up to 32 bits keeps of an integer is the remainder by a power of two,
written wherever the bounds of an integer do not show that it is all of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import InputError
from .elementwise import apply, combine, common, number
from .symbolic import Bounds, Symbolic, bounds_of
from .tables import halves
from .tree import Call, Node, node

#: Bits that are taken together, so that no number of a formula is beyond 63 bits.
LIMB = 32

#: Operations in the tree of a number from which on it has a name before its bits are taken one by one.
HEAVY = 8


def shifted_right(x: Symbolic, by: Symbolic, width: int = 64) -> Symbolic:
    """x >> by: the quotient by a power of two, rounded down. What is shifted by its width or more is 0 or -1."""
    if by.known is None:
        return _shifted(x, by, width, _all_shifts)
    if (by.known < 0).any():
        raise InputError("a shift by a negative number is not covered")
    places, one = by.known.astype(np.int64), x.trace.constant
    out = apply("integer_quotient", number(x), one(1 << np.minimum(places, 62)))
    return out if (places <= 62).all() else apply("integer_quotient", out, one(np.where(places > 62, 2, 1)))


def shifted_left(x: Symbolic, by: Symbolic, width: int = 64) -> Symbolic:
    """x << by, of which the type keeps what it holds: the product with a power of two."""
    if by.known is None:
        return _shifted(x, by, width, lambda a, k: a * (1 << k) if k < min(width, 63) else node(0))
    if (by.known < 0).any():
        raise InputError("a shift by a negative number is not covered")
    places = by.known.astype(np.int64)
    if width == 64 and by.size and 0 < (k := int(places.flat[0])) < 64 and (places == k).all():
        return _kept(number(x), k, by)
    powers = np.where(places < min(width, 63), 1 << np.minimum(places, 62), 0)
    out = apply("multiply", number(x), x.trace.constant(powers))
    out.zeros = int(min(places.min(initial=62), 62))
    return out


def _kept(x: Symbolic, by: int, shaped: Symbolic) -> Symbolic:
    """x << by of 64 bits, of which the highest fall out, without a number of more than 63 bits on the way."""
    if x.bounds is not None and max(_width((v, v)) for v in x.bounds) + by <= 64:
        out = apply("multiply", x, shaped.trace.constant(np.broadcast_to(1 << by, shaped.shape)))
    else:
        low, is_signed = 1 << (63 - by), x.bounds is None or x.bounds[0] < 0

        def tree(a: Node, _: Node) -> Node:
            below = a % low if a.whole else a - low * Call("floor", a / low)
            top = _bit(a, 63 - by) * low
            return (below - top if is_signed else below + top) * (1 << by)

        out = combine(tree, (x, shaped), x.kind, HEAVY)
    out.zeros = by
    return out


def _shifted(x: Symbolic, by: Symbolic, width: int, shift: Callable[[Node, int], Node]) -> Symbolic:
    """A shift by a number that is not known: one of all shifts; by one that is negative it is that by the width."""

    def tree(a: Node, n: Node) -> Node:
        return halves([shift(a, width), *(shift(a, k) for k in range(width)), shift(a, width)], [-1, *range(width + 1)], n)

    out = combine(tree, (number(x), number(by)), common((number(x),)), HEAVY)
    out.weight += HEAVY
    return out


def _all_shifts(a: Node, k: int) -> Node:
    return _quotient(a, 1 << k) if k <= 62 else _quotient(_quotient(a, 1 << 62), 2)


def _quotient(a: Node, n: int) -> Node:
    return a // n if a.whole else Call("floor", a / n)


def _bit(a: Node, k: int) -> Node:
    """0 or 1."""
    shifted = _quotient(a, 1 << k)
    return shifted % 2 if a.whole else shifted - 2 * Call("floor", shifted / 2)


def _width(bounds: Bounds | None) -> int:
    """Bits that a number of such bounds takes, with its sign."""
    return 64 if bounds is None else max((v if v >= 0 else ~v).bit_length() for v in bounds) + 1


def both(x: Symbolic, y: Symbolic) -> Symbolic:
    """x & y."""
    x, y = number(x), number(y)
    for a, b in ((x, y), (y, x)):
        if (mask := _mask(a)) is not None:
            return _masked(b, mask, a)
        if _below(b) <= a.zeros:
            return apply("multiply", a, a.trace.constant(0))
    out = _bit_by_bit(x, y, lambda p, q: p * q)
    if x.bounds is not None and y.bounds is not None and max(x.bounds[0], y.bounds[0]) >= 0:
        out.bounds = (0, min(b[1] for b in (x.bounds, y.bounds) if b[0] >= 0))
    out.zeros = max(x.zeros, y.zeros)
    return out


def either(x: Symbolic, y: Symbolic) -> Symbolic:
    """x | y."""
    return _joined(x, y, lambda p, q: Call("max", p, q))


def one_of(x: Symbolic, y: Symbolic) -> Symbolic:
    """x ^ y."""
    return _joined(x, y, lambda p, q: (p + q) % 2 if p.whole and q.whole else p + q - 2 * p * q)


def _joined(x: Symbolic, y: Symbolic, bit: Callable[[Node, Node], Node]) -> Symbolic:
    x, y = number(x), number(y)
    zeros = min(x.zeros, y.zeros)
    signed = any(v.bounds is None or v.bounds[0] < 0 for v in (x, y))
    width = max(_width(x.bounds), _width(y.bounds))
    apart = _below(y) <= x.zeros or _below(x) <= y.zeros
    out = apply("add", x, y) if apart else _bit_by_bit(x, y, bit)
    if width <= 64:
        out.bounds = (-(1 << (width - 1)) if signed else 0, (1 << (width - 1)) - 1)
    out.zeros = zeros
    return out


def _bit_by_bit(x: Symbolic, y: Symbolic, bit: Callable[[Node, Node], Node]) -> Symbolic:
    """The sum of what each pair of bits gives, the highest of which is the sign."""
    width = max(_width(x.bounds), _width(y.bounds))
    if width > 64:
        raise InputError("bits of unsigned integers of 64 bits that are not known are not covered: cast them to int64")

    def tree(a: Node, b: Node) -> Node:
        out: Node = node(0)
        for start in range(0, width, LIMB):
            # Each limb is as large as the grammar's integers can be.
            size = min(LIMB, width - start)
            p, q = (_quotient(v, 1 << start) for v in (a, b))
            part: Node = node(0)
            for k in range(size):
                weight = -(1 << k) if start + k == width - 1 else 1 << k
                part = part + bit(_bit(p, k), _bit(q, k)) * weight
            out = out + part * (1 << start)
        return out

    out = combine(tree, (x, y), common((x, y)), HEAVY)
    out.bounds = (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    out.weight += HEAVY
    return out


def _mask(x: Symbolic) -> int | None:
    """The number that all elements of a known array are."""
    known = x.known
    return int(known.flat[0]) if known is not None and known.size and (known == known.flat[0]).all() else None


def _below(x: Symbolic) -> int:
    """Bits from the lowest on outside of which a number has none."""
    return 64 if x.bounds is None or x.bounds[0] < 0 else x.bounds[1].bit_length()


def _masked(x: Symbolic, mask: int, shaped: Symbolic) -> Symbolic:
    """x & mask, at the shape that both have together: for each run of adjacent bits a difference of remainders; of a mask that
    is negative the last run goes on to the sign."""
    one = x.trace.constant
    out = apply("multiply", shaped, one(0))
    low = 0
    while mask >> low:
        if not mask >> low & 1:
            low += 1
            continue
        high = low
        while mask >> high & 1 and mask >> high != -1:
            high += 1
        last = mask >> high == -1
        if max(low, 0 if last else high) > 62:
            raise InputError(f"the bits {mask:#x} of a number are not covered")
        part = x if last else apply("integer_remainder", x, one(1 << high))
        part = part if low == 0 else apply("subtract", part, apply("integer_remainder", x, one(1 << low)))
        out = apply("add", out, part)
        if last:
            break
        low = high
    out.bounds = (
        (0, mask) if mask >= 0 else x.bounds and (x.bounds[0] & ~(-mask - 1) if x.bounds[0] < 0 else 0, max(x.bounds[1], 0))
    )
    out.zeros = (mask & -mask).bit_length() - 1 if mask else 62
    return out


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
    out = Symbolic(x.trace, x.shape, x.at, x.kind, x.weight, bounds_of(type_name))
    out.zeros = x.zeros
    return out


def narrowed(x: Symbolic, bits: int, signed: bool) -> Symbolic:
    """The lowest bits of an integer, as a number of that width."""
    one = x.trace.constant
    half = 1 << (bits - 1)
    if not signed:
        out = apply("integer_remainder", x, one(2 * half))
    else:
        out = apply("subtract", apply("integer_remainder", apply("add", x, one(half)), one(2 * half)), one(half))
    out.zeros = x.zeros
    return out
