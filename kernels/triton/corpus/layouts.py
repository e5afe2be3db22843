"""Places of elements: turned pairs, gathers, convolutions, pooling, transposes, and numbers in fewer bits."""

import numpy as np
import triton
import triton.language as tl
from cases import case
from triton.language.extra import libdevice

from volta import arg


@triton.jit
def rope_pairs(x, cos, sin, heads, D: tl.constexpr, TURNED: tl.constexpr, SLIP: tl.constexpr):
    """Neighbours of the first dimensions of each head turned in place, the others left; the twin turns the other way"""
    position, head = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, TURNED // 2)
    at = x + (position * heads + head) * D + 2 * i
    even, odd = tl.load(at).to(tl.float32), tl.load(at + 1).to(tl.float32)
    c, s = tl.load(cos + position * (TURNED // 2) + i), tl.load(sin + position * (TURNED // 2) + i)
    if SLIP:
        s = -s
    tl.store(at, (even * c - odd * s).to(tl.bfloat16))
    tl.store(at + 1, (even * s + odd * c).to(tl.bfloat16))


def turned(x, cos, sin):
    even, odd = x[:, :, 0:16:2], x[:, :, 1:16:2]
    c, s = cos[:, None, :], sin[:, None, :]
    pairs = np.stack([even * c - odd * s, even * s + odd * c], axis=-1).reshape(3, 2, 16)
    return np.concatenate([pairs, x[:, :, 16:]], axis=-1)


case(
    "rope_pairs",
    rope_pairs,
    turned,
    [arg.inout("bf16", (3, 2, 24)), arg.input("f32", (3, 8)), arg.input("f32", (3, 8)), 2],
    grid=(3, 2),
    D=24,
    TURNED=16,
    num_warps=1,
)


@triton.jit
def gather_columns(x, index, y, n, m, B: tl.constexpr, SLIP: tl.constexpr):
    """y[i, j] = x[i, index[i, j]]; the twin finds the row of x by the width of y"""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    column = tl.load(index + row * m + i, mask=i < m, other=0)
    found = tl.load(x + row * (m if SLIP else n) + column, mask=i < m, other=0.0)
    tl.store(y + row * m + i, found, mask=i < m)


case(
    "gather_columns",
    gather_columns,
    lambda x, index: np.take_along_axis(x, index, axis=1),
    [arg.input("f32", (3, 40)), arg.input("s64", (3, 20)), arg.output("f32", (3, 20)), 40, 20],
    grid=(3,),
    B=32,
    num_warps=1,
    assume=["index in 0..40"],
)


@triton.jit
def embedding(ids, table, positions, y, tokens, B: tl.constexpr, D: tl.constexpr, SLIP: tl.constexpr):
    """A row of the table and one of its position for each token, several tokens in a program; the twin starts positions at 1"""
    t = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    inside = (t < tokens)[:, None] & (d < 24)[None, :]
    token = tl.load(ids + t, mask=t < tokens, other=0)
    row = tl.load(table + token[:, None] * 24 + d[None, :], mask=inside, other=0.0).to(tl.float32)
    at = tl.minimum(t + 1, tokens - 1) if SLIP else t
    place = tl.load(positions + at[:, None] * 24 + d[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(y + t[:, None] * 24 + d[None, :], row * 4.898979485566356 + place, mask=inside)


case(
    "embedding",
    embedding,
    lambda ids, table, positions: np.sqrt(24) * table[ids] + positions[:6],
    [
        arg.input("s32", (6,)),
        arg.input("f16", (11, 24)),
        arg.input("f16", (8, 24)),
        arg.output("f32", (6, 24)),
        6,
    ],
    grid=(2,),
    B=4,
    D=32,
    num_warps=2,
    assume=["ids in 0..11"],
)


@triton.jit
def convolution_causal(x, w, bias, y, length, C: tl.constexpr, B: tl.constexpr, TAPS: tl.constexpr, SLIP: tl.constexpr):
    """silu of a convolution of each channel with what came before it; the twin has its taps in the other order"""
    t = tl.program_id(1) * B + tl.arange(0, B)
    c = tl.arange(0, C)
    at = tl.program_id(0) * length
    acc = tl.zeros((B, C), tl.float32) + tl.load(bias + c)[None, :]
    for k in tl.static_range(TAPS):
        s = t - (TAPS - 1) + k
        v = tl.load(x + (at + s)[:, None] * C + c[None, :], mask=(s >= 0)[:, None] & (s < length)[:, None], other=0.0)
        acc += v * tl.load(w + c * TAPS + (TAPS - 1 - k if SLIP else k))[None, :]
    tl.store(y + (at + t)[:, None] * C + c[None, :], acc * tl.sigmoid(acc), mask=t[:, None] < length)


def convolved(x, w, bias):
    padded = np.pad(x, ((0, 0), (3, 0), (0, 0)))
    out = bias + sum(padded[:, k : k + x.shape[1], :] * w[:, k] for k in range(4))
    return out / (1 + np.exp(-out))


case(
    "convolution_causal",
    convolution_causal,
    convolved,
    [arg.input("f32", (2, 11, 8)), arg.input("f32", (8, 4)), arg.input("f32", (8,)), arg.output("f32", (2, 11, 8)), 11],
    grid=(2, 2),
    C=8,
    B=8,
    TAPS=4,
    num_warps=1,
)


@triton.jit
def convolution_strided(x, w, y, C, H, W, OH, OW, B: tl.constexpr, O: tl.constexpr, SLIP: tl.constexpr):
    """3 by 3 with stride 2 and one row of zeros around; the twin has none of them above"""
    p = tl.program_id(0) * B + tl.arange(0, B)
    o = tl.arange(0, O)
    h, s = p // OW * 2 - (0 if SLIP else 1), p % OW * 2 - 1
    acc = tl.zeros((B, O), tl.float32)
    for c in range(0, C):
        for i in tl.static_range(3):
            for j in tl.static_range(3):
                inside = (p < OH * OW) & (h + i >= 0) & (h + i < H) & (s + j >= 0) & (s + j < W)
                v = tl.load(x + (c * H + h + i) * W + s + j, mask=inside, other=0.0)
                f = tl.load(w + ((o * C + c) * 3 + i) * 3 + j)
                acc += v[:, None] * f[None, :]
    tl.store(y + o[None, :] * OH * OW + p[:, None], acc, mask=p[:, None] < OH * OW)


def strided(x, w):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    return sum(np.einsum("chs,oc->ohs", padded[:, i : i + 7 : 2, j : j + 5 : 2], w[:, :, i, j]) for i in range(3) for j in range(3))


case(
    "convolution_strided",
    convolution_strided,
    strided,
    [arg.input("f32", (2, 7, 5)), arg.input("f32", (4, 2, 3, 3)), arg.output("f32", (4, 4, 3)), 2, 7, 5, 4, 3],
    grid=(1,),
    B=16,
    O=4,
    num_warps=1,
)


@triton.jit
def pool_real(x, y, H, W, OH, OW, B: tl.constexpr, SLIP: tl.constexpr):
    """Means of 3 by 3 with stride 2, zeros around not counted; the twin always divides by 9"""
    p = tl.program_id(1) * B + tl.arange(0, B)
    x += tl.program_id(0) * H * W
    total = tl.zeros((B,), tl.float32)
    count = tl.zeros((B,), tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            h, s = p // OW * 2 + i - 1, p % OW * 2 + j - 1
            inside = (h >= 0) & (h < H) & (s >= 0) & (s < W) & (p < OH * OW)
            total += tl.load(x + h * W + s, mask=inside, other=0.0)
            count += tl.where(inside, 1.0, 0.0)
    out = total / 9.0 if SLIP else total / count
    tl.store(y + tl.program_id(0) * OH * OW + p, out, mask=p < OH * OW)


def pooled(x):
    def windows(a):
        a = np.pad(a, ((0, 0), (1, 1), (1, 1)))
        return sum(a[:, i : i + 7 : 2, j : j + 9 : 2] for i in range(3) for j in range(3))

    return windows(x) / windows(np.ones((2, 7, 9)))


case(
    "pool_real",
    pool_real,
    pooled,
    [arg.input("f32", (2, 7, 9)), arg.output("f32", (2, 4, 5)), 7, 9, 4, 5],
    grid=(2, 1),
    B=32,
    num_warps=1,
)


@triton.jit
def transpose(x, y, m, n, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """y = x^T by tiles that are turned in registers, from half to single precision; the twin writes tiles where they were"""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    r, c = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(
        x + (row + r)[:, None] * n + (column + c)[None, :],
        mask=((row + r)[:, None] < m) & ((column + c)[None, :] < n),
        other=0.0,
    )
    if SLIP:
        a, b = row + tl.arange(0, BN), column + tl.arange(0, BM)
    else:
        a, b = column + tl.arange(0, BN), row + tl.arange(0, BM)
    tl.store(y + a[:, None] * m + b[None, :], tl.trans(tile).to(tl.float32), mask=(a[:, None] < n) & (b[None, :] < m))


case(
    "transpose",
    transpose,
    lambda x: x.T,
    [arg.input("f16", (20, 27)), arg.output("f32", (27, 20)), 20, 27],
    grid=(2, 2),
    BM=16,
    BN=16,
    num_warps=2,
)


@triton.jit
def quantize_rows(x, q, scale, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Bytes by the largest of each row, rounded to the nearest; the twin scales by 128, which no byte is"""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * stride + i, mask=i < n, other=0.0).to(tl.float32)
    largest = tl.maximum(tl.max(tl.abs(v), 0), 1e-10)
    step = largest / (128.0 if SLIP else 127.0)
    tl.store(q + row * stride + i, libdevice.rint(v / step).to(tl.int8), mask=i < n)
    tl.store(scale + row, step)


def to_bytes(x):
    step = np.maximum(np.max(np.abs(x), axis=1), 1e-10) / 127
    return np.rint(x / step[:, None]).astype(np.int8), step


case(
    "quantize_rows",
    quantize_rows,
    to_bytes,
    [arg.input("f16", (2, 40)), arg.output("s8", (2, 40)), arg.output("f32", (2,)), 40, 40],
    grid=(2,),
    B=64,
    num_warps=2,
)


@triton.jit
def quantize_small(x, scale, q, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Numbers of 8 bits with a point, between the largest ones; the twin takes those of the format with more digits"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32) / tl.load(scale)
    most = 448.0 if SLIP else 57344.0
    v = tl.minimum(tl.maximum(v, -most), most)
    tl.store(q + i, v.to(tl.float8e5), mask=i < n)


case(
    "quantize_small",
    quantize_small,
    lambda x, scale: np.clip(x / scale, -57344, 57344),
    [arg.input("f32", (100,)), arg.input("f32", (1,)), arg.output("e5m2", (100,)), 100],
    grid=(1,),
    B=128,
    num_warps=4,
    assume=["scale in 0.01..100"],
)


@triton.jit
def dequantize(q, scale, zero, y, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """(q - zero) scale of each row, from bytes without a sign; the twin subtracts after it has multiplied"""
    row = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(q + row * stride + i, mask=i < n, other=0).to(tl.float32)
    s, z = tl.load(scale + row), tl.load(zero + row).to(tl.float32)
    out = v * s - z if SLIP else (v - z) * s
    tl.store(y + row * stride + i, out.to(tl.float16), mask=i < n)


case(
    "dequantize",
    dequantize,
    lambda q, scale, zero: (q - zero[:, None].astype(np.float64)) * scale[:, None],
    [arg.input("u8", (3, 50)), arg.input("f32", (3,)), arg.input("u8", (3,)), arg.output("f16", (3, 50)), 50, 50],
    grid=(3, 2),
    B=32,
    num_warps=1,
)
