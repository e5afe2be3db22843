"""Reductions of rows, columns and everything."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


@triton.jit
def mean_var(x, mean_out, var_out, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The mean and the unbiased variance of a row; the slip divides by the count."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(mask, v - mean, 0.0)
    tl.store(mean_out + row, mean)
    tl.store(var_out + row, tl.sum(d * d, axis=0) / (n - 1 + SLIP))


case(
    "mean_var",
    mean_var,
    lambda x: (np.mean(x, axis=1), np.var(x, axis=1, ddof=1)),
    [arg.input("f16", (4, 50)), arg.output("f32", 4), arg.output("f32", 4), 50],
    grid=(4,),
    B=64,
    num_warps=2,
)


@triton.jit
def logsumexp(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """In several blocks; the slip starts the sum at 1."""
    row = tl.program_id(0)
    m = -float("inf")
    s = 1.0 if SLIP else 0.0
    for start in tl.range(0, n, B, num_stages=2):
        i = start + tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=0))
        if SLIP:
            s = s * tl.exp(tl.where(m == -float("inf"), 0.0, m - new)) + tl.sum(tl.exp(v - new), axis=0)
        else:
            s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    tl.store(y + row, m + tl.log(s))


case(
    "logsumexp",
    logsumexp,
    lambda x: np.log(np.sum(np.exp(x), axis=1)),
    [arg.input("f32", (3, 75)), arg.output("f32", 3), 75],
    grid=(3,),
    B=32,
    num_warps=1,
)


@triton.jit
def norms(x, one, two, most, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Three norms of a row; the slip takes the largest element for the largest one of their absolute values."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    tl.store(one + row, tl.sum(tl.abs(v), axis=0))
    tl.store(two + row, tl.sqrt(tl.sum(v * v, axis=0)))
    tl.store(most + row, tl.max(v if SLIP else tl.abs(v), axis=0))


case(
    "norms",
    norms,
    lambda x: (np.sum(np.abs(x), axis=1), np.sqrt(np.sum(x * x, axis=1)), np.max(np.abs(x), axis=1)),
    [arg.input("f32", (3, 25)), arg.output("f32", 3), arg.output("f32", 3), arg.output("f32", 3), 25],
    grid=(3,),
    B=32,
    num_warps=1,
)


@triton.jit
def join(mean, squares, weight, other_mean, other_squares, other_weight):
    d = other_mean - mean
    both = weight + other_weight
    share = tl.where(both == 0.0, 0.0, other_weight / both)
    return mean + d * share, squares + other_squares + d * d * weight * share, both


@triton.jit
def join_wrong(mean, squares, weight, other_mean, other_squares, other_weight):
    d = other_mean - mean
    both = weight + other_weight
    share = tl.where(both == 0.0, 0.0, other_weight / both)
    return mean + d * share, squares + other_squares, both


@triton.jit
def welford(x, mean_out, var_out, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Moments that are joined in pairs; the slip drops the distance of the means."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0)
    weight = mask.to(tl.float32)
    mean, squares, _ = tl.reduce((v, tl.zeros_like(v), weight), 0, join_wrong if SLIP else join)
    tl.store(mean_out + row, mean)
    tl.store(var_out + row, squares / n)


case(
    "welford",
    welford,
    lambda x: (np.mean(x, axis=1), np.var(x, axis=1)),
    [arg.input("f32", (2, 27)), arg.output("f32", 2), arg.output("f32", 2), 27],
    grid=(2,),
    B=32,
    num_warps=1,
)


@triton.jit
def histogram(x, counts, n, bins, B: tl.constexpr, SLIP: tl.constexpr):
    """How often each number is there; the slip counts the padding as zeros."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0)
    one = tl.full([B], 1, tl.int32)
    if SLIP:
        tl.atomic_add(counts + v, one, mask=v < bins)
    else:
        tl.atomic_add(counts + v, one, mask=mask)


case(
    "histogram",
    histogram,
    lambda x: np.sum(x[:, None] == np.arange(6)[None, :], axis=0),
    [arg.input("s32", 40), arg.zeros("s32", 6), 40, 6],
    grid=(2,),
    B=32,
    num_warps=1,
    assume=["x in 0..6"],
)


@triton.jit
def weighted_total(x, w, total, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A sum over all programs that step through the array, by atomics; the slip steps by one block each."""
    p = tl.program_id(0)
    step = B if SLIP else tl.num_programs(0) * B
    acc = tl.zeros([B], dtype=tl.float32)
    for start in range(p * B, n, step):
        i = start + tl.arange(0, B)
        acc += tl.load(x + i, mask=i < n, other=0.0) * tl.load(w + i, mask=i < n, other=0.0)
    tl.atomic_add(total, tl.sum(acc, axis=0))


case(
    "weighted_total",
    weighted_total,
    lambda x, w: np.sum(x * w),
    [arg.input("f32", 150), arg.input("f32", 150), arg.zeros("f32", 1), 150],
    grid=(2,),
    B=32,
    num_warps=1,
)


@triton.jit
def column_sums(x, y, m, n, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """Down the columns in tiles of rows; the slip reads a row too many."""
    c = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((R, B), dtype=tl.float32)
    for start in range(0, m, R):
        r = start + tl.arange(0, R)
        rows = r <= m if SLIP else r < m
        mask = rows[:, None] & (c[None, :] < n)
        acc += tl.load(x + r[:, None] * n + c[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(y + c, tl.sum(acc, axis=0), mask=c < n)


case(
    "column_sums",
    column_sums,
    lambda x: np.sum(x, axis=0),
    [arg.input("bf16", (21, 20)), arg.output("f32", 20), 21, 20],
    grid=(2,),
    R=8,
    B=16,
    num_warps=4,
)


@triton.jit
def count_positive(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """How many of a row are above 0; the slip counts zeros, those of the padding too."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    above = v >= 0.0 if SLIP else v > 0.0
    tl.store(y + row, tl.sum(above.to(tl.int32), axis=0))


case(
    "count_positive",
    count_positive,
    lambda x: np.sum(x > 0, axis=1),
    [arg.input("f32", (3, 20)), arg.output("s32", 3), 20],
    grid=(3,),
    B=32,
    num_warps=1,
)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def row_products(x, y, m, n, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """A tile of rows; the slip pads with 0."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, B)
    mask = (r[:, None] < m) & (i[None, :] < n)
    v = tl.load(x + r[:, None] * n + i[None, :], mask=mask, other=0.0 if SLIP else 1.0)
    tl.store(y + r, tl.reduce(v, 1, times), mask=r < m)


case(
    "row_products",
    row_products,
    lambda x: np.prod(x, axis=1),
    [arg.input("f32", (6, 11)), arg.output("f32", 6), 6, 11],
    grid=(2,),
    R=4,
    B=16,
    num_warps=1,
)
