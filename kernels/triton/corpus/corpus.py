#!/usr/bin/env python3
"""Compiles the kernels of this folder by the Triton of the running interpreter, and asks volta about each and its twin.

    corpus.py run [--arch 80 90 100] [--filter TEXT]    checks all of them, and writes `benches/measured/corpus.md`
    corpus.py numbers [--filter TEXT]                   executes them beside NumPy: the right ones agree, the twins do not
    corpus.py pack                                      writes `corpus.zst`, which `tests/kernels/corpus.rs` runs

`VOLTA_BINARY` is the program, and the package is on the path. A verdict is what a budget of work comes to, which is the same on
every machine. What is packed: of each kernel one target, in rotation, and of its twin the next one. An entry that
is not decided yet stands there as `unknown` with its reason, but for those that cost more than their share of work; what is
decided wrongly is left out too, and named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from cases import CASES, Case

import volta
from volta.kernels import coerce
from volta.launches import Launch
from volta.prepared import Prepared
from volta.server import program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = ROOT / "benches" / "measured" / "corpus.md"
ARCHIVE = HERE / "corpus.zst"
LEDGER = HERE / "corpus.ledger"


VERSION = str(triton.__version__)
ARCHS = (80, 90, 100)
#: Units of work that one verdict may take, and seconds, after which a machine is taken to hang.
BUDGET, SECONDS = 20_000_000, 60.0
#: The units of an entry that is packed: all of them are tested at each change.
SHARE = 3_000_000
#: What a twin comes to: it may also read or write what it must not.
WRONG = ("not-equivalent", "defective")
#: The Triton that is packed.
PACKED = "3.9.0"


def load() -> None:
    """Imports the kernels."""
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in ("cases", "corpus"):
            importlib.import_module(path.stem)


def chosen(text: str) -> Iterator[Case]:
    """The cases that have a text in their names, in order."""
    return (CASES[name] for name in sorted(CASES) if text in name)


@dataclass(frozen=True)
class Seen:
    """A verdict with its reasons, and what it took."""

    verdict: str
    why: str
    work: int
    seconds: float

    def text(self) -> str:
        """It as a cell of the table."""
        return f"{self.verdict}: {self.why}" if self.why else self.verdict


def asked(case: Case, arch: int, slip: int) -> dict[str, Any]:
    """The request that checks a kernel or its twin."""
    kernel = case.kernel(arch, slip)
    prepared = Prepared(coerce(case.reference), Launch(), case.options)
    return prepared.request(kernel, {})[0]


def judged(case: Case, arch: int, slip: int) -> Seen:
    """What volta says of a kernel or its twin."""
    begun = time.monotonic()
    try:
        kernel = case.kernel(arch, slip)
    except volta.CompileError as e:
        return Seen("no code", told(e), 0, 0)
    compiled = time.monotonic()
    try:
        result = volta.check(case.reference, kernel, timeout=SECONDS, budget=BUDGET, **case.options)
    except volta.Error as e:
        return Seen("error", told(e), 0, 0)
    seconds = time.monotonic() - max(begun, compiled)
    decided = result.verdict in ("equivalent", "not-equivalent")
    first = "" if decided else str((result.defects or result.unknown)[0]).splitlines()[0]
    why = re.sub(r" at \S+:\d+:", ":", first).replace("|", "/")[:160]
    if os.environ.get("VOLTA_SHOWN") and result.verdict not in (WRONG if slip else (case.verdict(VERSION),)):
        print(result.text)
    return Seen(result.verdict, why, result.work or 0, seconds)


def told(error: Exception) -> str:
    """The line of a message that says what is wrong, fit for a cell."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"(error|[\w-]*(defect|unknown|race)[\w-]*)\b", line)]
    return (named + lines[-1:] + ["?"])[0].replace("|", "/")[:120]


# The table.

HEAD = """# The corpus of Triton kernels

Kernels of `kernels/triton/corpus`, each as it is and with one slip, by `kernels/triton/corpus/corpus.py run`. Work is that of
the kernel and of its twin, seconds are theirs together without those of Triton, on a busy machine.

"""
#: Why kernels and twins do not get the verdict that they have to.
ROOTS = {
    "adam": "1 - pow(0.99, 3), which the machine computes of known numbers, is no longer the power of a number of the formula",
    "attention_window": "what was computed in half precision leaves every test for minus infinity open",
    "cross_entropy_in_place": "an element at a place that data give, read once here and chosen among all elements there",
    "kl_divergence": "q log q at q = 0, which alone tells the twin from the kernel, is no number",
    "label_smoothing": "an element at a place that data give, read once here and chosen among all elements there",
    "quantize_small": "sm_80 makes e5m2 by integer code, whose bits are not those of a conversion",
    "top_values": "the second largest is a choice that depends on which of equal elements the first one was",
}
COLUMNS = ("kernel", "sm", "Triton", "verdict", "twin", "work", "seconds")


def rows() -> dict[tuple[str, int, str], list[str]]:
    """The rows of the table as it is, by kernel, target and version."""
    out = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        cells = [c.strip() for c in line.strip("|").split(" | ")]
        if len(cells) == len(COLUMNS) and cells[1].isdigit():
            out[cells[0], int(cells[1]), cells[2]] = cells
    return out


def is_exception(key: tuple[str, int, str], cells: list[str]) -> bool:
    """Whether a kernel or its twin did not get the verdict that it has to."""
    case = CASES.get(key[0])
    return case is not None and (cells[3].split(":")[0] != case.verdict(key[2]) or not cells[4].startswith(WRONG))


def write(found: dict[tuple[str, int, str], list[str]]) -> None:
    """Writes the table: how many are as they have to be, and each."""
    text = HEAD + "| Triton | sm | kernels | as they are | twins refuted |\n|---|---|---|---|---|\n"
    for version, arch in sorted({(k[2], k[1]) for k in found}):
        cells = [c for k, c in found.items() if k[1:] == (arch, version)]
        right = sum(c[3].split(":")[0] == CASES[c[0]].verdict(version) for c in cells if c[0] in CASES)
        wrong = sum(c[4].startswith(WRONG) for c in cells)
        text += f"| {version} | {arch} | {len(cells)} | {right} | {wrong} |\n"
    text += "\nWhat is not as it has to be, and the root of it:\n\n"
    for name in sorted({k[0] for k, c in found.items() if is_exception(k, c)}):
        text += f"* {name}: {ROOTS.get(name, 'not known')}\n"
    text += f"\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    for key in sorted(found):
        text += f"| {' | '.join(found[key])} |\n"
    TABLE.write_text(text)


def run(options: argparse.Namespace) -> None:
    """Checks each kernel and its twin for each target."""
    for case in chosen(options.filter):
        for arch in options.arch:
            right, twin = (judged(case, arch, slip) for slip in (0, 1))
            key = (case.name, arch, VERSION)
            seconds = f"{right.seconds + twin.seconds:.1f}"
            cells = [case.name, str(arch), VERSION, right.text(), twin.text(), f"{right.work} {twin.work}", seconds]
            mark = "   <--" if is_exception(key, cells) else ""
            print(*cells, mark, sep=" | ", flush=True)
            if not options.dry:
                write(rows() | {key: cells})  # What others wrote in the meantime stays.


# Beside NumPy.


def drawn(case: Case, name: str, array: Any, rng: Any) -> Any:
    """Contents of an array, within what the case assumes."""
    import numpy as np

    facts = [f for f in case.options.get("assume", []) if f.split()[0] == name]
    bounds = [re.search(r"in (-?[\d.e]+)\.\.(-?[\d.e]+)$", f) for f in facts]
    bound = next((b for b in bounds if b), None)
    if array.type[0] in "su":
        low, high = (int(bound[1]), int(bound[2])) if bound else (0, 2) if array.is_bool else (0 if array.type[0] == "u" else -4, 5)
        values = rng.integers(low, high, size=array.shape)
        if any("distinct" in f for f in facts):
            values = rng.permutation(np.arange(low, high))[: array.elements].reshape(array.shape)
        return np.sort(values) if any("sorted" in f for f in facts) else values
    if bound:
        return rng.uniform(float(bound[1]), float(bound[2]), size=array.shape)
    return np.float32(rng.normal(size=array.shape).astype(np.float16))


def on_numbers(case: Case, slip: int, seed: int) -> str:
    """How far what a kernel leaves is from what NumPy says, or what keeps it from running."""
    from dataclasses import replace

    import numpy as np
    from volta import arg
    from volta.api import Question, outputs

    rng = np.random.default_rng(seed)
    kernel = case.kernel(80, slip)
    values, given, bound = {}, [], dict(kernel.args)
    for i, value in kernel.args.items():
        if isinstance(value, arg.Array) and value.role in ("in", "inout", None):
            if value.contents is not None:  # The reference knows it.
                continue
            data = drawn(case, kernel.names[i], value, rng)
            bound[i] = replace(value, contents=arg.contents_of(data))
            given.append(np.asarray(data, dtype=np.float64 if value.type[0] not in "su" else np.int64))
        elif not isinstance(value, arg.Array) and i < len(kernel.names):
            values[kernel.names[i]] = value
    code = case.reference.__code__
    given += [values[n] for n in code.co_varnames[: code.co_argcount][len(given) :]]
    wanted = case.reference(*given)
    wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
    result = Question(replace(kernel, args=bound), Launch(), {}).ask("run", {"timeout": 120.0})
    found = list(outputs(result).values())
    worst = 0.0
    for w, f in zip(wanted, found):
        w, f = np.asarray(w, dtype=np.float64).ravel(), np.asarray(f, dtype=np.float64).ravel()
        off = np.where(w == f, 0, np.abs(w - f) / max(1e-30, np.abs(w[np.isfinite(w)]).max(initial=1e-30)))
        worst = max(worst, float(np.nan_to_num(off, nan=np.inf).max(initial=0)))
    return f"{worst:.1e}"


def numbers(options: argparse.Namespace) -> None:
    """Executes kernels and twins on numbers."""
    for case in chosen(options.filter):
        line = [case.name]
        for slip in (0, 1):
            for seed in range(2):
                try:
                    line.append("formula" if isinstance(case.reference, volta.Formula) else on_numbers(case, slip, seed))
                except (volta.Error, TypeError) as e:  # An element that nothing writes has no value.
                    line.append(told(e)[:60])
            line.append("|")
        print(*line, flush=True)


# The sample that is tested.


def toml(value: Any) -> str:
    """A value as TOML has it in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


@dataclass
class Entry:
    """An entry of the manifest with its PTX."""

    name: str
    lines: list[str]
    ptx: str
    expect: str
    why: str = ""

    @classmethod
    def of(cls, case: Case, arch: int, slip: int) -> Entry:
        """A kernel or its twin, with what it has to come to."""
        name = f"corpus-{case.name}-sm-{arch}{'-slip' * slip}"
        request = asked(case, arch, slip)
        launch = request["launch"]
        side = {"file": f"{name}.ptx", **launch.pop("optimized")}
        lines = [f"name = {json.dumps(name)}", f"reference = {toml(request['reference'])}", f"optimized = {toml(side)}"]
        lines += [f"{k} = {toml(v)}" for k, v in launch.items()]
        # No path of the machine that compiled it stays behind.
        ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', request["optimized"]["text"])
        return cls(name, lines, ptx, WRONG[0] if slip else case.verdict(VERSION))

    def text(self) -> str:
        """It as the manifest has it."""
        head = f"[[check]]  # {self.why}" if self.why else "[[check]]"
        return "\n".join([head, *self.lines, f"budget = {SHARE}", f"expect = {json.dumps(self.expect)}", ""])

    def settle(self, result: dict[str, Any]) -> bool:
        """Takes over what it comes to today; false if that is wrong, or costs more than its share."""
        verdict = result["verdict"]
        if verdict == "unknown":
            self.expect, self.why = verdict, "; ".join(f"{u['kind']}: {u['message']}" for u in result["unknown"][:1])
            return all(u["kind"] != "limit" for u in result["unknown"])
        if verdict not in (WRONG if self.expect == WRONG[0] else (self.expect,)):
            self.why = f"WRONG, {verdict}"
            return False
        self.expect = verdict
        return True


def gate(folder: Path, entries: list[Entry], *more: str) -> dict[str, Any]:
    """What the program says of a manifest, which is written into a folder with its files."""
    manifest = folder / "corpus.toml"
    manifest.write_text("# Made by kernels/triton/corpus/corpus.py.\n\n" + "\n".join(e.text() for e in entries))
    for made in entries:
        (folder / f"{made.name}.ptx").write_text(made.ptx.rstrip() + "\n")
    command = [program(), "gate", str(manifest), "--no-cache", "--json", *more]
    report: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    return report


def pack(options: argparse.Namespace) -> None:
    """Writes the archive of the sample, and the ledger."""
    if VERSION != PACKED:
        sys.exit(f"the sample is made by Triton {PACKED}, not {VERSION}")
    turns = [(c, ARCHS[(i + s) % len(ARCHS)], s) for i, c in enumerate(chosen(options.filter)) for s in (0, 1)]
    entries = [Entry.of(*turn) for turn in turns]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report = gate(folder, entries, "--timeout", str(int(SECONDS)))
        results = {e["name"]: e["result"] for e in report["entries"]}
        kept = [e for e in entries if e.settle(results[e.name])]
        for made in entries:
            if made.why:
                print(made.name, "stays" if made in kept else "is left out", made.why, sep=": ")
        gate(folder, kept, "--ledger", str(LEDGER), "--bless")
        names = ["corpus.toml", *(f"{e.name}.ptx" for e in kept)]
        plain = folder / "corpus"
        plain.write_text("".join(f"//@ {n}\n{(folder / n).read_text()}" for n in names))
        subprocess.run(["zstd", "-19", "--long=23", "-q", "-f", plain, "-o", ARCHIVE], check=True)
    print(f"{len(kept)} entries, {ARCHIVE.stat().st_size} bytes")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for function in (run, numbers, pack):
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        command.add_argument("--filter", default="")
        command.add_argument("--arch", type=int, nargs="+", default=list(ARCHS))
        command.add_argument("--dry", action="store_true", help="writes no table")
    load()
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
