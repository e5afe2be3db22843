"""The replay: both kernels on inputs of every region and on others, and every matched element compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from . import ptx
from .certificate import Readings, ranges
from .machine import Launch
from .memory import Memory, Outside, Space
from .values import (
    FORMATS,
    WIDTHS,
    Beyond,
    Cannot,
    Field,
    Half,
    Known,
    Pieces,
    Reals,
    Refuted,
    exact,
    extract,
    join,
    parts_of,
    rational,
)

INTEGERS = {f"{s}{w}": w for s in "us" for w in (8, 16, 32, 64)}


def _near(q: Fraction, rng: random.Random) -> Fraction:
    return q + max(abs(q), Fraction(1, 16)) * 3 * rational(rng)


def _large(sign: int) -> Callable[[Fraction, random.Random], Fraction]:
    """Beyond 2^18, so that a bound which stands for an infinity (-65504, -1e4) shows what it is."""
    return lambda q, rng: sign * (3 + rational(rng)) * 2**18


def _of_all_sizes(q: Fraction, rng: random.Random) -> Fraction:
    return 2 * rational(rng) * Fraction(2) ** rng.randrange(-24, 25)


Elsewhere = tuple[Callable[[Fraction, random.Random], Fraction], bool]
"""How a number of a sample is changed, and whether integers are others too."""

ELSEWHERE: list[Elsewhere] = [
    (_near, False),
    (lambda q, rng: Fraction(rng.randrange(-1, 3)), False),
    (lambda q, rng: Fraction(rng.randrange(2)), False),
    (lambda q, rng: Fraction(0), False),
    (lambda q, rng: q if rng.randrange(2) else Fraction(0), False),
    (_large(-1), False),
    (_large(1), False),
    (_of_all_sizes, False),
    *[(_near, True)] * 4,
]
"""Inputs that are in no sample: near one, many numbers equal, all of them 0 or large, of all sizes, with other integers."""

SMALL = 1000
"""Instructions of all threads of both kernels, below which more inputs are tried."""

POLES = "where the reference divides by 0 it is an infinity"
"""How the one assumption begins that excuses an element which is no number where the reference is infinite."""


class Inputs:
    """What arrays hold before a launch: the same numbers for both kernels."""

    def __init__(
        self,
        certificate: dict[str, Any],
        domain: Any,
        rng: random.Random,
        sample: dict[str, Any],
        step: Fraction,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.arrays, self.domain, self.rng, self.step = certificate["arrays"], domain, rng, step
        self.known: dict[tuple[int, int], tuple[int, Any]] = {}
        self.changed = elsewhere[0] if elsewhere else None
        self.other_integers = elsewhere is not None and elsewhere[1]
        self.may_wrap = all(a["kind"] != "no-wrap" for a in certificate["assumptions"])
        self.given: dict[tuple[int, int], tuple[str, int]] = {}
        self.types = [a["type"] for a in self.arrays]
        for values in sample["inputs"]:
            at, array = values["at"], values["array"]
            size = _size(values["type"])
            for bits in values["bits"].split():
                self.given[array, at] = (values["type"], int(bits, 16))
                at += size
        self.facts = {f["array"]: f for f in certificate["facts"]}
        ends = certificate.get("floats", [])
        self.ends = {f["array"]: (_end(f["least"]), _end(f["greatest"])) for f in ends}

    def read(self, array: int, off: int, n: int, type: str) -> Any:
        entry = self.arrays[array]
        if entry["pointers"]:
            raise Cannot("an array of pointers")
        if entry["contents"] is not None:
            data = bytes.fromhex(entry["contents"])[off : off + n]
            return int.from_bytes(data, "little")
        if entry["role"] == "out":
            return None
        parts, at = [], off
        while at < off + n:
            start, size, value = self.element(array, at, type)
            count = min(start + size, off + n) - at
            parts.append((8 * count, extract(value, 8 * size, 8 * (at - start), 8 * count)))
            at += count
        return join(parts)

    def element(self, array: int, at: int, type: str) -> tuple[int, int, Any]:
        own = self.types[array]
        for size in (1, 2, 4, 8):
            start = at // size * size
            if (array, start) in self.known and self.known[array, start][0] == size:
                return start, size, self.known[array, start][1]
        found = next(((s, self.given[array, s]) for s in range(at, at - 8, -1) if (array, s) in self.given), None)
        if found and found[0] + _size(found[1][0]) > at:
            start, (kind, bits) = found
            value = self.value(array, kind, bits)
        else:
            kind = own or {"b32": "f32", "b64": "f64", "b16": "f16", "b128": "f32"}.get(type, type)
            start = at // _size(kind) * _size(kind)
            value = self.value(array, kind, None)
            if own is None and kind == "f16" and type == "b16":
                value.kind = None
        self.known[array, start] = (_size(kind), value)
        return start, _size(kind), value

    def value(self, array: int, kind: str, bits: int | None) -> Any:
        if kind not in WIDTHS:
            width = 8 * _size(kind)
            if self.other_integers and array not in self.facts:
                wide = (self.rng.getrandbits(width), 1 << (width - 1)) if self.may_wrap else ()
                bits = self.rng.choice((*wide, self.rng.randrange(8), -1))
            if bits is None and array in self.facts:
                f = self.facts[array]
                if f["distinct"] or f["sorted"] or f["pow2"]:
                    raise Cannot("more integers under a fact than the sample has")
                bits = self.rng.randint(int(f["least"]), int(f["greatest"]))
            return (bits or 0) & ((1 << width) - 1)
        if WIDTHS[kind] == 8:
            raise Cannot("floats of 8 bits")
        number = self.domain.number
        if isinstance(self.domain, Field):
            v = self.domain.number(self.rng.randrange(self.domain.p))
            v.up = 1
        else:
            v = number(self.rational(array, kind, bits))
        return Half(v, kind) if WIDTHS[kind] == 16 else v

    def rational(self, array: int, kind: str, bits: int | None) -> Fraction | str:
        """A number of a sample or a random one, moved by the step or changed, and one that the type and the facts allow."""
        q = exact(bits, kind) if bits is not None else 2 * rational(self.rng)
        if not isinstance(q, Fraction):
            return q
        if self.changed is None:
            q += max(abs(q), Fraction(1, 16)) * self.step * rational(self.rng)
        else:
            q = self.changed(q, self.rng)
        low, high = self.ends.get(array, (-LARGEST[kind], LARGEST[kind]))
        low, high = max(low, -LARGEST[kind]), min(high, LARGEST[kind])
        if low <= q <= high:
            return q
        # What lies outside comes back to a place of its own, or to an end: a fact is of its ends too.
        if array in self.ends and self.rng.randrange(4) == 0:
            return low if q < low else high
        return low + (high - low) * abs(rational(self.rng))


def _end(text: str) -> Fraction:
    """An end of a range; an infinite one as a number that no type holds."""
    return Fraction(text) if "inf" not in text else Fraction(-(1 << 2000) if text[0] == "-" else 1 << 2000)


LARGEST = {kind: Fraction(2) ** (1 << (FORMATS[kind][0] - 1)) * (1 - Fraction(1, 2 << FORMATS[kind][1])) for kind in FORMATS}
"""The largest finite number of each format with infinities."""


def _size(kind: str) -> int:
    return WIDTHS[kind] // 8 if kind in WIDTHS else INTEGERS[kind] // 8 if kind in INTEGERS else ptx.SIZES[kind]


@dataclass
class Run:
    """What both kernels left on one input."""

    memories: list[list[Memory | None]]
    tests: list[dict[int, int]]
    outcomes: list[list[int]]
    excused: set[str]
    steps: int


@dataclass
class Result:
    samples: int = 0
    runs: int = 0
    elements: int = 0
    steps: int = 0
    borders: int = 0
    undefined: int = 0
    beyond: int = 0
    excused: set[str] = field(default_factory=set)
    probability: str | None = None


class Checker:
    def __init__(self, certificate: dict[str, Any], texts: dict[str, str], seed: int) -> None:
        self.certificate, self.seed = certificate, seed
        self.reals = Reals()
        self.modules = {side: ptx.read(texts[side], certificate[side]["entry"]) for side in ("reference", "optimized")}
        constants = self.modules["reference"].constants | self.modules["optimized"].constants
        self.readings = Readings(certificate, constants)
        self.result = Result()
        self.seen: list[dict[int, int]] = [{}, {}]
        self.written: dict[int, set[tuple[tuple[int, int], ...]]] = {}
        self.has_poles = any(a["message"].startswith(POLES) for a in certificate["assumptions"])
        self.has_library = any(a["kind"] == "library-function" for a in certificate["assumptions"])
        self.compared: dict[tuple[int, int], bool] = {}
        self.is_defined = True

    def run(self, domain: Any, inputs: Inputs, as_read: bool) -> Run:
        memories, tests, outcomes, excused, steps = [], [], [], set(), 0
        for side in ("reference", "optimized"):
            launch, arrays = self.launch(side, domain, inputs, as_read)
            try:
                launch.run()
            except (Cannot, Refuted) as e:
                where = f" in line {e.line}" if e.line else ""
                e.args = (f"the {side}{where}: {e.args[0]}",)
                e.side = side  # type: ignore[union-attr]
                raise
            memories.append(arrays)
            tests.append(launch.tests)
            outcomes.append(launch.outcomes)
            excused |= launch.races.used
            steps += launch.steps
        self.result.runs += 1
        self.result.steps += steps
        self.result.excused |= excused
        return Run(memories, tests, outcomes, excused, steps)

    def launch(self, side: str, domain: Any, inputs: Inputs, as_read: bool) -> tuple[Launch, list[Memory | None]]:
        entry = self.certificate[side]
        if entry["warp_sync"]:
            raise Cannot("warps whose lanes run in lock step")
        space = Space(inputs.rng)
        arrays: list[Memory | None] = []
        for i, a in enumerate(self.certificate["arrays"]):
            if a["origin"] == "scalar":
                arrays.append(None)
                continue

            def initial(memory: Memory, off: int, n: int, type: str, array: int = i) -> Any:
                return inputs.read(array, off, n, type)

            arrays.append(space.place(lambda base, a=a, initial=initial: Memory(a["name"], base, a["bytes"], initial)))  # type: ignore[misc]
        params = self.parameters(side, inputs, arrays)
        cache: dict[tuple[int, str], Any] = {}

        def constant(bits: int, fmt: str) -> Any:
            key = (bits, fmt)
            if key not in cache:
                read = self.readings.values.get((fmt, bits)) if as_read else None
                negative = self.readings.values.get((fmt, bits ^ 1 << (8 * _size(fmt) - 1))) if as_read else None
                if read is None and negative is not None:
                    read = -negative
                if read is not None and not isinstance(domain, Reals):
                    raise Cannot("a constant is read as a number that a prime field may lack")
                cache[key] = read if read is not None else domain.number(exact(bits, fmt))
            return cache[key]

        excused = [w for w in self.certificate["warnings"] if w["kernel"] in (side, "pair")]
        return Launch(self.modules[side], {**entry, "excused": excused}, arrays, domain, space, params, constant), arrays

    def parameters(self, side: str, inputs: Inputs, arrays: list[Memory | None]) -> Memory:
        """The parameter space by the declarations of the text, filled by the certificate."""
        spans, at = [], 0
        for v in self.modules[side].entry.params:
            at = -(-at // v.align) * v.align
            spans.append((at, at + v.bytes))
            at += v.bytes

        def unbound(memory: Memory, off: int, n: int, type: str) -> Any:
            raise Cannot(f"bytes {off}..{off + n} of the parameters, which the certificate binds to nothing known")

        memory = Memory("the parameters", 0, at, unbound)
        for p in self.certificate[side]["parameters"]:
            start, end = spans[p["parameter"]] if p["parameter"] < len(spans) else (0, 0)
            if not start <= p["offset"] <= p["offset"] + p["bytes"] <= end:
                raise Refuted(f"the {side} has no parameter {p['parameter']} with bytes {p['offset']}..{p['offset'] + p['bytes']}")
            value: Any
            if "pointer" in p:
                array = arrays[p["pointer"]["array"]]
                if array is None:
                    raise Refuted(f"parameter {p['parameter']} of the {side} points to a number")
                value = array.base + p["pointer"]["at"]
            elif "bits" in p:
                value = int(p["bits"], 16)
            elif "unknown" in p:
                kind = inputs.types[p["unknown"]["array"]] or {2: "f16", 8: "f64"}.get(p["bytes"], "f32")
                if _size(kind) != p["bytes"]:
                    raise Cannot("a parameter of another width than its type")
                value = inputs.read(p["unknown"]["array"], 0, p["bytes"], kind)
            else:
                continue
            memory.write(p["offset"], p["bytes"], value)
        return memory

    # Comparing.

    def differing(self, domain: Any, run: Run) -> dict[tuple[int, int], str]:
        """The elements that differ, by array and byte, with a sentence of each."""
        self.listed(run)
        out: dict[tuple[int, int], str] = {}
        count = 0
        for m in self.certificate["matched"]:
            array = m["array"]
            a, b = (memories[array] for memories in run.memories)
            if a is None or b is None:
                raise Refuted(f"{self.certificate['arrays'][array]['name']} is listed among the outputs, and is none")
            kind = self.certificate["arrays"][array]["type"]
            for first, end in ranges(m["bytes"]):
                at = first
                while at < end:
                    n = _size(kind) if kind else (a.cells.get(at) or b.cells.get(at) or (1, 0))[0]
                    n = min(n, end - at)
                    x, y = a.read(at, n, kind or "b32"), b.read(at, n, kind or "b32")
                    count += 1
                    self.is_defined = True
                    is_same = self.same(domain, x, y, n, kind)
                    self.compared[array, at] = self.compared.get((array, at), False) or self.is_defined
                    if not is_same:
                        name = f"byte {at} of {a.name}" if not kind else f"element {at // n} of {a.name}"
                        out[array, at] = (
                            f"{name} is {show(domain, x)} in the reference and {show(domain, y)} in the optimized kernel"
                        )
                    at += n
        self.result.elements = count
        return out

    def same(self, domain: Any, x: Any, y: Any, n: int, kind: str | None) -> bool:
        x, y = (v.v if type(v) is Known else v for v in (x, y))
        if x is None or y is None:
            raise Refuted("a matched element is never written, or was made of what was never written")
        if type(x) is int and type(y) is int and (x == y or kind is None or kind not in WIDTHS):
            return x == y
        if type(x) is Pieces or type(y) is Pieces:
            edges = {0, 8 * n}
            for v in (x, y):
                at = 0
                for w, _ in parts_of(v, 8 * n):
                    at += w
                    edges.add(at)
            cuts = sorted(edges)
            pairs = [(lo, hi) for lo, hi in pairwise(cuts)]
            return all(
                self.same(domain, extract(x, 8 * n, lo, hi - lo), extract(y, 8 * n, lo, hi - lo), (hi - lo) // 8, None)
                for lo, hi in pairs
            )
        halves = [v.kind for v in (x, y) if type(v) is Half and v.kind]
        if len(set(halves)) > 1:
            return False
        fmt = kind if kind in WIDTHS else halves[0] if halves else {2: "f16", 4: "f32", 8: "f64"}[n]
        numbers: list[Any] = [domain.number(exact(v, fmt)) if type(v) is int else v.v if type(v) is Half else v for v in (x, y)]
        if isinstance(domain, Reals):
            first, second = numbers
            # The reference is not defined there, or at a pole of it the other one is no number.
            if first != first or (self.has_poles and first - first != 0 and second != second):
                self.is_defined = False
                return True
        is_same = bool(domain.equal(*numbers))
        if not is_same and self.has_library and abs(numbers[0] - numbers[1]) * 10**4 < max(1, abs(numbers[0])):
            raise Cannot("the code of a library function, which is taken for the function of the reals, is not that near")
        return is_same

    def listed(self, run: Run) -> None:
        """Every byte that is written is listed, and every listed byte is written."""
        lists = {m["array"]: ranges(m["bytes"]) for m in self.certificate["matched"]}
        for i, entry in enumerate(self.certificate["arrays"]):
            if entry["origin"] not in ("pointer", "global") or entry["role"] == "scratch":
                if i in lists:
                    raise Refuted(f"{entry['name']} is listed among the outputs, and is none")
                continue
            spans = [(at, at + n) for memories in run.memories if (m := memories[i]) for at, (n, _) in m.cells.items()]
            written = union(spans)
            listed = union(lists.get(i, []))
            if not entry["partial"] and union([*written, *listed]) != listed:
                raise Refuted(f"the kernels write {_text(written)} of {entry['name']}, and {_text(listed)} are listed")
            if entry["bytes"] is not None and listed and listed[-1][1] > entry["bytes"]:
                raise Refuted(f"{_text(listed)} of {entry['name']} are listed, which has {entry['bytes']}")
            self.written.setdefault(i, set()).add(tuple(written))

    def never_written(self) -> None:
        """Bytes that are listed and never written, unless data choose what is written."""
        for m in self.certificate["matched"]:
            seen = self.written.get(m["array"], set())
            listed = union(ranges(m["bytes"]))
            if len(seen) == 1 and union([*next(iter(seen)), *listed]) != list(next(iter(seen))):
                name = self.certificate["arrays"][m["array"]]["name"]
                raise Refuted(f"{_text(listed)} of {name} are listed, and {_text(list(next(iter(seen))))} are written")

    # The whole.

    def check(self) -> Result:
        samples = self.certificate["regions"]["samples"]
        self.result.samples = len(samples)
        failing = self.sweep(as_read=True)
        self.never_written()
        if failing and self.readings.values:
            exactly = self.sweep(as_read=False)
            failing = {k: v for k, v in failing.items() if k in exactly}
        if failing:
            first = min(failing)
            raise Refuted(failing[first] + (f" ({len(failing)} elements differ)" if len(failing) > 1 else ""))
        open = [at for at, is_defined in sorted(self.compared.items()) if not is_defined]
        if open:
            name = self.certificate["arrays"][open[0][0]]["name"]
            raise Cannot(f"the reference leaves byte {open[0][1]} of {name} undefined on every input that was tried")
        return self.result

    def sweep(self, as_read: bool) -> dict[tuple[int, int], str]:
        failing: dict[tuple[int, int], str] = {}
        samples = self.certificate["regions"]["samples"]
        beyond = Beyond("")
        for i, sample in enumerate(samples):
            base: Run | None = None
            for k in range(4):
                rng = random.Random(f"{self.seed} {i} {k}")
                step = Fraction(0) if k == 0 else Fraction(1, 256**k)
                try:
                    run = self.run(self.reals, Inputs(self.certificate, self.reals, rng, sample, step), as_read)
                except Beyond as e:
                    self.result.beyond += 1
                    beyond = e
                    break
                failing.update(self.differing(self.reals, run))
                for seen, tests in zip(self.seen, run.tests):
                    for line, mask in tests.items():
                        seen[line] = seen.get(line, 0) | mask
                if base is None:
                    base = run
                elif run.outcomes == base.outcomes:
                    break
            else:
                self.result.borders += 1
        if self.result.runs == 0:
            raise Cannot(f"no sample can be replayed: {beyond}")
        # A small kernel has few elements on which an input may show something, and more inputs cost nothing.
        is_small = self.result.steps < SMALL * self.result.runs
        for k, elsewhere in enumerate(ELSEWHERE * (8 if is_small else 1)):
            rng = random.Random(f"{self.seed} elsewhere {k}")
            sample = samples[rng.randrange(len(samples))]
            inputs = Inputs(self.certificate, self.reals, rng, sample, Fraction(0), elsewhere)
            if inputs.other_integers and not any(t in INTEGERS for t in [*inputs.types, *(t for t, _ in inputs.given.values())]):
                continue
            self.reals.keeps_digits = elsewhere[0] is not _near
            try:
                run = self.run(self.reals, inputs, as_read)
            except (Outside, Cannot) as e:
                if (isinstance(e, Cannot) and k < 2) or getattr(e, "side", "") != "reference":
                    raise
                self.result.undefined += 1
                continue
            except Beyond:
                self.result.beyond += 1
                continue
            finally:
                self.reals.keeps_digits = False
            failing.update(self.differing(self.reals, run))
            # Where no test decides an output, there is one region.
            if k == 0 and self.certificate["regions"]["tests"] and not self.result.beyond:
                self.new_region(run)
        return failing

    def new_region(self, run: Run) -> None:
        for side, seen, tests in zip(("reference", "optimized"), self.seen, run.tests):
            for line, mask in sorted(tests.items()):
                if mask & ~seen.get(line, 0):
                    raise Refuted(
                        f"a region is missing: the test in line {line} of the {side} has an outcome that it has in no sample"
                    )

    def check_field(self, runs: int = 3) -> Result:
        """The same over prime fields: a stated probability, where only + - * / occur."""
        prime = (1 << 127) - 1
        field_of = Field(prime)
        sample = self.certificate["regions"]["samples"][0]
        for k in range(runs):
            inputs = Inputs(self.certificate, field_of, random.Random(f"{self.seed} field {k}"), sample, Fraction(0))
            run = self.run(field_of, inputs, bool(self.readings.values))
            failing = self.differing(field_of, run)
            if failing:
                raise Refuted(failing[min(failing)])
        self.never_written()
        bound = Fraction(self.result.elements) * Fraction(max(field_of.degree, 1), prime) ** runs
        digits = 0
        while bound < 1 and digits < 400:
            bound *= 10
            digits += 1
        self.result.probability = (
            f"an error has a probability below 10^-{max(digits - 1, 0)} (degree {field_of.degree}, {runs} points)"
        )
        return self.result


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for first, end in sorted(spans):
        if out and first <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((first, end))
    return out


def _text(spans: list[tuple[int, int]]) -> str:
    if not spans:
        return "no bytes"
    return "bytes " + ", ".join(f"{a}..{b}" for a, b in spans[:4]) + (" and more" if len(spans) > 4 else "")


def show(domain: Any, v: Any) -> str:
    if type(v) is int:
        return f"{v:#x}"
    if type(v) in (Half, Known):
        return show(domain, v.v)
    if type(v) is Pieces:
        return "(" + ", ".join(show(domain, x) for _, x in v.parts) + ")"
    return str(domain.show(v))
