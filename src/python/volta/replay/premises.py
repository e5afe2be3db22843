"""What a certificate takes for granted, as one closed list.

Everything that makes the claim of a certificate smaller has to be named by one of its assumptions, in the one sentence that
says it, so that whoever reads the assumptions has read all of it: `needed` makes these sentences of the rest of the
certificate and of the texts. What is left open by its sentence (a constant's digits, a pattern of elements) is matched by
the parts that decide. The replay prints every assumption.

Not claimed: that an assumption holds, and that one is needed of which `needed` knows nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from .ptx import Module
from .shape import SIDES, keeps_initial
from .values import Refuted

DATA = {"finite", "within-format", "not-vanishing", "positive-logarithm", "defined", "fact", "place", "no-wrap", "initial-value"}
CODE = {"constant", "library-function", "mask", "visibility", "scheduling", "machine", "one-winner", "wmma-layout"}
ARRAYS = {"alignment", "extent", "address-space", "left-out", "no-overlap", "alias"}
KINDS = DATA | CODE | ARRAYS
"""Kinds of assumptions that a proof over the reals of one launch may make."""


class Needed(NamedTuple):
    """An assumption that has to stand: its kind, and parts that its sentence has, the whole of it where there is one part."""

    kind: str
    parts: tuple[str, ...]
    why: str

    def is_said_by(self, assumption: dict[str, Any]) -> bool:
        said, parts = assumption["message"], self.parts
        return assumption["kind"] == self.kind and (said == parts[0] if len(parts) == 1 else all(p in said for p in parts))


def check(certificate: dict[str, Any], modules: list[Module]) -> None:
    """Refuses a certificate that takes something for granted without a word."""
    said = certificate["assumptions"]
    for a in said:
        if a["kind"] not in KINDS:
            raise Refuted(f"it assumes {a['message']!r:.60} as {a['kind']!r}, which is no kind of assumption here")
    for n in needed(certificate, modules):
        if not any(n.is_said_by(a) for a in said):
            raise Refuted(f"{n.why}, and no assumption of kind {n.kind!r} says so")


def needed(certificate: dict[str, Any], modules: list[Module]) -> Iterator[Needed]:
    arrays = certificate["arrays"]
    for r in certificate["readings"]:
        bits = f"{int(r['bits'], 16):#x} ("
        start = f"the reciprocal of {bits}" if r["reciprocal"] else bits
        what = f"{r['bits']} is read as {r['reading']}"
        yield Needed("constant", (start, f", {r['format']}) is read as {r['reading']}"), what)
    for f in certificate["facts"]:
        name = arrays[f["array"]]["name"]
        yield Needed("fact", (of_integers(name, f),), f"integers of {name} are limited")
    for f in certificate["floats"]:
        name = arrays[f["array"]]["name"]
        yield Needed("fact", (of_numbers(name, f),), f"numbers of {name} are limited")
    lists = {m["array"]: m["bytes"] for m in certificate["matched"]}
    for i, a in enumerate(arrays):
        name = a["name"]
        if a["contents"] is not None:
            yield Needed("fact", (of_contents(name, a["contents"]),), f"the contents of {name} are given")
        if a["role"] == "scratch":
            said = f"what `{name}` holds in the end is left out: it is scratch"
            yield Needed("left-out", (said,), f"{name} is not compared")
        if a["partial"]:
            yield Needed("left-out", (of_part(name, lists.get(i, "")),), f"a part of {name} is compared only")
        if a["origin"] == "pointer" and a["bytes"] is None and not a["pointers"]:
            yield Needed("extent", (f"`{name}`", "of unknown extent"), f"the extent of {name} is open")
    for side, module in zip(SIDES, modules):
        if certificate[side]["ctas"] is not None:
            yield Needed("left-out", (of_ctas(side, certificate[side]["ctas"]),), f"of the {side} some CTAs are run only")
        for v in module.variables:
            listed = {g["name"] for g in certificate[side]["variables"] if keeps_initial(arrays[g["array"]])}
            if v.space in ("global", "const") and v.name in listed and v.init is not None:
                yield Needed("initial-value", (f"`{v.name}`", "initial values hold"), f"{v.name} has an initial value")
        if certificate[side]["dynamic_shared"] is None and any(v.space == "shared" and v.size == 0 for v in module.variables):
            said = f"the dynamic shared memory of `{certificate[side]['entry']}`"
            yield Needed("extent", (said, "is large enough"), f"the size of the dynamic shared memory of the {side} is open")
    yield from of_pointers(certificate)


def of_pointers(certificate: dict[str, Any]) -> Iterator[Needed]:
    """Parameters of a side that point to one array do so by `--alias`; where there are several arrays, they do not overlap."""
    names, all = [a["name"] for a in certificate["arrays"]], set[int]()
    said = [a["message"] for a in certificate["assumptions"] if a["kind"] == "alias"]
    for side in SIDES:
        pointers = [p["pointer"]["array"] for p in certificate[side]["parameters"] if "pointer" in p]
        all |= {*pointers}
        for array in sorted({*pointers}):
            aliases = {m for m in said if m.startswith(f"`{names[array]}` and `") and m.endswith("` are the same array")}
            if len(aliases) < pointers.count(array) - 1:
                many = f"several parameters of the {side} point to {names[array]}"
                raise Refuted(f"{many}, and no assumption of kind 'alias' says so")
    if len(all) > 1:
        said_of_all = "different pointer parameters point to arrays that do not overlap"
        yield Needed("no-overlap", (said_of_all,), "it is of several arrays")


def of_contents(name: str, digits: str) -> str:
    data = bytes.fromhex(digits)
    shown = digits[:32] + "..." * (len(digits) > 32)
    found = hashlib.sha256(data).hexdigest()[:16]
    return f"`{name}` holds the bytes {shown or '00'} and zeros ({len(data)} bytes, SHA-256 {found})"


def of_integers(name: str, fact: dict[str, Any]) -> str:
    also = "".join(f", {word}" for word in ("distinct", "sorted", "pow2") if fact[word])
    return f"integers of `{name}` lie in {fact['least']}..={fact['greatest']}{also}"


def of_numbers(name: str, fact: dict[str, Any]) -> str:
    return f"numbers of `{name}` lie in {fact['least']}..={fact['greatest']}"


def of_part(name: str, spans: str) -> str:
    return f"of `{name}` only the bytes {spans} are compared"


def of_ctas(side: str, ctas: list[list[int]]) -> str:
    listed = " ".join(",".join(map(str, c)) for c in ctas)
    return f"of the {side} only the CTAs {listed} are run"
