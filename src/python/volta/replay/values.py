"""Values of registers and memory: bits that are known, and numbers that data decide.

A value is an `int` (known bits), a number of the domain (a float that data decide, as wide as the place that holds it), a
`Half` (such a float of 16 bits, with its format where that is known), or `Pieces` (both side by side, lowest first). Bits of
a number that data decide do not exist here: whoever asks for them gets a `Cannot`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
from mpmath import mp

DIGITS = 120
"""Decimal digits of the arithmetic over the reals."""


class Cannot(Exception):
    """Something that this program does not interpret; nothing is said of the certificate."""

    line: int | None = None


class Beyond(Exception):
    """An input on which the machine leaves the range of a function, which says nothing of the reals."""


class Refuted(Exception):
    """The certificate is wrong."""

    line: int | None = None


class Half:
    """A float of 16 bits."""

    __slots__ = ("kind", "v")

    def __init__(self, v: Any, kind: str | None) -> None:
        self.v = v
        self.kind = kind


class Known:
    """A float that instructions made of constants alone: the machine has it rounded, which a test of it may see."""

    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v


class Pieces:
    """Values side by side: pairs of a width in bits and a value, lowest first."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[tuple[int, Any]]) -> None:
        self.parts = parts


def parts_of(value: Any, width: int) -> list[tuple[int, Any]]:
    return value.parts if type(value) is Pieces else [(width, value)]


def join(parts: list[tuple[int, Any]]) -> Any:
    """One value of parts, lowest first."""
    flat: list[tuple[int, Any]] = []
    for width, value in parts:
        for w, v in parts_of(value, width):
            if type(v) is int and flat and type(flat[-1][1]) is int:
                before, low = flat[-1]
                flat[-1] = (before + w, low | v << before)
            else:
                flat.append((w, v))
    return flat[0][1] if len(flat) == 1 else Pieces(flat)


def extract(value: Any, width: int, low: int, count: int) -> Any:
    """Some bits of a value of a width."""
    if type(value) is int:
        return value >> low & ((1 << count) - 1)
    if value is None:
        return None
    if low == 0 and count == width:
        return value
    out, at = [], 0
    for w, v in parts_of(value, width):
        lo, hi = max(at, low), min(at + w, low + count)
        if lo < hi:
            if type(v) is int:
                v = v >> (lo - at) & ((1 << (hi - lo)) - 1)
            elif (lo - at, hi - at) != (0, w):
                if (w, lo - at, hi - at) != (32, 16, 32) or type(v) is Half or v is None:
                    raise Cannot("bits of a number that data decide are asked for")
                v = Half(v, "bf16")
            out.append((hi - lo, v))
        at += w
    return join(out)


FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "tf32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2)}
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "f64": 64, "e4m3": 8, "e5m2": 8}


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

    name = f"the reals, {DIGITS} digits"
    compares = True

    def __init__(self) -> None:
        mp.dps = DIGITS
        self.ln2 = mpmath.ln2()
        self.inf, self.nan = mpmath.mpf("inf"), mpmath.mpf("nan")
        self.near = mpmath.mpf(10) ** (-DIGITS // 2)
        self.vanishing = mpmath.mpf(10) ** (-20 * DIGITS)
        self.keeps_digits = False
        """A sum in which one number vanishes beside the other is `Beyond`: then a test may see what digits do not hold."""

    def number(self, q: Fraction | int | str) -> Any:
        if isinstance(q, str):
            return mpmath.mpf(q)
        q = Fraction(q)
        return mpmath.mpf(q.numerator) / q.denominator

    def add(self, a: Any, b: Any) -> Any:
        if self.keeps_digits and a and b and mpmath.isfinite(a) and mpmath.isfinite(b):
            apart = mpmath.mag(a) - mpmath.mag(b)
            if abs(apart) > DIGITS:
                raise Beyond("a number vanishes beside another")
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        return self.add(a, -b)

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def div(self, a: Any, b: Any) -> Any:
        if b == 0:
            return self.nan if a == 0 or a != a else (self.inf if a > 0 else -self.inf)
        return a / b

    def neg(self, a: Any) -> Any:
        return -a

    def fraction(self, a: Any) -> Fraction | None:
        """The number as a fraction if it is finite."""
        if not mpmath.isfinite(a):
            return None
        man, exp = a.man_exp
        q: Fraction = Fraction(int(man)) * Fraction(2) ** int(exp)
        return -q if a < 0 and man > 0 else q

    def order(self, a: Any, b: Any) -> int | None:
        """-1, 0, 1; None where one is no number. Numbers that agree in half of their digits are equal."""
        if a != a or b != b:
            return None
        if a == b:
            return 0
        if mpmath.isfinite(a) and mpmath.isfinite(b) and abs(a - b) <= self.near * max(abs(a), abs(b), self.near):
            # What cancellation leaves of a zero is not that small: a machine has 0 for this number, and the reals do not.
            if max(abs(a), abs(b)) < self.vanishing:
                raise Beyond("a test of numbers that every machine rounds to 0")
            return 0
        return -1 if a < b else 1

    def equal(self, a: Any, b: Any) -> bool:
        if a != a or b != b:
            return bool(a != a and b != b)
        if a == b:
            return True
        if not (mpmath.isfinite(a) and mpmath.isfinite(b)):
            return False
        return bool(abs(a - b) <= self.near * max(1, abs(a), abs(b)))

    def function(self, name: str, x: Any) -> Any:
        if x != x:
            return self.nan
        return _FUNCTIONS[name](self, x)

    def show(self, a: Any) -> str:
        return str(mpmath.nstr(a, 25))


def _sqrt(d: Reals, x: Any) -> Any:
    return d.nan if x < 0 else mpmath.sqrt(x)


def _lg2(d: Reals, x: Any) -> Any:
    if x <= 0:
        return -d.inf if x == 0 else d.nan
    return mpmath.log(x) / d.ln2


def _ex2(d: Reals, x: Any) -> Any:
    if mpmath.isinf(x):
        return d.inf if x > 0 else d.number(0)
    if abs(x) > mpmath.mpf(10) ** 60:
        raise Cannot("an exponential beyond all use")
    return mpmath.exp(x * d.ln2)


def _wave(f: Callable[[Any], Any]) -> Callable[[Reals, Any], Any]:
    return lambda d, x: d.nan if mpmath.isinf(x) else f(x)


_FUNCTIONS: dict[str, Callable[[Reals, Any], Any]] = {
    "sqrt": _sqrt,
    "rsqrt": lambda d, x: d.div(d.number(1), _sqrt(d, x)),
    "rcp": lambda d, x: d.div(d.number(1), x),
    "ex2": _ex2,
    "lg2": _lg2,
    "sin": _wave(mpmath.sin),
    "cos": _wave(mpmath.cos),
    "tanh": lambda d, x: mpmath.tanh(x),
}


class Residue:
    """A number of a prime field: the value at a random point of a fraction of polynomials, with bounds of their degrees."""

    __slots__ = ("down", "up", "v")

    def __init__(self, v: int, up: int, down: int) -> None:
        self.v, self.up, self.down = v, up, down


class Field:
    """Arithmetic modulo a prime at a random point; Schwartz and Zippel say how often it errs."""

    compares = False

    def __init__(self, prime: int) -> None:
        self.p = prime
        self.name = f"the integers modulo {prime}"
        self.degree = 0

    def number(self, q: Fraction | int | str) -> Any:
        if isinstance(q, str):
            raise Cannot(f"{q} has no residue modulo a prime")
        q = Fraction(q)
        if q.denominator % self.p == 0:
            raise Cannot("a denominator is zero modulo the prime")
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

    def order(self, a: Any, b: Any) -> int | None:
        raise Cannot("a prime field has no order: a test on data needs the reals")

    def fraction(self, a: Any) -> Fraction | None:
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
