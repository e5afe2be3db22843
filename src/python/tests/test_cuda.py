"""CUDA in strings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import volta

NAIVE = """
extern "C" __global__ void rms(const float *x, float *y, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * x[i];
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * rsqrtf(sum / n + 1e-5f);
}
"""
SHARED = """
extern "C" __global__ void rms(const float *x, float *y, int n) {
    __shared__ float part[8];
    int t = threadIdx.x;
    part[t] = t < n ? x[t] * x[t] : 0.0f;
    __syncthreads();
    for (int step = 4; step > 0; step /= 2) {
        if (t < step) part[t] += part[t + step];
        __syncthreads();
    }
    if (t < n) y[t] = x[t] * rsqrtf(part[0] / n + 1e-5f);
}
"""
ARGS = [volta.arg.input("f32", 6).named("x"), volta.arg.output("f32", 6).named("y"), 6]


def test_two_strings() -> None:
    r = volta.check(NAIVE, SHARED, args=ARGS, block=8)
    assert r.verdict == "equivalent", str(r)


@pytest.mark.parametrize(
    ("old", "new", "category"),
    [
        ("step = 4", "step = 2", "wrong-values"),
        ("part[t + step];\n        __syncthreads();", "part[t + step];", "race"),
        ("1e-5f", "1e-6f", "wrong-values"),
        ("if (t < n) y", "y", "memory"),
    ],
)
def test_wrong_twins(old: str, new: str, category: str) -> None:
    assert old in SHARED
    r = volta.check(NAIVE, SHARED.replace(old, new), args=ARGS, block=8)
    assert (r.category, r.reward) == (category, 0.0), str(r)
    if category == "race":
        source = r.defects[0].sites[0].source
        assert source is not None
        assert source[0].endswith("kernel.cu")


def test_errors_of_the_compiler() -> None:
    with pytest.raises(volta.CompileError, match="undefined"):
        volta.cuda(NAIVE.replace("sum +=", "total +="))
    ref = volta.prepare(NAIVE, args=ARGS, block=8)
    ((_, r),) = ref.check_many([NAIVE.replace("sum +=", "total +=")])
    assert (r.category, r.reward) == ("compile", 0.0)
    assert "total" in r.hint


def test_a_compiler_that_takes_too_long() -> None:
    ref = volta.prepare(NAIVE, args=ARGS, block=8)
    ((_, r),) = ref.check_many([NAIVE + "// another text"], timeout=0.01)
    assert r.category == "compile"
    assert "0.01 s" in r.hint


def test_files_and_options(tmp_path: Path) -> None:
    (tmp_path / "n.h").write_text("#define N 6\n")
    file = tmp_path / "rms.cu"
    body = NAIVE.replace("int n)", "int)").replace("i < n", "i < N").replace("< n", "< N").replace("/ n", "/ N")
    file.write_text(f'#include "n.h"\n{body}')
    fast = volta.cuda(file, options=["-use_fast_math"])
    assert "rsqrt.approx.ftz" in fast.ptx
    assert volta.check(NAIVE, fast, args=ARGS, block=8).ok


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(volta.CompileError, match="nvidia-cuda-nvcc"):
        volta.cuda("__global__ void k() {}")
