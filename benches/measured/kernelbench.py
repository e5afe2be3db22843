"""A folder of candidates in KernelBench's form to a table: what became of each, without a GPU.

    python benches/measured/kernelbench.py TASKS CANDIDATES [--labels eval_results.json] [--only 1,2,3] [--timeout 40] > table.jsonl
    python benches/measured/kernelbench.py --summary table.jsonl ...

TASKS holds `NUMBER_name.py`, CANDIDATES `level_1_problem_NUMBER_sample_0_kernel.py`. Each line of the table is one candidate:
compiled, recorded, race, check, category, seconds, and the label that a GPU run gave it. The sets are public and not kept here; one
candidate runs at a time. It is no test of CI: it needs torch, nvcc and hours.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import volta

Json = dict[str, Any]
_NOT_RECORDED = ("compile", "syntax", "unsupported", "launch", "fallback")


def judged(task: Path, candidate: Path, timeout: float) -> Json:
    """One row."""
    started = time.monotonic()
    try:
        r = volta.judge(task, candidate, timeout=timeout, any_launch=True)
    except volta.Error as e:
        return {"category": "error", "hint": f"{type(e).__name__}: {e}"[:400], "seconds": round(time.monotonic() - started, 1)}
    return {
        "compiled": r.category not in ("compile", "syntax"),
        "recorded": r.recorded > 0,
        "race": "clean" if r.verdict in ("equivalent", "not-equivalent") else r.verdict,
        "any": r.any,
        "check": r.verdict,
        "category": r.category,
        "fallback": r.fallback,
        "seconds": round(time.monotonic() - started, 1),
        "stages": {k: round(v, 1) for k, v in r.seconds.items()},
        "hint": r.hint[:400],
    }


def labelled(label: Json | None) -> str:
    """What a run on a GPU said: correct, mismatch, crash (or a launch or call refused), memory (none left), build, or none."""
    if not label:
        return "none"
    if label.get("correctness"):
        return "correct"
    said = str(label.get("metadata"))
    if "mismatch" in said:
        return "mismatch"
    if "out of memory" in said:
        return "memory"
    return "build" if "compilation_error" in said else "crash"


def table(arguments: argparse.Namespace) -> None:
    """Prints a row for each candidate as it is ready."""
    tasks = {int(m[1]): p for p in Path(arguments.folders[0]).glob("*.py") if (m := re.match(r"(\d+)_", p.name))}
    labels = json.loads(Path(arguments.labels).read_text()) if arguments.labels else {}
    only = {int(n) for n in arguments.only.split(",")} if arguments.only else set(tasks)
    for path in sorted(Path(arguments.folders[1]).glob("*.py"), key=lambda p: [int(n) for n in re.findall(r"\d+", p.name)]):
        found = re.search(r"problem_(\d+)", path.name)
        if found is None or int(found[1]) not in only or int(found[1]) not in tasks:
            continue
        row = {"task": int(found[1]), "candidate": f"{path.parent.name}/{path.name}"}
        row |= judged(tasks[int(found[1])], path, arguments.timeout)
        row["gpu"] = labelled(labels.get(found[1]))
        print(json.dumps(row), flush=True)


def summary(files: list[str]) -> None:
    """The figures of a table; of a candidate that stands in it twice, the later row."""
    rows = list({r["candidate"]: r for f in files for r in map(json.loads, Path(f).read_text().splitlines())}.values())
    compiled = [r for r in rows if r["category"] not in ("compile", "syntax", "error")]
    recorded = [r for r in compiled if r.get("recorded")]
    print(f"candidates {len(rows)}, compiled {len(compiled)}, recorded {len(recorded)}")
    print("categories:", dict(Counter(r["category"] for r in rows)))
    for label in ("correct", "mismatch", "crash", "memory", "build", "none"):
        here = [r for r in rows if r["gpu"] == label]
        print(f"GPU {label}: {len(here)}, {dict(Counter(r['category'] for r in here))}")
    right = [r for r in recorded if r["gpu"] == "correct" and r["category"] != "fallback"]
    safe = [r for r in right if r["check"] in ("equivalent", "not-equivalent")]
    equal = [r for r in right if r["category"] == "proved"]
    refuted = [r for r in right if r["check"] in ("not-equivalent", "defective")]
    print(f"recorded, own kernels, correct on a GPU: {len(right)}, safe {len(safe)}, equal {len(equal)}, refuted {len(refuted)}")
    wrong = [r for r in recorded if r["gpu"] in ("mismatch", "crash")]
    print(f"mismatch or crash on a GPU: {len(wrong)}, of them proved {sum(r['category'] == 'proved' for r in wrong)}")
    print("any:", dict(Counter(r.get("any") for r in recorded)))
    print("unknown:", dict(Counter(r["hint"].split(":")[0] for r in rows if r["category"] in ("unknown", "limit", "unsupported"))))
    for name, times in (
        ("with the compiler", [r["seconds"] for r in recorded]),
        ("without it", [r["seconds"] - r["stages"].get("compile", 0) for r in recorded]),
    ):
        times.sort()
        if times:
            print(f"seconds {name}: median {statistics.median(times):.1f}, 90 % below {times[int(0.9 * (len(times) - 1))]:.1f}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="TASKS CANDIDATES, or tables with --summary")
    parser.add_argument("--labels", help="a JSON file: by number, `compiled` and `correctness` of a run on a GPU")
    parser.add_argument("--only", help="numbers of tasks, with commas between")
    parser.add_argument("--timeout", type=float, default=40)
    parser.add_argument("--summary", action="store_true")
    arguments = parser.parse_args()
    if arguments.summary:
        summary(arguments.folders)
    elif len(arguments.folders) == 2:
        table(arguments)
    else:
        sys.exit("TASKS and CANDIDATES are needed")


if __name__ == "__main__":
    main()
