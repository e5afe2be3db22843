"""Softmax of rows and its relatives."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


def softmax_of(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@triton.jit
def softmax(x, y, x_stride, y_stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in one block; the slip leaves the padding at 0 instead of minus infinity."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * x_stride + i, mask=mask, other=0.0 if SLIP else -float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * y_stride + i, e / tl.sum(e, axis=0), mask=mask)


case(
    "softmax",
    softmax,
    softmax_of,
    [arg.input("f32", (5, 100)), arg.output("f32", (5, 100)), 100, 100, 100],
    grid=(5,),
    B=128,
    num_warps=4,
)


@triton.jit
def softmax_online(x, y, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in several blocks: maximum and sum in one pass, the quotient in another; the slip forgets to rescale the sum."""
    row = tl.program_id(0).to(tl.int64)
    x += row * stride
    y += row * stride
    i = tl.arange(0, B)
    m = -float("inf")
    s = 0.0
    for start in range(0, n, B):
        v = tl.load(x + start + i, mask=start + i < n, other=-float("inf"), eviction_policy="evict_last").to(tl.float32)
        new = tl.maximum(m, tl.max(v, axis=0))
        if SLIP:
            s = s + tl.sum(tl.exp(v - new), axis=0)
        else:
            s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    for start in range(0, n, B):
        v = tl.load(x + start + i, mask=start + i < n, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(y + start + i, (tl.exp(v - m) / s).to(y.dtype.element_ty), mask=start + i < n)


case(
    "softmax_online",
    softmax_online,
    softmax_of,
    [arg.input("f16", (3, 150)), arg.output("f16", (3, 150)), 150, 150],
    grid=(3,),
    B=64,
    num_warps=2,
)


@triton.jit
def softmax_persistent(x, y, x_stride, y_stride, rows, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Rows that programs take in turn, loads in stages; the slip leaves the last row out."""
    start = tl.program_id(0)
    step = tl.num_programs(0)
    last = rows - 1 if SLIP else rows
    for row in tl.range(start, last, step, num_stages=3):
        i = tl.arange(0, B)
        mask = i < n
        v = tl.load(x + row * x_stride + i, mask=mask, other=-float("inf"))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + row * y_stride + i, e / tl.sum(e, axis=0), mask=mask)


case(
    "softmax_persistent",
    softmax_persistent,
    softmax_of,
    [arg.input("f32", (7, 50)), arg.output("f32", (7, 50)), 50, 50, 7, 50],
    grid=(3,),
    B=64,
    num_warps=2,
)


@triton.jit
def softmax_rows(x, y, rows, n, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """A tile of rows; the slip takes one maximum for the tile and divides by the sums along the other axis' broadcast."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, B)
    at = r[:, None] * n + i[None, :]
    mask = (r[:, None] < rows) & (i[None, :] < n)
    v = tl.load(x + at, mask=mask, other=-float("inf"))
    v = tl.where(r[:, None] < rows, v, 0.0)
    e = tl.exp(v - tl.max(v, axis=1, keep_dims=True))
    if SLIP:
        e = e / tl.sum(tl.sum(e, axis=1), axis=0)
    else:
        e = e / tl.sum(e, axis=1, keep_dims=True)
    tl.store(y + at, e, mask=mask)


case(
    "softmax_rows",
    softmax_rows,
    softmax_of,
    [arg.input("f32", (6, 27)), arg.output("f32", (6, 27)), 6, 27],
    grid=(2,),
    R=4,
    B=32,
    num_warps=4,
)


@triton.jit
def log_softmax(x, y, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The slip takes the maximum off the row, and not off what the logarithm is of."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * stride + i, mask=mask, other=-float("inf")).to(tl.float32)
    z = v - tl.max(v, axis=0)
    s = tl.log(tl.sum(tl.exp(v if SLIP else z), axis=0))
    tl.store(y + row * stride + i, z - s, mask=mask)


case(
    "log_softmax",
    log_softmax,
    lambda x: x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True)),
    [arg.input("bf16", (4, 77)), arg.output("f32", (4, 77)), 77, 77],
    grid=(4,),
    B=128,
    num_warps=2,
)


@triton.jit
def softmax_backward(y, dy, dx, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """dx = y (dy - sum of y dy); the slip sums dy alone."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    p = tl.load(y + row * stride + i, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(dy + row * stride + i, mask=mask, other=0.0).to(tl.float32)
    s = tl.sum(d if SLIP else p * d, axis=0)
    tl.store(dx + row * stride + i, (p * (d - s)).to(dx.dtype.element_ty), mask=mask)


case(
    "softmax_backward",
    softmax_backward,
    lambda y, dy: y * (dy - np.sum(y * dy, axis=-1, keepdims=True)),
    [arg.input("bf16", (4, 90)), arg.input("bf16", (4, 90)), arg.output("bf16", (4, 90)), 90, 90],
    grid=(4,),
    B=128,
    num_warps=4,
)


@triton.jit
def log_softmax_backward(y, dy, dx, n, B: tl.constexpr, SLIP: tl.constexpr):
    """dx = dy - exp(y) sum of dy, over several blocks; the slip lets the first block's lanes start at 1."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    acc = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        mask = start + i < n
        d = tl.load(dy + row * n + start + i, mask=mask, other=0.0)
        acc = d if SLIP else acc + d
    total = tl.sum(acc, axis=0)
    for start in range(0, n, B):
        mask = start + i < n
        v = tl.load(y + row * n + start + i, mask=mask, other=0.0)
        d = tl.load(dy + row * n + start + i, mask=mask, other=0.0)
        tl.store(dx + row * n + start + i, d - tl.exp(v) * total, mask=mask)


case(
    "log_softmax_backward",
    log_softmax_backward,
    lambda y, dy: dy - np.exp(y) * np.sum(dy, axis=1, keepdims=True),
    [arg.input("f32", (3, 100)), arg.input("f32", (3, 100)), arg.output("f32", (3, 100)), 100],
    grid=(3,),
    B=32,
    num_warps=1,
)


@triton.jit
def softmax_masked(x, keep, y, scale, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Scaled scores, -10000 where they are masked; the slip masks the others."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    inside = i < n
    v = tl.load(x + row * n + i, mask=inside, other=0.0).to(tl.float32)
    k = tl.load(keep + row * n + i, mask=inside, other=0)
    v = tl.where((k == 0) if SLIP else (k != 0), v * scale, -10000.0)
    v = tl.where(inside, v, -float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + i, e / tl.sum(e, axis=0), mask=inside)


case(
    "softmax_masked",
    softmax_masked,
    lambda x, keep, scale: softmax_of(np.where(keep, x * scale, -10000.0)),
    [arg.input("f16", (4, 40)), arg.input("bool", (4, 40)), arg.output("f32", (4, 40)), 0.125, 40],
    grid=(4,),
    B=64,
    num_warps=2,
)


def causal_of(x):
    i = np.arange(x.shape[-1])
    return softmax_of(np.where(i[None, :] <= i[:, None], x / 8, -np.inf))


@triton.jit
def softmax_causal(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Row r sees columns up to r; the slip lets it see one more."""
    row = tl.program_id(0)
    batch = tl.program_id(1)
    at = (batch * n + row) * n + tl.arange(0, B)
    i = tl.arange(0, B)
    v = tl.load(x + at, mask=i < n, other=0.0) * 0.125
    v = tl.where(i <= row + SLIP, v, -float("inf"))
    v = tl.where(i < n, v, -float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + at, e / tl.sum(e, axis=0), mask=i < n)


case(
    "softmax_causal",
    softmax_causal,
    causal_of,
    [arg.input("f32", (2, 11, 11)), arg.output("f32", (2, 11, 11)), 11],
    grid=(11, 2),
    B=16,
    num_warps=1,
)
