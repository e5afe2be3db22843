"""The rule behind `thin-coverage`: candidates that are wrong at the declared sizes only, and right ones beside them."""

from __future__ import annotations

import pytest

import volta
from volta.host import caps, confine, relations

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(bool(confine.missing()), reason="the kernel cannot confine foreign code")

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(1)
rows = 70000
columns = 8192
def get_inputs():
    return [torch.rand(rows, columns)]
def get_init_inputs():
    return []
"""
CANDIDATE = '''
import torch
from torch.utils.cpp_extension import load_inline
source = r"""
__global__ void total(const float* x, float* y, int rows, int columns) {
    for (int r = blockIdx.x; r < rows; r += STEP) {
        float s = 0;
        for (int c = threadIdx.x; c < LIMIT; c += blockDim.x) s += x[(long long)r * columns + INDEX];
        for (int k = 16; k > 0; k >>= 1) s += __shfl_xor_sync(0xffffffff, s, k);
        if (threadIdx.x == 0) y[r] = s;
    }
}
torch::Tensor run(torch::Tensor x) {
    int rows = x.size(0), columns = x.size(1);
    auto y = torch::empty({x.size(0)}, x.options());
    total<<<GRID, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, COLUMNS);
    return y;
}
"""
m = load_inline("m", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return m.run(x)
'''
DEFAULTS = {"STEP": "gridDim.x", "LIMIT": "columns", "INDEX": "c", "GRID": "rows", "COLUMNS": "columns"}


def judged(**parts: str) -> volta.Judgement:
    text = CANDIDATE
    for name, part in (DEFAULTS | parts).items():
        text = text.replace(name, part)
    return volta.judge(TASK, text)


@pytest.mark.parametrize("grid", ["rows", "rows < 65535 ? rows : 65535"])
def test_right_ones_are_proved(grid: str) -> None:
    r = judged(GRID=grid)
    assert r.category == "proved", r.hint
    assert r.open == ()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"LIMIT": "min(columns, 1024)"}, id="the smaller of two numbers in the kernel"),
        pytest.param({"LIMIT": "(columns > 3000 ? 3000 : columns)"}, id="a choice in the kernel"),
        pytest.param({"INDEX": "(c & 2047)"}, id="a mask"),
        pytest.param({"INDEX": "c % 1000"}, id="a remainder"),
        pytest.param({"INDEX": "(unsigned char)(c >> 5) * 32 + c % 32"}, id="a narrow index"),
        pytest.param({"COLUMNS": "columns > 1024 ? 1024 : columns"}, id="a choice on the host"),
        pytest.param({"STEP": "1 << 30", "GRID": "rows < 65535 ? rows : 65535"}, id="a grid that is cut off"),
        pytest.param({"LIMIT": "(columns == 8192 ? 8191 : columns)"}, id="one size"),
    ],
)
def test_what_is_wrong_at_the_declared_sizes_only_is_not_rewarded(parts: dict[str, str]) -> None:
    r = judged(**parts)
    assert r.reward != 1.0, r.hint


def test_an_index_that_leaves_32_bits_is_found() -> None:
    task = TASK.replace("x.sum(1)", "2 * x").replace("70000", "300000")
    text = CANDIDATE.replace("(long long)r * columns + INDEX", "r * columns + c")
    text = text.replace("s += x[", "y[r * columns + c] = 2 * x[").replace("if (threadIdx.x == 0) y[r] = s;", "")
    text = text.replace("torch::empty({x.size(0)}, x.options())", "torch::empty_like(x)")
    for name, part in DEFAULTS.items():
        text = text.replace(name, part)
    r = volta.judge(task, text)
    assert r.category == "memory", r.hint
    assert "declared" in r.hint


def test_a_number_of_the_host_is_one_expression_of_the_sizes() -> None:
    known = [(8.0, 5.0, 4096.0), (32.0, 37.0, 1024.0), (256.0, 185.0, 4194304.0)]
    assert relations.explained((32.0, 37.0, 1024.0), known)
    assert relations.explained((2.0, 2.0, 32768.0), known, [128])
    assert relations.explained((1 / 32, 1 / 37, 1 / 1024), known)
    assert relations.explained((34.0, 39.0, 1026.0), known)
    assert not relations.explained((32.0, 37.0, 1000.0), known)
    assert not relations.explained((256.0, 185.0, 65535.0), known)


def test_tests_of_a_kernel_and_the_ways_that_they_go() -> None:
    text = """.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
    ld.param.u32 %r1, [k_param_1];
    min.s32 %r2, %r1, 1024;
    mov.u32 %r3, %tid.x;
    setp.ge.s32 %p1, %r3, %r2;
    add.s32 %r3, %r3, 256;
    rem.s32 %r4, %r3, 100;
}
"""

    def event(n: int) -> dict[str, object]:
        parameters = [{"bytes": "00" * 8, "pointers": [[0, 1, 0]]}, {"bytes": n.to_bytes(4, "little").hex(), "pointers": []}]
        return {"kernel": "k", "grid": [4, 1, 1], "block": [256, 1, 1], "parameters": parameters}

    kinds = [["u64", 8], ["u32", 4]]
    small, large = (caps.tests_of(text, event(n), kinds) for n in (700, 5000))
    assert small["k", 4] == {True}
    assert large["k", 4] == {False}
    assert small["k", 8] == large["k", 8] == {True, False}
