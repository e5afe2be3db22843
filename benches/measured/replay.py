"""Replays certificates of the `equivalent` entries of the manifests, and of their wrong twins' files put in.

    python benches/measured/replay.py --volta target/release/volta [--filter TEXT] [--seconds N] [--keep FOLDER]
                                   [--most N] [--only-twins]

For each entry that must be `equivalent`: `volta check --certificate`, then `python -m volta.replay`, which must confirm it.
For each entry that must be `not-equivalent`, whose reference also stands in an equivalent entry with the same launch: the
wrong twin's text is put into that certificate, hash, entry and digest included, and must be refuted. `cannot replay` counts
for neither.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import hashlib
import io
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src" / "python"))
from volta.replay.__main__ import main as replay_of  # noqa: E402

NOT_SETTINGS = {
    "name",
    "expect",
    "defects",
    "kernel",
    "values",
    "denied",
    "include",
    "deny",
    "rounding",
    "precision",
    "timeout",
    "slack",
}


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


class TooLong(BaseException):
    """No `Exception`: the replay takes those for mistakes of its own."""


def replay(certificate: Path, seconds: float) -> tuple[int, str]:
    """What the replay says. Its seconds are those of the processor, so that a busy machine changes no result."""
    said = io.StringIO()

    def stop(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = replay_of([str(certificate)])
    except TooLong:
        return 3, f"cannot replay: it takes more than {seconds} s"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return code, said.getvalue().strip()


Outcome = tuple[str, str, str, float]


def certified(args: argparse.Namespace, work: Path, folder: Path, entry: dict[str, Any]) -> tuple[Path | None, str, str]:
    """The certificate of an entry, or why it has none."""
    certificate = work / f"{entry['name']}.json"
    run = command(args.volta, folder, entry, work, certificate)
    if run is None:
        return None, "left out", "a formula, a sequence, several sizes, or bits"
    if not certificate.exists():
        ran = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
        if not certificate.exists():
            try:
                report = json.loads(ran.stdout)
            except ValueError:
                return None, "failed", ran.stderr.strip()[:200]
            why = report.get("certificate", {}).get("none") or report.get("error", {}).get("message")
            return None, "no certificate", str(why)
    return certificate, "", ""


def one(args: argparse.Namespace, work: Path, folder: Path, entry: dict[str, Any]) -> Outcome:
    certificate, word, why = certified(args, work, folder, entry)
    if certificate is None:
        return entry["name"], word, why, 0
    start = time.process_time()
    code, text = replay(certificate, args.seconds)
    word = {0: "confirmed", 1: "refuted", 2: "failed", 3: "cannot replay"}[code]
    return entry["name"], word, text.splitlines()[0] if text else "", time.process_time() - start


def alike(folder: Path, entry: dict[str, Any]) -> str:
    """What two entries share whose optimized kernels alone differ."""
    rest = {k: v for k, v in entry.items() if k not in NOT_SETTINGS | {"reference", "optimized"}}
    reference, optimized = (side(folder, entry.get(k)) for k in ("reference", "optimized"))
    launch = {k: v for k, v in (optimized or {}).items() if k not in ("file", "entry")}
    return json.dumps([rest, reference, launch], sort_keys=True)


def twin(args: argparse.Namespace, work: Path, folder: Path, entry: dict[str, Any], right: tuple[Path, dict[str, Any]]) -> Outcome:
    """A certificate of a right kernel with the text of a wrong one, its hash, its entry, and the digest of all that."""
    certificate, word, why = certified(args, work, *right)
    if certificate is None:
        return entry["name"], f"twin {word}", why, 0
    wrong = side(folder, entry["optimized"])
    assert wrong
    text = Path(wrong["file"]).read_bytes()
    doctored = json.loads(certificate.read_text())
    entries = re.findall(r"\.entry\s+([\w$]+)", text.decode())
    doctored["optimized"] |= {
        "file": wrong["file"],
        "sha256": hashlib.sha256(text).hexdigest(),
        "entry": next((e for e in entries if wrong.get("entry", "") in e), ""),
    }
    rest = {k: v for k, v in doctored.items() if k != "digest"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    doctored["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    path = work / f"{entry['name']}.twin.json"
    path.write_text(json.dumps(doctored))
    start = time.process_time()
    code, said = replay(path, args.seconds)
    word = {0: "twin confirmed", 1: "twin refuted", 2: "twin failed", 3: "twin cannot replay"}[code]
    return entry["name"], word, said.splitlines()[0] if said else "", time.process_time() - start


def cost(folder: Path, entry: dict[str, Any]) -> int:
    """Instructions of all threads, loops not counted: the small entries come first."""
    total = 0
    for key in ("reference", "optimized"):
        kernel = side(folder, entry.get(key))
        if not kernel or not Path(kernel["file"]).is_file():
            return 1 << 62
        threads = 1
        for key in ("threads", "block", "grid"):
            value = kernel.get(key, entry.get(key, 1))
            for n in value if isinstance(value, list) else [value]:
                threads *= n if isinstance(n, int) else 1
        total += threads * Path(kernel["file"]).stat().st_size
    return total


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--volta", type=Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=60, help="most processor time of one replay")
    parser.add_argument("--keep", type=Path, help="a folder of certificates; those that it has are not made again")
    parser.add_argument("--only-twins", action="store_true")
    parser.add_argument("--most", type=int, default=0, help="replay only so many, the smallest")
    args = parser.parse_args()
    everything = [(f, e) for f, e in entries() if args.filter in e["name"]]
    everything.sort(key=lambda e: cost(*e))
    right = [(f, e) for f, e in everything if e.get("expect", "equivalent") == "equivalent"]
    wrong = [(f, e) for f, e in everything if e.get("expect") == "not-equivalent"]
    by_launch = {alike(f, e): (f, e) for f, e in reversed(right) if side(f, e.get("reference"))}
    twins = [(f, e, by_launch[alike(f, e)]) for f, e in wrong if side(f, e.get("reference")) and alike(f, e) in by_launch]
    right = right[: args.most] if args.most else right
    counts: dict[str, int] = collections.Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        jobs = [] if args.only_twins else [functools.partial(one, args, work, f, e) for f, e in right]
        jobs += [functools.partial(twin, args, work, f, e, r) for f, e, r in twins]
        for job in jobs:
            name, word, why, seconds = job()
            counts[word] += 1
            print(f"{name}: {word} in {seconds:.1f} s: {why}", flush=True)
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())), f"in {time.monotonic() - start:.0f} s")
    return int(bool(counts["refuted"] + counts["failed"] + counts["twin confirmed"]))


if __name__ == "__main__":
    sys.exit(main())
