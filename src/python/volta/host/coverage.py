"""Whether proofs at smaller sizes show what the declared ones run into: the rule behind `thin-coverage`.

A proof counts for the declared sizes where all of this holds, over two choices of smaller sizes at least, one that divides as the
declared sizes do and one that divides otherwise:

1. the same kernels run in the same order with the same blocks, and every number that the host hands over is one expression of the
   sizes at all of them, the declared ones among them (`relations`): what a host cuts short is seen;
2. each integer test of a kernel goes no way at the declared launch that it could not go at one of the proved ones (`caps`);
3. each loop ran twice somewhere, and each guard that the program calls one-sided is compared with no number above the sizes proved;
   what is one-sided in the first and last CTAs of the declared launch as well (`corners`) need not be more at the smaller ones.

A loop over the grid (`i += gridDim.x * blockDim.x`) runs once where the grid covers the data: then the launch is proved again with
a third of its grid, which also stands for a grid that the host cuts at a limit of the device.

Not claimed: a theorem. What fails the rule is no reward of 1; what passes it is proved at the sizes that were run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..kernels import Kernel, grid_of
from ..results import Result
from . import caps, relations, shrink
from .compiler import Built

Json = dict[str, Any]
#: A file, a line, and which way was not seen there.
Place = tuple[str, int, str]
#: Names of sizes that are tried for one loop.
_NAMES = 2


@dataclass(frozen=True)
class Seen:
    """One recording with what was compiled for it: its events are those that are judged."""

    recorded: Json
    events: Sequence[Json]
    built: Sequence[Built]

    def kinds(self) -> dict[str, Sequence[Sequence[Any]]]:
        """The parameters of each kernel: type and size."""
        return {name: described["parameters"] for b in self.built for name, described in b.kernels.items()}

    def launches(self) -> list[Json]:
        """The launches among the events."""
        return [e for e in self.events if e["event"] == "launch"]

    def tests(self, grids: Mapping[str, Sequence[int]] | None = None) -> dict[tuple[str, int], caps.Ways]:
        """The integer tests of all its launches, with other grids for some kernels."""
        texts = {name: b.ptx[d["file"]] for b in self.built for name, d in b.kernels.items()}
        kinds, parts = self.kinds(), []
        for e in relations.ends(self.launches()):
            grid = [*(grids or {}).get(e["kernel"], e["grid"]), 1, 1][:3]
            parts.append(caps.tests_of(texts[e["kernel"]], {**e, "grid": grid}, kinds[e["kernel"]]))
        return caps.joined(parts)


@dataclass
class Coverage:
    """What the proofs so far have shown of the declared recording."""

    declared: Seen
    least: int = 2
    proofs: list[Seen] = field(default_factory=list)
    uncovered: dict[Place, bool] | None = None
    strided: dict[str, list[int]] = field(default_factory=dict)
    one_way: frozenset[Place] = frozenset()
    wanted: dict[tuple[str, int], None] = field(default_factory=dict)

    def add(self, seen: Seen, result: Result, launches: Sequence[Kernel]) -> None:
        """A proof at one more choice of sizes."""
        self.proofs.append(seen)
        self._covers(places(result, launches))
        for w in result.report.get("warnings", []):
            if w["kind"] == "thin-coverage" and "loop" in str(w["message"]):
                self.wanted |= {(m[1], int(m[2])): None for m in re.finditer(r"([\w$]+)_param_(\d+)", str(w["message"]))}

    def add_strided(self, result: Result, launches: Sequence[Kernel]) -> None:
        """A proof with smaller grids of the kernels that walk over the grid."""
        self.strided |= {str(k.entry): grid_of(k.grid) for k in launches if walks(k) and k.grid is not None}
        self._covers(places(result, launches))

    def _covers(self, thin: Mapping[Place, bool]) -> None:
        if self.uncovered is None:
            self.uncovered = dict(thin)
        else:
            self.uncovered = {p: hard or thin[p] for p, hard in self.uncovered.items() if p in thin}

    def gaps(self) -> list[str]:
        """What the proofs leave open at the declared sizes, as phrases; nothing where they count."""
        if len(self.proofs) < self.least:
            return ["proved at one choice of sizes only"]
        thin = [p for p, hard in (self.uncovered or {}).items() if hard and p not in self.one_way]
        out = [f"line {line} of {file}: never {way}" for file, line, way in thin]
        out += [g for g in self._handed_over() if not self._walked(g)]
        proved = caps.joined([*(p.tests() for p in self.proofs), *(p.tests(self.strided) for p in self.proofs[:1])])
        for (kernel, line), ways in self.declared.tests().items():
            beyond = ways - proved.get((kernel, line), frozenset())
            if beyond:
                out.append(f"line {line} of {kernel}: {sorted(beyond)} at the declared sizes only")
        return out

    def larger(self, task: str, texts: Sequence[str]) -> list[str]:
        """Texts of the task at which a loop that a parameter bounds runs twice: one size large, the others small."""
        out: dict[str, None] = {}
        declared, sizes = shrink.sizes(task), [shrink.sizes(t) for t in texts[:2]]
        for kernel, i in self.wanted:
            events = [next((e for e in p.launches() if e["kernel"] == kernel), None) for p in self.proofs[:2]]
            if None in events or len(events) < 2:
                continue
            given = [int.from_bytes(bytes.fromhex(e["parameters"][i]["bytes"])[:8], "little") for e in events if e]
            names = [n for n in sizes[0] if all(s.get(n, 0) > 1 and v % s[n] == 0 for s, v in zip(sizes, given))]
            names = [n for n in names if declared[n] > sizes[0][n]]
            for name in sorted(names, key=lambda n: -sizes[0][n])[:_NAMES]:
                times = max(1, given[0] // sizes[0][name])
                threads = math.prod(events[0]["block"]) if events[0] else 1
                wanted = max(-(-(2 * threads + 1) // times), 2 * sizes[0][name] + 1)
                two = min(declared[name] & -declared[name], 32)
                out[shrink.shrink(task, shrink.NARROW, {name: min(-(-wanted // two) * two, declared[name])})] = None
        return list(out)

    def _handed_over(self) -> list[str]:
        every = [*self.proofs, self.declared]
        return relations.unexplained([s.recorded for s in every], [s.events for s in every], self.declared.kinds())

    def _walked(self, gap: str) -> bool:
        kernel, _, rest = gap.partition(" ")
        return kernel in self.strided and rest.startswith("grid ")


def places(result: Result, launches: Sequence[Kernel]) -> dict[Place, bool]:
    """The places that a proof leaves uncovered, and whether larger sizes could be another matter.

    They could at a loop that ran at most once, and at a comparison with a number above these sizes. Any other comparison that goes
    one way at sizes that divide as the declared ones and at awkward ones goes that way because the sizes are large, as the
    declared ones are; a number that cuts them short is `caps`' matter.
    """
    out: dict[Place, bool] = {}
    most = max((v for k in launches for v in k.args.values() if isinstance(v, int)), default=0)
    for w in result.report.get("warnings", []):
        # What the host does between launches is judged at these sizes by kernels of our own.
        sites = [s for s in w["sites"] if str(s["file"]).startswith("volta_")] if w["kind"] == "thin-coverage" else []
        message = str(w["message"])
        beyond = any(int(n) > 2 * most + 1 for n in re.findall(r"(?<![\w$])\d+", message.partition("try ")[2]))
        for s in sites:
            limits = [int(n) for n in re.findall(r"(?<![\w%$])\d+", str(s["text"]).partition(" ")[2])]
            hard = "comparison" not in message or beyond or any(n > most for n in limits)
            out[(str(s["file"]), int(s["line"]), _way(message))] = hard
    return out


def _way(message: str) -> str:
    """What was never seen: sizes of which one shows each way cover both."""
    found = re.search(r"never (true|false)", message)
    return found[1] if found else "again"


def walks(kernel: Kernel) -> bool:
    """Whether a kernel asks for the extent of its grid, as a loop over the grid does."""
    code = caps.statements(kernel.ptx, str(kernel.entry))
    return any(o.startswith("%nctaid") for s in code for o in s.operands)


def with_smaller_grids(launches: Sequence[Kernel]) -> list[Kernel] | None:
    """The launches with a third of the grid for kernels that walk over it; None where there is none."""
    out = []
    for k in launches:
        extents = grid_of(k.grid) if k.grid is not None else [1]
        smaller = [max(1, -(-n // 3)) for n in extents]
        out.append(replace(k, grid=tuple(smaller)) if walks(k) and smaller != list(extents) else k)
    return out if any(a is not b for a, b in zip(out, launches)) else None
