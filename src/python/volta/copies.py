"""Copies that torch makes between launches, as launches of their own: of a tensor with any strides, to another element type."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

#: Elements of a program, and the most dimensions.
BLOCK = 128
RANK = 5


@triton.jit  # type: ignore[untyped-decorator]
def copy(  # type: ignore[no-untyped-def]
    target, source, n, n1, n2, n3, n4, t0, t1, t2, t3, t4, s0, s1, s2, s3, s4, B: tl.constexpr
):
    """target[i] = source[i] for each index of five dimensions."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    i4 = at % n4
    i3 = at // n4 % n3
    i2 = at // (n4 * n3) % n2
    i1 = at // (n4 * n3 * n2) % n1
    i0 = at // (n4 * n3 * n2 * n1)
    to = i0 * t0 + i1 * t1 + i2 * t2 + i3 * t3 + i4 * t4
    of = i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3 + i4 * s4
    value = tl.load(source + of, mask=at < n)
    tl.store(target + to, value.to(target.dtype.element_ty), mask=at < n)


def launch(target: Any, source: Any) -> bool:
    """Launches it for two tensors, of which the second broadcasts to the first; false where they have too many dimensions."""
    if target.dim() > RANK or target.numel() == 0:
        return bool(target.numel() == 0)
    sizes = (1,) * (RANK - target.dim()) + tuple(target.shape)
    strides = [_strides(t) for t in (target, source)]
    grid = (triton.cdiv(target.numel(), BLOCK),)
    copy[grid](target, source, target.numel(), *sizes[1:], *strides[0], *strides[1], B=BLOCK, num_warps=1)
    return True


def _strides(tensor: Any) -> tuple[int, ...]:
    """Strides of a tensor in all dimensions; where it has one place it broadcasts."""
    own = tuple(0 if n == 1 else s for n, s in zip(tensor.shape, tensor.stride()))
    return (0,) * (RANK - len(own)) + own
