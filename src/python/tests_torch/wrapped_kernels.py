"""Triton kernels that wrappers of the tests launch."""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def softmax(out_ptr, in_ptr, in_stride, out_stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    x = tl.load(in_ptr + row * in_stride + at, mask=at < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * out_stride + at, e / tl.sum(e, 0), mask=at < n)


@triton.jit
def scale(x_ptr, n, factor, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def add(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x, mask=at < n)


@triton.jit
def total(x_ptr, out_ptr, n, B: tl.constexpr):
    rest = x_ptr
    sums = tl.zeros((B,), tl.float32)
    for k in range(0, n, B):
        sums += tl.load(rest + tl.arange(0, B), mask=k + tl.arange(0, B) < n, other=0.0)
        rest += B
    tl.store(out_ptr, tl.sum(sums, 0))
