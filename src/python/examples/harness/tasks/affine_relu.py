"""max(x w + x, 0), for sizes that fill the last block and that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from volta import arg

BLOCK = 16
SIZES = ({"n": 24}, {"n": 40}, {"n": 32})
DENY: list[str] = []


def REFERENCE(x: Any, w: Any) -> Any:
    """What is to be computed."""
    return np.maximum(x * w + x, 0)


def args(n: int) -> dict[str, Any]:
    """Two inputs, an output, their size."""
    return {"x": arg.input("f32", n), "w": arg.input("f32", n), "y": arg.output("f32", n), "n": n}


def grid(n: int) -> int:
    """A thread for each element."""
    return -(-n // BLOCK)
