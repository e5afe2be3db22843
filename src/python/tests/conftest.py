"""Kernels that several tests use."""

from __future__ import annotations

import os
import tempfile

import pytest

import volta

# What Triton keeps names the files of the checkout in which it was compiled, which may be gone.
KEPT = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = KEPT.name

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def scale(factor: str, name: str = "scale") -> str:
    """PTX of y[i] = factor * x[i], one element for each thread."""
    return (
        HEAD
        + f""".visible .entry {name}(.param .u64 {name}_param_0, .param .u64 {name}_param_1) {{
    .reg .u32 %r<2>; .reg .u64 %rd<6>; .reg .f32 %f<3>;
    ld.param.u64 %rd1, [{name}_param_0];
    ld.param.u64 %rd2, [{name}_param_1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    mul.f32 %f2, %f1, {factor};
    add.u64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f2;
    ret;
}}
"""
    )


TWICE = scale("0f40000000")
THRICE = scale("0f40400000")

#: It never ends.
ENDLESS = (
    HEAD
    + ".visible .entry k(.param .u64 x, .param .u64 y) {\n.reg .u32 %r<2>;\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nbra L;\n}\n"
)


@pytest.fixture
def xy() -> list[volta.arg.Array]:
    """An input and an output of eight floats."""
    return [volta.arg.input("f32", (8,)).named("x"), volta.arg.output("f32", (8,)).named("y")]
