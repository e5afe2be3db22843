"""Sizes that make every guard of a kernel go both ways.

The program says of each comparison and loop of a launch which way it never went, where another size could change that
(`thin-coverage`). Sizes that no power of two divides are tried, from small to large, until no place is left that went one way at
all of them. Not claimed: that a place which is still left cannot go the other way; then the warning stays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .calls import META, Size, each
from .errors import InputError
from .results import Finding, Result

#: Sizes in the order in which they are tried; each of several names begins one further.
SIZES = (5, 7, 11, 13, 37, 41, 43, 47, 131, 137, 139, 149, 523, 541, 547, 557, 2053, 2063, 2069, 2081)
_STEP = 4

Place = tuple[str, int, str]


def names_of(*functions: Any) -> list[str]:
    """The sizes that the functions among some values depend on."""
    found = [n for f in functions if callable(f) for n in inspect.signature(f).parameters if n != META]
    if not found:
        raise InputError('sizes="awkward" needs `args` as a function of the sizes, such as lambda n: [...]')
    return list(dict.fromkeys(found))


def sizes_of(names: Sequence[str]) -> list[dict[str, int]]:
    """The sizes that are tried for some names."""
    return [{n: SIZES[at + i % _STEP] for i, n in enumerate(names)} for at in range(0, len(SIZES), _STEP)]


def thin(findings: Sequence[Finding]) -> set[Place]:
    """The places of kernels that went one way, and which way they never went: of the source where the compiler says it, since
    what is compiled may differ from size to size."""
    found = [w for w in findings if w.kind == "thin-coverage"]
    return {(*(s.source or (s.file, s.line)), w.message.partition(",")[0]) for w in found for s in w.sites}


def check(names: Sequence[str], one: Callable[[Size], Result]) -> Result:
    """The worst answer of a question at sizes that make each guard go both ways; it has all of them among its instances."""
    asked: list[Size] = []
    results: list[Result] = []
    left: set[Place] | None = None
    for size in sizes_of(names):
        asked.append(size)
        results.append(one(size))
        left = thin(results[-1].warnings) if left is None else left & thin(results[-1].warnings)
        if not results[-1].ok or (not left and len(results) > 1):
            break
    found = each(asked, lambda size: results[next(i for i, s in enumerate(asked) if s is size)])
    kept = [w for w in found.report.get("warnings", []) if w["kind"] != "thin-coverage" or thin([Finding.of(w)]) & (left or set())]
    return replace(found, report={**found.report, "warnings": kept})
