"""Softmax of rows and its relatives."""

import numpy as np
import triton
import triton.language as tl
from cases import case

from volta import arg


@triton.jit
def softmax(x, y, x_stride, y_stride, n, B: tl.constexpr, SLIP: tl.constexpr):
    """A row in one block; the slip leaves the padding at 0 instead of minus infinity."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * x_stride + i, mask=mask, other=0.0 if SLIP else -float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * y_stride + i, e / tl.sum(e, axis=0), mask=mask)


def softmax_of(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


case(
    "softmax",
    softmax,
    softmax_of,
    [arg.input("f32", (5, 100)), arg.output("f32", (5, 100)), 100, 100, 100],
    grid=(5,),
    B=128,
    num_warps=4,
)
