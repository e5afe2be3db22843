"""A certificate as it was written: its shape, its digest, the texts that it names, and how it reads constants."""

from __future__ import annotations

import ast
import hashlib
import json
import operator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import shape
from .values import FORMATS, Cannot, Reals, Refuted, exact

SCHEMA = "volta-certificate/1"


def read(path: Path) -> str:
    """The text of a file; a pipe or a device could hold the reader for ever."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no file")
    return path.read_text(encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read(path))
    except (OSError, ValueError, RecursionError) as e:
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
    shape.check(certificate)
    if certificate["verdict"] != "equivalent":
        raise Refuted(f"the verdict is {certificate['verdict']!r}: only `equivalent` has a certificate")
    if certificate["digest"] != digest(certificate):
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


class Readings:
    """The numbers that constants are read as, by format and bits."""

    def __init__(self, certificate: dict[str, Any], constants: set[tuple[str, int]], reals: Reals) -> None:
        self.constants, self.reals, self.values = constants, reals, dict[tuple[str, int], Decimal]()
        self.texts: dict[tuple[str, int], str] = {}
        entries = {(r["format"], int(r["bits"], 16)): r for r in certificate["readings"]}
        for r in certificate["readings"]:
            if entries[r["format"], int(r["bits"], 16)]["reading"] != r["reading"]:
                raise Refuted(f"{r['bits']} has two readings")
        self.texts = {key: r["reading"] for key, r in entries.items() if not r["reciprocal"]}
        for (fmt, bits), r in entries.items():
            value, terms = self.number(r["reading"], fmt)
            value, terms = (1 / value, 1 / terms) if r["reciprocal"] else (value, terms)
            n = exact(bits, fmt)
            # The constant is the rounded number; a difference is as near as its terms are.
            if isinstance(n, str) or abs(reals.number(n) - value) > terms * Decimal(2) ** (2 - FORMATS[fmt][1]):
                raise Refuted(f"{bits:#x} is not near {r['reading']}, as which it is read")
            others = (b for b in range(max(bits - 8, 0), bits + 9) if b != bits and (fmt, b) not in constants)
            if any(exact(b, fmt) == Fraction(value) for b in others):
                raise Refuted(f"{bits:#x} is read as {r['reading']}, of which it is no rounding: the format has that number")
            if any(f == fmt and value == v for (f, _), v in self.values.items()):
                raise Refuted(f"two constants are read as {r['reading']}")
            self.values[fmt, bits] = value

    def number(self, text: str, fmt: str) -> tuple[Decimal, Decimal]:
        """The number that a text is, and how large the terms are of which it is made."""
        operators: dict[Any, Any] = {
            ast.Add: operator.add,
            ast.Sub: operator.sub,
            ast.Mult: operator.mul,
            ast.Div: operator.truediv,
        }

        def of(node: ast.expr) -> Decimal:
            spelled = ast.get_source_segment(text, node) or ""
            if spelled in ("log2(e)", "ln(2)"):
                return self.reals.ln2 if spelled == "ln(2)" else 1 / self.reals.ln2
            if isinstance(node, ast.BinOp) and type(node.op) in operators:
                return operators[type(node.op)](of(node.left), of(node.right))  # type: ignore[no-any-return]
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                return -of(node.operand)
            if isinstance(node, ast.Call) and spelled.startswith("sqrt(") and len(node.args) == 1:
                return of(node.args[0]).sqrt()
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                return self.decimal(spelled, fmt)
            raise Cannot(f"the reading {text!r}")

        try:
            node = ast.parse(text, mode="eval").body
        except SyntaxError as e:
            raise Cannot(f"the reading {text!r}") from e
        terms = [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) else [node]
        return of(node), max(abs(of(t)) for t in terms)

    def decimal(self, text: str, fmt: str) -> Decimal:
        """A whole number is itself; another is the constant of the pair that is nearest, by its own reading if it has one."""
        q, number = Fraction(text), self.reals.number
        if q.denominator == 1 and len(text) < 8:
            return number(q)
        near = [(abs(n - q), bits) for f, bits in self.constants if f == fmt and isinstance(n := exact(bits, f), Fraction)]
        distance, bits = min(near, default=(abs(q), 0))
        if distance > abs(q) * Fraction(1, 1 << FORMATS[fmt][1]):
            if len(text.partition("e")[0].replace(".", "").lstrip("0")) > 15:
                raise Cannot(f"a constant is read as {text}, of which the last digits are not written")
            return number(q)
        own = self.texts.get((fmt, bits))
        return number(exact(bits, fmt)) if own is None else number(q) if own == text else self.number(own, fmt)[0]


def ranges(text: str) -> list[tuple[int, int]]:
    """Ranges `first..end first..end`."""
    return [(int(first), int(end)) for first, _, end in (part.partition("..") for part in text.split())]


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((first, end))
    return out


def spelled(spans: list[tuple[int, int]]) -> str:
    shown = ", ".join(f"{a}..{b}" for a, b in spans[:4]) + (" and more" if len(spans) > 4 else "")
    return f"bytes {shown}" if spans else "no bytes"
