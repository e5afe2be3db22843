"""The replay: both kernels on inputs of every region and on others, and every matched element compared."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from . import premises, ptx, shape
from .certificate import Readings, ranges, spelled, union
from .inputs import ELSEWHERE, Inputs, near
from .library import Library, Trees
from .machine import Launch, Margin
from .memory import Memory, Races, Space, Write
from .operations import step_of
from .shape import SIDES
from .steering import Steering
from .values import FORMATS, SIZES, Beyond, Cannot, Field, Mixed, Num, Opaque, Outside, Reals, Refuted, Stop, exact, take, widened

SMALL = 1000
"""Instructions of all threads of both kernels, below which more inputs are tried."""

DIGITS_APART = 36
"""How far apart the numbers of a sum may lie on inputs of all sizes."""

POLES = "where the reference divides by 0 it is an infinity"
"""How the one assumption begins that excuses an element which is no number where the reference is infinite."""

ORDERING = {"fence", "membar", "acquire", "release", "acq_rel", "relaxed", "volatile", "sc"}

At = tuple[int, int]
"""An element: its array and its first byte."""


@dataclass
class Run:
    """What both kernels left on one input: arrays, tests by line, outcomes in their order."""

    memories: list[list[Memory | None]] = field(default_factory=list)
    tests: list[dict[int, int]] = field(default_factory=list)
    outcomes: list[list[int]] = field(default_factory=list)
    margins: list[dict[tuple[int, int], list[Margin]]] = field(default_factory=list)
    failing: dict[At, str] = field(default_factory=dict)
    """The elements that differ, with a sentence of each."""


@dataclass
class Result:
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
        self.certificate, self.seed, self.reals, self.result = certificate, seed, Reals(), Result()
        self.modules = [ptx.read(texts[side], certificate[side]["entry"]) for side in SIDES]
        shape.against_texts(certificate, self.modules)
        premises.check(certificate, self.modules)
        self.readings = Readings(certificate, self.modules[0].constants | self.modules[1].constants, self.reals)
        messages = {(a["kind"], a["message"].startswith(POLES)) for a in certificate["assumptions"]}
        self.has_poles, self.has_library = any(p for _, p in messages), any(k == "library-function" for k, _ in messages)
        self.seen: list[dict[int, int]] = [{}, {}]
        self.written: dict[int, set[tuple[tuple[int, int], ...]]] = {}
        self.is_defined: dict[At, bool] = {}
        """Whether the reference was a number on an input that was tried."""
        self.library, self.trees = Library(certificate["assumptions"], self.reals, step_of), Trees()
        """Functions of the CUDA library that the certificate names, and the operations of one run."""
        self.watches = False
        """Whether the margins of tests are noted."""
        self.reached: set[tuple[int, int, int]] = set()
        """Side, line and outcome of each test on data that had it on some input."""

    # Running.

    def run(self, domain: Any, inputs: Inputs, as_read: bool) -> Run:
        run, self.trees = Run(), Trees()
        for i, side in enumerate(SIDES):
            try:
                launch, arrays = self.launch(i, domain, inputs, as_read)
                launch.run()
            except Stop as e:
                where = f" in line {e.line}" if e.line else ""
                e.args, e.side = (f"the {side}{where}: {e.args[0]}",), side
                raise
            run.memories.append(arrays)
            run.tests.append(launch.tests)
            run.outcomes.append(launch.outcomes)
            run.margins.append(launch.margins or {})
            self.result.steps += launch.steps
            self.result.excused |= launch.races.used
        for k, tests in enumerate(run.tests):
            self.reached |= {(k, line, i) for line, mask in tests.items() for i in (0, 1) if mask >> i & 1}
        run.failing = self.differing(domain, run)
        self.result.runs += 1
        return run

    def launch(self, i: int, domain: Any, inputs: Inputs, as_read: bool) -> tuple[Launch, list[Memory | None]]:
        side, module, space = self.certificate[SIDES[i]], self.modules[i], Space(inputs.rng)
        if side["warp_sync"]:
            raise Cannot("warps whose lanes run in lock step")
        excused: dict[str, set[int]] = {}
        for w in self.certificate["warnings"]:
            if w["kernel"] in (SIDES[i], "pair"):
                excused.setdefault(w["kind"], set()).update(w["lines"])
        opcodes = [{*ins.opcode} for ins in module.code]
        races = Races(domain, excused, any(o & ORDERING or (o & {"atom", "red"} and o & {"cas", "exch"}) for o in opcodes))
        arrays: list[Memory | None] = [
            None if a["origin"] == "scalar" else space.place(lambda base: array(inputs, k, base, races))  # noqa: B023
            for k, a in enumerate(self.certificate["arrays"])
        ]
        addresses = {}
        for v in module.variables:
            k = next((g["array"] for g in side["variables"] if g["name"] == v.name), None)
            memory = arrays[k] if k is not None and v.space in ("global", "const") else None
            if memory is not None:
                addresses[v.name] = memory.base
                if v.init is not None and shape.keeps_initial(self.certificate["arrays"][k]):
                    memory.initial = initialised(v.init)
        constant = self.constants(domain, as_read)
        launch = Launch(module, side, addresses, races, domain, space, self.parameters(i, inputs, arrays), constant)
        launch.margins = {} if self.watches else None
        if self.library.functions and domain.has_order:
            launch.trees, launch.library = self.trees, self.library
        launch.code = [*(step_of(launch, ins) for ins in module.code), lambda r: -1]
        return launch, arrays

    def constants(self, domain: Any, as_read: bool) -> Any:
        """A function from the bits of a constant to the float that it is read as."""
        cache: dict[tuple[int, str], Num] = {}

        def constant(bits: int, fmt: str) -> Num:
            if (bits, fmt) not in cache:
                negated = bits ^ 1 << (8 * SIZES[fmt] - 1)
                read = {b: self.readings.values.get((fmt, b)) if as_read else None for b in (bits, negated)}
                value = read[bits] if read[bits] is not None else -read[negated] if read[negated] is not None else None  # type: ignore[operator]
                if value is not None and not domain.has_order:
                    raise Cannot("a constant is read as a number that a prime field may lack")
                cache[bits, fmt] = Num(domain.number(exact(bits, fmt)) if value is None else value, fmt, known=True)
            return cache[bits, fmt]

        return constant

    def parameters(self, i: int, inputs: Inputs, arrays: list[Memory | None]) -> Memory:
        """The parameter space by the declarations of the text, filled by the certificate."""
        spans, at = [], 0
        for v in self.modules[i].params:
            at = -(-at // v.align) * v.align
            spans.append((at, at + v.size))
            at += v.size

        def unbound(off: int, n: int, type: str) -> Any:
            raise Cannot(f"bytes {off}..{off + n} of the parameters, which the certificate binds to nothing known")

        memory = Memory("the parameters", 0, at, unbound)
        for p in self.certificate[SIDES[i]]["parameters"]:
            number, off, n = p["parameter"], p["offset"], p["bytes"]
            start, end = spans[number] if 0 <= number < len(spans) else (0, -1)
            if not start <= off <= off + n <= end:
                raise Refuted(f"there is no parameter {number} with bytes {off}..{off + n}")
            if "pointer" in p:
                array = arrays[p["pointer"]["array"]]
                if array is None:
                    raise Refuted(f"parameter {number} points to a number")
                value = array.base + p["pointer"]["at"]
            elif "bits" in p:
                value = int(p["bits"], 16)
            elif "unknown" in p:
                kind = inputs.arrays[p["unknown"]["array"]]["type"] or {2: "f16", 8: "f64"}.get(n, "f32")
                if SIZES[kind] != n:
                    raise Cannot("a parameter of another width than its type")
                value = inputs.read(p["unknown"]["array"], 0, n, kind)
            else:
                continue
            memory.put(Write(off, n, value))
        return memory

    # Comparing.

    def differing(self, domain: Any, run: Run) -> dict[At, str]:
        """The elements that differ, with a sentence of each."""
        self.listed(run)
        out: dict[At, str] = {}
        self.result.elements = 0
        for array, spans in self.lists().items():
            a, b = (memories[array] for memories in run.memories)
            kind = self.certificate["arrays"][array]["type"]
            assert a is not None
            assert b is not None
            for first, end in spans:
                at = first
                while at < end:
                    w = a.bytes.get(at) or b.bytes.get(at)
                    n = min(SIZES[kind] if kind else w.size if w and w.off == at else 1, end - at)
                    x, y = a.read(at, n, kind or "b32"), b.read(at, n, kind or "b32")
                    self.result.elements += 1
                    if not self.same(domain, x, y, n, kind, (array, at)):
                        name = f"element {at // n} of {a.name}" if kind else f"byte {at} of {a.name}"
                        values = [show(domain, v) for v in (x, y)]
                        out[array, at] = f"{name} is {values[0]} in the reference and {values[1]} in the optimized kernel"
                    at += n
        return out

    def same(self, domain: Any, x: Any, y: Any, n: int, kind: str | None, at: At) -> bool:
        if x is None or y is None:
            raise Refuted("a matched element is never written, or was made of what was never written")
        if kind in FORMATS:
            x, y = widened(x), widened(y)
        if n > 2 and Mixed in (type(x), type(y)):
            return all(self.same(domain, take(x, low, n // 2), take(y, low, n // 2), n // 2, None, at) for low in (0, n // 2))
        if Opaque in (type(x), type(y)):
            raise Cannot("bits of a number that data decide are compared")
        cuts = {v.cut for v in (x, y) if type(v) is Num}
        if Mixed in (type(x), type(y)) or (kind not in FORMATS and len(cuts) > 1):
            raise Cannot("bits of a number that data decide are compared")
        self.is_defined.setdefault(at, False)
        formats = [v.fmt for v in (x, y) if type(v) is Num and v.fmt != "b16"]
        if not any(type(v) is Num for v in (x, y)) and (kind not in FORMATS or x == y):
            self.is_defined[at] = True
            return bool(x == y)
        if n == 2 and len({*formats}) > 1:
            return False
        fmt = kind if kind in FORMATS else formats[0] if formats else {2: "f16", 4: "f32", 8: "f64"}[n]
        first, second = (domain.number(exact(v, fmt)) if type(v) is int else v.v for v in (x, y))
        # The reference is not defined there, or at a pole of it the other one is no number.
        if domain.has_order and first - first != 0:
            both = second - second != 0 and domain.snaps
            if first != first or both or (self.has_poles and second != second):
                return True
        self.is_defined[at] = True
        is_same = bool(domain.equal(first, second))
        if not is_same and self.has_library and abs(first - second) * 10**4 < max(1, abs(first)):
            raise Cannot("the code of a library function, which is taken for the function of the reals, is not that near")
        return is_same

    def lists(self) -> dict[int, list[tuple[int, int]]]:
        return {m["array"]: union(ranges(m["bytes"])) for m in self.certificate["matched"]}

    def listed(self, run: Run) -> None:
        """Every byte that is written is listed."""
        lists = self.lists()
        for i, entry in enumerate(self.certificate["arrays"]):
            if not shape.is_compared(entry):
                if i in lists:
                    raise Refuted(f"{entry['name']} is listed among the outputs, and is none")
                continue
            writes = {(w.off, w.off + w.size) for memories in run.memories if (m := memories[i]) for w in m.bytes.values()}
            written, listed = union([*writes]), lists.get(i, [])
            if not entry["partial"] and union([*written, *listed]) != listed:
                raise Refuted(f"the kernels write {spelled(written)} of {entry['name']}, and {spelled(listed)} are listed")
            if entry["bytes"] is not None and listed and listed[-1][1] > entry["bytes"]:
                raise Refuted(f"{spelled(listed)} of {entry['name']} are listed, which has {entry['bytes']}")
            self.written.setdefault(i, set()).add(tuple(written))

    def never_written(self) -> None:
        """Bytes that are listed and never written, unless data choose what is written."""
        for i, listed in self.lists().items():
            every = self.written.get(i, set())
            if len(every) == 1 and union([*min(every), *listed]) != [*min(every)]:
                name = self.certificate["arrays"][i]["name"]
                raise Refuted(f"{spelled(listed)} of {name} are listed, and {spelled([*min(every)])} are written")

    # The whole.

    def check(self) -> Result:
        failing = self.sweep(as_read=True)
        self.never_written()
        if failing and self.readings.values:
            exactly = self.sweep(as_read=False)
            failing = {at: said for at, said in failing.items() if at in exactly}
        if failing:
            raise Refuted(failing[min(failing)] + (f" ({len(failing)} elements differ)" if len(failing) > 1 else ""))
        for array, at in sorted(at for at, is_defined in self.is_defined.items() if not is_defined):
            name = self.certificate["arrays"][array]["name"]
            raise Cannot(f"the reference leaves byte {at} of {name} undefined on every input that was tried")
        return self.result

    def sweep(self, as_read: bool) -> dict[At, str]:
        """All elements that differ on some input."""
        failing: dict[At, str] = {}
        samples, problem = self.certificate["regions"]["samples"], Beyond("")
        for i, sample in enumerate(samples):
            # Near a sample tests go as they go on it; where they do not, it lies on a border of them, and closer is tried.
            base: Run | None = None
            for k, step in enumerate((Fraction(0), *(Fraction(1, 256**k) for k in (1, 2, 3)))):
                try:
                    run = self.run(
                        self.reals, Inputs(self.certificate, self.reals, f"{self.seed} {i} {k}", sample, near(step)), as_read
                    )
                except Beyond as e:
                    self.result.beyond, problem = self.result.beyond + 1, e
                    break
                failing.update(run.failing)
                for seen, tests in zip(self.seen, run.tests):
                    for line, mask in tests.items():
                        seen[line] = seen.get(line, 0) | mask
                if base is not None and run.outcomes == base.outcomes:
                    break
                base = base or run
            else:
                self.result.borders += 1
        if self.result.runs == 0:
            raise Cannot(f"no sample can be replayed: {problem}")
        # A small kernel has few elements on which an input may show something, and more inputs cost nothing.
        is_small = self.result.steps < SMALL * self.result.runs
        for k, (change, others) in enumerate(ELSEWHERE * (8 if is_small else 1)):
            seed = f"{self.seed} elsewhere {k}"
            inputs = Inputs(self.certificate, self.reals, seed, random.Random(seed).choice(samples), change, others)
            if others and not inputs.has_integers():
                continue
            run = self.elsewhere(inputs, as_read, k)  # type: ignore[assignment]
            if run is not None:
                failing.update(run.failing)
                # Where no test decides an output, there is one region.
                if k == 0 and self.certificate["regions"]["tests"] and not self.result.beyond:
                    self.no_new_region(run)
        failing.update(Steering(self, as_read).steer())
        return failing

    def elsewhere(self, inputs: Inputs, as_read: bool, k: int) -> Run | None:
        """A run on an input of no sample, unless the reference is not defined there."""
        # Numbers of other sizes than those of samples may vanish beside others, and a test then see what digits do not hold.
        is_near = k % len(ELSEWHERE) in (0, *range(len(ELSEWHERE) - 4, len(ELSEWHERE)))
        self.reals.keeps_digits = 0 if is_near else DIGITS_APART
        try:
            return self.run(self.reals, inputs, as_read)
        except (Outside, Cannot) as e:
            if (isinstance(e, Cannot) and k < 2) or e.side != "reference":
                raise
            self.result.undefined += 1
        except Beyond:
            self.result.beyond += 1
        finally:
            self.reals.keeps_digits = 0
        return None

    def no_new_region(self, run: Run) -> None:
        for side, seen, tests in zip(SIDES, self.seen, run.tests):
            for line in sorted(line for line, mask in tests.items() if mask & ~seen.get(line, 0)):
                raise Refuted(f"a region is missing: the test in line {line} of the {side} has an outcome that it has in no sample")

    def check_field(self, runs: int = 3) -> Result:
        """The same over a prime field: a stated probability, where only + - * / occur."""
        prime = (1 << 127) - 1
        field_of, sample = Field(prime), self.certificate["regions"]["samples"][0]
        for k in range(runs):
            inputs = Inputs(self.certificate, field_of, f"{self.seed} field {k}", sample, near(Fraction(0)))
            failing = self.run(field_of, inputs, bool(self.readings.values)).failing
            if failing:
                raise Refuted(failing[min(failing)])
        self.never_written()
        bound, digits = Fraction(self.result.elements) * Fraction(max(field_of.degree, 1), prime) ** runs, 0
        while bound < Fraction(1, 10) and digits < 400:
            bound, digits = bound * 10, digits + 1
        self.result.probability = f"an error has a probability below 10^-{digits} (degree {field_of.degree}, {runs} points)"
        return self.result


def array(inputs: Inputs, k: int, base: int, races: Races) -> Memory:
    entry = inputs.arrays[k]
    return Memory(entry["name"], base, entry["bytes"], lambda off, n, type: inputs.read(k, off, n, type), races)


def initialised(init: bytes) -> Any:
    return lambda off, n, type: int.from_bytes(init[off : off + n], "little")


def show(domain: Any, v: Any) -> str:
    return f"{v:#x}" if type(v) is int else domain.show(v.v) if type(v) is Num else "bytes of several numbers"
