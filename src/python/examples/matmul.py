"""An autotuned matrix product: every configuration computes what the first one does.

Run it: python examples/matmul.py (needs triton, and no GPU).
"""

from __future__ import annotations

import triton
import triton.language as tl

import volta
from volta import arg

CONFIGS = [
    triton.Config({"BM": 16, "BN": 16, "BK": 16}, num_warps=1, num_stages=1),
    triton.Config({"BM": 16, "BN": 16, "BK": 16}, num_warps=1, num_stages=2),
    triton.Config({"BM": 32, "BN": 16, "BK": 32}, num_warps=2, num_stages=1),
]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & (start + k[None, :] < K), other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=(start + k[:, None] < K) & (n[None, :] < N), other=0.0)
        sums += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], sums, mask=(m[:, None] < M) & (n[None, :] < N))


def main(m: int = 33, n: int = 16, k: int = 32) -> None:
    """Prints one line for each configuration."""
    args = [arg.input("f16", (m, k)), arg.input("f16", (k, n)), arg.output("f32", (m, n)), m, n, k]
    grid = lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))  # noqa: E731
    kernels = volta.triton_configs(matmul, *args, grid=grid)
    (_, first), *others = kernels.items()
    reference = volta.prepare(first)
    for config, kernel in others:
        r = reference.check(kernel, timeout=120)
        print(f"{r.verdict:15} {config}")
        r.raise_unless_proved()


if __name__ == "__main__":
    main()
