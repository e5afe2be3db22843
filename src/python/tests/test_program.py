"""The program on CUDA files, compiled by the nvcc of these wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from volta.nvcc import find
from volta.server import program

SLOW = """#include "op.h"
// __global__ void slow(const int no) {}
template <int N>
__global__ void __launch_bounds__(N) slow(const float *__restrict__ x, float *y, int n, const float s = 1.0f) {
    int i = blockIdx.x * N + threadIdx.x;
    if (i < n) y[i] = OP(x[i], s);
}
template __global__ void slow<64>(const float *, float *, int, float);
template __global__ void slow<32>(const float *, float *, int, float);
"""
FAST = """#include "op.h"
__global__ void fast(const float *__restrict__ x, float *y, int n, float s) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = OP(s, x[i]);
}
"""
LAUNCH = ["--ref-entry", "slow<64>", "--threads", "64", "--grid", "2", "--arg", "n=100"]
ARRAYS = ["--arg", "x=in:f32[100]", "--arg", "y=out:f32[100]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.cu").write_text(SLOW)
    (tmp_path / "fast.cu").write_text(FAST)
    (tmp_path / "op.h").write_text("#define OP(a, b) ((a) * (b))\n")
    return tmp_path


def run(folder: Path, *args: str, **env: str) -> tuple[int, dict[str, Any]]:
    known = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "VOLTA_CACHE_KEY": "a key of this test alone", "NVCC": find()}
    done = subprocess.run([program(), *args, "--json"], cwd=folder, env={**known, **env}, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def test_a_pair_of_files(folder: Path) -> None:
    status, report = run(folder, "check", "slow.cu", "fast.cu", *LAUNCH, *ARRAYS)
    assert (status, report["verdict"]) == (0, "equivalent"), report
    assert [o["name"] for o in report["outputs"]] == ["y"]
    # A header that changes is seen: a text that was compiled before is not.
    (folder / "op.h").write_text("#define OP(a, b) ((a) - (b))\n")
    status, report = run(folder, "check", "slow.cu", "fast.cu", *LAUNCH, *ARRAYS)
    assert (status, report["verdict"]) == (1, "not-equivalent"), report
    assert set(report["counterexample"]["inputs"]) <= {"x", "s"}, report["counterexample"]


def test_one_file_with_two_kernels(folder: Path) -> None:
    (folder / "both.cu").write_text(SLOW.rsplit("template __global__", 1)[0] + FAST)
    status, report = run(folder, "check", "both.cu", *LAUNCH[2:], *ARRAYS)
    assert (status, report["reference"]["demangled"][:14]) == (0, "void slow<64>("), report


def test_flags_and_messages(folder: Path) -> None:
    status, report = run(folder, "race", "slow.cu", "--entry", "slow<32>", "--nvcc-flag=-DX=1", "--threads", "32", "--arg", "n=32")
    assert (status, report["verdict"]) == (0, "clean"), report
    assert report["kernel"]["file"] == "slow.cu.ptx"
    status, report = run(folder, "race", "slow.cu", "--threads", "32")
    assert (status, report["error"]["kind"]) == (2, "entry")
    assert "--entry 'slow<32>'" in report["error"]["hint"]
    (folder / "bad.cu").write_text("\n__global__ void k(float *x) { x[0] = ; }\n")
    status, report = run(folder, "race", "bad.cu")
    assert (status, report["error"]["kind"], report["error"]["sites"][0]["line"]) == (2, "syntax", 2)
    # Without a name of nvcc, the wheel of the Python on PATH is found.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    status, _ = run(folder, "check", "slow.cu", "fast.cu", *LAUNCH, *ARRAYS, NVCC="", CUDA_HOME="", CUDA_PATH="", PATH=path)
    assert status == 0
