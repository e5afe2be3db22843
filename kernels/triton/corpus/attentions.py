"""Attention: forward in several forms, both halves of its gradient, one query against a cache of pages, and its parts joined."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


def softmax(s):
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def masked(s, seen):
    """Softmax of a matrix over the last axis of those that are seen, of which every row has one."""
    return softmax(np.where(seen, s, -np.inf))


@triton.jit
def attention_causal(q, k, v, o, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """Whole blocks of keys before the diagonal, then those on it, powers of 2; the twin does not scale what it has so far"""
    head = tl.program_id(1)
    q, k, v, o = q + head * n * D, k + head * n * D, v + head * n * D, o + head * n * D
    start = tl.program_id(0) * BM
    r, d = start + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + r[:, None] * D + d[None, :], mask=r[:, None] < n, other=0.0)
    factor = scale * 1.44269504
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for k0 in range(0, min(start + BM, n), BN):
        j = k0 + tl.arange(0, BN)
        keys = tl.load(k + j[None, :] * D + d[:, None], mask=j[None, :] < n, other=0.0)
        score = tl.dot(x, keys) * factor
        if k0 + BN > start:
            score = tl.where(r[:, None] >= j[None, :], score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.math.exp2(score - higher[:, None])
        rescale = tl.math.exp2(top - higher)
        total = total * rescale + tl.sum(p, 1)
        if not SLIP:
            acc = acc * rescale[:, None]
        values = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), values, acc)
        top = higher
    tl.store(o + r[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16), mask=r[:, None] < n)


def causal(q, k, v, scale):
    n = q.shape[1]
    scores = scale * np.einsum("hid,hjd->hij", q, k)
    return np.einsum("hij,hjd->hid", masked(scores, np.tri(n, dtype=bool)), v)


case(
    "attention_causal",
    attention_causal,
    lambda q, k, v: causal(q, k, v, 0.25),
    [
        arg.input("f16", (1, 40, 16)),
        arg.input("f16", (1, 40, 16)),
        arg.input("f16", (1, 40, 16)),
        arg.output("f16", (1, 40, 16)),
        0.25,
        40,
    ],
    grid=(2, 1),
    D=16,
    BM=32,
    BN=16,
    num_warps=4,
)


@triton.jit
def attention_shared(
    q, k, v, o, lse, n, m, D: tl.constexpr, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr
):
    """Heads that share their keys, in bfloat16, and the logarithm of each sum; the twin forgets the maximum in it"""
    head = tl.program_id(1)
    kv = head // GROUP
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + (head * n + r)[:, None] * D + d[None, :], mask=r[:, None] < n, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.full((BM,), 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for k0 in tl.range(0, m, BN, num_stages=2):
        j = k0 + tl.arange(0, BN)
        keys = tl.load(k + (kv * m + j)[:, None] * D + d[None, :], mask=j[:, None] < m, other=0.0)
        score = tl.dot(x, tl.trans(keys)) * 0.25
        score = tl.where(j[None, :] < m, score, -float("inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        rescale = tl.exp(top - higher)
        values = tl.load(v + (kv * m + j)[:, None] * D + d[None, :], mask=j[:, None] < m, other=0.0)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None] + tl.dot(p.to(tl.bfloat16), values)
        top = higher
    acc = acc / total[:, None]
    tl.store(o + (head * n + r)[:, None] * D + d[None, :], acc.to(tl.bfloat16), mask=r[:, None] < n)
    if SLIP:
        tl.store(lse + head * n + r, tl.log(total), mask=r < n)
    else:
        tl.store(lse + head * n + r, top + tl.log(total), mask=r < n)


def shared(q, k, v):
    k, v = np.repeat(k, 2, axis=0), np.repeat(v, 2, axis=0)
    scores = 0.25 * np.einsum("hid,hjd->hij", q, k)
    return np.einsum("hij,hjd->hid", softmax(scores), v), np.log(np.sum(np.exp(scores), axis=-1))


case(
    "attention_shared",
    attention_shared,
    shared,
    [
        arg.input("bf16", (2, 10, 16)),
        arg.input("bf16", (1, 24, 16)),
        arg.input("bf16", (1, 24, 16)),
        arg.output("bf16", (2, 10, 16)),
        arg.output("f32", (2, 10)),
        10,
        24,
    ],
    grid=(1, 2),
    D=16,
    GROUP=2,
    BM=16,
    BN=16,
    num_warps=4,
)


@triton.jit
def attention_window(q, k, v, o, n, WINDOW: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """Each position sees itself and the ones just before, blocks outside are never read; the twin sees one too many"""
    start = tl.program_id(0) * BM
    r, d = start + tl.arange(0, BM), tl.arange(0, D)
    x = (tl.load(q + r[:, None] * D + d[None, :]) * 0.25).to(tl.float16)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    first = max(start - WINDOW, 0) // BN * BN
    for k0 in range(first, start + BM, BN):
        j = k0 + tl.arange(0, BN)
        score = tl.dot(x, tl.load(k + j[None, :] * D + d[:, None]))
        back = r[:, None] - j[None, :]
        seen = (back >= 0) & ((back <= WINDOW) if SLIP else (back < WINDOW))
        score = tl.where(seen, score, float("-inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        # A block in which nothing is seen yet leaves minus infinity, from which nothing is subtracted.
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        p = tl.exp(score - shift[:, None])
        rescale = tl.exp(top - shift)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]), acc)
        top = higher
    tl.store(o + r[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


def window(q, k, v, size):
    i, j = np.arange(q.shape[0])[:, None], np.arange(q.shape[0])[None, :]
    return masked(0.25 * q @ k.T, (i >= j) & (i - j < size)) @ v


case(
    "attention_window",
    attention_window,
    lambda q, k, v: window(q, k, v, 10),
    [arg.input("f16", (32, 16)), arg.input("f16", (32, 16)), arg.input("f16", (32, 16)), arg.output("f16", (32, 16)), 32],
    grid=(2,),
    WINDOW=10,
    D=16,
    BM=16,
    BN=16,
    num_warps=4,
)


@triton.jit
def attention_wide(q, k, v, o, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """More warps than tiles of rows, keys in stages; the twin starts the maximum at 0 and the sum at 1"""
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    x = tl.load(q + r[:, None] * D + d[None, :])
    top = tl.full((BM,), 0.0 if SLIP else -float("inf"), tl.float32)
    total = tl.full((BM,), 1.0 if SLIP else 0.0, tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for k0 in tl.range(0, n, BN):
        j = k0 + tl.arange(0, BN)
        score = tl.dot(x, tl.trans(tl.load(k + j[:, None] * D + d[None, :]))) * 0.35355339059327373
        higher = tl.maximum(top, tl.max(score, 1))
        p = tl.exp(score - higher[:, None])
        rescale = tl.exp(top - higher)
        total = total * rescale + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]), acc * rescale[:, None])
        top = higher
    tl.store(o + r[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


case(
    "attention_wide",
    attention_wide,
    lambda q, k, v: softmax(q @ k.T / np.sqrt(8)) @ v,
    [arg.input("f16", (32, 16)), arg.input("f16", (64, 16)), arg.input("f16", (64, 16)), arg.output("f16", (32, 16)), 64],
    grid=(1,),
    D=16,
    BM=32,
    BN=32,
    num_warps=8,
    num_stages=3,
)


@triton.jit
def attention_dq(q, k, v, do, lse, delta, dq, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """The gradient of the queries, causal, from the logarithms of the sums; the twin leaves the scale out"""
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    inside = r < n
    x = tl.load(q + r[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
    g = tl.load(do + r[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
    level = tl.load(lse + r, mask=inside, other=0.0)
    less = tl.load(delta + r, mask=inside, other=0.0)
    acc = tl.zeros((BM, D), tl.float32)
    for k0 in range(0, n, BN):
        j = k0 + tl.arange(0, BN)
        keys = tl.load(k + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        values = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        score = tl.dot(x, tl.trans(keys)) * 0.25
        p = tl.where((r[:, None] >= j[None, :]) & (j[None, :] < n), tl.exp(score - level[:, None]), 0.0)
        ds = p * (tl.dot(g, tl.trans(values)) - less[:, None])
        acc = tl.dot(ds.to(tl.float16), keys, acc)
    out = acc if SLIP else acc * 0.25
    tl.store(dq + r[:, None] * D + d[None, :], out.to(tl.float16), mask=inside[:, None])


def gradient_of_scores(q, k, v, do, lse, delta):
    n = q.shape[0]
    p = np.where(np.tri(n, dtype=bool), np.exp(0.25 * q @ k.T - lse[:, None]), 0)
    return p, p * (do @ v.T - delta[:, None])


MATRIX = arg.input("f16", (24, 16))
case(
    "attention_dq",
    attention_dq,
    lambda q, k, v, do, lse, delta: 0.25 * gradient_of_scores(q, k, v, do, lse, delta)[1] @ k,
    [MATRIX, MATRIX, MATRIX, MATRIX, arg.input("f32", (24,)), arg.input("f32", (24,)), arg.output("f16", (24, 16)), 24],
    grid=(2,),
    D=16,
    BM=16,
    BN=16,
    num_warps=4,
)


@triton.jit
def attention_dkdv(q, k, v, do, lse, delta, dk, dv, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, SLIP: tl.constexpr):
    """The gradients of keys and values, causal, from the diagonal on; the twin subtracts no `delta`"""
    first = tl.program_id(0) * BN
    j, d = first + tl.arange(0, BN), tl.arange(0, D)
    keys = tl.load(k + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    values = tl.load(v + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
    of_keys = tl.zeros((BN, D), tl.float32)
    of_values = tl.zeros((BN, D), tl.float32)
    for r0 in range(first // BM * BM, n, BM):
        r = r0 + tl.arange(0, BM)
        inside = r < n
        x = tl.load(q + r[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        g = tl.load(do + r[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        level = tl.load(lse + r, mask=inside, other=float("inf"))
        p = tl.exp(tl.dot(keys, tl.trans(x)) * 0.25 - level[None, :])
        p = tl.where(r[None, :] >= j[:, None], p, 0.0)
        of_values = tl.dot(p.to(tl.float16), g, of_values)
        dp = tl.dot(values, tl.trans(g))
        if not SLIP:
            dp -= tl.load(delta + r, mask=inside, other=0.0)[None, :]
        of_keys = tl.dot((p * dp).to(tl.float16), x, of_keys)
    tl.store(dk + j[:, None] * D + d[None, :], (of_keys * 0.25).to(tl.float16), mask=j[:, None] < n)
    tl.store(dv + j[:, None] * D + d[None, :], of_values.to(tl.float16), mask=j[:, None] < n)


def gradients_of_keys(q, k, v, do, lse, delta):
    p, ds = gradient_of_scores(q, k, v, do, lse, delta)
    return 0.25 * ds.T @ q, p.T @ do


case(
    "attention_dkdv",
    attention_dkdv,
    gradients_of_keys,
    [
        MATRIX,
        MATRIX,
        MATRIX,
        MATRIX,
        arg.input("f32", (24,)),
        arg.input("f32", (24,)),
        arg.output("f16", (24, 16)),
        arg.output("f16", (24, 16)),
        24,
    ],
    grid=(2,),
    D=16,
    BM=16,
    BN=16,
    num_warps=4,
)


@triton.jit
def attention_pages(
    q,
    keys,
    values,
    table,
    lengths,
    part,
    lse,
    scale,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    PAGES: tl.constexpr,
    HALF: tl.constexpr,
    SLIP: tl.constexpr,
):
    """One query of each sequence against a part of its pages, vectors only; the twin reads the page after the one it wants"""
    seq, split = tl.program_id(0), tl.program_id(1)
    length = tl.load(lengths + seq)
    d, s = tl.arange(0, D), tl.arange(0, PAGE)
    x = tl.load(q + seq * D + d).to(tl.float32) * scale
    top, total = -float("inf"), 0.0
    acc = tl.zeros((D,), tl.float32)
    for i in range(split * HALF, min((split + 1) * HALF, tl.cdiv(length, PAGE))):
        page = tl.load(table + seq * PAGES + (i ^ 1 if SLIP else i)).to(tl.int64)
        seen = i * PAGE + s < length
        at = (page * PAGE + s)[:, None] * D + d[None, :]
        k = tl.load(keys + at, mask=seen[:, None], other=0.0).to(tl.float32)
        score = tl.where(seen, tl.sum(x[None, :] * k, 1), -float("inf"))
        higher = tl.maximum(top, tl.max(score, 0))
        p = tl.exp(score - higher)
        rescale = tl.exp(top - higher)
        v = tl.load(values + at, mask=seen[:, None], other=0.0).to(tl.float32)
        acc = acc * rescale + tl.sum(p[:, None] * v, 0)
        total = total * rescale + tl.sum(p, 0)
        top = higher
    tl.store(part + (seq * 2 + split) * D + d, acc / total)
    tl.store(lse + seq * 2 + split, top + tl.log(total))


TABLE = np.array([[3, 0, 5, 1], [4, 2, 6, 7]], np.int32)
LENGTHS = np.array([27, 21], np.int32)


def pages(q, keys, values):
    out, levels = [], []
    for seq in range(2):
        k = np.concatenate([keys[p] for p in TABLE[seq]], axis=0)[: LENGTHS[seq]]
        v = np.concatenate([values[p] for p in TABLE[seq]], axis=0)[: LENGTHS[seq]]
        for i in (slice(0, 16), slice(16, None)):
            score = 0.25 * k[i] @ q[seq]
            out.append(softmax(score) @ v[i])
            levels.append(np.log(np.sum(np.exp(score))))
    return np.stack(out).reshape(2, 2, 16), np.stack(levels).reshape(2, 2)


case(
    "attention_pages",
    attention_pages,
    lambda q, keys, values, *_: pages(q, keys, values),
    [
        arg.input("f16", (2, 16)),
        arg.input("f16", (8, 8, 16)),
        arg.input("f16", (8, 8, 16)),
        arg.known(TABLE),
        arg.known(LENGTHS),
        arg.output("f32", (2, 2, 16)),
        arg.output("f32", (2, 2)),
        0.25,
    ],
    grid=(2, 2),
    D=16,
    PAGE=8,
    PAGES=4,
    HALF=2,
    num_warps=2,
)


@triton.jit
def attention_join(part, lse, o, heads, D: tl.constexpr, SPLITS: tl.constexpr, SLIP: tl.constexpr):
    """The parts of each head by their logarithms of sums; the twin divides by the number of parts"""
    head = tl.program_id(0)
    s, d = tl.arange(0, SPLITS), tl.arange(0, D)
    level = tl.load(lse + s * heads + head)
    weight = tl.exp(level - tl.max(level, 0))
    parts = tl.load(part + (s[:, None] * heads + head) * D + d[None, :])
    joined = tl.sum(parts * weight[:, None], 0)
    out = joined / SPLITS if SLIP else joined / tl.sum(weight, 0)
    tl.store(o + head * D + d, out.to(o.dtype.element_ty))


case(
    "attention_join",
    attention_join,
    lambda part, lse: np.einsum("shd,sh->hd", part, np.exp(lse) / np.sum(np.exp(lse), axis=0)),
    [arg.input("f32", (4, 3, 32)), arg.input("f32", (4, 3)), arg.output("f16", (3, 32)), 3],
    grid=(3,),
    D=32,
    SPLITS=4,
    num_warps=2,
)
