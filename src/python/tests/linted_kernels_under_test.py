"""Triton kernels with loads that have a mask and no `other`; those in `WARNED` take the lanes in that it leaves out.

A comment `# takes` marks the line that a warning names.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def total(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(v * v, 0))  # takes


@triton.jit
def largest_of_row(x, y, n, B: tl.constexpr):
    row = tl.arange(0, 2)[:, None]
    i = tl.arange(0, B)[None, :]
    v = tl.load(x + row * n + i, mask=i < n)
    tl.store(y + tl.arange(0, 2), tl.max(tl.exp(v), 1))  # takes


@triton.jit
def carried(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, n, B):
        sums += tl.load(x + k + i, mask=k + i < n)
    tl.store(y, tl.sum(sums, 0))  # takes


@triton.jit
def product(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    left = tl.load(x + i[:, None] * n + i[None, :], mask=(i[:, None] < n) & (i[None, :] < n), other=0.0)
    right = tl.load(x + i[:, None] * n + i[None, :], mask=(i[:, None] < n) & (i[None, :] < n))
    sums = tl.dot(left, right)  # takes
    tl.store(y + i[:, None] * n + i[None, :], sums, mask=(i[:, None] < n) & (i[None, :] < n))


@triton.jit
def unmasked_store(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n))  # takes


@triton.jit
def store_of_rows(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)[:, None]
    c = tl.arange(0, B)[None, :]
    v = tl.load(x + r * B + c, mask=(r < n) & (c < n))
    tl.store(y + r * B + c, v, mask=r < n)  # takes


@triton.jit
def gathered(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(x + i, mask=i < n).to(tl.int32)
    v = tl.load(x + at)  # takes
    tl.store(y + i, v, mask=i < n)


@triton.jit
def in_a_branch(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    if n > 3:
        v = v * 2
    tl.store(y, tl.min(v, 0))  # takes


@triton.jit
def _loaded(x, i, n):
    return tl.load(x + i, mask=i < n)


@triton.jit
def from_a_helper(x, y, n, B: tl.constexpr):
    tl.store(y, tl.sum(_loaded(x, tl.arange(0, B), n), 0))  # takes


@triton.jit
def scan_from_behind(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.cumsum(tl.load(x + i, mask=i < n), 0, reverse=True)  # takes
    tl.store(y + i, v, mask=i < n)


@triton.jit
def other_dimension_replaced(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)[:, None]
    c = tl.arange(0, B)[None, :]
    v = tl.load(x + r * B + c, mask=(r < n) & (c < n))
    v = tl.where(r < n, v, 0.0)
    tl.store(y + tl.arange(0, B), tl.sum(v, 1))  # takes


WARNED = [
    total,
    largest_of_row,
    carried,
    product,
    unmasked_store,
    store_of_rows,
    gathered,
    in_a_branch,
    from_a_helper,
    scan_from_behind,
    other_dimension_replaced,
]


@triton.jit
def lane_by_lane(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    if n > 3:
        v = tl.exp(v) + 1
    tl.store(y + i, v, mask=i < n)


@triton.jit
def replaced(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m)
    tl.store(y, tl.sum(tl.where(m, tl.exp(v), 0.0), 0))


@triton.jit
def with_other(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@triton.jit
def without_mask(x, y, n, B: tl.constexpr):
    tl.store(y, tl.sum(tl.load(x + tl.arange(0, B)), 0))


@triton.jit
def carried_lane_by_lane(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, 4):
        sums += tl.load(x + k * n + i, mask=i < n)
    tl.store(y + i, sums, mask=i < n)


@triton.jit
def mask_of_what_is_kept(x, y, n, B: tl.constexpr):
    m = tl.arange(0, B)
    k = tl.arange(0, B)
    sums = tl.zeros((B, B), tl.float32)
    for start in range(0, B, B):
        left = tl.load(x + m[:, None] * n + (start + k)[None, :], mask=m[:, None] < n)
        right = tl.load(x + (start + k)[:, None] * n + m[None, :], mask=m[None, :] < n)
        sums += tl.dot(left, right)
    tl.store(y + m[:, None] * n + m[None, :], sums, mask=(m[:, None] < n) & (m[None, :] < n))


@triton.jit
def rows_are_kept(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r[:, None] * B + tl.arange(0, B)[None, :], mask=r[:, None] < n)
    s = tl.sum(v, 1)
    tl.store(y + r, s / B, mask=r < n)


@triton.jit
def rows_are_spread(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)
    scale = tl.load(x + r, mask=r < n)
    v = tl.load(x + tl.arange(0, B)[None, :] + r[:, None]) * scale[:, None]
    tl.store(y + r[:, None] * B + tl.arange(0, B)[None, :], v, mask=r[:, None] < n)


@triton.jit
def turned(x, y, n, B: tl.constexpr):
    r = tl.arange(0, B)
    v = tl.load(x + r[:, None] * B + r[None, :], mask=r[:, None] < n)
    tl.store(y + r[:, None] * B + r[None, :], tl.trans(v), mask=r[None, :] < n)


@triton.jit
def scan_from_the_front(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n), 0), mask=i < n)


@triton.jit
def stricter_store(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n - 1)


@triton.jit
def by_another_test(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y, tl.sum(tl.where(i <= n - 1, v, 0.0), 0) + tl.sum(v * (i + 1 <= n).to(tl.float32), 0))


@triton.jit
def gathered_within(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(x + i, mask=i < n).to(tl.int32)
    tl.store(y + i, tl.load(x + at, mask=i < n), mask=i < n)


@triton.jit
def one_number(x, y, n, B: tl.constexpr):
    v = tl.load(x + n, mask=n > 3)
    tl.store(y + tl.arange(0, B), v + tl.load(x + tl.arange(0, B)), mask=n > 3)


QUIET = [
    lane_by_lane,
    replaced,
    with_other,
    without_mask,
    carried_lane_by_lane,
    mask_of_what_is_kept,
    rows_are_kept,
    rows_are_spread,
    turned,
    scan_from_the_front,
    stricter_store,
    by_another_test,
    gathered_within,
    one_number,
]

CONFIGS = [triton.Config({"B": 32}, num_warps=1), triton.Config({"B": 64}, num_warps=1)]


@triton.jit
def scaled_in_place(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def counted(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


@triton.jit
def copied(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def tuned(kernel: Any, configs: Any = CONFIGS, **more: Any) -> Any:
    """It under an autotuner."""
    return triton.autotune(configs=configs, key=["n"], **more)(kernel)
