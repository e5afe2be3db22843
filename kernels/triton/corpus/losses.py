"""Losses, some with their gradients."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


def logsumexp_of(x):
    return np.log(np.sum(np.exp(x), axis=1))


def cross_entropy_of(x, t, ignored):
    rows = np.arange(x.shape[0])
    picked = x[rows, np.where(t == ignored, 0, t)]
    return np.where(t == ignored, 0.0, logsumexp_of(x) - picked)


@triton.jit
def cross_entropy(x, t, loss, stride, n, ignored, B: tl.constexpr, SLIP: tl.constexpr):
    """-log softmax at the target, 0 where it is ignored; the slip forgets the maximum in the result."""
    row = tl.program_id(0)
    target = tl.load(t + row)
    if target == ignored:
        tl.store(loss + row, 0.0)
        return
    i = tl.arange(0, B)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf")).to(tl.float32)
    m = tl.max(v, axis=0)
    s = tl.log(tl.sum(tl.exp(v - m), axis=0))
    picked = tl.load(x + row * stride + target).to(tl.float32)
    tl.store(loss + row, s - picked if SLIP else s + m - picked)


case(
    "cross_entropy",
    cross_entropy,
    cross_entropy_of,
    [arg.input("bf16", (5, 50)), arg.input("s64", 5), arg.output("f32", 5), 50, 50, -100],
    grid=(5,),
    B=64,
    num_warps=2,
)


def cross_entropy_gradient_of(x, t):
    rows, n = np.arange(x.shape[0]), x.shape[1]
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    hot = t[:, None] == np.arange(n)[None, :]
    return np.where(hot, p - 1, p) / 4, logsumexp_of(x) - x[rows, t]


@triton.jit
def cross_entropy_in_place(x, t, loss, rows, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The loss of a row, and the gradient of the mean over the rows where the logits were; the slip scales the 1 alone not."""
    row = tl.program_id(0)
    x += row * n
    target = tl.load(t + row)
    m = -float("inf")
    s = 0.0
    picked = tl.load(x + target)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=-float("inf"))
        new = tl.maximum(m, tl.max(v, axis=0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), axis=0)
        m = new
    # Another thread may write what this one has picked.
    tl.debug_barrier()
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=-float("inf"))
        p = tl.exp(v - m) / s
        if SLIP:
            p = tl.where(i == target, p / rows - 1.0, p / rows)
        else:
            p = tl.where(i == target, p - 1.0, p) / rows
        tl.store(x + i, p, mask=i < n)
    tl.store(loss + row, m + tl.log(s) - picked)


case(
    "cross_entropy_in_place",
    cross_entropy_in_place,
    cross_entropy_gradient_of,
    [arg.inout("f32", (4, 40)), arg.input("s32", 4), arg.output("f32", 4), 4, 40],
    grid=(4,),
    B=16,
    num_warps=1,
    assume=["t in 0..40"],
)


@triton.jit
def label_smoothing(x, t, loss, n, smoothing, B: tl.constexpr, SLIP: tl.constexpr):
    """(1 - s) cross entropy + s times its mean over all classes; the slip takes the mean over the block."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * n + i, mask=mask, other=-float("inf"))
    m = tl.max(v, axis=0)
    lse = m + tl.log(tl.sum(tl.exp(v - m), axis=0))
    target = tl.load(t + row)
    picked = tl.sum(tl.where(i == target, v, 0.0), axis=0)
    mean = tl.sum(tl.where(mask, v, 0.0), axis=0) / (B if SLIP else n)
    tl.store(loss + row, (1 - smoothing) * (lse - picked) + smoothing * (lse - mean))


def label_smoothing_of(x, t, smoothing):
    logp = x - logsumexp_of(x)[:, None]
    return -(1 - smoothing) * logp[np.arange(3), t] - smoothing * np.mean(logp, axis=1)


case(
    "label_smoothing",
    label_smoothing,
    lambda x, t, smoothing: label_smoothing_of(x, t, smoothing),
    [arg.input("f32", (3, 20)), arg.input("s32", 3), arg.output("f32", 3), 20, 0.1],
    grid=(3,),
    B=32,
    num_warps=1,
    assume=["t in 0..20"],
)


@triton.jit
def kl_divergence(logp, q, loss, n, B: tl.constexpr, SLIP: tl.constexpr):
    """Sum of q (log q - logp), of which the terms with q = 0 are 0; the slip leaves them to the logarithm."""
    row = tl.program_id(0)
    acc = tl.zeros([B], dtype=tl.float32)
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        mask = i < n
        a = tl.load(logp + row * n + i, mask=mask, other=0.0)
        b = tl.load(q + row * n + i, mask=mask, other=1.0)
        if SLIP:
            acc += b * (tl.log(b) - a)
        else:
            acc += tl.where(b > 0, b * (tl.log(b) - a), 0.0)
    tl.store(loss + row, tl.sum(acc, axis=0))


case(
    "kl_divergence",
    kl_divergence,
    lambda logp, q: np.sum(np.where(q > 0, q * (np.log(q) - logp), 0.0), axis=1),
    [arg.input("f32", (3, 27)), arg.input("f32", (3, 27)), arg.output("f32", 3), 27],
    grid=(3,),
    B=16,
    num_warps=1,
    assume=["q in 0.0..1.0"],
)


def sigmoid_of(x):
    return 1 / (1 + np.exp(-x))


@triton.jit
def bce_with_logits(x, t, loss, n, B: tl.constexpr, SLIP: tl.constexpr):
    """max(x, 0) - x t + log(1 + exp(-|x|)); the slip has the absolute value not."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(t + i, mask=mask, other=0.0).to(tl.float32)
    e = tl.exp(-v if SLIP else -tl.abs(v))
    tl.store(loss + i, tl.maximum(v, 0.0) - v * w + tl.log(1.0 + e), mask=mask)


case(
    "bce_with_logits",
    bce_with_logits,
    lambda x, t: -(t * np.log(sigmoid_of(x)) + (1 - t) * np.log(1 - sigmoid_of(x))),
    [arg.input("f16", 200), arg.input("f16", 200), arg.output("f32", 200), 200],
    grid=(2,),
    B=128,
    num_warps=4,
    assume=["t in 0.0..1.0"],
)


@triton.jit
def huber(x, t, loss, delta, n, B: tl.constexpr, SLIP: tl.constexpr):
    """d^2 / 2 up to delta, then delta (|d| - delta / 2); the slip forgets the half."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    d = tl.load(x + i, mask=mask, other=0.0) - tl.load(t + i, mask=mask, other=0.0)
    a = tl.abs(d)
    linear = delta * (a - delta) if SLIP else delta * (a - 0.5 * delta)
    tl.store(loss + i, tl.where(a <= delta, 0.5 * d * d, linear), mask=mask)


case(
    "huber",
    huber,
    lambda x, t, delta: np.where(np.abs(x - t) <= delta, (x - t) ** 2 / 2, delta * np.abs(x - t) - delta * delta / 2),
    [arg.input("f32", 150), arg.input("f32", 150), arg.output("f32", 150), 1.5, 150],
    grid=(3,),
    B=64,
    num_warps=2,
)


@triton.jit
def cosine(a, b, out, n, eps, B: tl.constexpr, SLIP: tl.constexpr):
    """1 - a b / max(|a| |b|, eps); the slip has the squares of the norms below it."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(a + row * n + i, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(b + row * n + i, mask=mask, other=0.0).to(tl.float32)
    dot = tl.sum(v * w, axis=0)
    norms = tl.sum(v * v, axis=0) * tl.sum(w * w, axis=0)
    norms = norms if SLIP else tl.sqrt(norms)
    tl.store(out + row, 1.0 - dot / tl.maximum(norms, eps))


case(
    "cosine",
    cosine,
    lambda a, b, eps: 1 - np.sum(a * b, axis=1) / np.maximum(np.sqrt(np.sum(a * a, axis=1)) * np.sqrt(np.sum(b * b, axis=1)), eps),
    [arg.input("bf16", (4, 30)), arg.input("bf16", (4, 30)), arg.output("f32", 4), 30, 1e-8],
    grid=(4,),
    B=32,
    num_warps=1,
)


@triton.jit
def mean_squares(x, t, total, n, B: tl.constexpr, SLIP: tl.constexpr):
    """The mean over all programs, by atomics; the slip divides by what the blocks hold."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    d = tl.load(x + i, mask=mask, other=0.0) - tl.load(t + i, mask=mask, other=0.0)
    count = tl.num_programs(0) * B if SLIP else n
    tl.atomic_add(total, tl.sum(d * d, axis=0) / count)


case(
    "mean_squares",
    mean_squares,
    lambda x, t: np.mean((x - t) ** 2),
    [arg.input("f32", 100), arg.input("f32", 100), arg.zeros("f32", 1), 100],
    grid=(4,),
    B=32,
    num_warps=1,
)


@triton.jit
def focal(x, t, loss, alpha, n, B: tl.constexpr, SLIP: tl.constexpr):
    """alpha (1 - p)^2 times the cross entropy of a probability p; the slip has no square."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0.0)
    hot = tl.load(t + i, mask=mask, other=0)
    p = tl.sigmoid(v)
    p = tl.where(hot == 1, p, 1.0 - p)
    q = 1.0 - p
    tl.store(loss + i, -alpha * (q if SLIP else q * q) * tl.log(p), mask=mask)


case(
    "focal",
    focal,
    lambda x, t, alpha: (
        alpha
        * np.where(t == 1, 1 - sigmoid_of(x), sigmoid_of(x)) ** 2
        * -np.log(np.where(t == 1, sigmoid_of(x), 1 - sigmoid_of(x)))
    ),
    [arg.input("f32", 90), arg.input("s32", 90), arg.output("f32", 90), 0.25, 90],
    grid=(2,),
    B=64,
    num_warps=2,
    assume=["t in 0..2"],
)
