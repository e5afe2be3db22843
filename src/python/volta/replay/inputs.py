"""What arrays hold before a launch: the same numbers for both kernels, near a sample of a region or elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .values import FORMATS, SIZES, Cannot, Num, exact, parts_of, rational, whole

Change = Callable[[Fraction, random.Random], Fraction]


def near(step: Fraction) -> Change:
    return lambda q, rng: q + max(abs(q), Fraction(1, 16)) * step * rational(rng)


def large(sign: int) -> Change:
    """Beyond 2^18, so that a bound which stands for an infinity (-65504, -1e4) shows what it is."""
    return lambda q, rng: sign * (3 + rational(rng)) * 2**18


ELSEWHERE: list[tuple[Change, bool]] = [
    (near(Fraction(3)), False),
    (lambda q, rng: Fraction(rng.randrange(-1, 3)), False),
    (lambda q, rng: Fraction(rng.randrange(2)), False),
    (lambda q, rng: Fraction(0), False),
    (lambda q, rng: q if rng.randrange(2) else Fraction(0), False),
    (large(-1), False),
    (large(1), False),
    (lambda q, rng: 2 * rational(rng) * Fraction(2) ** rng.randrange(-24, 25), False),
    *[(near(Fraction(3)), True)] * 4,
]
"""Inputs of no sample: near one, many numbers equal, all of them 0 or large, of all sizes, with other integers (the flag)."""

LARGEST = {f: Fraction(2) ** (1 << (e - 1)) * (1 - Fraction(1, 2 << m)) for f, (e, m) in FORMATS.items()}
"""The largest finite number of each format with infinities."""


def end_of(text: str) -> Fraction:
    """An end of a range; an infinite one as a number that no type holds."""
    return Fraction(text) if "inf" not in text else Fraction(-(1 << 2000) if text[0] == "-" else 1 << 2000)


class Inputs:
    def __init__(
        self,
        certificate: dict[str, Any],
        domain: Any,
        seed: str,
        sample: dict[str, Any],
        change: Change,
        other_integers: bool = False,
    ) -> None:
        self.arrays, self.domain, self.rng, self.change = certificate["arrays"], domain, random.Random(seed), change
        self.other_integers = other_integers
        self.may_wrap = all(a["kind"] != "no-wrap" for a in certificate["assumptions"])
        self.facts = {f["array"]: f for f in certificate["facts"]}
        self.ends = {f["array"]: (end_of(f["least"]), end_of(f["greatest"])) for f in certificate["floats"]}
        self.given: dict[tuple[int, int], tuple[str, int]] = {}
        self.drawn: dict[tuple[int, int], tuple[int, int, Any]] = {}
        """By array and byte: type and bits in the sample; first byte, size and value of the element that was drawn."""
        for values in sample["inputs"]:
            size = SIZES[values["type"]]
            for i, bits in enumerate(values["bits"].split()):
                for at in range(values["at"] + i * size, values["at"] + (i + 1) * size):
                    self.given[values["array"], at] = (values["type"], int(bits, 16))

    def has_integers(self) -> bool:
        return any(
            t is not None and t not in FORMATS for t in [*(a["type"] for a in self.arrays), *(t for t, _ in self.given.values())]
        )

    def read(self, array: int, off: int, n: int, type: str) -> Any:
        entry = self.arrays[array]
        if entry["pointers"]:
            raise Cannot("an array of pointers")
        if entry["contents"] is not None:
            return int.from_bytes(bytes.fromhex(entry["contents"])[off : off + n], "little")
        if entry["role"] == "out":
            return None
        parts: list[Any] = []
        while len(parts) < n:
            at = off + len(parts)
            if (array, at) not in self.drawn:
                self.draw(array, at, type)
            start, size, value = self.drawn[array, at]
            if (at, size) == (off, n):
                return value
            parts += parts_of(value, size)[at - start :]
        return whole(parts[:n])

    def draw(self, array: int, at: int, type: str) -> None:
        own, (kind, bits) = self.arrays[array]["type"], self.given.get((array, at), ("", None))
        kind = kind or own or {"b32": "f32", "b64": "f64", "b128": "f32"}.get(type, type)
        is_open = kind == "b16"
        kind = "f16" if is_open else kind
        start = at // SIZES[kind] * SIZES[kind]
        value = self.value(array, start, kind, bits)
        if is_open:
            value.fmt = "b16"
        for b in range(start, start + SIZES[kind]):
            self.drawn[array, b] = (start, SIZES[kind], value)

    def value(self, array: int, start: int, kind: str, bits: int | None) -> Any:
        if kind not in FORMATS:
            return self.integer(array, 8 * SIZES[kind], bits)
        if SIZES[kind] == 1:
            raise Cannot("floats of 8 bits")
        if not self.domain.has_order:
            return Num(self.domain.number(self.rng.randrange(self.domain.p))._replace(up=1), kind)
        return Num(self.domain.number(self.rational(array, kind, bits)), kind)

    def integer(self, array: int, width: int, bits: int | None) -> int:
        fact = self.facts.get(array)
        if self.other_integers and fact is None:
            wide = (self.rng.getrandbits(width), 1 << (width - 1)) if self.may_wrap else ()
            bits = self.rng.choice((*wide, self.rng.randrange(8), -1))
        if bits is None and fact is not None:
            if fact["distinct"] or fact["sorted"] or fact["pow2"]:
                raise Cannot("more integers under a fact than the sample has")
            bits = self.rng.randint(int(fact["least"]), int(fact["greatest"]))
        return (bits or 0) & ((1 << width) - 1)

    def rational(self, array: int, kind: str, bits: int | None) -> Fraction | str:
        """A number of a sample or a random one, changed, and one that the type and the ranges allow."""
        q = exact(bits, kind) if bits is not None else 2 * rational(self.rng)
        if isinstance(q, str):
            return q
        q = self.change(q, self.rng)
        low, high = self.limits(array, kind)
        if low <= q <= high:
            return q
        # What lies outside comes back to a place of its own, or to an end: a range is of its ends too.
        if array in self.ends and self.rng.randrange(4) == 0:
            return low if q < low else high
        return low + (high - low) * abs(rational(self.rng))

    def limits(self, array: int, kind: str) -> tuple[Fraction, Fraction]:
        """The ends of what an element may be, by its type and by what is said of it."""
        low, high = self.ends.get(array, (-LARGEST[kind], LARGEST[kind]))
        return max(low, -LARGEST[kind]), min(high, LARGEST[kind])
