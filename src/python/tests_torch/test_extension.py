"""Host code of CUDA extensions, called under `record()`."""

from __future__ import annotations

import pytest

import volta
from volta.host import confine

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(bool(confine.missing()), reason="the kernel cannot confine foreign code")

SCALE = """
#include <torch/extension.h>
__global__ void scale(const float* x, float* y, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f * x[i];
}
torch::Tensor twice_scaled(torch::Tensor x, double f) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2, "a matrix of the device");
    auto t = torch::empty_like(x);
    auto y = torch::zeros({x.size(0), x.size(1)}, x.options());
    int n = x.numel();
    scale<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), t.data_ptr<float>(), f, n);
    scale<<<(n + 63) / 64, 64>>>(t.data_ptr<float>(), y.data_ptr<float>(), f, n);
    return y;
}
"""
DECLARED = "torch::Tensor twice_scaled(torch::Tensor x, double f);"


def test_two_launches_are_a_sequence() -> None:
    e = volta.extension(SCALE, "twice_scaled", DECLARED)
    x = volta.fake(3, 41)
    with volta.record() as calls:
        y = e.twice_scaled(x, 3.0)
    assert tuple(y.shape) == (3, 41)
    assert len(calls) == 2
    assert volta.check(volta.formula("y0[i,j] = 9*a0[i,j]"), calls).ok
    assert volta.check(volta.formula("y0[i,j] = 6*a0[i,j]"), calls).verdict == "not-equivalent"


def test_load_inline_is_an_extension() -> None:
    from torch.utils import cpp_extension

    with volta.record() as calls:
        made = cpp_extension.load_inline("m", cpp_sources=DECLARED, cuda_sources=SCALE, functions=["twice_scaled"])
        made.twice_scaled(volta.fake(2, 8), 0.5)
    assert volta.check(volta.formula("y0[i,j] = a0[i,j]/4"), calls).ok


def test_a_check_that_fails_is_the_error_of_the_host_code() -> None:
    e = volta.extension(SCALE, "twice_scaled", DECLARED)
    with volta.record(), pytest.raises(volta.InputError, match="a matrix of the device"):
        e.twice_scaled(volta.fake(4), 1.0)
    with pytest.raises(volta.CompileError, match="undefined symbol"):
        volta.extension(SCALE, "thrice", "torch::Tensor thrice(torch::Tensor x);")
    with pytest.raises(volta.CompileError, match="expected"):
        volta.extension(SCALE.replace("int n = x.numel();", "int n = x.numel()"), "twice_scaled", DECLARED)


PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__constant__ float weights[4];
__global__ void blend(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = weights[i % 4] * x[i];
}
int main() {
    const int n = 100;
    float w[4] = {1, 2, 3, 4}, h[n];
    for (int i = 0; i < n; ++i) h[i] = i;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, w, sizeof w);
    blend<<<2, 64>>>(x, y, n);
    cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\\n", h[5]);
    cudaFree(x);
    return 0;
}
"""


def test_a_program_with_main() -> None:
    e = volta.extension(PROGRAM)
    with volta.record() as calls:
        e()
    assert len(calls) == 1
    assert volta.race(calls).ok
    with volta.record() as calls:
        volta.extension(PROGRAM.replace("if (i < n)", ""))()
    assert volta.race(calls).defects[0].kind == "out-of-bounds"
