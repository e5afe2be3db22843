"""Bits of integers of every width, in traced functions against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formulas import evaluate

import volta
from volta import arg

SIZE = 8
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a & b,
    "left": lambda a, b: a << 3,
    "left_all": lambda a, b: (a << 40) | b,
    "right": lambda a, b: a >> 3,
    "right_all": lambda a, b: (a >> 40) | b,
    "left_by_data": lambda a, b: (a & 3) << (b & 31),
    "right_by_data": lambda a, b: a >> (b & 31),
    "right_by_anything": lambda a, b: a >> b,
    "by_places": lambda a, b: (a & (np.arange(SIZE) % 8).astype(a.dtype)) | b,
    "mask": lambda a, b: a & 0x55,
    "set": lambda a, b: a | 0x33,
    "turn": lambda a, b: a ^ 0x70,
    "negative_masks": lambda a, b: (a.astype(np.int32) & -6) + (a.astype(np.int32) | -6) + (a.astype(np.int32) ^ -6),
    "nibbles": lambda a, b: ((a >> 4) & 15) | ((a & 15) << 4),
    "mixed": lambda a, b: ((a << 1) | (b >> 2)) ^ (a & 9),
    "names": lambda a, b: np.bitwise_or(np.left_shift(a, 2), np.right_shift(b, 1)) ^ np.bitwise_xor(a, b),
    "truth": lambda a, b: ((a > 0) & (b > 0) | (a < 3) ^ (b < 2)) * 1,
    "chosen": lambda a, b: np.where(a > b, a & 7, b | 7),
}


TYPES = [("s8", "s8"), ("u8", "u8"), ("s16", "u8"), ("s32", "s32"), ("u32", "u32"), ("s64", "s32")]
#: Bits of bits have long texts: those of the narrow types are as good.
CASES = [(n, t) for n in FUNCTIONS for t in TYPES if t in TYPES[:3] or n not in ("names", "mixed", "nibbles")]


@pytest.mark.parametrize(("name", "types"), CASES)
def test_bits_are_those_of_numpy(name: str, types: tuple[str, str]) -> None:
    random, values = np.random.default_rng(0), {}
    for n, type_name in zip("ab", types):
        kind = arg.numpy_type(type_name)
        values[n] = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, SIZE, endpoint=True, dtype=kind)
        values[n][:4] = [np.iinfo(kind).min, np.iinfo(kind).max, 0, 1]
    f = FUNCTIONS[name]
    expected = f(*values.values())
    formula = volta.function(f, {n: arg.input(t, (SIZE,)) for n, t in zip("ab", types)})
    found = evaluate(formula.text, "y", (SIZE,), values)
    np.testing.assert_array_equal(found, expected.astype(float))
