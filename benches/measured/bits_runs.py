#!/usr/bin/env python3
"""Executes every group of kernels/configurations/volta.toml on numbers (`volta run`), and prints the classes that the bits fall into.

    python3 benches/measured/bits_runs.py VOLTA [PREFIX]

Kernels of one class of `volta classes` must never be told apart here: groups that are expected to be `equivalent` and fall into
several classes are errors. A group that is expected to differ and falls into one class needs other inputs. Needs numpy.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import numpy

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "configurations"
ROUNDS = 9


def values(shape, kind, dice):
    """Numbers of one magnitude, of several, and such as cancel."""
    if kind == 0:
        return dice.uniform(-1, 1, shape)
    if kind == 1:
        return numpy.ldexp(dice.uniform(-1, 1, shape), dice.integers(-12, 12, shape))
    return dice.choice([4096.0, -4096.0, 1.0, 0.1, -0.0, 2.0**-10], shape)


def ran(volta, kernel, group, folder, inputs):
    """The bytes of the outputs of a kernel; None if `run` says nothing of it."""
    command = [volta, "run", str(KERNELS / kernel["file"]), "--json"]
    for key in ("entry", "block", "grid", "threads"):
        if (given := kernel.get(key, group.get(key))) is not None:
            command += [f"--{key}", ",".join(map(str, given)) if isinstance(given, list) else str(given)]
    saved = []
    for key, value in (group["args"] | kernel.get("args", {})).items():
        if key in inputs:
            value += f"=@{inputs[key]}"
        elif ":" in value:
            saved.append(folder / f"out{key}.npy")
            command += ["--save", f"{key}={saved[-1]}"]
        command += ["--arg", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return None
    return b"".join(numpy.load(f).tobytes() for f in saved)


def classes(volta, group, folder):
    dice = numpy.random.default_rng(1)
    bits = [[] for _ in group["kernels"]]
    for n in range(ROUNDS):
        inputs = {}
        for key, value in group["args"].items():
            if match := re.fullmatch(r"in:(f16|f32)\[([\d,]+)\]", value):
                shape = [int(d) for d in match[2].split(",")]
                inputs[key] = folder / f"in{key}.npy"
                numpy.save(inputs[key], values(shape, n % 3, dice).astype("f2" if match[1] == "f16" else "f4"))
        for kernel, of in zip(group["kernels"], bits):
            of.append(ran(volta, kernel, group, folder, inputs))
    found = {}
    for i, of in enumerate(bits):
        if None in of:
            print("  no run:", group["kernels"][i]["file"])
            continue
        found.setdefault(tuple(of), []).append(i)
    return list(found.values())


def main():
    volta, prefix = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for group in tomllib.loads((KERNELS / "volta.toml").read_text())["classes"]:
            if not group["name"].startswith(prefix):
                continue
            expect = group.get("expect", "equivalent")
            found = classes(volta, group, pathlib.Path(folder))
            bad = expect == "equivalent" and len(found) > 1
            wrong += bad
            print("WRONG" if bad else "ok", group["name"], expect, found, flush=True)
    sys.exit(1 if wrong else 0)


main()
