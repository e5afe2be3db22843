"""Compares what a budget of work comes to with one thread and with several, over whole manifests.

    python3 benches/measured/budget.py VOLTA [--budget N]... [--jobs N] [MANIFEST...]

Each entry's verdict, units of work and reasons must be the same. Prints a row for each budget and manifest, and each
entry that differs; exits with 1 if one does. Standard library alone.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def gate(volta: str, manifest: Path, budget: int, jobs: int) -> tuple[dict[str, list], float]:
    """What each entry came to, and the seconds."""
    command = [volta, "gate", str(manifest), "--no-cache", "--jobs", str(jobs), "--json"]
    if budget:
        # Time is a guard only: an entry that it ends shows as a difference.
        command += ["--budget", str(budget), "--timeout", "600"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    found = {}
    for entry in json.loads(done.stdout)["entries"]:
        result = entry["result"]
        reports = [i["result"] for i in result.get("instances", [])] or [result]
        found[entry["name"]] = [
            (
                r.get("verdict"),
                r.get("stats", {}).get("work"),
                [u["message"] for u in r.get("unknown", [])],
            )
            for r in reports
        ]
    return found, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volta")
    parser.add_argument("manifests", nargs="*", type=Path, default=sorted((ROOT / "kernels").glob("*/volta.toml")))
    parser.add_argument("--budget", type=int, action="append", help="0 is none (default: 0, 100000, 10000000)")
    parser.add_argument("--jobs", type=int, default=5)
    args = parser.parse_args()
    differ = 0
    print("| budget | manifest | entries | ended by it | differ | seconds, 1 job | seconds, several |")
    print("|---|---|---|---|---|---|---|")
    for budget in args.budget or [0, 100_000, 10_000_000]:
        for manifest in args.manifests:
            one, alone = gate(args.volta, manifest, budget, 1)
            many, beside = gate(args.volta, manifest, budget, args.jobs)
            other = [name for name in one if one[name] != many.get(name)]
            ended = sum("budget of work" in str(found) for found in one.values())
            name = manifest.parent.name
            print(f"| {budget} | {name} | {len(one)} | {ended} | {len(other)} | {alone:.1f} | {beside:.1f} |", flush=True)
            for entry in other:
                print(f"    {entry}: {one[entry]} against {many.get(entry)}", file=sys.stderr)
            differ += len(other)
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
