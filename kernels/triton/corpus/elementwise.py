"""Functions of elements: activations and their gradients, dropout, masks in place, steps of optimizers, parts put together."""

import numpy as np
import triton
import triton.language as tl
from cases import case
from triton.language.extra import libdevice

from volta import arg


@triton.jit
def geglu(x, y, stride, d, B: tl.constexpr, SLIP: tl.constexpr):
    """gelu(gate) * up of halves of a row, the tangent by exponentials; the twin has a square for the cube"""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    gate = tl.load(x + row * stride + i, mask=i < d, other=0.0).to(tl.float32)
    up = tl.load(x + row * stride + d + i, mask=i < d, other=0.0).to(tl.float32)
    cube = gate * gate if SLIP else gate * gate * gate
    inner = 0.7978845608028654 * (gate + 0.044715 * cube)
    tangent = 2.0 * tl.sigmoid(2.0 * inner) - 1.0
    tl.store(y + row * d + i, (0.5 * gate * (1.0 + tangent) * up).to(tl.bfloat16), mask=i < d)


def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


case(
    "geglu",
    geglu,
    lambda x: gelu_by_tanh(x[:, :50]) * x[:, 50:],
    [arg.input("bf16", (3, 100)), arg.output("bf16", (3, 50)), 100, 50],
    grid=(3,),
    B=64,
    num_warps=2,
)


@triton.jit
def gelu_backward(x, dy, dx, n, B: tl.constexpr, SLIP: tl.constexpr):
    """dy (cdf(x) + x pdf(x)) with the library's error function; the twin leaves one x out"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    d = tl.load(dy + i, mask=i < n, cache_modifier=".cg")
    below = 0.5 * (1.0 + libdevice.erf(v * 0.7071067811865476))
    density = 0.3989422804014327 * tl.exp(-0.5 * v * v)
    if not SLIP:
        density = density * v
    tl.store(dx + i, d * (below + density), mask=i < n)


case(
    "gelu_backward",
    gelu_backward,
    "dx[i] = dy[i]*((1 + erf(x[i]/sqrt(2)))/2 + x[i]*exp(-x[i]^2/2)/sqrt(2*pi))",
    [arg.input("f32", (200,)), arg.input("f32", (200,)), arg.output("f32", (200,)), 200],
    grid=(2,),
    B=128,
    num_warps=4,
)


@triton.jit
def softplus(x, y, n, beta, threshold, B: tl.constexpr, SLIP: tl.constexpr):
    """log(1 + exp(beta x)) / beta below a threshold, x above it; the twin does not divide"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    scaled = v * beta
    soft = libdevice.log1p(tl.exp(scaled))
    out = tl.where(scaled > threshold, v, soft if SLIP else soft / beta)
    tl.store(y + i, out, mask=i < n)


case(
    "softplus",
    softplus,
    lambda x: np.where(2 * x > 20, x, np.log1p(np.exp(2 * x)) / 2),
    [arg.input("f32", (150,)), arg.output("f32", (150,)), 150, 2.0, 20.0],
    grid=(2,),
    B=128,
    num_warps=4,
)


@triton.jit
def mish(x, y, n, B: tl.constexpr, SLIP: tl.constexpr):
    """x tanh(log(1 + exp(x))) in half precision; the twin takes exp(-x)"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    out = v * libdevice.tanh(tl.log(1.0 + tl.exp(-v if SLIP else v)))
    tl.store(y + i, out.to(tl.float16), mask=i < n)


case(
    "mish",
    mish,
    lambda x: x * np.tanh(np.log1p(np.exp(x))),
    [arg.input("f16", (150,)), arg.output("f16", (150,)), 150],
    grid=(2,),
    B=128,
    num_warps=4,
)


@triton.jit
def silu_backward(a, b, g, da, db, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Gradients of silu(a) b where the sigmoid is kept in half precision only; the twin forgets the a in its slope"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(a + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(b + i, mask=i < n, other=0.0).to(tl.float32)
    d = tl.load(g + i, mask=i < n, other=0.0, eviction_policy="evict_first").to(tl.float32)
    s = 1.0 / (1.0 + tl.exp(-x))
    slope = s + (s if SLIP else x * s) * (1.0 - s)
    tl.store(da + i, (d * y * slope).to(tl.float16), mask=i < n)
    tl.store(db + i, (d * x * s).to(tl.float16), mask=i < n)


def silu_gradients(a, b, g):
    s = 1 / (1 + np.exp(-a))
    return g * b * (s + a * s * (1 - s)), g * a * s


HALF = arg.input("f16", (150,))
case(
    "silu_backward",
    silu_backward,
    silu_gradients,
    [HALF, HALF, HALF, arg.output("f16", (150,)), arg.output("f16", (150,)), 150],
    grid=(2,),
    B=128,
    num_warps=2,
)


@triton.jit
def dropout(x, residual, y, n, p, seed, B: tl.constexpr, SLIP: tl.constexpr):
    """residual + x / (1 - p) where a number of its own is above p; the twin does not make up for what is dropped"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    keep = tl.rand(seed, i) > p
    kept = tl.where(keep, v if SLIP else v / (1.0 - p), 0.0)
    tl.store(y + i, tl.load(residual + i, mask=i < n, other=0.0) + kept, mask=i < n)


def philox(seed, count):
    """The first word of Philox 4x32-10 for each counter below `count`."""
    mask = 0xFFFFFFFF
    out = []
    for counter in range(count):
        c, k0, k1 = [counter, 0, 0, 0], seed & mask, seed >> 32
        for _ in range(10):
            low0, low1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(low1 >> 32) ^ c[1] ^ k0, low1 & mask, (low0 >> 32) ^ c[3] ^ k1, low0 & mask]
            k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
        out.append(c[0])
    return np.array(out, np.uint32)


def kept(seed, count, p):
    """Which elements stay: a word as a signed number, -1 - x where it is negative, over 2^31."""
    word = philox(seed, count).view(np.int32).astype(np.int64)
    return np.where(word < 0, -1 - word, word) * 4.6566127342e-10 > p


case(
    "dropout",
    dropout,
    lambda x, residual: residual + np.where(kept(1234, 150, 0.25), x / 0.75, 0),
    [arg.input("f32", (150,)), arg.input("f32", (150,)), arg.output("f32", (150,)), 150, 0.25, 1234],
    grid=(2,),
    B=128,
    num_warps=4,
)


@triton.jit
def masked_fill(x, mask, value, n, B: tl.constexpr, SLIP: tl.constexpr):
    """x = value in place where a mask of bytes says so; the twin fills the others"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    chosen = tl.load(mask + i, mask=i < n, other=0) != 0
    if SLIP:
        chosen = chosen == 0
    tl.store(x + i, tl.full((B,), value, tl.float32), mask=chosen & (i < n))


case(
    "masked_fill",
    masked_fill,
    lambda x, mask: np.where(mask != 0, -1e4, x),
    [arg.inout("f32", (150,)), arg.input("u8", (150,)), -1e4, 150],
    grid=(2,),
    B=128,
    num_warps=4,
)


@triton.jit
def lengths_in_place(x, lengths, stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Each row scaled in place up to its length, zeros behind it; the twin keeps one element too many"""
    row = tl.program_id(0)
    size = tl.load(lengths + row)
    i = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + row * stride + i, mask=i < n, other=0.0)
    inside = (i <= size) if SLIP else (i < size)
    tl.store(x + row * stride + i, tl.where(inside, v * 0.125, 0.0), mask=i < n)


case(
    "lengths_in_place",
    lengths_in_place,
    lambda x, lengths: np.where(np.arange(40) < lengths[:, None], x * 0.125, 0),
    [arg.inout("f32", (3, 40)), arg.input("s32", (3,)), 40, 40],
    grid=(3, 2),
    B=32,
    num_warps=1,
)


@triton.jit
def update_in_place(x, dx, active, rate, n, B: tl.constexpr, SLIP: tl.constexpr):
    """x -= rate dx in place, stored and loaded under a mask of data; the twin loads under it and stores everything"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    live = tl.load(active + i, mask=inside, other=0) > 0
    v = tl.load(x + i, mask=inside & live, other=0.0)
    d = tl.load(dx + i, mask=inside & live, other=0.0)
    tl.store(x + i, v - rate * d, mask=inside if SLIP else inside & live)


case(
    "update_in_place",
    update_in_place,
    lambda x, dx, active: np.where(active > 0, x - 0.5 * dx, x),
    [arg.inout("f32", (100,)), arg.input("f32", (100,)), arg.input("s32", (100,)), 0.5, 100],
    grid=(1,),
    B=128,
    num_warps=4,
)


@triton.jit
def adam(p, g, m, v, step, rate, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A step of AdamW in place, the weight in half precision; the twin does not correct the second moment"""
    i = tl.program_id(0) * B + tl.arange(0, B)
    grad = tl.load(g + i, mask=i < n, other=0.0).to(tl.float32)
    mean = 0.9 * tl.load(m + i, mask=i < n, other=0.0) + 0.1 * grad
    square = 0.99 * tl.load(v + i, mask=i < n, other=0.0) + 0.01 * grad * grad
    tl.store(m + i, mean, mask=i < n)
    tl.store(v + i, square, mask=i < n)
    first = mean / (1.0 - libdevice.pow(0.9, step.to(tl.float32)))
    second = square if SLIP else square / (1.0 - libdevice.pow(0.99, step.to(tl.float32)))
    weight = tl.load(p + i, mask=i < n, other=0.0).to(tl.float32)
    weight = weight - rate * (first / (tl.sqrt(second) + 1e-8) + 0.01 * weight)
    tl.store(p + i, weight.to(tl.float16), mask=i < n)


def adam_step(p, g, m, v, rate, step):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    first, second = m / (1 - 0.9**step), v / (1 - 0.99**step)
    return p - rate * (first / (np.sqrt(second) + 1e-8) + 0.01 * p), m, v


case(
    "adam",
    adam,
    lambda p, g, m, v: adam_step(p, g, m, v, 1e-3, 3),
    [arg.inout("f16", (100,)), arg.input("f16", (100,)), arg.inout("f32", (100,)), arg.inout("f32", (100,)), 3, 1e-3, 100],
    grid=(1,),
    B=128,
    num_warps=4,
    assume=["v in 0..4"],
)


@triton.jit
def momentum(p, g, m, rate, decay, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Nesterov's momentum in place, by a loop over a grid's stride; the twin goes by the momentum of before"""
    for start in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):
        i = start + tl.arange(0, B)
        inside = i < n
        weight = tl.load(p + i, mask=inside)
        grad = tl.load(g + i, mask=inside) + decay * weight
        before = tl.load(m + i, mask=inside)
        now = 0.9 * before + grad
        tl.store(m + i, now, mask=inside)
        tl.store(p + i, weight - rate * (grad + 0.9 * (before if SLIP else now)), mask=inside)


def nesterov(p, g, m, rate, decay):
    g = g + decay * p
    m = 0.9 * m + g
    return p - rate * (g + 0.9 * m), m


case(
    "momentum",
    momentum,
    lambda p, g, m: nesterov(p, g, m, 0.1, 0.01),
    [arg.inout("f32", (230,)), arg.input("f32", (230,)), arg.inout("f32", (230,)), 0.1, 0.01, 230],
    grid=(2,),
    B=64,
    num_warps=2,
)


@triton.jit
def concatenate(a, b, y, m, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Rows of a, then of b; the twin's rows of b begin where those of y do"""
    row = tl.program_id(0)
    i = tl.program_id(1) * B + tl.arange(0, B)
    left = tl.load(a + row * m + i, mask=i < m, other=0.0)
    right = tl.load(b + row * n + (i % n if SLIP else i - m), mask=(i >= m) & (i < m + n), other=0.0)
    tl.store(y + row * (m + n) + i, tl.where(i < m, left, right), mask=i < m + n)


case(
    "concatenate",
    concatenate,
    lambda a, b: np.concatenate([a, b], axis=1),
    [arg.input("f16", (3, 21)), arg.input("f16", (3, 30)), arg.output("f16", (3, 51)), 21, 30],
    grid=(3, 2),
    B=32,
    num_warps=1,
)
