"""Triton kernels for the tests; a module of its own, since Triton reads the source of a function from its file."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

import volta

CONFIGS = [triton.Config({"B": 64}, num_warps=1), triton.Config({"B": 128}, num_warps=2)]


@triton.jit
def softmax(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def scaled(x, y, n, BLOCK: tl.constexpr, SCALE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * SCALE, mask=i < n)


@triton.jit
def endless(x, y, n, BLOCK: tl.constexpr = 32):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    for _ in tl.static_range(1000000000):
        v += 1
    tl.store(y + i, v, mask=i < n)


@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr = 32):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def softmax_unscaled(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v)
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def softmax_unmasked(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * n + i, e / tl.sum(e, 0), mask=i < n)


tuned = triton.autotune(configs=CONFIGS, key=["n"])(softmax)
wrapped = triton.heuristics({"B": lambda args: 64 if args["n"] <= 64 else 128})(softmax)


@triton.jit
def broken(x, y, n, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), undefined_name)  # noqa: F821


@triton.jit
def copy_then_scale(x, y, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def softmax_other_order(n, out, x, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + i, e / tl.sum(e, 0), mask=i < n)


@triton.autotune(
    configs=[triton.Config({"B": 64}, num_warps=w, num_stages=s) for w, s in ((1, 2), (1, 3), (2, 2))],
    key=["n"],
    prune_configs_by={"early_config_prune": volta.same_bits()},
)
@triton.jit
def row_sums(x, y, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    tl.store(y + row, tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0), 0))


@triton.jit
def split_sums(x, y, n, B: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for k in tl.static_range(SPLITS):
        at = k * B + tl.arange(0, B)
        total += tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0), 0)
    tl.store(y + row, total)


@triton.jit
def partial_sums(x, p, n, B: tl.constexpr, SPLITS: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    at = part * B + tl.arange(0, B)
    tl.store(p + row * SPLITS + part, tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0), 0))


@triton.jit
def joined_sums(p, y, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(y + row, tl.sum(tl.load(p + row * SPLITS + tl.arange(0, SPLITS)), 0))


@triton.autotune(configs=[triton.Config({"BLOCK": 16}, num_warps=1), triton.Config({"BLOCK": 32}, num_warps=1)], key=["n"])
@triton.jit
def doubled_in_tiles(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def listed(sources, y, B: tl.constexpr):
    source = tl.load(sources + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, B)
    tl.store(y + tl.program_id(0) * B + i, tl.load(source + i))


@triton.jit
def scaled_by_default(x, y, n, FACTOR: tl.constexpr = 2.0, BLOCK: tl.constexpr = 64, TIMES: tl.constexpr = 1):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o, mask=o < n) * FACTOR, mask=o < n)
