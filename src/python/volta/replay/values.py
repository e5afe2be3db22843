"""Values of registers and memory, and the arithmetic of those that data decide.

A value is an `int` (known bits), a `Num` (a float that data decide), `Mixed` (bytes of both side by side), or None (never
written). Bits of a number that data decide do not exist here: whoever asks for them gets a `Cannot`.
"""

from __future__ import annotations

import random
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, setcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath  # type: ignore[import-untyped]

DIGITS = 120
"""Decimal digits of the arithmetic over the reals."""


HUGE = Decimal(10) ** 17
"""The largest argument of an exponential, far from the exponents that decimals have."""


class Stop(Exception):
    """The end of a replay, with the line of the kernel in which it came."""

    line: int | None = None
    side: str = ""


class Cannot(Stop):
    """Something that this program does not interpret; nothing is said of the certificate."""


class Beyond(Stop):
    """An input on which the machine leaves the range of a function, which says nothing of the reals."""


class Refuted(Stop):
    """The certificate is wrong."""


class Outside(Refuted):
    """An access beyond an array, misaligned, or of what was never written, or a trap: there a reference is not defined."""


FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "tf32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2)}
"""Bits of the exponent and of the fraction; a tf32 lies in a register as an f32."""

SIZES = {
    **dict.fromkeys(("pred", "b8", "u8", "s8", "e4m3", "e5m2"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "tf32", "f16x2", "bf16x2"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64", "f32x2"), 8),
    "b128": 16,
}
"""Bytes of each type."""


class Num:
    """A float that data decide: a number of the domain in a format; `b16` is one of 16 bits that is not known to be f16 or bf16.

    It is `known` where instructions made it of constants alone: the machine has it rounded, which a test of it may see. It is
    `cut` where it is the upper half of an f32: its bits may not be those of the number rounded.
    """

    __slots__ = ("cut", "fmt", "known", "tree", "v")

    def __init__(self, v: Any, fmt: str, known: bool = False, cut: bool = False) -> None:
        self.v, self.fmt, self.known, self.cut = v, fmt, known, cut
        self.tree: int | None = None
        """The number of the operations that made it, where those are kept."""


class Opaque:
    """Bits of a number that data decide, of which the operations that made them are kept alone."""

    __slots__ = ("size", "tree")

    def __init__(self, size: int) -> None:
        self.size = size
        self.tree: int | None = None

    def __bool__(self) -> bool:
        raise Cannot("bits of a number that data decide are asked for")

    def __eq__(self, other: object) -> bool:
        raise Cannot("bits of a number that data decide are asked for")

    __hash__ = None  # type: ignore[assignment]


class Part(NamedTuple):
    """One byte of a float, the lowest is 0."""

    num: Num
    at: int


class Mixed:
    """Bytes side by side, the lowest first, not all of them known, and not those of one float."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[int | Part]) -> None:
        self.parts = parts


def parts_of(value: Any, size: int) -> list[int | Part]:
    """The lowest bytes of a value; above its own there are zeros."""
    if type(value) is int:
        return list((value & (1 << 8 * size) - 1).to_bytes(size, "little"))
    if type(value) is Num:
        parts: list[int | Part] = [Part(value, i) for i in range(SIZES[value.fmt])]
    elif type(value) is Mixed:
        parts = value.parts
    elif type(value) is Opaque:
        raise Cannot("bits of a number that data decide are asked for")
    else:
        raise TypeError("never written")
    return parts[:size] + [0] * (size - len(parts))


def whole(parts: list[int | Part]) -> Any:
    """The value of bytes. The upper half of an f32 is a bf16 of which the rest was rounded away: the same real number."""
    first = parts[0]
    if type(first) is Part:
        num, n = first.num, len(parts)
        if n == SIZES[num.fmt] and all(p == (num, i) for i, p in enumerate(parts)):
            return num
        if num.fmt == "f32" and n == 2 and parts == [(num, 2), (num, 3)]:
            return Num(num.v, "bf16", num.known, cut=True)
    if any(type(p) is Part for p in parts):
        return Mixed(parts)
    return int.from_bytes(bytes(parts), "little")  # type: ignore[arg-type]


def widened(value: Any) -> Any:
    """A float for the bytes that hold one: a bf16 above two bytes of zeros is the same number as an f32."""
    if type(value) is Mixed and len(value.parts) == 4 and value.parts[:2] == [0, 0]:
        upper = whole(value.parts[2:])
        if type(upper) is Num and upper.fmt in ("bf16", "b16"):
            return Num(upper.v, "f32", upper.known)
    return value


def take(value: Any, low: int, count: int) -> Any:
    """Some bytes of a value."""
    if type(value) is int:
        return value >> 8 * low & (1 << 8 * count) - 1
    if value is None or (low == 0 and type(value) is Num and count == SIZES[value.fmt]):
        return value
    if type(value) is Opaque and (low, count) == (0, value.size):
        return value
    return whole(parts_of(value, low + count)[low:])


@lru_cache(1 << 16)
def exact(bits: int, fmt: str) -> Fraction | str:
    """The number that bits are, or `inf`, `-inf`, `nan`."""
    e, m = FORMATS[fmt]
    sign = -1 if bits >> (e + m) & 1 else 1
    exponent, fraction = bits >> m & ((1 << e) - 1), bits & ((1 << m) - 1)
    bias = (1 << (e - 1)) - 1
    if exponent == (1 << e) - 1:
        if fmt != "e4m3":
            return "nan" if fraction else ("inf" if sign > 0 else "-inf")
        if fraction == 7:
            return "nan"
    if exponent == 0:
        return Fraction(sign * fraction) * Fraction(2) ** (1 - bias - m)
    return Fraction(sign * (fraction + (1 << m))) * Fraction(2) ** (exponent - bias - m)


class Reals:
    """Numbers with many digits, infinities and NaN."""

    has_order = True

    def __init__(self) -> None:
        setcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[]))
        mpmath.mp.dps = DIGITS + 10
        self.ln2 = Decimal(2).ln()
        self.near = Decimal(10) ** (-DIGITS // 2)
        self.vanishing = Decimal(10) ** (-20 * DIGITS)
        self.keeps_digits = 0
        """A sum of numbers that lie more digits apart is `Beyond`, if not 0: then a test may see what digits do not hold."""
        self.calls = 0
        """How many functions were evaluated, each of which takes as long as many instructions."""
        self.snaps = False
        """A sum of which the last digits alone are left is 0: where an input is the root of something, that is one."""

    def number(self, q: Fraction | int | str) -> Decimal:
        if isinstance(q, str):
            return Decimal(q)
        return Decimal(q.numerator) / Decimal(q.denominator)

    def add(self, a: Decimal, b: Decimal) -> Decimal:
        if self.keeps_digits and a and b and a - a == b - b == 0 and abs(a.adjusted() - b.adjusted()) > self.keeps_digits:
            raise Beyond("a number vanishes beside another")
        if self.snaps and a and b and (a - a == b - b == 0) and abs(a + b) <= self.near * abs(a):
            return Decimal(0)
        return a + b

    def sub(self, a: Decimal, b: Decimal) -> Decimal:
        return self.add(a, -b)

    def mul(self, a: Decimal, b: Decimal) -> Decimal:
        return a * b

    def above_zero(self, x: Decimal) -> Decimal:
        """A divisor or the argument of a logarithm, which may not be a stand-in for an exponential that is next to 0."""
        if x and x.adjusted() < -(10**15):
            raise Beyond("a number next to 0 whose digits count")
        return x

    def div(self, a: Decimal, b: Decimal) -> Decimal:
        b = self.above_zero(b)
        return a / b if b else a * Decimal("inf")

    def neg(self, a: Decimal) -> Decimal:
        return -a

    def fraction(self, a: Decimal) -> Fraction | None:
        """The number as a fraction if it is finite; one next to 0 as one that every rounding treats alike."""
        if not a.is_finite():
            return None
        if a and a.adjusted() > 10 * DIGITS:
            raise Beyond("an integer beyond all use")
        return Fraction(a) if not a or a.adjusted() > -10 * DIGITS else Fraction(1 if a > 0 else -1, 10 ** (10 * DIGITS))

    def order(self, a: Decimal, b: Decimal) -> int | None:
        """-1, 0, 1; None where one is no number. Numbers that agree in half of their digits are equal."""
        if a != a or b != b:
            return None
        if a == b:
            return 0
        top = max(abs(a), abs(b))
        if top.is_finite() and abs(a - b) <= self.near * max(top, self.near):
            # What cancellation leaves of a zero is not that small: a machine has 0 for this number, and the reals do not.
            if top < self.vanishing:
                raise Beyond("a test of numbers that every machine rounds to 0")
            return 0
        return -1 if a < b else 1

    def equal(self, a: Decimal, b: Decimal) -> bool:
        if a != a or b != b:
            return bool(a != a and b != b)
        return bool(a == b or (a - a == b - b == 0 and abs(a - b) <= self.near * max(Decimal(1), abs(a), abs(b))))

    def function(self, name: str, x: Decimal) -> Decimal:
        self.calls += 1
        if name == "rcp":
            return self.div(Decimal(1), x)
        if name == "sqrt":
            return x.sqrt()
        if name == "rsqrt":
            return self.div(Decimal(1), x.sqrt())
        if name == "lg2":
            return self.above_zero(x).ln() / self.ln2
        if name == "ex2":
            if x.is_finite() and abs(x) > HUGE:
                if x > 0:
                    raise Beyond("an exponential beyond all use")
                # As good as 0 in sums, products and tests; `above_zero` lets nothing else ask for it.
                x = -HUGE
            return (x * self.ln2).exp()
        if not x.is_finite():
            return Decimal(1 if x > 0 else -1) if name == "tanh" and x == x else Decimal("nan")
        if abs(x.adjusted()) > DIGITS:
            raise Beyond("an argument beyond all use")
        f = {"sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh}[name]
        return Decimal(mpmath.nstr(f(mpmath.mpf(str(x))), DIGITS + 5)) + 0

    def show(self, a: Decimal) -> str:
        return f"{a:.25g}" if a.is_finite() else str(float(a))


class Residue(NamedTuple):
    """A number of a prime field: the value at a random point of a fraction of polynomials, with bounds of their degrees."""

    v: int
    up: int
    down: int


class Field:
    """Arithmetic modulo a prime at a random point; Schwartz and Zippel say how often it errs."""

    has_order = False

    def __init__(self, prime: int) -> None:
        self.p, self.degree = prime, 0

    def number(self, q: Fraction | int | str) -> Residue:
        if isinstance(q, str) or q.denominator % self.p == 0:
            raise Cannot(f"{q} has no residue modulo the prime")
        return Residue(q.numerator * pow(q.denominator, -1, self.p) % self.p, 0, 0)

    def add(self, a: Residue, b: Residue) -> Residue:
        return Residue((a.v + b.v) % self.p, max(a.up + b.down, b.up + a.down), a.down + b.down)

    def sub(self, a: Residue, b: Residue) -> Residue:
        return self.add(a, self.neg(b))

    def mul(self, a: Residue, b: Residue) -> Residue:
        return Residue(a.v * b.v % self.p, a.up + b.up, a.down + b.down)

    def div(self, a: Residue, b: Residue) -> Residue:
        if b.v == 0:
            raise Cannot("a divisor is zero at this point of the field")
        return Residue(a.v * pow(b.v, -1, self.p) % self.p, a.up + b.down, a.down + b.up)

    def neg(self, a: Residue) -> Residue:
        return Residue(-a.v % self.p, a.up, a.down)

    def order(self, a: Residue, b: Residue) -> int | None:
        raise Cannot("a prime field has no order: a test on data needs the reals")

    def fraction(self, a: Residue) -> Fraction | None:
        raise Cannot("a residue is not rounded: this needs the reals")

    def equal(self, a: Residue, b: Residue) -> bool:
        self.degree = max(self.degree, a.up + b.down, b.up + a.down)
        return a.v == b.v

    def function(self, name: str, x: Residue) -> Residue:
        if name == "rcp":
            return self.div(Residue(1, 0, 0), x)
        raise Cannot(f"{name} is no function of a prime field")

    def show(self, a: Residue) -> str:
        return f"{a.v} modulo {self.p}"


def rational(rng: random.Random) -> Fraction:
    """A random rational of 60 to 100 digits between -1 and 1."""
    digits = rng.randrange(60, 101)
    return Fraction(rng.randrange(-(10**digits), 10**digits + 1), 10**digits)
