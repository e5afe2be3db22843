"""Kernels that autotuners compile in many configurations: which of them write the same bits is asked in volta.toml."""

import triton
import triton.language as tl


@triton.jit
def total(x, y, n: tl.constexpr, step: tl.constexpr):
    """The sum of a row, `step` columns at a time: lanes keep partial sums, which one reduction adds at the end."""
    row = tl.program_id(0)
    at = tl.arange(0, step)
    sums = tl.zeros((step,), tl.float32)
    for begin in range(0, n, step):
        sums += tl.load(x + row * n + begin + at)
    tl.store(y + row, tl.sum(sums))


@triton.jit
def largest(x, y, n: tl.constexpr, step: tl.constexpr):
    """The largest of a row, in the same order as `total`: a maximum has the same bits in any order."""
    row = tl.program_id(0)
    at = tl.arange(0, step)
    most = tl.load(x + row * n + at)
    for begin in range(step, n, step):
        most = tl.maximum(most, tl.load(x + row * n + begin + at))
    tl.store(y + row, tl.max(most))


@triton.jit
def softmax(x, y, n: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, n)
    v = tl.load(x + row * n + at)
    e = tl.exp(v - tl.max(v))
    tl.store(y + row * n + at, e / tl.sum(e))


@triton.jit
def layernorm(x, gamma, beta, y, n: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, n)
    v = tl.load(x + row * n + at)
    mean = tl.sum(v) / n
    d = v - mean
    scale = tl.rsqrt(tl.sum(d * d) / n + 1e-5)
    tl.store(y + row * n + at, d * scale * tl.load(gamma + at) + tl.load(beta + at))


@triton.jit
def columns(x, y, m: tl.constexpr, n: tl.constexpr, tile: tl.constexpr):
    """The sums of columns, `tile` rows at a time."""
    at = tl.program_id(0) * 16 + tl.arange(0, 16)
    sums = tl.zeros((16,), tl.float32)
    for begin in range(0, m, tile):
        rows = begin + tl.arange(0, tile)
        sums += tl.sum(tl.load(x + rows[:, None] * n + at[None, :]), 0)
    tl.store(y + at, sums)


@triton.jit
def elementwise(x, y, n: tl.constexpr, step: tl.constexpr):
    at = tl.program_id(0) * step + tl.arange(0, step)
    v = tl.load(x + at, at < n)
    tl.store(y + at, v * tl.sigmoid(v), at < n)


@triton.jit
def product(a, b, c, m, n, depth: tl.constexpr, tile: tl.constexpr, across: tl.constexpr, step: tl.constexpr, group: tl.constexpr):
    """A product of half-precision matrices, tile by tile, `group` rows of tiles at a time."""
    pid = tl.program_id(0)
    high = tl.cdiv(m, tile)
    wide = tl.cdiv(n, across)
    first = pid // (group * wide) * group
    size = min(high - first, group)
    row = first + pid % (group * wide) % size
    column = pid % (group * wide) // size
    rows = row * tile + tl.arange(0, tile)
    cols = column * across + tl.arange(0, across)
    ks = tl.arange(0, step)
    acc = tl.zeros((tile, across), tl.float32)
    for k in range(0, depth, step):
        left = tl.load(a + rows[:, None] * depth + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * n + cols[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * n + cols[None, :], acc)


@triton.jit
def scan(x, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + at, tl.cumsum(tl.load(x + at)))
