"""Running sums, products, extremes and recurrences."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


@triton.jit
def cumsum_blocks(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in several blocks; the slip carries the last block's sum only."""
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + row * n + i, mask=i < n, other=0.0)
        tl.store(y + row * n + i, tl.cumsum(v, axis=0) + carry, mask=i < n)
        carry = tl.sum(v, axis=0) if SLIP else carry + tl.sum(v, axis=0)


case(
    "cumsum_blocks",
    cumsum_blocks,
    lambda x: np.cumsum(x, axis=1),
    [arg.input("f32", (2, 40)), arg.output("f32", (2, 40)), 40],
    grid=(2,),
    B=16,
    num_warps=1,
)


@triton.jit
def cumsum_columns(x, y, m, n, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """Down the columns of a tile; the slip runs along the rows."""
    r = tl.arange(0, R)[:, None]
    c = (tl.program_id(0) * B + tl.arange(0, B))[None, :]
    mask = (r < m) & (c < n)
    v = tl.load(x + r * n + c, mask=mask, other=0.0).to(tl.float32)
    tl.store(y + r * n + c, tl.cumsum(v, axis=1 if SLIP else 0), mask=mask)


case(
    "cumsum_columns",
    cumsum_columns,
    lambda x: np.cumsum(x, axis=0),
    [arg.input("f16", (13, 10)), arg.output("f32", (13, 10)), 13, 10],
    grid=(2,),
    R=16,
    B=8,
    num_warps=2,
)


@triton.jit
def cumprod_reverse(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Products of what follows in a row; the slip pads with 0."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0 if SLIP else 1.0)
    tl.store(y + row * n + i, tl.cumprod(v, axis=0, reverse=True), mask=i < n)


case(
    "cumprod_reverse",
    cumprod_reverse,
    lambda x: np.cumprod(x[:, ::-1], axis=1)[:, ::-1],
    [arg.input("f32", (2, 13)), arg.output("f32", (2, 13)), 13],
    grid=(2,),
    B=16,
    num_warps=1,
)


@triton.jit
def cumsum_exclusive(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Offsets from counts; the slip gives the ends instead of the starts."""
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    s = tl.cumsum(v, axis=0)
    tl.store(y + i, s if SLIP else s - v, mask=i < n)


case(
    "cumsum_exclusive",
    cumsum_exclusive,
    lambda x: np.cumsum(x) - x,
    [arg.input("s32", 50), arg.output("s32", 50), 50],
    grid=(1,),
    B=64,
    num_warps=2,
    assume=["x in 0..1000"],
)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def cummax_reverse(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The largest of what follows in a row; the slip pads with 0."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0 if SLIP else -float("inf"))
    tl.store(y + row * n + i, tl.associative_scan(v, 0, larger, reverse=True), mask=i < n)


case(
    "cummax_reverse",
    cummax_reverse,
    lambda x: np.maximum.accumulate(x[:, ::-1], axis=1)[:, ::-1],
    [arg.input("f32", (2, 13)), arg.output("f32", (2, 13)), 13],
    grid=(2,),
    B=16,
    num_warps=1,
)


@triton.jit
def after(a, b, c, d):
    return c * a, c * b + d


@triton.jit
def before(a, b, c, d):
    return a * c, a * d + b


def recurrence_of(a, b):
    h = np.zeros(a.shape)
    h[:, 0] = b[:, 0]
    for t in range(1, a.shape[1]):
        h[:, t] = a[:, t] * h[:, t - 1] + b[:, t]
    return h


@triton.jit
def recurrence(a, b, h, n, B: tl.constexpr, SLIP: tl.constexpr):
    """h[t] = a[t] h[t-1] + b[t]; the slip composes the steps the other way round."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    gate = tl.load(a + row * n + i, mask=i < n, other=1.0)
    token = tl.load(b + row * n + i, mask=i < n, other=0.0)
    _, state = tl.associative_scan((gate, token), 0, before if SLIP else after)
    tl.store(h + row * n + i, state, mask=i < n)


case(
    "recurrence",
    recurrence,
    recurrence_of,
    [arg.input("f32", (2, 13)), arg.input("f32", (2, 13)), arg.output("f32", (2, 13)), 13],
    grid=(2,),
    B=16,
    num_warps=1,
)


@triton.jit
def log_add(a, b):
    m = tl.maximum(a, b)
    return m + tl.log(tl.exp(a - m) + tl.exp(b - m))


@triton.jit
def log_add_wrong(a, b):
    return tl.maximum(a, b) + tl.log(1.0 + tl.exp(a - b))


@triton.jit
def logcumsumexp(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """log of the running sum of exp; the slip takes the second of two for the larger one."""
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.associative_scan(v, 0, log_add_wrong if SLIP else log_add), mask=i < n)


case(
    "logcumsumexp",
    logcumsumexp,
    lambda x: np.log(np.cumsum(np.exp(x))),
    [arg.input("f32", 7), arg.output("f32", 7), 7],
    grid=(1,),
    B=8,
    num_warps=1,
)
