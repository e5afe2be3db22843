#!/usr/bin/env python3
"""Operators as an engineer optimises them, step by step.

    python3 benches/measured/steps.py --volta target/release/volta --nvcc path/to/nvcc --write

A file of `steps/` is an operator.  The comments at its top say the sizes, the arguments and the launch of each step, and what the
slip of the step is: the same step with one mistake.  A launch may name the sizes in braces.  A slip that shows at some sizes alone
names them.  Each step is checked against the naive kernel and against the step before, each slip against the naive kernel.

PTX is kept by content in the folder `--build`.  One check runs at a time, on one thread if `--jobs` does not say otherwise, and its
user seconds are those that the operating system counts for the process.  The exit status is 0 if each pair got its verdict.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = HERE / "steps"
STEPS = 5
FLAGS = {"default": [], "fast": ["-use_fast_math"]}
LIMIT = 600.0  # seconds, where no flag gives volta another limit
REFUTED = ("not-equivalent", "defective")


@dataclasses.dataclass(frozen=True)
class Step:
    """A kernel's launch, what it does, what its slip is, and the sizes at which the slip shows (none named: all)."""

    block: str
    grid: str
    does: str
    slip: str
    shows: tuple[str, ...]


@dataclasses.dataclass
class Operator:
    """The comments at the top of a source."""

    name: str
    source: pathlib.Path
    sizes: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    args: list[str] = dataclasses.field(default_factory=list)
    assume: list[str] = dataclasses.field(default_factory=list)
    steps: dict[int, Step] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two kernels, by step and by whether they are slips, at a size and with flags of the compiler."""

    operator: str
    size: str
    flags: str
    reference: int
    step: int
    slip: bool

    @property
    def kernels(self) -> str:
        """The kernels in words."""
        before = "naive" if self.reference == 0 else f"step {self.reference}"
        return f"{before}, {'slip' if self.slip else 'step'} {self.step}"

    @property
    def expected(self) -> str:
        """The verdict that is right."""
        return "refuted" if self.slip else "equivalent"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run said, and what it took."""

    pair: Pair
    verdict: str
    user: float
    wall: float
    reason: str

    @property
    def right(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict in REFUTED if self.pair.slip else self.verdict == "equivalent"

    @property
    def wrong(self) -> bool:
        """Whether the verdict is the opposite of the expected one."""
        return not self.right and (self.verdict == "equivalent" or self.verdict in REFUTED)


def filled(text: str, size: dict[str, int]) -> str:
    """A text with its braces evaluated: names of sizes, integers, operators, `ceildiv`."""
    names = {**size, "ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "__builtins__": {}}
    return re.sub(r"\{([^{}]*)\}", lambda m: str(eval(m[1], names)), text)


def read(source: pathlib.Path) -> Operator:
    """An operator, from the comments of its source."""
    operator = Operator(source.stem, source)
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        if m := re.match(r"// size (\S+): (.*)", line):
            operator.sizes[m[1]] = {k: int(v) for k, v in (item.split("=") for item in m[2].split())}
        elif m := re.match(r"// arg (.*)", line):
            operator.args.append(m[1].strip())
        elif m := re.match(r"// assume (.*)", line):
            operator.assume.append(m[1].strip())
        elif m := re.match(r"// step (\d) \| (.*)", line):
            block, grid, does, slip, shows = (*(f.strip() for f in m[2].split(" | ")), "", "")[:5]
            operator.steps[int(m[1])] = Step(block, grid, does, slip, tuple(shows.split()))
    if set(operator.steps) != set(range(STEPS + 1)):
        raise SystemExit(f"{source}: steps 0 to {STEPS} need a line each")
    return operator


class Compiler:
    """nvcc, with a folder of what it made."""

    def __init__(self, nvcc: str, build: pathlib.Path, arch: str) -> None:
        # Compilation happens in another folder.
        self.nvcc, self.build, self.arch = str(pathlib.Path(shutil.which(nvcc) or nvcc).resolve()), build, arch
        self.version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
        self.common = (SOURCES / "common.cuh").read_bytes()
        build.mkdir(parents=True, exist_ok=True)

    def ptx(self, operator: Operator, step: int, slip: bool, flags: str) -> pathlib.Path:
        """The PTX of a kernel."""
        options = ["-ptx", f"-arch={self.arch}", "-diag-suppress=177", *FLAGS[flags], f"-DSTEP={step}", f"-DSLIP={int(slip)}"]
        key = hashlib.sha256(repr((self.version, options)).encode() + self.common + operator.source.read_bytes()).hexdigest()
        name = f"{operator.name}_{'slip' if slip else 'step'}{step}_{flags}_{key[:16]}.ptx"
        path = self.build / name
        if not path.exists():
            part = path.with_suffix(".part")
            subprocess.run([self.nvcc, *options, operator.source.name, "-o", str(part.resolve())], cwd=SOURCES, check=True)
            part.rename(path)
        return path


def command(operator: Operator, pair: Pair, compiler: Compiler, volta: str) -> list[str]:
    """How volta is asked about a pair."""
    size = operator.sizes[pair.size]
    reference, optimized = operator.steps[pair.reference], operator.steps[pair.step]
    files = [compiler.ptx(operator, pair.reference, False, pair.flags), compiler.ptx(operator, pair.step, pair.slip, pair.flags)]
    words = [volta, "check", *map(str, files)]
    for side, step in (("ref", reference), ("opt", optimized)):
        words += [f"--{side}-block", filled(step.block, size), f"--{side}-grid", filled(step.grid, size)]
    for position, value in enumerate(operator.args):
        words += ["--arg", f"{position}={filled(value, size)}"]
    for fact in operator.assume:
        words += ["--assume", filled(fact, size)]
    return words


def reason(report: dict[str, object]) -> str:
    """The first thing that a report says in its own words, without line breaks."""
    for part in ("unknown", "defects"):
        found = report.get(part)
        if isinstance(found, list) and found:
            text = f"{found[0].get('kind')}: {found[0].get('message')}"
            return " ".join(text.split())
    error = report.get("error")
    return " ".join(str(error).split()) if error else ""


def run(operator: Operator, pair: Pair, compiler: Compiler, options: argparse.Namespace) -> Outcome:
    """One check, by itself."""
    words = [*command(operator, pair, compiler, options.volta), "--jobs", str(options.jobs), "--json"]
    if options.timeout is not None:
        words += ["--timeout", f"{options.timeout:g}"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"error": done.stderr.strip() or f"exit status {done.returncode}"}
    said = reason(report)
    verdict = str(report.get("verdict", "error"))
    return Outcome(pair, verdict, after.ru_utime - before.ru_utime, wall, said)


def pairs(operators: list[Operator], sizes: list[str], flags: list[str], kinds: list[str]) -> Iterator[Pair]:
    """The pairs in the order in which they run: sizes and flags outermost."""
    for flag in flags:
        for size in sizes:
            for operator in operators:
                if size not in operator.sizes:
                    continue
                for k in range(1, STEPS + 1):
                    if "steps" in kinds:
                        yield Pair(operator.name, size, flag, 0, k, False)
                        if k > 1:
                            yield Pair(operator.name, size, flag, k - 1, k, False)
                    if "slips" in kinds and size in (operator.steps[k].shows or (size,)):
                        yield Pair(operator.name, size, flag, 0, k, True)


def percent(part: int, whole: int) -> str:
    """A share in words."""
    return f"{part} of {whole}, {100 * part / whole:.1f} %" if whole else "none"


def summary(outcomes: list[Outcome], limit: float) -> list[str]:
    """The rows of the summary."""
    steps = [o for o in outcomes if not o.pair.slip]
    slips = [o for o in outcomes if o.pair.slip]
    late = [o for o in outcomes if o.user > limit + 1]
    return [
        f"| right steps proved | {percent(sum(o.right for o in steps), len(steps))} |",
        f"| right steps proved within 5 s | {percent(sum(o.right and o.user <= 5 for o in steps), len(steps))} |",
        f"| slips refuted | {percent(sum(o.right for o in slips), len(slips))} |",
        f"| slips refuted within 2 s | {percent(sum(o.right and o.user <= 2 for o in slips), len(slips))} |",
        f"| verdicts that are wrong | {sum(o.wrong for o in outcomes)} |",
        f"| runs more than a second of processor beyond the limit of {limit:g} s | {len(late)} |",
        f"| user seconds, all runs | {sum(o.user for o in outcomes):.1f} |",
    ]


def row(o: Outcome) -> str:
    """A row of the table of pairs."""
    p = o.pair
    said = "" if o.right else o.reason.replace("|", "\\|")[:300]
    return (
        f"| {p.operator} | {p.size} | {p.flags} | {p.kernels} | {p.expected} | {o.verdict} | {o.user:.2f} | {o.wall:.2f} | {said} |"
    )


HEAD = [
    "| operator | size | flags | pair | expected | verdict | user s | wall s | reason where it is not the expected one |",
    "|---|---|---|---|---|---|---|---|---|",
]


def page(operators: list[Operator], outcomes: list[Outcome], limit: float) -> str:
    """The lab book."""
    text = (HERE / "steps.md").read_text() if (HERE / "steps.md").exists() else "# Steps of optimisation\n"
    top = text.split("\n## ")[0].rstrip()
    lines = [top, "", "## Summary", "", "| what | number |", "|---|---|", *summary(outcomes, limit), ""]
    lines += [
        "## By operator",
        "",
        "| operator | steps proved | slips refuted | user s | slowest user s |",
        "|---|---|---|---|---|",
    ]
    groups = collections.defaultdict(list)
    for o in outcomes:
        groups[o.pair.operator].append(o)
    for name, group in groups.items():
        steps, slips = [o for o in group if not o.pair.slip], [o for o in group if o.pair.slip]
        lines.append(
            f"| {name} | {sum(o.right for o in steps)} of {len(steps)} | {sum(o.right for o in slips)} of {len(slips)} "
            f"| {sum(o.user for o in group):.1f} | {max(o.user for o in group):.1f} |"
        )
    lines += ["", "## Steps and slips", "", "| operator | step | what | slip | shows at |", "|---|---|---|---|---|"]
    for operator in operators:
        for k, step in sorted(operator.steps.items()):
            shows = ", ".join(step.shows or operator.sizes) if k else ""
            lines.append(f"| {operator.name} | {k or 'naive'} | {step.does} | {step.slip} | {shows} |")
    lines += ["", "## Pairs", "", *HEAD, *map(row, outcomes), ""]
    return "\n".join(lines)


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--volta", default=os.environ.get("VOLTA_BINARY", str(ROOT / "target/release/volta")), help="the program")
    parser.add_argument("--nvcc", default=os.environ.get("NVCC") or shutil.which("nvcc"), help="the compiler")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "target/steps", help="folder for PTX")
    parser.add_argument("--operators", nargs="*", default=None, metavar="NAME", help="files of steps/, all if not given")
    parser.add_argument("--sizes", nargs="*", default=["128x96", "77x53"], metavar="SIZE")
    parser.add_argument("--flags", nargs="*", default=list(FLAGS), choices=list(FLAGS))
    parser.add_argument("--kinds", nargs="*", default=["steps", "slips"], choices=["steps", "slips"])
    parser.add_argument("--only", default="", metavar="TEXT", help="pairs whose words contain it, as in 'naive, slip 3'")
    parser.add_argument("--timeout", type=float, default=None, metavar="SECONDS", help="of each check; volta's own if not given")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads of volta")
    parser.add_argument("--print", action="store_true", dest="show", help="print the commands and run nothing")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the outcomes too")
    parser.add_argument("--write", action="store_true", help="write steps.md")
    options = parser.parse_args()
    if not options.nvcc:
        parser.error("nvcc is not on the path: --nvcc names it")
    operators = [read(f) for f in sorted(SOURCES.glob("*.cu")) if options.operators is None or f.stem in options.operators]
    compiler = Compiler(options.nvcc, options.build, options.arch)
    named = {operator.name: operator for operator in operators}
    limit = options.timeout if options.timeout is not None else LIMIT
    outcomes: list[Outcome] = []
    if not options.show:
        print(*HEAD, sep="\n")
    for pair in pairs(operators, options.sizes, options.flags, options.kinds):
        if options.only not in pair.kernels:
            continue
        if options.show:
            print(subprocess.list2cmdline(command(named[pair.operator], pair, compiler, options.volta)))
            continue
        outcomes.append(run(named[pair.operator], pair, compiler, options))
        print(row(outcomes[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([dataclasses.asdict(o) for o in outcomes], indent=1) + "\n")
    if options.show:
        return 0
    print("", *summary(outcomes, limit), sep="\n")
    if options.write:
        (HERE / "steps.md").write_text(page(operators, outcomes, limit))
    return int(any(not o.right for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
