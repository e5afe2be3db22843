#!/usr/bin/env python3
"""Brute force against `volta race --any`: what it calls clean is run in every small launch.

    tests/outside/any.py VOLTA kernels/any.toml [--step N]

For each entry that expects `clean`, blocks to 64 threads, grids to 4 CTAs and integers to 130 are run one by one (with
--step N each N-th of them) by `volta race` on that launch alone, a command that shares only the simulator with the proof.
A defect in any of them is a wrong verdict, printed with its command; the exit status is 1.
"""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tomllib

SIZES = [0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 130]


def launches(entry, params):
    block = entry.get("block")
    blocks = [tuple(block)] if block else [(n, 1, 1) for n in range(1, 65)]
    grids = [(n, 1, 1) for n in range(1, 5)]
    if block and block[1] > 1:
        grids += [(1, 2, 1), (2, 2, 1), (3, 2, 1)]
    for b, g in itertools.product(blocks, grids):
        for ints in itertools.product(SIZES, repeat=len(params)):
            yield b, g, ints


def holds(facts, block, grid, ints):
    for fact in facts:
        text = re.sub(r"arg\((\d+)\)", lambda m: str(ints.get(int(m[1]), 0)), fact)
        for axis, b, g in zip("xyz", block, grid):
            text = text.replace(f"block.{axis}", str(b)).replace(f"grid.{axis}", str(g))
        if re.fullmatch(r"[-+*/%<>=! 0-9()]+", text) and not eval(text):
            return False
    return True


def integers(path):
    text = path.read_text()
    head = text[text.index(".entry") : text.index("{")]
    kinds = re.findall(r"\.param \.(\w+)", head)
    return [i for i, k in enumerate(kinds) if k in ("u32", "s32", "b32")]


def main():
    volta, manifest = sys.argv[1], pathlib.Path(sys.argv[2])
    step = int(sys.argv[sys.argv.index("--step") + 1]) if "--step" in sys.argv else 1
    wrong = runs = 0
    for entry in tomllib.loads(manifest.read_text())["race"]:
        if entry.get("expect", "clean") != "clean":
            continue
        path = manifest.parent / entry["kernel"]
        params = integers(path)
        for i, (block, grid, values) in enumerate(launches(entry, params)):
            ints = dict(zip(params, values))
            if i % step or not holds(entry.get("assume", []), block, grid, ints):
                continue
            command = [volta, "race", str(path), "--json"]
            command += ["--block", ",".join(map(str, block)), "--grid", ",".join(map(str, grid))]
            for k, v in ints.items():
                command += ["--arg", f"{k}={v}"]
            out = subprocess.run(command, capture_output=True, text=True, timeout=120)
            runs += 1
            verdict = json.loads(out.stdout).get("verdict")
            if verdict == "defective":
                wrong += 1
                print("WRONG", entry["name"], " ".join(command))
    print(f"{runs} launches of clean kernels, {wrong} with a defect")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
