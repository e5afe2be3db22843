"""Views and copies of arrays as NumPy asks for them: its axes, counts and shifts, by the table of operations."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import operations
from .elementwise import broadcast
from .symbolic import Symbolic


def transpose(a: Symbolic, axes: Any = None) -> Symbolic:
    """Its axes in another order, or the other way round."""
    return operations.permute(a, tuple(reversed(range(a.ndim))) if axes is None else axes)


def square(a: Symbolic) -> Symbolic:
    """A row as a matrix of as many of it, as NumPy takes one for a triangle."""
    return broadcast(a, (a.size, a.size)) if a.ndim == 1 else a


def tile(a: Symbolic, times: Any) -> Symbolic:
    """Several of it side by side."""
    given = [times] if isinstance(times, int) else list(times)
    return operations.tile(a, [1] * (a.ndim - len(given)) + given)


def repeat(a: Symbolic, repeats: Any, axis: Any = None) -> Symbolic:
    """Each element several times."""
    source = a if axis is not None else operations.reshape(a, (a.size,))
    (at,) = operations.axes_of(0 if axis is None else axis, source.ndim)
    wide = operations.expand_dims(source, at + 1)
    shape = list(wide.shape)
    shape[at + 1] = operator.index(repeats)
    out = list(source.shape)
    out[at] *= shape[at + 1]
    return operations.reshape(broadcast(wide, tuple(shape)), out)


def roll(a: Symbolic, shift: Any, axis: Any = None) -> Symbolic:
    """Elements moved around along axes, or along all of them as one row."""
    if axis is None:
        return operations.reshape(operations.roll(operations.reshape(a, (a.size,)), shift, 0), a.shape)
    for by, at in zip(*(x.reshape(-1) for x in np.broadcast_arrays(shift, axis))):
        a = operations.roll(a, operator.index(by), at)
    return a


def moved(a: Symbolic, source: Any, target: Any) -> Symbolic:
    """Axes at other places, the others in their order."""
    places, goals = operations.axes_of(source, a.ndim), operations.axes_of(target, a.ndim)
    order = [i for i in range(a.ndim) if i not in places]
    for goal, place in sorted(zip(goals, places)):
        order.insert(goal, place)
    return operations.permute(a, order)
