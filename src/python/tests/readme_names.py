"""What the examples of the package's page take for granted, and how they are run: each as a module of its own."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import volta
from volta import arg

PAGE = Path(__file__).parent.parent / "README.md"

naive_source = """
extern "C" __global__ void naive(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        int at = blockIdx.x * n + i;
        y[at] = x[at] * x[at] + x[at];
    }
}
"""
fused_source = """
extern "C" __global__ void fused(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = x[blockIdx.x * n + i];
        y[blockIdx.x * n + i] = v * (v + %s);
    }
}
"""
candidates = [fused_source % "1.0f", fused_source % "2.0f", "__global__ void broken(float* x) { x[0] = y; }"]
fused_source = candidates[0]
args: dict[str, object] = {"x": arg.input("f32", (2, 20)), "y": arg.output("f32", (2, 20)), "n": 20}
reference: Any = volta.cuda(naive_source)

rms_norm_source = """
extern "C" __global__ void rms_norm(const float* x, const float* w, float* y) {
    __shared__ float part[64];
    float v = x[blockIdx.x * 64 + threadIdx.x];
    part[threadIdx.x] = v * v;
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    y[blockIdx.x * 64 + threadIdx.x] = v * rsqrtf(part[0] / 64 + 1e-6f) * w[threadIdx.x];
}
"""
rms_norm = volta.cuda(rms_norm_source)
linear_relu = volta.cuda("""
extern "C" __global__ void linear_relu(const float* x, const float* w, const float* b, float* y) {
    int row = threadIdx.y, column = threadIdx.x;
    float sum = b[column];
    for (int k = 0; k < 4; k++) sum += x[row * 4 + k] * w[column * 4 + k];
    y[row * 3 + column] = fmaxf(sum, 0.0f);
}
""")


def examples() -> list[str]:
    """The examples in Python."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def needs_torch(example: str) -> bool:
    """Whether it does."""
    return any(word in example for word in ("torch", "judge", "extension"))


def run(example: str, folder: Path, head: str = "") -> Any:
    """Runs an example as a module; Triton reads the text of a function from its file."""
    path = folder / "example.py"
    path.write_text(f"from readme_names import *\nimport volta\nfrom volta import arg\n{head}\n{example}")
    spec = importlib.util.spec_from_file_location("example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
