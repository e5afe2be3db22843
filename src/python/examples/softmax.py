"""A fused softmax in Triton against a naive one, and what a forgotten mask does.

Run it: python examples/softmax.py (needs triton, and no GPU).
"""

from __future__ import annotations

import triton
import triton.language as tl

import volta
from volta import arg


@triton.jit
def naive(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    e = tl.exp(tl.load(x + row * n + i, mask=i < n, other=-float("inf")))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def fused(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def unmasked(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


def kernel(fn, rows: int = 2, n: int = 20) -> volta.Kernel:
    """A function as it is launched."""
    x, y = arg.input("f32", (rows, n)), arg.output("f32", (rows, n))
    return volta.triton(fn, x, y, n, grid=(rows,), B=32, num_warps=1)


def main() -> None:
    """Prints two results."""
    proved = volta.check(kernel(naive), kernel(fused))
    print(proved, "\n")
    assert proved.ok

    wrong = volta.check(kernel(naive), kernel(unmasked))
    print(wrong.counterexample)
    assert wrong.verdict == "not-equivalent"

    # At a size that fills the block the mask does not matter: choose sizes that make guards go both ways.
    assert volta.check(kernel(naive, n=32), kernel(unmasked, n=32)).ok


if __name__ == "__main__":
    main()
