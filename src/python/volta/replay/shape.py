"""The shape of a certificate, and what of it the texts of the kernels say themselves.

A certificate says what each array is; which arrays are compared must not hang on its word. The texts decide: an array that
a parameter points to is one of memory that the launch hands over (`pointer`), a module variable is what its state space makes
it (`global`, `const`), and an unknown number is none of these (`scalar`). Of the first two, every byte that a kernel writes
is compared, unless the certificate lists the array as scratch among what it takes for granted.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import prod
from typing import Any

from .ptx import Module
from .values import SIZES, Cannot, Refuted

SIDES = ("reference", "optimized")

KEYS = {
    "": "schema volta verdict covers digest reference optimized arrays facts floats readings assumptions warnings matched regions",
    "reference": "file sha256 entry block grid ctas dynamic_shared warp_sync parameters variables",
    "parameters": "parameter offset bytes",
    "pointer": "array at",
    "unknown": "array",
    "map": "array",
    "variables": "name array",
    "arrays": "name origin role type shape bytes align contents pointers partial",
    "facts": "array bits least greatest distinct sorted pow2",
    "floats": "array least greatest",
    "readings": "format bits reading reciprocal",
    "assumptions": "kind message sites",
    "warnings": "kernel kind lines",
    "matched": "array bytes",
    "regions": "tests reached samples",
    "samples": "outcomes inputs",
    "inputs": "array at type bits",
}
"""The keys of a certificate, by where they stand. What another one says is not checked here, so there is none."""

BOUND = ("pointer", "bits", "unknown", "map")
"""What a piece of a parameter is bound to: one of these keys stands beside the others."""

NUMBERS = {"parameter", "offset", "bytes", "array", "at", "align", "tests", "dynamic_shared"}
"""The keys of whole numbers; `bytes` and `bits` are words in some places."""

LISTS_OF_NUMBERS = {"block": 1, "grid": 1, "lines": 1, "shape": 1, "ctas": 2}
"""The keys of lists of whole numbers, or of lists of such."""

TRUTHS = ("warp_sync", "pointers", "partial", "distinct", "sorted", "pow2", "reciprocal")

MAY_BE_NULL = ("ctas", "dynamic_shared", "role", "type", "bytes", "align", "contents")

LISTS = {*KEYS} - {"", "reference", "pointer", "unknown", "map", "regions"}
"""The keys of lists of objects."""

WORDS = {
    "origin": ("pointer", "scalar", "global", "const"),
    "role": ("in", "out", "inout", "scratch"),
}
"""Words of a closed list."""

COVERS = r"one launch of each kernel, {}, \d+ elements; other sizes and launches are not covered"
"""What a certificate covers, in its own words."""

EXCUSES = ("same-value-write", "real-equal-write", "unused-read", "ordered-by-value")


def check(certificate: dict[str, Any]) -> None:
    """Refuses what is not built as a certificate is, whatever its texts say."""
    known_keys(certificate)
    regions, arrays = certificate["regions"], certificate["arrays"]
    if not regions["samples"] or not certificate["matched"]:
        raise Refuted("it has no sample or matches nothing")
    if any(len(s["outcomes"]) != regions["tests"] for s in [*regions["samples"], {"outcomes": regions["reached"]}]):
        raise Refuted("a sample does not say what each test decides")
    for i, letter in enumerate(regions["reached"]):
        reached = {s["outcomes"][i] for s in regions["samples"]} - {"-"}
        if reached != {"b": {"0", "1"}, "0": {"0"}, "1": {"1"}}.get(letter, set()):
            raise Refuted(f"a region is missing: test {i} reaches {letter!r}, and the samples do not")
    named = [p[k]["array"] for s in SIDES for p in certificate[s]["parameters"] for k in ("pointer", "unknown", "map") if k in p]
    named += [v["array"] for s in SIDES for v in certificate[s]["variables"]]
    parts = [certificate[k] for k in ("facts", "floats", "matched")] + [s["inputs"] for s in regions["samples"]]
    if any(a >= len(arrays) for a in named + [entry["array"] for part in parts for entry in part]):
        raise Refuted("it names an array that it does not have")
    for key in ("facts", "floats", "matched"):
        if len({entry["array"] for entry in certificate[key]}) < len(certificate[key]):
            raise Refuted(f"an array stands twice under {key!r}")
    if len({a["name"] for a in arrays}) < len(arrays):
        raise Refuted("two arrays have one name")
    for a in arrays:
        if a["bytes"] is not None and a["shape"] and a["type"] in SIZES and prod(a["shape"]) * SIZES[a["type"]] > a["bytes"]:
            raise Refuted(f"{a['name']} has {a['bytes']} bytes, which are too few for its shape")
    for w in certificate["warnings"]:
        if w["kind"] not in EXCUSES or w["kernel"] not in (*SIDES, "pair"):
            raise Refuted(f"unordered accesses are excused as {w['kind']!r}, which excuses none")
    for side in SIDES:
        launch(certificate[side], side)
    is_whole = all(certificate[side]["ctas"] is None for side in SIDES)
    if not re.fullmatch(COVERS.format("all CTAs of both grids" if is_whole else "the CTAs that are listed"), certificate["covers"]):
        raise Refuted(f"it covers {certificate['covers']!r:.80}, which it does not")


def launch(side: dict[str, Any], name: str) -> None:
    grid, block, ctas = side["grid"], side["block"], side["ctas"]
    if len(grid) != 3 or len(block) != 3 or 0 in (*grid, *block):
        raise Refuted(f"the {name} is launched with no thread")
    if ctas is not None:
        inside = all(len(c) == 3 and all(i < n for i, n in zip(c, grid)) for c in ctas)
        if not ctas or not inside or len({tuple(c) for c in ctas}) < len(ctas):
            raise Refuted(f"of the {name} no CTAs of its grid are listed, or one twice")
    pieces = sorted((p["parameter"], p["offset"], p["bytes"]) for p in side["parameters"])
    if any(p[0] == q[0] and p[1] + p[2] > q[1] for p, q in pairwise(pieces)):
        raise Refuted(f"a parameter of the {name} is bound twice")
    if len({v["name"] for v in side["variables"]}) < len(side["variables"]):
        raise Refuted(f"a variable of the {name} is named twice")


def known_keys(value: Any, name: str = "") -> None:
    """Refuses a key that is missing, of its own, or over a value of another kind."""
    where = name or "it"
    if not isinstance(value, dict):
        raise Refuted(f"{where} is no object")
    wanted = {*KEYS["reference" if name == "optimized" else name].split()}
    if name == "parameters":
        wanted |= {k for k in BOUND if k in value}
        if len(wanted) != 4:
            raise Refuted("a parameter is not bound to one thing")
    for key in wanted - {*value}:
        raise Refuted(f"{where} does not say {key!r}")
    for key, inner in value.items():
        if key not in wanted:
            raise Refuted(f"{where} says {key!r}, which is no part of a certificate")
        if not fits(key, inner, name):
            raise Refuted(f"{where} says {inner!r:.40} under {key!r}, which cannot stand there")
        if key in LISTS:
            for item in inner:
                known_keys(item, key)
        elif key in KEYS or key == "optimized":
            known_keys(inner, key)


def fits(key: str, value: Any, where: str) -> bool:
    """Whether a value is of the kind that its key asks for."""
    if value is None:
        return key in MAY_BE_NULL and (key != "bytes" or where == "arrays") and (key != "type" or where == "arrays")
    if key in LISTS:
        return isinstance(value, list)
    if key in KEYS or key == "optimized":
        return isinstance(value, dict)
    if key == "sites":
        return isinstance(value, list)
    if key in TRUTHS:
        return isinstance(value, bool)
    if key in WORDS:
        return value in WORDS[key]
    if key in LISTS_OF_NUMBERS:
        return are_numbers(value, LISTS_OF_NUMBERS[key])
    if (key in NUMBERS and (key, where) != ("bytes", "matched")) or (key, where) == ("bits", "facts"):
        return are_numbers(value, 0)
    return isinstance(value, str)


def are_numbers(value: Any, lists: int) -> bool:
    if lists:
        return isinstance(value, list) and all(are_numbers(v, lists - 1) for v in value)
    return type(value) is int and value >= 0


def against_texts(certificate: dict[str, Any], modules: list[Module]) -> None:
    """Refuses what the texts say otherwise: of threads, parameters, variables and what becomes of each array."""
    arrays, origins = certificate["arrays"], dict[int, str]()

    def reached(array: int, origin: str, how: str) -> None:
        if arrays[array]["origin"] != origin:
            raise Refuted(f"{arrays[array]['name']} is said to be {arrays[array]['origin']!r}, and {how}")
        origins[array] = origin

    for side, module in zip(SIDES, modules):
        entry = certificate[side]
        if module.block is not None and entry["block"] != module.block:
            raise Refuted(f"the {side} asks for a block of {module.block}, and has one of {entry['block']}")
        if module.most_threads is not None and prod(entry["block"]) > module.most_threads:
            raise Refuted(f"the {side} has more threads in a block than the {module.most_threads} that its text allows")
        for p in entry["parameters"]:
            if p["parameter"] >= len(module.params):
                raise Refuted(f"the {side} has no parameter {p['parameter']}")
            what = f"parameter {p['parameter']} of the {side}"
            if "pointer" in p:
                reached(p["pointer"]["array"], "pointer", f"{what} points to it")
            elif "map" in p:
                reached(p["map"]["array"], "pointer", f"{what} is a tensor map of it")
            elif "unknown" in p:
                reached(p["unknown"]["array"], "scalar", f"{what} is that number")
        spaces = {v.name: v.space for v in module.variables if v.space in ("global", "const")}
        for v in entry["variables"]:
            if v["name"] not in spaces:
                raise Refuted(f"the {side} has no variable {v['name']}")
            reached(v["array"], spaces[v["name"]], f"it is a .{spaces[v['name']]} variable of the {side}")
    for i, a in enumerate(arrays):
        if a["type"] is not None and a["type"] not in SIZES:
            raise Cannot(f"elements of type {a['type']!r:.20}")
        # What a table of pointers leads to is memory that the launch hands over, and so compared.
        if i not in origins and a["origin"] != "pointer":
            raise Refuted(f"{a['name']} is said to be {a['origin']!r}, and no parameter and no variable is it")
        if a["origin"] == "const" and a["role"] not in ("in", None):
            raise Refuted(f"{a['name']} is constant memory, to which nothing writes")


def keeps_initial(array: dict[str, Any]) -> bool:
    """Whether a variable holds its initialiser: it has no contents that are given, and is not bound to a shape."""
    return array["contents"] is None and not array["shape"]


def is_compared(array: dict[str, Any]) -> bool:
    """Whether every byte that a kernel writes of an array has to be the same in both."""
    return array["origin"] in ("pointer", "global") and array["role"] != "scratch"
