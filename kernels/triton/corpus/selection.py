"""Places and orders of the elements of rows."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


@triton.jit
def argmax(x, out, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The first largest element of a row; the slip pads with 0, which is larger than a row of negatives."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0 if SLIP else -float("inf"))
    tl.store(out + row, tl.argmax(v, axis=0).to(tl.int64))


case(
    "argmax",
    argmax,
    lambda x: np.argmax(x, axis=1),
    [arg.input("f32", (3, 21)), arg.output("s64", 3), 21],
    grid=(3,),
    B=32,
    num_warps=1,
)


@triton.jit
def argmin_blocks(x, least, place, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The least element of a row in several blocks, and its place; the slip gives the place in its block."""
    row = tl.program_id(0)
    best = float("inf")
    at = 0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=float("inf"))
        m, j = tl.min(v, axis=0, return_indices=True)
        better = m < best
        at = tl.where(better, j if SLIP else start + j, at)
        best = tl.where(better, m, best)
    tl.store(least + row, best)
    tl.store(place + row, at)


case(
    "argmin_blocks",
    argmin_blocks,
    lambda x: (np.min(x, axis=1), np.argmin(x, axis=1)),
    [arg.input("f32", (2, 21)), arg.output("f32", 2), arg.output("s32", 2), 21],
    grid=(2,),
    B=8,
    num_warps=1,
)


@triton.jit
def top_values(x, y, n, K: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """The K largest elements of a row, by taking the largest away K times; the slip takes all of its equals away."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    for k in tl.static_range(K):
        m = tl.max(v, axis=0)
        tl.store(y + row * K + k, m)
        if SLIP:
            v = tl.where(v == m, -float("inf"), v)
        else:
            v = tl.where(i == tl.argmax(v, axis=0), -float("inf"), v)


case(
    "top_values",
    top_values,
    lambda x: np.sort(x, axis=1)[:, ::-1][:, :2],
    [arg.input("f32", (2, 7)), arg.output("f32", (2, 2)), 7],
    grid=(2,),
    K=2,
    B=8,
    num_warps=1,
)


@triton.jit
def sort_rows(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in ascending order; the slip pads with 0."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0 if SLIP else float("inf"))
    tl.store(y + row * n + i, tl.sort(v), mask=i < n)


case(
    "sort_rows",
    sort_rows,
    lambda x: np.sort(x, axis=1),
    [arg.input("f32", (2, 6)), arg.output("f32", (2, 6)), 6],
    grid=(2,),
    B=8,
    num_warps=1,
)


@triton.jit
def clamp_quantile(x, y, low, high, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Elements between two bounds of their row; the slip mixes the bounds up."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    a = tl.load(low + row)
    b = tl.load(high + row)
    v = tl.load(x + row * n + i, mask=i < n)
    if SLIP:
        v = tl.maximum(tl.minimum(v, a), b)
    else:
        v = tl.minimum(tl.maximum(v, a), b)
    tl.store(y + row * n + i, v, mask=i < n)


case(
    "clamp_rows",
    clamp_quantile,
    lambda x, low, high: np.minimum(np.maximum(x, low[:, None]), high[:, None]),
    [arg.input("f16", (3, 40)), arg.output("f16", (3, 40)), arg.input("f16", 3), arg.input("f16", 3), 40],
    grid=(3,),
    B=64,
    num_warps=1,
)
