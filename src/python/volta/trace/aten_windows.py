"""Torch's pools by the table of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import networks
from .symbolic import Missing, Symbolic, Trace

Operation = Callable[..., Any]

PLACE = Missing("the place of the maximum of a window is not covered")


def _pool_size(n: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    reach = n + 2 * padding - dilation * (window - 1) - 1
    out = (-(-reach // stride) if ceil_mode else reach // stride) + 1
    # The last window starts inside, or in what is before.
    return out - 1 if ceil_mode and (out - 1) * stride >= n + padding else out


def _pool_shape(x: Symbolic, windows: Any, strides: Any, paddings: Any, dilations: Any, ceil_mode: bool) -> tuple[int, ...]:
    rank = len(windows)
    sizes = [_pool_size(*v, ceil_mode) for v in zip(x.shape[-rank:], windows, strides, paddings, dilations)]
    return (*x.shape[:-rank], *sizes)


def _each(values: Any, rank: int, otherwise: Any = None) -> list[int]:
    given = list(values) if isinstance(values, (list, tuple)) else [values]
    if not given:
        return list(otherwise)
    return given * rank if len(given) == 1 else given


def _max_pool(rank: int) -> Operation:
    def call(
        c: Trace, x: Symbolic, window: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> tuple[Symbolic, Missing]:
        w = _each(window, rank)
        s, p, d = _each(stride, rank, w), _each(padding, rank), _each(dilation, rank)
        shape = _pool_shape(x, w, s, p, d, ceil_mode)
        return networks.pool("max", x, w, s, p, d, shape), PLACE

    return call


def _avg_pool(rank: int) -> Operation:
    def call(
        c: Trace,
        x: Symbolic,
        window: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Symbolic:
        w = _each(window, rank)
        s, p, d = _each(stride, rank, w), _each(padding, rank), [1] * rank
        shape = _pool_shape(x, w, s, p, d, ceil_mode)
        return networks.pool("mean", x, w, s, p, d, shape, count_include_pad, divisor_override)

    return call


def _adaptive_pool(name: str, rank: int) -> Operation:
    def call(c: Trace, x: Symbolic, size: Any) -> Any:
        sizes = _each(size, rank)
        space = x.shape[-rank:]
        shape = (*x.shape[:-rank], *sizes)
        if any(n % m for n, m in zip(space, sizes)):
            return networks.uneven_pool(name, x, shape, rank)
        w = [n // m for n, m in zip(space, sizes)]
        return networks.pool(name, x, w, w, [0] * rank, [1] * rank, shape)

    return call


def _with_places(operation: Operation) -> Operation:
    """A maximum that comes with its place, which only a function that uses it needs."""
    return lambda *args: (operation(*args), PLACE)


#: By the name of the operator, without its overload.
OPERATIONS: dict[str, Operation] = {
    "max_pool2d_with_indices": _max_pool(2),
    "max_pool3d_with_indices": _max_pool(3),
    "avg_pool1d": _avg_pool(1),
    "avg_pool2d": _avg_pool(2),
    "avg_pool3d": _avg_pool(3),
    "_adaptive_avg_pool2d": _adaptive_pool("mean", 2),
    "_adaptive_avg_pool3d": _adaptive_pool("mean", 3),
    "adaptive_max_pool2d": _with_places(_adaptive_pool("max", 2)),
    "adaptive_max_pool3d": _with_places(_adaptive_pool("max", 3)),
}
