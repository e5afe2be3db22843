"""Normalisations, forward and backward."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


def layer_norm_of(x, w, b, eps):
    mean = np.mean(x, axis=1)
    rstd = 1 / np.sqrt(np.mean((x - mean[:, None]) ** 2, axis=1) + eps)
    return (x - mean[:, None]) * rstd[:, None] * w + b, mean, rstd


@triton.jit
def layer_norm(x, y, w, b, mean_out, rstd_out, stride, n, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in several blocks; the slip counts the padding in the variance."""
    row = tl.program_id(0)
    y += row * stride
    x += row * stride
    total = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        total += tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
        d = v - mean if SLIP else tl.where(i < n, v - mean, 0.0)
        squares += d * d
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        mask = i < n
        scale = tl.load(w + i, mask=mask)
        shift = tl.load(b + i, mask=mask)
        v = tl.load(x + i, mask=mask, other=0.0).to(tl.float32)
        tl.store(y + i, (v - mean) * rstd * scale + shift, mask=mask)


case(
    "layer_norm",
    layer_norm,
    lambda x, w, b, eps: layer_norm_of(x, w, b, eps),
    [
        arg.input("f16", (3, 150)),
        arg.output("f16", (3, 150)),
        arg.input("f16", 150),
        arg.input("f16", 150),
        arg.output("f32", 3),
        arg.output("f32", 3),
        150,
        150,
        1e-5,
    ],
    grid=(3,),
    B=64,
    num_warps=2,
)


def layer_norm_dx_of(dy, x, w, mean, rstd):
    hat = (x - mean[:, None]) * rstd[:, None]
    g = w * dy
    return (g - hat * np.mean(hat * g, axis=1, keepdims=True) - np.mean(g, axis=1, keepdims=True)) * rstd[:, None]


@triton.jit
def layer_norm_backward(dx, dy, x, w, mean_in, rstd_in, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The gradient of the input, by the means that were kept; the slip takes the mean of dy without the weight."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0).to(tl.float32)
    d = tl.load(dy + row * n + i, mask=mask, other=0).to(tl.float32)
    scale = tl.load(w + i, mask=mask, other=0).to(tl.float32)
    mean = tl.load(mean_in + row)
    rstd = tl.load(rstd_in + row)
    hat = tl.where(mask, (v - mean) * rstd, 0.0)
    g = tl.where(mask, scale * d, 0.0)
    c1 = tl.sum(hat * g, axis=0) / n
    c2 = tl.sum(d if SLIP else g, axis=0) / n
    tl.store(dx + row * n + i, (g - (hat * c1 + c2)) * rstd, mask=mask)


case(
    "layer_norm_backward",
    layer_norm_backward,
    layer_norm_dx_of,
    [
        arg.output("f32", (3, 70)),
        arg.input("f32", (3, 70)),
        arg.input("f32", (3, 70)),
        arg.input("f32", 70),
        arg.input("f32", 3),
        arg.input("f32", 3),
        70,
    ],
    grid=(3,),
    B=128,
    num_warps=4,
)


@triton.jit
def layer_norm_weights(dy, x, mean_in, rstd_in, dw, db, m, n, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """Sums over the rows of a block of columns; the slip reads rows that are not there."""
    c = tl.program_id(0) * B + tl.arange(0, B)
    weights = tl.zeros((R, B), dtype=tl.float32)
    biases = tl.zeros((R, B), dtype=tl.float32)
    for start in range(0, m, R):
        r = start + tl.arange(0, R)
        inside = r < (m + 1 if SLIP else m)
        mask = inside[:, None] & (c[None, :] < n)
        d = tl.load(dy + r[:, None] * n + c[None, :], mask=mask, other=0.0)
        v = tl.load(x + r[:, None] * n + c[None, :], mask=mask, other=0.0)
        mean = tl.load(mean_in + r, mask=inside, other=0.0)
        rstd = tl.load(rstd_in + r, mask=inside, other=0.0)
        weights += d * (v - mean[:, None]) * rstd[:, None]
        biases += d
    tl.store(dw + c, tl.sum(weights, axis=0), mask=c < n)
    tl.store(db + c, tl.sum(biases, axis=0), mask=c < n)


case(
    "layer_norm_weights",
    layer_norm_weights,
    lambda dy, x, mean, rstd: (np.sum(dy * (x - mean[:, None]) * rstd[:, None], axis=0), np.sum(dy, axis=0)),
    [
        arg.input("f32", (11, 20)),
        arg.input("f32", (11, 20)),
        arg.input("f32", 11),
        arg.input("f32", 11),
        arg.output("f32", 20),
        arg.output("f32", 20),
        11,
        20,
    ],
    grid=(2,),
    R=4,
    B=16,
    num_warps=2,
)


def rms_norm_of(x, w, eps):
    return x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + eps) * w


@triton.jit
def rms_norm(x, w, y, stride, n, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """The slip adds the constant outside of the root."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * stride + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v * v, axis=0) / n
    if SLIP:
        scale = 1.0 / (tl.sqrt(mean) + eps)
    else:
        scale = tl.rsqrt(mean + eps)
    g = tl.load(w + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(y + row * stride + i, (v * scale * g).to(tl.bfloat16), mask=mask)


case(
    "rms_norm",
    rms_norm,
    rms_norm_of,
    [arg.input("bf16", (4, 100)), arg.input("bf16", 100), arg.output("bf16", (4, 100)), 100, 100, 1e-6],
    grid=(4,),
    B=128,
    num_warps=4,
)


def rms_norm_backward_of(dy, x, w, eps):
    rstd = 1 / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + eps)
    g = dy * w
    return rstd * g - rstd**3 * x * np.mean(g * x, axis=1, keepdims=True), np.sum(dy * x * rstd, axis=0)


@triton.jit
def rms_norm_backward(dx, dy, x, w, dw, n, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """Gradients of the input, and of the weight by atomics; the slip has a square where a cube belongs."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0)
    d = tl.load(dy + row * n + i, mask=mask, other=0.0)
    g = tl.load(w + i, mask=mask, other=0.0) * d
    rstd = 1 / tl.sqrt(tl.sum(v * v, axis=0) / n + eps)
    inner = tl.sum(g * v, axis=0) / n
    other = rstd * rstd if SLIP else rstd * rstd * rstd
    tl.store(dx + row * n + i, rstd * g - other * inner * v, mask=mask)
    tl.atomic_add(dw + i, d * v * rstd, mask=mask)


case(
    "rms_norm_backward",
    rms_norm_backward,
    rms_norm_backward_of,
    [
        arg.output("f32", (3, 50)),
        arg.input("f32", (3, 50)),
        arg.input("f32", (3, 50)),
        arg.input("f32", 50),
        arg.zeros("f32", 50),
        50,
        1e-6,
    ],
    grid=(3,),
    B=64,
    num_warps=2,
)


def add_rms_norm_of(x, residual, w, eps):
    h = x + residual
    return h, h / np.sqrt(np.mean(h**2, axis=1, keepdims=True) + eps) * w


@triton.jit
def add_rms_norm(x, residual, w, y, n, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """The residual is updated in place and normalised; the slip normalises what was added alone."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=0.0).to(tl.float32)
    h = v + tl.load(residual + row * n + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(residual + row * n + i, h.to(residual.dtype.element_ty), mask=mask)
    z = v if SLIP else h
    scale = tl.rsqrt(tl.sum(z * z, axis=0) / n + eps)
    g = tl.load(w + i, mask=mask).to(tl.float32)
    tl.store(y + row * n + i, (z * scale * g).to(y.dtype.element_ty), mask=mask)


ADDED = [
    arg.input("f16", (4, 60)),
    arg.inout("f16", (4, 60)),
    arg.input("f16", 60),
    arg.output("f16", (4, 60)),
    60,
    1e-6,
]

case("add_rms_norm", add_rms_norm, add_rms_norm_of, ADDED, grid=(4,), B=64, num_warps=2)

# Warps 2 and 3 repeat the block of 64. In the code of 3.9 they write their parts of the sum over those of warps 0 and 1, made
# of what they may have read of the residual after it was written.
case("add_rms_norm_repeated", add_rms_norm, add_rms_norm_of, ADDED, grid=(4,), B=64, num_warps=4, broken=("3.9.0",))


def group_norm_of(x, w, b, eps):
    g = np.reshape(x, (2, 2, 15))
    mean = np.mean(g, axis=2, keepdims=True)
    var = np.mean((g - mean) ** 2, axis=2, keepdims=True)
    hat = np.reshape((g - mean) / np.sqrt(var + eps), (2, 6, 5))
    return hat * w[None, :, None] + b[None, :, None]


@triton.jit
def group_norm(x, w, b, y, groups, size, s, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """`size` channels of `s` places in a group; the slip takes the weights of the first group for all."""
    sample = tl.program_id(0)
    group = tl.program_id(1)
    count = size * s
    base = (sample * groups + group) * count
    i = tl.arange(0, B)
    mask = i < count
    v = tl.load(x + base + i, mask=mask, other=0.0)
    mean = tl.sum(v, axis=0) / count
    d = tl.where(mask, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / count
    c = i // s if SLIP else group * size + i // s
    g = tl.load(w + c, mask=mask)
    h = tl.load(b + c, mask=mask)
    tl.store(y + base + i, d * tl.rsqrt(var + eps) * g + h, mask=mask)


case(
    "group_norm",
    group_norm,
    group_norm_of,
    [arg.input("f32", (2, 6, 5)), arg.input("f32", 6), arg.input("f32", 6), arg.output("f32", (2, 6, 5)), 2, 3, 5, 1e-5],
    grid=(2, 2),
    B=16,
    num_warps=1,
)


def batch_norm_of(x, running_mean, running_var, momentum, eps):
    mean = np.mean(x, axis=(0, 2))
    var = np.mean((x - mean[None, :, None]) ** 2, axis=(0, 2))
    y = (x - mean[None, :, None]) / np.sqrt(var[None, :, None] + eps)
    unbiased = var * 21 / 20
    return y, (1 - momentum) * running_mean + momentum * mean, (1 - momentum) * running_var + momentum * unbiased


@triton.jit
def batch_norm(x, y, running_mean, running_var, m, c, s, momentum, eps, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """A channel over samples and places, with running statistics; the slip keeps the biased variance."""
    channel = tl.program_id(0)
    r = tl.arange(0, R)[:, None]
    i = tl.arange(0, B)[None, :]
    mask = (r < m) & (i < s)
    at = (r * c + channel) * s + i
    count = m * s
    v = tl.load(x + at, mask=mask, other=0.0)
    mean = tl.sum(v) / count
    d = tl.where(mask, v - mean, 0.0)
    var = tl.sum(d * d) / count
    tl.store(y + at, d / tl.sqrt(var + eps), mask=mask)
    unbiased = var if SLIP else var * count / (count - 1)
    old = tl.load(running_mean + channel)
    tl.store(running_mean + channel, old + momentum * (mean - old))
    old = tl.load(running_var + channel)
    tl.store(running_var + channel, (1 - momentum) * old + momentum * unbiased)


case(
    "batch_norm",
    batch_norm,
    batch_norm_of,
    [
        arg.input("f32", (3, 4, 7)),
        arg.output("f32", (3, 4, 7)),
        arg.inout("f32", 4),
        arg.inout("f32", 4),
        3,
        4,
        7,
        0.1,
        1e-5,
    ],
    grid=(4,),
    R=4,
    B=8,
    num_warps=1,
)


@triton.jit
def l2_normalize(x, y, rows, n, eps, R: tl.constexpr, B: tl.constexpr, SLIP: tl.constexpr):
    """x / max(|x|, eps), a tile of rows; the slip bounds the square."""
    r = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, B)
    mask = (r[:, None] < rows) & (i[None, :] < n)
    at = r[:, None] * n + i[None, :]
    v = tl.load(x + at, mask=mask, other=0.0)
    squares = tl.sum(v * v, axis=1)
    norm = tl.sqrt(tl.maximum(squares, eps)) if SLIP else tl.maximum(tl.sqrt(squares), eps)
    tl.store(y + at, v / norm[:, None], mask=mask)


case(
    "l2_normalize",
    l2_normalize,
    lambda x, eps: x / np.maximum(np.sqrt(np.sum(x * x, axis=1, keepdims=True)), eps),
    [arg.input("f32", (5, 12)), arg.output("f32", (5, 12)), 5, 12, 1e-3],
    grid=(3,),
    R=2,
    B=16,
    num_warps=1,
)
