"""Random functions of NumPy, traced to formulas, against NumPy: more of them than the tests of the package run.

    PYTHONPATH=src/python python benches/measured/traced.py 0 5000

Each seed from the first number to the second draws a function (`src/python/tests/differential.py`). The formula is read by an
evaluator that shares nothing with the tracer (`src/python/tests/formulas.py`). It prints every difference and what was
refused how often, and exits with 1 where a formula gives other numbers than NumPy, or is none.
"""

from __future__ import annotations

import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src/python/tests"))

from differential import COVERED, outcome


def main() -> int:
    """Runs the seeds."""
    first, last = int(sys.argv[1]), int(sys.argv[2])
    counts: collections.Counter[str] = collections.Counter()
    refused: collections.Counter[str] = collections.Counter()
    start = time.time()
    for seed in range(first, last):
        what, message = outcome(seed)
        counts[what] += 1
        if what == "refused":
            refused[message.partition(" | ")[0][:100]] += 1
        elif what not in COVERED:
            print(f"* seed {seed}: {what}: {message}", flush=True)
    print(f"Seeds {first} to {last - 1}, {time.time() - start:.0f} s: {', '.join(f'{n} {w}' for w, n in counts.most_common())}.\n")
    print("| refused | times |\n|---|---|")
    for message, n in refused.most_common():
        print(f"| {message.replace('|', '/')} | {n} |")
    return int(any(w not in COVERED for w in counts))


sys.exit(main())
