#!/usr/bin/env python3
"""How time and memory grow with the depth of a matrix product, with its threads, and with volta's own threads; and with the steps
and the threads of a kernel whose outputs share one large expression.

    cargo build --release && python3 benches/scaling.py > benches/scaling.md

Each row is the median of RUNS runs of `volta check` on a 64 x 64 tile (kernels/matmul/scaling.cu).  The exponent is the
slope of a least-squares line through the logarithms.  The last tables are of kernels/races/exchange.cu, by `race` and by `check`
against itself.  Needs a machine that does nothing else.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RUNS = 3
KERNELS = ROOT / "kernels"
# The tile by so many threads.
TILES = {
    32: "matmul/32_scaling.ptx",
    64: "matmul/64_scaling.ptx",
    128: "matmul/128_scaling.ptx",
    256: "matmul/256_scaling.ptx",
    512: "matmul/512_scaling.ptx",
    1024: "matmul/1024_scaling.ptx",
}


def product(threads, depth, jobs):
    files = [str(KERNELS / "matmul/plain_scaling.ptx"), str(KERNELS / TILES[threads])]
    command = [str(TARGET / "release" / "volta"), "check", *files]
    return command + ["--ref-block", "256", "--opt-block", str(threads), "--arg", f"3={depth}", "--jobs", str(jobs)]


def exchange(name, threads, steps):
    kernel = str(KERNELS / "races/exchange.ptx")
    files = [kernel] if name == "race" else [kernel, kernel]
    command = [str(TARGET / "release" / "volta"), name, *files, "--threads", str(threads), "--jobs", "1"]
    return command + ["--arg", f"0=in:f64[{threads}]", "--arg", f"1=out:f64[{threads}]", "--arg", f"3={steps}"]


def run(command):
    results = []
    for _ in range(RUNS):
        start = time.perf_counter()
        process = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        assert os.waitstatus_to_exitcode(status) == 0, output
        stats = json.loads(output)["stats"]
        cpu = usage.ru_utime + usage.ru_stime
        results.append((wall, cpu, usage.ru_maxrss / 1024, stats.get("optimized", stats.get("kernel"))["barrier_arrivals"]))
    return sorted(results)[RUNS // 2]


def exponent(points):
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def table(title, name, rows):
    print(f"\n## {title}\n\n| {name} | wall | CPU | peak memory | barrier arrivals |\n|---|---|---|---|---|")
    measured = []
    for x, command in rows:
        wall, cpu, memory, barriers = run(command)
        measured.append((x, wall, cpu, memory))
        print(f"| {x} | {wall:.3f} s | {cpu:.3f} s | {memory:.0f} MiB | {barriers} |", flush=True)
    exponents = [exponent([(m[0], m[i]) for m in measured]) for i in (1, 2, 3)]
    print("\nExponents: wall {:.2f}, CPU {:.2f}, memory {:.2f}.".format(*exponents), flush=True)


print("# Scaling\n\nMade by `python3 benches/scaling.py`, which says how.  The machine has", os.cpu_count(), "cores.", flush=True)
table("Depth (256 threads, 2 jobs)", "K", [(k, product(256, k, 2)) for k in (256, 512, 1024, 2048, 4096, 8192)])
table("Threads of the CTA (K = 1024, 2 jobs)", "threads", [(t, product(t, 1024, 2)) for t in (32, 64, 128, 256, 512, 1024)])
table("Threads of volta (256 threads, K = 2048)", "jobs", [(j, product(256, 2048, j)) for j in (1, 2)])
for name in ("race", "check"):
    table(f"Steps of an exchange, `{name}` (256 threads, 1 job)", "steps", [(k, exchange(name, 256, k)) for k in (5, 10, 20, 40)])
    table(f"Threads and outputs of an exchange, `{name}` (10 steps, 1 job)", "threads", [(t, exchange(name, t, 10)) for t in (64, 128, 256, 512)])
