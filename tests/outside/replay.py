"""Replays certificates of the `equivalent` entries of the manifests, and of their wrong twins' files put in.

    python tests/outside/replay.py --volta target/release/volta [--python PYTHON] [--filter TEXT] [--most-steps N] [--jobs N]

For each entry that must be `equivalent`: `volta check --certificate`, then `python -m volta.replay`, which must confirm it.
For each entry that must be `not-equivalent`, whose reference also stands in an equivalent entry with the same launch: the
wrong twin's text is put into that certificate, hash, entry and digest included, and must be refuted. Without the new digest
every changed certificate must be refuted too.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "python"
NOT_SETTINGS = {"name", "expect", "defects", "kernel", "values", "denied", "include", "deny", "rounding", "precision", "timeout", "slack"}


def entries() -> list[tuple[Path, dict[str, Any]]]:
    """All checks of the manifests, with the defaults of their own."""
    out, todo = [], [ROOT / "kernels" / "volta.toml"]
    while todo:
        path = todo.pop(0)
        manifest = tomllib.loads(path.read_text())
        todo += [path.parent / i for i in manifest.get("include", [])]
        for entry in manifest.get("check", []):
            out.append((path.parent, {**manifest.get("defaults", {}), **entry}))
    return out


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value) if isinstance(value, str) else str(value)


def side(folder: Path, value: Any) -> dict[str, Any] | None:
    """A kernel as a table with the whole path of its file; None for a formula or a sequence."""
    table = {"file": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or "file" not in table:
        return None
    return {**table, "file": str(folder / table["file"])}


def command(volta: Path, folder: Path, entry: dict[str, Any], work: Path, certificate: Path) -> list[str] | None:
    sides = [side(folder, entry.get(k)) for k in ("reference", "optimized")]
    if not all(sides) or "for" in entry or entry.get("bits"):
        return None
    spec = {k: v for k, v in entry.items() if k not in NOT_SETTINGS | {"reference", "optimized"}}
    spec |= {"reference": sides[0], "optimized": sides[1]}
    path = work / f"{entry['name']}.toml"
    path.write_text("\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in spec.items()) + "\n")
    files = [s["file"] for s in sides if s]
    return [str(volta), "check", *files, "--spec", str(path), "--certificate", str(certificate), "--json", "--timeout", "120"]


def replay(python: str, certificate: Path, *flags: str, seconds: float = 300) -> tuple[int, str]:
    env = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    try:
        ran = subprocess.run(
            [python, "-m", "volta.replay", str(certificate), *flags], capture_output=True, text=True, timeout=seconds, cwd=ROOT, env=env
        )
    except subprocess.TimeoutExpired:
        return 3, f"cannot replay: it takes more than {seconds} s"
    return ran.returncode, (ran.stdout + ran.stderr).strip()


def one(args: argparse.Namespace, work: Path, folder: Path, entry: dict[str, Any]) -> tuple[str, str, str, float]:
    certificate = work / f"{entry['name']}.json"
    run = command(args.volta, folder, entry, work, certificate)
    if run is None:
        return entry["name"], "left out", "a formula, a sequence, several sizes, or bits", 0
    ran = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
    try:
        report = json.loads(ran.stdout)
    except ValueError:
        return entry["name"], "failed", ran.stderr.strip()[:200], 0
    if not certificate.exists():
        why = report.get("certificate", {}).get("none") or report.get("error", {}).get("message") or report.get("verdict")
        return entry["name"], "no certificate", str(why), 0
    steps = sum(report["stats"][k]["thread_instructions"] for k in ("reference", "optimized"))
    if steps > args.most_steps:
        return entry["name"], "left out", f"more than {args.most_steps} instructions", 0
    start = time.monotonic()
    code, text = replay(args.python, certificate)
    word = {0: "confirmed", 1: "refuted", 2: "failed", 3: "cannot replay"}[code]
    return entry["name"], word, text.splitlines()[0] if text else "", time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--volta", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--filter", default="")
    parser.add_argument("--most-steps", type=int, default=300_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the certificates")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        chosen = [(f, e) for f, e in entries() if args.filter in e["name"] and e.get("expect", "equivalent") == "equivalent"]
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(lambda fe: one(args, work, *fe), chosen))
    counts: dict[str, int] = collections.Counter(word for _, word, _, _ in results)
    for name, word, why, seconds in results:
        if args.verbose or word in ("refuted", "failed"):
            print(f"{name}: {word} in {seconds:.1f} s: {why}")
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())), f"in {time.monotonic() - start:.0f} s")
    return int(any(word in ("refuted", "failed") for _, word, _, _ in results))


if __name__ == "__main__":
    sys.exit(main())
