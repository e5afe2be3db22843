"""Indices of views: integers of the grammar, whose quotients round down."""

from __future__ import annotations

from collections.abc import Sequence

from .tree import Digits, Node, chained

ZERO: Node = Digits(0)


def is_zero(index: Node) -> bool:
    """Whether an index is 0 and says so."""
    return isinstance(index, Digits) and index.value == 0


def flat(index: tuple[Node, ...], shape: tuple[int, ...]) -> Node:
    """The place of an element in an array that is dense and row-major."""
    out = ZERO
    for i, n in zip(index, shape):
        step = out * n
        out = i if is_zero(step) else step if is_zero(i) else step + i
    return out


def sum_of(index: tuple[Node, ...], strides: tuple[int, ...]) -> Node:
    """The place of an element in an array with strides."""
    out = ZERO
    for i, s in zip(index, strides):
        part = i * s
        out = part if is_zero(out) else out if is_zero(part) else out + part
    return out


def of_place(place: Node, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Node, ...] | None:
    """The index of each place of the memory of an array with strides; `None` where some place is that of no index, or of
    several."""
    order = sorted((d for d, n in enumerate(shape) if n > 1), key=lambda d: strides[d])
    step, out = 1, [ZERO] * len(shape)
    for d in order:
        if strides[d] != step:
            return None
        whole = place // step
        out[d] = whole if d == order[-1] else whole % shape[d]
        step *= shape[d]
    return tuple(out)


def unflat(place: Node, shape: tuple[int, ...]) -> tuple[Node, ...]:
    """The index of such a place."""
    out: list[Node] = []
    step = 1
    for position in range(len(shape) - 1, -1, -1):
        n = shape[position]
        whole = place // step
        first = all(m == 1 for m in shape[:position])
        out.insert(0, ZERO if n == 1 else whole if first else whole % n)
        step *= n
    return tuple(out)


def inside(index: Node, size: int) -> Node:
    """The condition that an index is one of a dimension."""
    return chained(0, "<=", index, "<", size)


def equal(places: Sequence[Node], index: Sequence[Node]) -> list[Node]:
    """The conditions that places are those of an index, without those that say nothing."""
    return [chained(p, "=", i) for p, i in zip(places, index) if p is not i]
