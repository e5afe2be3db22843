"""Answers, typed: what the program says in JSON, with counterexamples as NumPy arrays."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import arg, foreign
from .errors import InputError, NotProved
from .foreign import lines
from .keywords import spoken
from .tolerances import tolerances

Verdict = Literal["equivalent", "clean", "ran", "lifted", "not-equivalent", "defective", "unknown"]
Category = Literal[
    "proved",
    "thin-coverage",
    "compile",
    "unsupported",
    "syntax",
    "launch",
    "fallback",
    "race",
    "deadlock",
    "memory",
    "wrong-values",
    "denied",
    "limit",
    "unknown",
]

#: Characters of a result on one line.
WIDEST = 180
#: Folders of an absolute path of which a line follows.
_FOLDERS = re.compile(r"(?<![^\s(])/(?:[^\s/:]+/)+(?=[^\s/:]+:\d)")

#: Categories that say nothing of a candidate.
OPEN = frozenset(("thin-coverage", "unsupported", "limit", "unknown"))

#: Where a defect belongs.
_CATEGORIES: dict[str, Category] = {
    "data-race": "race",
    "deadlock": "deadlock",
    "barrier-misuse": "deadlock",
    "out-of-bounds": "memory",
    "uninitialized-read": "memory",
    "misaligned-access": "memory",
    "lifetime": "memory",
    "assertion": "wrong-values",
}


@dataclass(frozen=True)
class Site:
    """A place: in the PTX, and in the source that it was compiled from where the compiler says so."""

    file: str
    line: int
    text: str
    threads: tuple[tuple[int, ...], ...]
    source: tuple[str, int] | None

    @classmethod
    def of(cls, site: Mapping[str, Any]) -> Site:
        """From JSON."""
        source = site.get("source")
        return cls(
            str(site.get("file", "")),
            int(site.get("line", 0)),
            str(site.get("text", "")),
            tuple(tuple(t) for t in site.get("threads", [])),
            (str(source["file"]), int(source["line"])) if source else None,
        )

    def __str__(self) -> str:
        file, line = self.source or (self.file, self.line)
        return f"{foreign.line(file)}:{line}"


@dataclass(frozen=True)
class Finding:
    """A defect, a warning, or a reason for `unknown`."""

    kind: str
    message: str
    kernel: str | None
    count: int
    sites: tuple[Site, ...]
    hint: str | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Finding:
        """From JSON."""
        return cls(
            str(entry["kind"]),
            spoken(str(entry["message"])),
            entry.get("kernel"),
            int(entry.get("count", 1)),
            tuple(Site.of(s) for s in entry.get("sites", [])),
            None if entry.get("hint") is None else spoken(str(entry["hint"])),
        )

    def __str__(self) -> str:
        # A race has two places, of which neither is the wrong one.
        places = list(dict.fromkeys(str(site) for site in self.sites[:2]))
        where = f" at {' and '.join(places)}" if places else ""
        return f"{self.kind}{where}: {foreign.sentence(self.message)}"


@dataclass(frozen=True)
class Errors:
    """The largest and mean errors of a kernel on samples, in units of the last place, and relative and absolute ones."""

    ulps: float
    mean_ulps: float
    relative: float
    absolute: float

    @classmethod
    def of(cls, entry: Mapping[str, Any] | None) -> Errors | None:
        """From JSON."""
        if entry is None:
            return None
        return cls(*(float(entry.get(k) or 0) for k in ("ulps", "mean_ulps", "relative", "absolute")))


@dataclass(frozen=True)
class Measured:
    """What rounding does to an output: `kernel` of one that stands alone, else `reference` and `optimized`."""

    name: str
    kernel: Errors | None
    reference: Errors | None
    optimized: Errors | None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Measured:
        """From JSON."""
        sides = [Errors.of(entry["errors"].get(k)) for k in ("kernel", "reference", "optimized")]
        return cls(str(entry["name"]), *sides)


@dataclass(frozen=True)
class Replay:
    """The outputs of both kernels by name; a formula is not executed, and its side is `None`."""

    reference: dict[str, npt.NDArray[Any]] | None
    optimized: dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Counterexample:
    """An input on which an output differs.

    `inputs` are NumPy arrays by name; elements that play no part are 0. `reference` and `optimized` are the values of
    `output[element]`; `optimized` is None where the kernel does not write it.
    """

    output: str
    element: tuple[int, ...]
    reference: float | None
    optimized: float | None
    inputs: dict[str, npt.NDArray[Any]]
    message: str
    replay_: Callable[[Mapping[str, npt.NDArray[Any]]], Replay] | None = field(default=None, repr=False, compare=False)

    def replay(self) -> Replay:
        """What both kernels compute of these inputs with the machine's arithmetic, without a GPU.

        Raises `InputError` where they cannot be executed: a sequence of launches, or a result that was read again.
        """
        if self.replay_ is None:
            raise InputError("only a counterexample of two kernels, as `check` returns it, can be replayed")
        return self.replay_(self.inputs)

    def __str__(self) -> str:
        place = f"{foreign.line(self.output)}[{', '.join(map(str, self.element))}]"
        lines = [f"{place}: reference {self.reference}, optimized {self.optimized}"]
        lines += [f"  {foreign.line(name)} = {np.array2string(array, threshold=64)}" for name, array in self.inputs.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Result:
    """An answer. `report` is the program's JSON, `text` its report for people; `print(result)` prints that."""

    verdict: Verdict
    report: dict[str, Any]
    text: str
    #: The arrays that the kernels were bound to, by the names of the report.
    arrays: Mapping[str, arg.Array] = field(default_factory=dict, repr=False)
    category_: Category | None = None
    #: How much of a candidate's work a library does that the reference uses too.
    fallback: Literal["whole", "main", "epilogue"] | None = None
    #: Executes the kernels on inputs by name.
    replay_: Callable[[Mapping[str, npt.NDArray[Any]]], Replay] | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """True only if it is proved (and nothing of it is denied)."""
        return self.verdict in ("equivalent", "clean", "lifted", "ran") and not self.denied

    def __bool__(self) -> bool:
        raise TypeError("a result is neither true nor false: ask result.ok (True only if proved) or result.verdict")

    @property
    def defects(self) -> list[Finding]:
        """Races, deadlocks, memory errors."""
        return [Finding.of(e) for e in self.report.get("defects", [])]

    @property
    def warnings(self) -> list[Finding]:
        """What is suspect and refutes nothing."""
        return [Finding.of(e) for e in self.report.get("warnings", [])]

    @property
    def unknown(self) -> list[Finding]:
        """Every reason why it could not be shown."""
        return [Finding.of(e) for e in self.report.get("unknown", [])]

    @property
    def denied(self) -> list[str]:
        """Kinds of warnings that were denied and found."""
        return list(self.report.get("denied", []))

    @property
    def assumptions(self) -> list[str]:
        """What the answer takes for granted."""
        listed = self.report.get("assumptions", [])
        return [a if isinstance(a, str) else str(a.get("message", a)) for a in listed]

    @property
    def instances(self) -> list[tuple[dict[str, int], Verdict]]:
        """Each of several sizes, with its verdict."""
        return [(dict(i["for"]), i["result"].get("verdict", "unknown")) for i in self.report.get("instances", [])]

    @property
    def deterministic(self) -> Literal["yes", "no", "unknown"] | None:
        """Of a `race(..., deterministic=True)`: whether every schedule gives the same bits."""
        return self.report.get("deterministic")

    @property
    def launches(self) -> str | None:
        """Of a `race(..., any=True)`: the launches that it speaks of."""
        found = self.report.get("scope", {}).get("launches")
        return None if found is None else str(found["text"])

    @property
    def work(self) -> int | None:
        """The units of work that the answer took, which a `budget` bounds; None where the program does not count them."""
        found = self.report.get("stats", {}).get("work")
        return None if found is None else int(found)

    @property
    def rounding(self) -> list[Measured]:
        """Of a `check(..., rounding=True)`: the errors that were measured, for each output."""
        found = self.report.get("rounding") or {}
        return [Measured.of(m) for m in found.get("outputs", [])]

    @property
    def assert_close(self) -> str | None:
        """Of a `check(..., rounding=True)`: a line for a test of the kernel, with tolerances that its outputs pass on normal and
        uniform inputs. Of a formula or function `expected` is its exact value, rounded once: what float64 gives. None where
        nothing was measured, or no tolerance passes; `assert_close_missing` says why."""
        found = self._tolerances()
        if isinstance(found, str):
            return None
        return f"torch.testing.assert_close(actual, expected, rtol={found[0]:g}, atol={found[1]:g})"

    @property
    def assert_close_missing(self) -> str | None:
        """Why `assert_close` is None, where it is."""
        found = self._tolerances()
        return found if isinstance(found, str) else None

    def _tolerances(self) -> tuple[float, float] | str:
        reports = [i["result"] for i in self.report.get("instances", [])] or [self.report]
        measured = [report.get("rounding") for report in reports]
        if all(measured):
            return tolerances([output for found in measured for output in found["outputs"]])
        if self.verdict != "equivalent":
            return f"rounding is measured of kernels that are equivalent, and the verdict is {self.verdict}"
        return "rounding was not measured: ask with check(..., rounding=True)"

    @property
    def counterexample(self) -> Counterexample | None:
        """The input that tells the kernels apart."""
        found = self.report.get("counterexample")
        if not found:
            return None
        return Counterexample(
            str(found["output"]),
            tuple(found.get("element") or ()),
            _value(found.get("reference")),
            _value(found.get("optimized")),
            _inputs(found.get("inputs", {}), self.arrays),
            str(found.get("message", "")),
            self.replay_,
        )

    @property
    def category(self) -> Category:
        """One word for statistics."""
        if self.category_ is not None:
            return self.category_
        if self.verdict == "defective":
            return next((_CATEGORIES[d.kind] for d in self.defects if d.kind in _CATEGORIES), "wrong-values")
        if self.verdict == "not-equivalent":
            return "wrong-values"
        if self.denied:
            return "denied"
        if self.verdict == "unknown":
            kinds = {u.kind for u in self.unknown}
            return "limit" if kinds == {"limit"} else "unknown"
        return "proved"

    @property
    def reward(self) -> float | None:
        """1.0 proved, 0.0 refuted, None not known."""
        if self.category == "proved":
            return 1.0
        return None if self.category in OPEN else 0.0

    @property
    def hint(self) -> str:
        """One sentence for whoever wrote the candidate."""
        return foreign.sentence(self._hint())

    def _hint(self) -> str:
        if self.category == "proved":
            return "Proved."
        if self.category == "denied":
            return "denied: " + next((str(w) for w in self.warnings if w.kind in self.denied), ", ".join(self.denied))
        if self.category == "compile":
            said = [said.strip() for said in self.text.splitlines()]
            return next((s for s in said if "error" in s), said[0] if said else "it does not compile")
        if self.defects:
            return str(self.defects[0])
        example = self.counterexample
        if example is not None:
            return (example.message or str(example).splitlines()[0]) + "."
        if self.unknown:
            return str(self.unknown[0])
        return self.text.strip().splitlines()[0] if self.text.strip() else self.verdict

    def raise_unless_proved(self, *, allow_unknown: bool = False) -> Result:
        """This result if it is proved; else raises `NotProved`, whose message is the report."""
        if self.ok or (allow_unknown and self.verdict == "unknown" and not self.denied):
            return self
        raise NotProved(str(self))

    def __str__(self) -> str:
        text = lines(self.text.rstrip())
        example = self.counterexample
        if example is None or not example.inputs:
            return text
        return f"{text}\n\ncounterexample:\n{lines(example)}"

    def __repr__(self) -> str:
        said = f"<volta.{type(self).__name__} {self.verdict}"
        cause = self._proved() if self.ok else _FOLDERS.sub("", self.hint).removeprefix(f"{self.verdict}: ")
        whole = f"{said}: {cause}" if cause else said
        return f"{whole if len(whole) < WIDEST else whole[: WIDEST - 4] + '...'}>"

    def _proved(self) -> str:
        """How many elements of outputs were proved, and at how many sizes."""
        sizes = [i["result"] for i in self.report.get("instances", [])]
        elements = sum(o.get("proved") or 0 for report in sizes or [self.report] for o in report.get("outputs", []))
        counted = [f"{n} {what}" for n, what in ((elements, "elements"), (len(sizes), "sizes")) if n]
        return " at ".join(counted)

    def _repr_html_(self) -> str:
        colour = {True: "#1a7f37", False: "#cf222e"}[self.ok] if self.verdict != "unknown" else "#9a6700"
        return (
            f'<div><b style="color:{colour}">{html.escape(self.verdict)}</b>'
            f'<pre style="white-space:pre-wrap">{html.escape(str(self))}</pre></div>'
        )


def failed(category: Category, message: str, kind: str = "syntax") -> Result:
    """The result of a candidate that could not be judged because of itself."""
    entry = {"kernel": "optimized", "kind": kind, "message": message, "count": 1, "sites": []}
    report = {"verdict": "unknown", "unknown": [entry], "defects": [], "warnings": []}
    return Result("unknown", report, foreign.indented(message), category_=category)


def _value(value: Any) -> float | None:
    if not isinstance(value, Mapping):
        return None if value is None else float(value)
    approx = value.get("approx")
    try:
        return float(value.get("text", "nan") if approx is None else approx)
    except (TypeError, ValueError):
        return float("nan")


def _number(value: Any, is_float: bool) -> float | int:
    text = str(value.get("text", "")) if isinstance(value, Mapping) else str(value)
    if not is_float and re.fullmatch(r"-?\d+", text):
        return int(text)  # Beyond 2^53 a float would be another number.
    number = _value(value)
    number = float("nan") if number is None else number
    return number if is_float else int(number)


def _inputs(inputs: Mapping[str, Any], arrays: Mapping[str, arg.Array]) -> dict[str, npt.NDArray[Any]]:
    out: dict[str, npt.NDArray[Any]] = {
        name: np.zeros(array.extents, dtype=arg.numpy_type(array.type))
        for name, array in arrays.items()
        if array.role in ("in", "inout") and array.contents is None
    }
    for name, elements in inputs.items():
        array = arrays.get(name)
        places = [tuple(e.get("element") or (0,)) for e in elements]
        if array is not None and all(len(p) == len(array.extents) for p in places):
            shape: tuple[int, ...] = array.extents
        else:
            rank = max(map(len, places), default=1)
            shape = tuple(max(p[i] if i < len(p) else 0 for p in places) + 1 for i in range(rank))
        kind = arg.type_name(elements[0]["type"]) if elements and elements[0].get("type") else "f64"
        values = np.zeros(shape, dtype=arg.numpy_type(kind))
        for place, e in zip(places, elements):
            if len(place) == len(shape) and all(i < n for i, n in zip(place, shape)):
                values[place] = _number(e["value"], values.dtype.kind == "f")
        out[name] = values
    return out
