#!/usr/bin/env python3
"""Decides the conditions of vc.rs with volta and with SymEngine, side by side.

    python3 -m venv /tmp/symengine && /tmp/symengine/bin/pip install symengine==0.15.0
    /tmp/symengine/bin/python benches/compare.py

The time on the processor is for each condition, from the additions in the order in which a kernel makes them to the answer.  SymEngine
keeps sums canonical while they are built and decides by expanding a difference: of two sums, or of the cross products of
two fractions.  Without the package nothing is compared, and it says so.
"""

import pathlib
import subprocess
import sys
import time

try:
    import symengine
    from symengine import Symbol, expand
except ImportError:
    sys.exit("skipped: the Python package `symengine` is not installed (see the first lines of this file)")

ROOT = pathlib.Path(__file__).resolve().parent.parent


def chain(terms):
    total = symengine.Integer(0)
    for t in terms:
        total += t
    return total


def products(n):
    """One condition: a chain of multiply-adds, and four interleaved chains that are added."""
    pairs = [(Symbol(f"a{i}"), Symbol(f"b{i}")) for i in range(n)]
    start = time.process_time()
    whole = chain(a * b for a, b in pairs)
    parts = chain(chain(a * b for a, b in pairs[k::4]) for k in range(4))
    assert expand(whole - parts) == 0
    return time.process_time() - start


def softmax(n, outputs=64):
    """Conditions that share their denominators."""
    m, x = Symbol("m"), [Symbol(f"x{i}") for i in range(n)]
    start = time.process_time()
    rows = []
    for shift in (0, m):
        terms = [symengine.Integer(2) ** (v - shift) for v in x]
        rows.append((terms, chain(terms)))
    (plain, below), (shifted, total) = rows
    for i in range(outputs):
        assert expand(plain[i] * total - shifted[i] * below) == 0
    return (time.process_time() - start) / outputs


def median(decide, n, runs=3):
    return sorted(decide(n) for _ in range(runs))[runs // 2]


ours = subprocess.run(["cargo", "bench", "--quiet", "--bench", "vc"], cwd=ROOT, check=True, capture_output=True, text=True)
print(f"SymEngine {symengine.__version__}\n")
print("| condition | terms | volta | SymEngine | ratio |\n|---|---|---|---|---|")
for line in ours.stdout.splitlines():
    words = line.split()
    if len(words) != 3 or words[0] not in ("products", "softmax"):
        continue
    kind, n, seconds = words[0], int(words[1]), float(words[2])
    theirs = median({"products": products, "softmax": softmax}[kind], n)
    print(f"| {kind} | {n} | {seconds * 1e3:.3f} ms | {theirs * 1e3:.3f} ms | {theirs / seconds:.0f} |", flush=True)
