"""The sum of each row of f16 numbers, added up in f32: the reference is a kernel, so that what a candidate rounds is seen."""

from __future__ import annotations

from typing import Any

import volta
from volta import arg

BLOCK = 32
SIZES = ({"rows": 3, "columns": 40}, {"rows": 2, "columns": 64})
DENY = ["narrower"]

REFERENCE = volta.cuda("""
#include <cuda_fp16.h>
extern "C" __global__ void sums(const __half *x, float *y, int rows, int columns) {
    float s = 0.0f;
    if (threadIdx.x != 0) return;
    for (int j = 0; j < columns; ++j) s += __half2float(x[blockIdx.x * columns + j]);
    y[blockIdx.x] = s;
}
""")


def args(rows: int, columns: int) -> dict[str, Any]:
    """The matrix, the sums, the sizes."""
    return {"x": arg.input("f16", (rows, columns)), "y": arg.output("f32", rows), "rows": rows, "columns": columns}


def grid(rows: int, columns: int) -> int:
    """A block for each row."""
    return rows
