"""Elements of NumPy arrays by their indices: what an index reads, and an array with something written at one.

An index is a list of integers, slices, `None`, `...` and arrays of integers or truth values (`Symbolic`).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..errors import InputError
from . import aten_places, lookups, operations
from .elementwise import broadcast, where
from .symbolic import Symbolic


def read(a: Symbolic, key: Any) -> Symbolic:
    """The elements at an index."""
    keys = _keys(a, key)
    if sum(k is Ellipsis for k in keys) > 1:
        raise InputError("an index has one `...` at most")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (a.ndim - used)
    if used > a.ndim:
        raise InputError(f"an index of {used} places into {a.ndim} dimensions")
    arrays: list[Symbolic | None] = []
    axis = 0
    for k in keys:
        if k is None:
            a = operations.expand_dims(a, axis)
        elif isinstance(k, slice):
            a = operations.take_slice(a, axis, k.start, k.stop, k.step)
        elif isinstance(k, Symbolic):
            if k.kind == "bool":
                raise InputError("a mask as an index is not covered: use numpy.where")
            arrays += [None] * (axis - len(arrays)) + [k]
        elif isinstance(k, (bool, np.bool_)) or not hasattr(k, "__index__"):
            raise InputError(f"an index {k!r} is not covered")
        else:
            a = operations.select(a, axis, operator.index(k))
            continue
        axis += 1
    return lookups.gather(a, arrays) if arrays else a


def is_plain(key: Any) -> bool:
    """Whether an index gives a view: one without arrays."""
    keys = key if isinstance(key, tuple) else (key,)
    return all(k is None or k is Ellipsis or isinstance(k, (int, slice, np.integer)) for k in keys)


def _keys(a: Symbolic, key: Any) -> list[Any]:
    """An index as a list: arrays of integers as values, known masks as the places where they are true."""
    out: list[Any] = []
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, (list, tuple, np.ndarray)) and np.asarray(k).ndim:
            known = np.asarray(k)
            out += [a.trace.constant(p) for p in (known.nonzero() if known.dtype.kind == "b" else (known,))]
        else:
            out.append(k)
    if any(isinstance(k, Symbolic) for k in out):
        # A number among arrays is an array.
        out = [a.trace.constant(operator.index(k)) if isinstance(k, (int, np.integer)) else k for k in out]
    return out


def written(a: Symbolic, key: Any, value: Symbolic) -> Symbolic:
    """An array with a value of its own type at an index."""
    keys = _keys(a, key)
    masks = [k for k in keys if isinstance(k, Symbolic) and k.kind == "bool"]
    if masks:
        if len(keys) != 1 or value.ndim:
            raise InputError("a write by a mask is one of a number: use numpy.where")
        wide = operations.reshape(masks[0], (*masks[0].shape, *(1,) * (a.ndim - masks[0].ndim)))
        return where(wide, value, a)
    if any(isinstance(k, Symbolic) for k in keys):
        if any(not isinstance(k, Symbolic) and k != slice(None) for k in keys):
            raise InputError("a write by arrays and slices is not covered")
        places = [k if isinstance(k, Symbolic) else None for k in keys]
        # Of several values for one place NumPy keeps the last.
        return aten_places.index_put(a.trace, a, places, value, last_wins=True)
    used = sum(k is not None and k is not Ellipsis for k in keys)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    keys[at : at + 1] = [slice(None)] * (a.ndim - used)
    shape, ranges, rest = [], [], iter(a.shape)
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        n = next(rest)
        if isinstance(k, slice):
            ranges.append(range(n)[k])
            shape.append(len(ranges[-1]))
        else:
            if not -n <= operator.index(k) < n:
                raise InputError(f"index {k} of a dimension of size {n}")
            ranges.append(range(operator.index(k) % n, operator.index(k) % n + 1))
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = operations.squeeze(value, 0)
    part = operations.reshape(broadcast(value, tuple(shape)), [len(r) for r in ranges])
    return lookups.scatter_box(a, part.short(), ranges).short()
