#!/usr/bin/env python3
"""Brute force against `volta race --any`: what it calls clean is run in small launches, one by one.

    benches/measured/any.py VOLTA kernels/any/volta.toml [--seconds N] [--only NAME]

For each entry that expects `clean`: every block of up to 64 threads (in the dimensions that the kernel reads), every grid of
up to 4 CTAs, and every integer from 0 to 130, as far as the facts of the entry allow. The launches are visited in a fixed
scattered order, so that those which N seconds (60) leave time for are spread evenly over all of them; the share is printed.
They are run by `volta gate` on a manifest of launches, which shares only the simulator with the proof. A defect in any of
them is a wrong verdict, printed with its launch; the exit status is 1.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib

MOST = 130
BATCH = 100


def triples(axes, most):
    """The sizes of up to three dimensions with at most that many elements, in those that are read."""
    span = lambda axis, left: range(1, left + 1) if axis in axes else (1,)
    return [(x, y, z) for x in span("x", most) for y in span("y", most // x) for z in span("z", most // (x * y))]


def integers(head):
    """Positions of the parameters that are integers of 32 bits."""
    return [i for i, kind in enumerate(re.findall(r"\.param \.(\w+)", head)) if kind in ("u32", "s32", "b32")]


def read(text, names):
    """The dimensions in which a kernel reads one of these special registers."""
    return {axis for axis in "xyz" if any(f"%{name}.{axis}" in text for name in names)} | {"x"}


def holds(facts, block, grid, ints):
    for fact in facts:
        text = re.sub(r"arg\((\d+)\)", lambda m: str(ints[int(m[1])]), fact)
        for axis, b, g in zip("xyz", block, grid):
            text = text.replace(f"block.{axis}", str(b)).replace(f"grid.{axis}", str(g))
        assert re.fullmatch(r"[-+*/%<>=! 0-9()]+", text), f"{fact} is not evaluated"
        if not eval(text):
            return False
    return True


def launches(entry, text):
    """All launches of an entry in a scattered order, each once: their number, and a generator."""
    positions = [p for p in integers(text[text.index(".entry") : text.index("{")]) if str(p) not in entry.get("args", {})]
    block = entry.get("block", [entry["threads"], 1, 1] if "threads" in entry else None)
    shapes = [(b, g) for b in ([tuple(block)] if block else triples(read(text, ["tid", "ntid"]), 64)) for g in triples(read(text, ["ctaid", "nctaid"]), 4)]
    facts = entry.get("assume", [])
    about_shape = [f for f in facts if "arg(" not in f]
    shapes = [s for s in shapes if holds(about_shape, *s, {})]
    count = len(shapes) * (MOST + 1) ** len(positions)
    step = int(count * 0.6180339887) | 1
    while math.gcd(step, count) != 1:
        step += 1

    def all_of():
        for i in range(count):
            rest, shape = divmod(i * step % count, len(shapes))
            ints = {}
            for p in positions:
                rest, ints[p] = divmod(rest, MOST + 1)
            yield (*shapes[shape], ints)

    return count, (l for l in all_of() if holds(facts, *l))


def run(volta, kernel, batch, folder):
    """The verdicts of some launches."""
    rows = []
    for i, (block, grid, ints) in enumerate(batch):
        args = ", ".join(f'"{k}" = "{v}"' for k, v in ints.items())
        rows.append(f'[[race]]\nname = "l{i}"\nkernel = "{kernel}"\nblock = {list(block)}\ngrid = {list(grid)}\nargs = {{ {args} }}\n')
    manifest = pathlib.Path(folder) / "launches.toml"
    manifest.write_text("\n".join(rows))
    done = subprocess.run([volta, "gate", manifest, "--no-cache", "--jobs", "1", "--json", "--timeout", "20"], capture_output=True, text=True, timeout=60 * BATCH)
    entries = json.loads(done.stdout)["entries"]
    return [entries[i]["result"].get("verdict", "error") for i in range(len(batch))]


def judge(volta, manifest, entry, seconds, folder):
    """Runs launches of one entry for some time; returns those that break."""
    path = (manifest.parent / entry["kernel"]).resolve()
    count, list_of = launches(entry, path.read_text())
    end, ran, verdicts, broken, complete = time.time() + seconds, 0, {}, [], True
    while batch := [l for l, _ in zip(list_of, range(BATCH))]:
        for launch, verdict in zip(batch, run(volta, path, batch, folder)):
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
            if verdict == "defective":
                broken.append(launch)
        ran += len(batch)
        if time.time() > end:
            complete = next(list_of, None) is None
            break
    share = "all" if complete else f"of {count}"
    print(f"{entry['name']}: {ran} launches, {share}: {verdicts}", flush=True)
    for block, grid, ints in broken[:5]:
        print("WRONG", entry["name"], block, grid, ints, flush=True)
    return ran, len(broken)


def main():
    volta, manifest = sys.argv[1], pathlib.Path(sys.argv[2])
    option = lambda name, default: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default
    seconds, only = float(option("--seconds", "60")), option("--only", "")
    runs = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in tomllib.loads(manifest.read_text())["race"]:
            if entry.get("expect", "clean") == "clean" and only in entry["name"]:
                ran, broken = judge(volta, manifest, entry, seconds, folder)
                runs, wrong = runs + ran, wrong + broken
    print(f"{runs} launches of clean kernels, {wrong} with a defect")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
