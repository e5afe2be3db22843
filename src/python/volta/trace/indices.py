"""Texts of indices. `/` of an index rounds down and `/` of a value does not, and an index may become a value (`arange`):
so a quotient is always that of a multiple, which is the same number in both."""

from __future__ import annotations


def plus(index: str, n: int) -> str:
    """An index and a number."""
    if n == 0:
        return index
    if index.isdigit() and int(index) + n >= 0:
        return str(int(index) + n)
    return f"({index} + {n})" if n > 0 else f"({index} - {-n})"


def times(index: str, n: int) -> str:
    """An index times a number."""
    if n == 1:
        return index
    if n >= 0 and (index.isdigit() or n == 0):
        return str(int(index) * n) if index.isdigit() else "0"
    return f"({n}*{index})" if n > 0 else f"(0 - {-n}*{index})"


def quotient(index: str, n: int) -> str:
    """An index by a positive number, rounded down."""
    if n == 1:
        return index
    if index.isdigit():
        return str(int(index) // n)
    return f"(({index} - {index} % {n}) / {n})"


def remainder(index: str, n: int) -> str:
    """What is left of it."""
    if n == 1:
        return "0"
    if index.isdigit():
        return str(int(index) % n)
    return f"({index} % {n})"


def flat(index: tuple[str, ...], shape: tuple[int, ...]) -> str:
    """The place of an element in an array that is dense and row-major."""
    out = "0"
    for i, n in zip(index, shape):
        step = times(out, n)
        out = i if step == "0" else step if i == "0" else f"({step} + {i})"
    return out


def sum_of(index: tuple[str, ...], strides: tuple[int, ...]) -> str:
    """The place of an element in an array with strides."""
    parts = [times(i, s) for i, s in zip(index, strides) if s != 0 and i != "0"]
    return "0" if not parts else parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


def of_place(place: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[str, ...] | None:
    """The index of each place of the memory of an array with strides; `None` where some place is that of no index, or of
    several."""
    order = sorted((d for d, n in enumerate(shape) if n > 1), key=lambda d: strides[d])
    step, out = 1, ["0"] * len(shape)
    for d in order:
        if strides[d] != step:
            return None
        whole = quotient(place, step)
        out[d] = whole if d == order[-1] else remainder(whole, shape[d])
        step *= shape[d]
    return tuple(out)


def unflat(place: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """The index of such a place."""
    out: list[str] = []
    step = 1
    for position in range(len(shape) - 1, -1, -1):
        n = shape[position]
        whole = quotient(place, step)
        first = all(m == 1 for m in shape[:position])
        out.insert(0, "0" if n == 1 else whole if first else remainder(whole, n))
        step *= n
    return tuple(out)


def inside(index: str, size: int) -> str:
    """The condition that an index is one of a dimension."""
    return f"0 <= {index} < {size}"
