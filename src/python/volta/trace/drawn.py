"""Numbers that a function draws or reads from a clock while it is traced.

A trace runs a function once, and what is no array of it then is a number for ever: a formula with such numbers says
nothing of the next call. So sources of random numbers must be where they were when the trace is over, and a function is
traced twice, which must give one formula. `numpy.random` itself is refused where a function names it (`watched`).
"""

from __future__ import annotations

import contextlib
import functools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import InputError

#: Functions whose values are looked at.
MOST = 200

REFUSAL = (
    "a function that draws random numbers has no formula: what it draws while it is traced is not what it draws when it is "
    "called. Draw before, and make the numbers an argument"
)


def _values(f: Any) -> Iterator[Any]:
    """What a function refers to: its own values, and those of the functions among them."""
    left: list[Any] = [f]
    seen: set[int] = set()
    while left and len(seen) < MOST:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, functools.partial):
            left += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, types.MethodType):
            left += [value.__func__, value.__self__]
        elif isinstance(value, types.FunctionType):
            names = {n for c in codes(value.__code__) for n in c.co_names}
            left += [value.__globals__[n] for n in names if n in value.__globals__]
            left += [_cell(c) for c in value.__closure__ or ()]
            left += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        elif isinstance(value, (list, tuple)):
            left += value[:MOST]
        elif callable(value) and isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, type):
            left += [*vars(value).values(), *(m for m in [vars(type(value)).get("__call__")] if m is not None)]


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function and of those that it holds."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # It is empty.
        return None


def _states(sources: list[Any]) -> str:
    legacy = np.random.get_state(legacy=False)
    own = [s.getstate() if isinstance(s, random.Random) else _bits(s).state for s in sources]
    with np.printoptions(threshold=1 << 20):
        return repr((legacy, random.getstate(), own))


def _bits(source: Any) -> Any:
    return source._bit_generator if isinstance(source, np.random.RandomState) else source.bit_generator


@contextlib.contextmanager
def nothing_drawn(f: Callable[..., Any]) -> Iterator[None]:
    """Inside, no source of random numbers that the function can reach may be asked for one."""
    kinds = (random.Random, np.random.Generator, np.random.RandomState)
    sources = [v for v in _values(f) if isinstance(v, kinds)]
    before = _states(sources)
    yield
    if _states(sources) != before:
        raise InputError(REFUSAL)


def same_again(first: str, second: str) -> None:
    """Says so where a second trace gave another formula."""
    if first != second:
        raise InputError(
            "the function gives another formula when it is traced again: it reads a clock, random numbers or something that it "
            "changes itself. Make that an argument"
        )
