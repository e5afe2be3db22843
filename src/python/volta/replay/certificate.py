"""A certificate as it was written: its digest, the texts that it names, and what it must say to make sense."""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]

from .values import FORMATS, Cannot, Refuted, exact

SCHEMA = "volta-certificate/1"


def load(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise ValueError(f"{path} is no certificate: {e}") from e
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no certificate of the shape {SCHEMA}")
    return value


def digest(certificate: dict[str, Any]) -> str:
    """The digest of all but the digest, in the one spelling that has one."""
    rest = {k: v for k, v in certificate.items() if k != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(certificate: dict[str, Any]) -> None:
    """Refuses one that was altered, or that is of no proof."""
    if certificate.get("verdict") != "equivalent":
        raise Refuted(f"the verdict is {certificate.get('verdict')!r}: only `equivalent` has a certificate")
    regions = certificate["regions"]
    reached = [set() for _ in range(regions["tests"])]  # type: list[set[str]]
    for sample in regions["samples"]:
        if len(sample["outcomes"]) != regions["tests"]:
            raise Refuted("a sample does not say what each test decides")
        for outcomes, one in zip(reached, sample["outcomes"]):
            outcomes.add(one)
    names = {"b": {"0", "1"}, "0": {"0"}, "1": {"1"}, "-": set()}
    for i, (outcomes, letter) in enumerate(zip(reached, regions["reached"])):
        if outcomes - {"-"} != names[letter]:
            raise Refuted(f"a region is missing: test {i} reaches {letter!r}, and the samples do not")
    if not regions["samples"] or not certificate["matched"]:
        raise Refuted("it has no sample or matches nothing")
    if certificate.get("digest") != digest(certificate):
        raise Refuted("it was changed after it was written: its digest is that of another content")


def text_of(certificate: dict[str, Any], side: str, given: Path | None, beside: Path) -> str:
    """The text of a kernel, which must be the one that was hashed."""
    entry = certificate[side]
    places = [given] if given else [Path(entry["file"]), beside / entry["file"]]
    for place in places:
        if place.is_file():
            data = place.read_bytes()
            found = hashlib.sha256(data).hexdigest()
            if found != entry["sha256"]:
                raise Refuted(f"{place} is not the {side} of the certificate: its SHA-256 is {found}, not {entry['sha256']}")
            return data.decode("utf-8", errors="replace")
    raise FileNotFoundError(f"{entry['file']} is not found: name it with --{side}")


def ranges(text: str) -> list[tuple[int, int]]:
    out = []
    for part in text.split():
        first, _, end = part.partition("..")
        out.append((int(first), int(end)))
    return out


class Readings:
    """The numbers that constants are read as."""

    def __init__(self, certificate: dict[str, Any], constants: set[tuple[str, int]]) -> None:
        self.given: dict[tuple[str, int], str] = {}
        self.reciprocal: set[tuple[str, int]] = set()
        for r in certificate["readings"]:
            key = (r["format"], int(r["bits"], 16))
            if self.given.setdefault(key, r["reading"]) != r["reading"]:
                raise Refuted(f"{r['bits']} has two readings")
            if r["reciprocal"]:
                self.reciprocal.add(key)
        self.constants = constants
        self.values: dict[tuple[str, int], Any] = {}
        for key in self.given:
            self.values[key] = self._sound(key)

    def _sound(self, key: tuple[str, int]) -> Any:
        """The reading as a number, which the constant must be near to."""
        value = self._value(self.given[key], key[0])
        if key in self.reciprocal:
            value = 1 / value
        bits = exact(key[1], key[0])
        if isinstance(bits, str):
            raise Refuted(f"{key[1]:#x} is {bits}, and is read as {self.given[key]}")
        if abs(mpmath.mpf(bits.numerator) / bits.denominator - value) > abs(value) * mpmath.mpf(2) ** (2 - FORMATS[key[0]][1]):
            near = "log2(e) - " in self.given[key] or "ln(2) - " in self.given[key] or " - " in self.given[key]
            if not near:
                raise Refuted(f"{key[1]:#x} is not near {self.given[key]}, as which it is read")
        return value

    def _value(self, text: str, fmt: str) -> Any:
        tokens = re.findall(r"log2\(e\)|ln\(2\)|sqrt|[()*/+-]|[\d.]+(?:e[+-]?\d+)?", text)
        if "".join(tokens) != text.replace(" ", ""):
            raise Cannot(f"the reading {text!r}")
        value, rest = self._sum(tokens, fmt)
        if rest:
            raise Cannot(f"the reading {text!r}")
        return value

    def _sum(self, tokens: list[str], fmt: str) -> tuple[Any, list[str]]:
        value, tokens = self._product(tokens, fmt)
        while tokens and tokens[0] in "+-":
            other, rest = self._product(tokens[1:], fmt)
            value, tokens = (value + other if tokens[0] == "+" else value - other), rest
        return value, tokens

    def _product(self, tokens: list[str], fmt: str) -> tuple[Any, list[str]]:
        value, tokens = self._atom(tokens, fmt)
        while tokens and tokens[0] in "*/":
            other, rest = self._atom(tokens[1:], fmt)
            value, tokens = (value * other if tokens[0] == "*" else value / other), rest
        return value, tokens

    def _atom(self, tokens: list[str], fmt: str) -> tuple[Any, list[str]]:
        head, rest = tokens[0], tokens[1:]
        if head == "log2(e)":
            return 1 / mpmath.ln2(), rest
        if head == "ln(2)":
            return mpmath.ln2(), rest
        if head in ("sqrt", "("):
            inner, rest = self._sum(rest[1:] if head == "sqrt" else rest, fmt)
            return (mpmath.sqrt(inner) if head == "sqrt" else inner), rest[1:]
        if head == "-":
            value, rest = self._atom(rest, fmt)
            return -value, rest
        return self._decimal(head, fmt), rest

    def _decimal(self, text: str, fmt: str) -> Any:
        """A whole number is itself; another is the constant of the pair that is nearest, by its own reading if it has one."""
        q = Fraction(text)
        if q.denominator == 1 and len(text) < 8:
            return mpmath.mpf(q.numerator)
        best: tuple[Fraction, tuple[str, int]] | None = None
        for key in self.constants:
            bits = exact(key[1], key[0]) if key[0] == fmt else "nan"
            if isinstance(bits, Fraction) and (best is None or abs(bits - q) < best[0]):
                best = (abs(bits - q), key)
        if best is None or best[0] > abs(q) * Fraction(1, 1 << FORMATS[fmt][1]):
            if len(re.sub(r"e.*|\.|^0\.0*", "", text)) > 15:
                raise Cannot(f"a constant is read as {text}, of which the last digits are not written")
            return mpmath.mpf(q.numerator) / q.denominator
        if best[1] in self.given and best[1] not in self.reciprocal and "log2" in self.given[best[1]] + "log2":
            return self._value(self.given[best[1]], fmt) if self.given[best[1]] != text else mpmath.mpf(q.numerator) / q.denominator
        n = exact(best[1][1], fmt)
        assert isinstance(n, Fraction)
        return mpmath.mpf(n.numerator) / n.denominator
