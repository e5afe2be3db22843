#!/usr/bin/env python3
"""Stages of chains in Triton, and kernels that do a whole chain; run, it compiles them to the PTX beside it, without a GPU.

    python3 -m venv triton
    triton/bin/pip install triton==3.5.1
    triton/bin/python kernels/sequence/stages.py

Prints for each output the number of threads and the bytes of dynamic shared memory that its launch needs.
"""

import os
import re

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def moments(x, mean, rstd, n: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x + row * n + tl.arange(0, n))
    m = tl.sum(v, 0) / n
    d = v - m
    tl.store(mean + row, m)
    tl.store(rstd + row, 1 / tl.sqrt(tl.sum(d * d, 0) / n + 1e-5))


@triton.jit
def normalise(x, mean, rstd, g, b, y, n: tl.constexpr, rows: tl.constexpr):
    r = tl.program_id(0) * rows + tl.arange(0, rows)
    j = tl.arange(0, n)
    at = r[:, None] * n + j[None, :]
    m, s = tl.load(mean + r), tl.load(rstd + r)
    v = (tl.load(x + at) - m[:, None]) * s[:, None]
    tl.store(y + at, v * tl.load(g + j)[None, :] + tl.load(b + j)[None, :])


@triton.jit
def layernorm(x, g, b, y, n: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, n)
    v = tl.load(x + row * n + j)
    m = tl.sum(v, 0) / n
    q = tl.sum(v * v, 0) / n - m * m
    tl.store(y + row * n + j, (v - m) * tl.rsqrt(q + 1e-5) * tl.load(g + j) + tl.load(b + j))


@triton.jit
def split(a, b, parts, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr, depth: tl.constexpr):
    z = tl.program_id(0)
    i, j, p = tl.arange(0, m), tl.arange(0, n), z * depth + tl.arange(0, depth)
    x = tl.load(a + i[:, None] * k + p[None, :])
    w = tl.load(b + p[:, None] * n + j[None, :])
    tl.store(parts + z * m * n + i[:, None] * n + j[None, :], tl.dot(x, w))


@triton.jit
def reduce(parts, c, mn: tl.constexpr, splits: tl.constexpr, tile: tl.constexpr):
    at = tl.program_id(0) * tile + tl.arange(0, tile)
    s = tl.zeros((tile,), tl.float32)
    for z in tl.static_range(splits):
        s += tl.load(parts + z * mn + at)
    tl.store(c + at, s.to(tl.float16))


@triton.jit
def matmul(a, b, c, m: tl.constexpr, n: tl.constexpr, k: tl.constexpr):
    i, j, p = tl.arange(0, m), tl.arange(0, n), tl.arange(0, k)
    s = tl.dot(tl.load(a + i[:, None] * k + p[None, :]), tl.load(b + p[:, None] * n + j[None, :]))
    tl.store(c + i[:, None] * n + j[None, :], s.to(tl.float16))


P, H, C = "*fp32", "*fp16", "constexpr"
OUTPUTS = {
    "moments": (moments, {"x": P, "mean": P, "rstd": P, "n": C}, {"n": 64}),
    "normalise": (normalise, {"x": P, "mean": P, "rstd": P, "g": P, "b": P, "y": P, "n": C, "rows": C}, {"n": 64, "rows": 2}),
    "layernorm": (layernorm, {"x": P, "g": P, "b": P, "y": P, "n": C}, {"n": 64}),
    "split": (split, {"a": H, "b": H, "parts": P, "m": C, "n": C, "k": C, "depth": C}, {"m": 16, "n": 16, "k": 64, "depth": 16}),
    "reduce": (reduce, {"parts": P, "c": H, "mn": C, "splits": C, "tile": C}, {"mn": 256, "splits": 4, "tile": 64}),
    "reduce_three": (reduce, {"parts": P, "c": H, "mn": C, "splits": C, "tile": C}, {"mn": 256, "splits": 3, "tile": 64}),
    "matmul": (matmul, {"a": H, "b": H, "c": H, "m": C, "n": C, "k": C}, {"m": 16, "n": 16, "k": 64}),
}

if __name__ == "__main__":
    for name, (fn, signature, constants) in OUTPUTS.items():
        source = ASTSource(fn=fn, signature=signature, constexprs=constants)
        built = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 2})
        text = re.sub(r"\t\.section\t\.debug.*", "", built.asm["ptx"], flags=re.S)
        with open(f"stages_{name}.ptx", "w") as out:
            out.write(text.rstrip() + "\n")
        print(f"stages_{name}.ptx: {32 * 2} threads, {built.metadata.shared} bytes")
