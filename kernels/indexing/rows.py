#!/usr/bin/env python3
"""Rows that indices choose, in Triton; run, it compiles them to the PTX beside it, without a GPU, for two architectures.

    python3 -m venv triton
    triton/bin/pip install triton==3.5.1
    triton/bin/python kernels/indexing/rows.py

Each launch has 64 threads; what is printed is the dynamic shared memory that it needs.
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
def embedding(ids, table, y, n: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, n)
    tl.store(y + row * n + j, tl.load(table + tl.load(ids + row) * n + j))


@triton.jit
def embedding_tile(ids, table, y, n: tl.constexpr, rows: tl.constexpr, step: tl.constexpr):
    r, j = tl.program_id(0) * rows + tl.arange(0, rows), tl.arange(0, n)
    id = tl.load(ids + r)
    tl.store(y + r[:, None] * n + j[None, :], tl.load(table + id[:, None] * step + j[None, :]))


@triton.jit
def gradient(ids, g, y, n: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, n)
    tl.atomic_add(y + tl.load(ids + row) * n + j, tl.load(g + row * n + j))


@triton.jit
def gradient_owned(ids, g, y, n: tl.constexpr, count: tl.constexpr, last: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, n)
    s = tl.load(y + row * n + j)
    for i in tl.static_range(count):
        v = tl.load(g + i * n + j)
        s = tl.where(tl.load(ids + i) == row, v if last else s + v, s)
    tl.store(y + row * n + j, s)


@triton.jit
def rotary(q, positions, table, y, n: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, n)
    at = tl.load(positions + row) * 2 * n
    c, s = tl.load(table + at + j), tl.load(table + at + n + j)
    a, b = tl.load(q + row * 2 * n + j), tl.load(q + row * 2 * n + n + j)
    tl.store(y + row * 2 * n + j, a * c - b * s)
    tl.store(y + row * 2 * n + n + j, b * c + a * s)


@triton.jit
def rotary_flat(q, positions, table, y, n: tl.constexpr, sign: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, 2 * n)
    at = tl.load(positions + row) * 2 * n
    c, s = tl.load(table + at + j % n), tl.load(table + at + n + j % n)
    other = tl.load(q + row * 2 * n + (j + n) % (2 * n))
    tl.store(y + row * 2 * n + j, tl.load(q + row * 2 * n + j) * c + tl.where(j < n, -sign, sign) * other * s)


P, I, C = "*fp32", "*i32", "constexpr"
EMBED, GRAD = {"ids": I, "table": P, "y": P, "n": C}, {"ids": I, "g": P, "y": P, "n": C}
TURN = {"q": P, "positions": I, "table": P, "y": P, "n": C}
OUTPUTS = {
    "embedding": (embedding, EMBED, {"n": 16}),
    "embedding_tile": (embedding_tile, EMBED | {"rows": C, "step": C}, {"n": 16, "rows": 4, "step": 16}),
    "embedding_tile_step": (embedding_tile, EMBED | {"rows": C, "step": C}, {"n": 16, "rows": 4, "step": 8}),
    "gradient": (gradient, GRAD, {"n": 16}),
    "gradient_owned": (gradient_owned, GRAD | {"count": C, "last": C}, {"n": 16, "count": 4, "last": False}),
    "gradient_last": (gradient_owned, GRAD | {"count": C, "last": C}, {"n": 16, "count": 4, "last": True}),
    "rotary": (rotary, TURN, {"n": 8}),
    "rotary_flat": (rotary_flat, TURN | {"sign": C}, {"n": 8, "sign": 1}),
    "rotary_back": (rotary_flat, TURN | {"sign": C}, {"n": 8, "sign": -1}),
}

if __name__ == "__main__":
    for arch in (80, 90):
        for name, (fn, signature, constants) in OUTPUTS.items():
            source = ASTSource(fn=fn, signature=signature, constexprs=constants)
            built = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 2})
            text = re.sub(r"\t\.section\t\.debug.*", "", built.asm["ptx"], flags=re.S)
            with open(f"rows_{arch}_{name}.ptx", "w") as out:
                out.write(text.rstrip() + "\n")
            print(f"rows_{arch}_{name}.ptx: {built.metadata.shared} bytes")
