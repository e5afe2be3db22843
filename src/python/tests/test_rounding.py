"""Bounds of `check --rounding` beside random kernels that `benches/measured/rounding.py` evaluates on its own."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from volta import server

MEASURED = Path(__file__).resolve().parents[3] / "benches" / "measured"
if not MEASURED.is_dir():
    pytest.skip("the programs of benches/measured are not part of the package", allow_module_level=True)
sys.path.insert(0, str(MEASURED))
rounding: Any = importlib.import_module("rounding")


def report(text: str, folder: Path, *flags: str) -> Any:
    """What `check --rounding` says of a kernel beside itself."""
    path = folder / "k.ptx"
    path.write_text(text)
    command = [server.program(), "check", str(path), str(path), "--threads", "1", "--rounding", "--format", "json", *flags]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["rounding"]["outputs"][0]


def kernel(body: str) -> str:
    """A kernel of one thread, from `%f1` to `%f9`."""
    return f""".version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
.reg .b64 %a<3>; .reg .f32 %f<30>; .reg .b16 %h<20>; .reg .b32 %r<9>; .reg .pred %p<5>;
ld.param.u64 %a1, [x];
ld.param.u64 %a2, [y];
ld.global.f32 %f1, [%a1];
{body}
st.global.f32 [%a2], %f9;
ret;
}}
"""


ARRAYS = ("--arg", "x=in:f32[4]", "--arg", "y=out:f32[1]")


def test_no_error_is_above_its_bound(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for k in range(40):
        wrong = rounding.one(server.program(), random.Random(f"ci/{k}"), 24, tmp_path, found)
        assert not wrong, wrong
    assert min(found["absolute"], found["of_terms"]) >= 6, found


def test_a_bound_that_is_too_small_is_found(tmp_path: Path) -> None:
    ops = [
        rounding.Op("input", "f32", value=rounding.Fraction(0)),
        rounding.Op("const", "f32", value=rounding.Fraction(3)),
        rounding.Op("mul", "f32", (0, 1)),
    ]
    x = rounding.nearest(rounding.Fraction(1, 3), "f32")
    bound = {"absolute": 2.0**-24, "of_terms": 2.0**-24, "rest": 2.0**-150, "within": None}
    assert not rounding.judge(bound, ops, [x], True, random.Random(0))
    for key in ("absolute", "of_terms"):
        small = {"absolute": None, "of_terms": None, "rest": 0.0, "within": None, key: 2.0**-27}
        assert key in rounding.judge(small, ops, [x], True, random.Random(0))


@pytest.mark.parametrize(
    ("body", "span"),
    [
        ("mul.rn.f32 %f8, %f1, 0f40400000; cvt.rmi.f32.f32 %f9, %f8;", "1.6666660..1.6666668"),
        ("mul.f32 %f2, %f1, 0f42FE0000; cvt.rni.f32.f32 %f3, %f2; mul.f32 %f9, %f3, 0f3C010204;", "0.011811020..0.011811026"),
        ("mul.f32 %f2, %f1, 0f40400000; cvt.rn.f16.f32 %h1, %f2; cvt.rni.f16.f16 %h2, %h1; cvt.f32.f16 %f9, %h2;", "0..4"),
        ("mul.rn.f32 %f8, %f1, 0f40400000; cvt.rni.s32.f32 %r1, %f8; cvt.rn.f32.s32 %f9, %r1;", "1.1666665..1.1666668"),
    ],
)
def test_a_whole_number_may_be_the_next_one(body: str, span: str, tmp_path: Path) -> None:
    error = report(kernel(body), tmp_path, *ARRAYS, "--assume", f"x in {span}")["errors"]["optimized"]
    bound = error["bound"]
    assert 0 < error["absolute"] <= bound["absolute"] < 1.001
    assert bound["of_terms"] is None


def test_underflow_and_saturation_are_part_of_a_bound(tmp_path: Path) -> None:
    body = "mov.f32 %f8, 0f00000000; cvt.rn.satfinite.e4m3x2.f32 %h1, %f8, %f1; cvt.rn.f16x2.e4m3x2 %r1, %h1;"
    text = kernel(f"{body} mov.b32 {{%h2, %h3}}, %r1; cvt.f32.f16 %f9, %h2;")
    small = report(text, tmp_path, *ARRAYS, "--assume", "x in 0.0001..0.0009")["errors"]["optimized"]["bound"]
    assert 2.0**-10 <= small["rest"] < 1.001 * 2.0**-10
    assert 256 <= small["within"] <= 448
    # Half a step of the least numbers is more than any number of the range.
    assert small["absolute"] is None
    assert "largest value" in small["left_out"]
    whole = report(text, tmp_path, *ARRAYS, "--assume", "x in 1..400")["errors"]["optimized"]["bound"]
    assert 16 <= whole["absolute"] < 26
    beyond = report(text, tmp_path, *ARRAYS, "--assume", "x in 1..4000")["errors"]["optimized"]["bound"]
    assert beyond["absolute"] is None
    assert "e4m3" in beyond["left_out"]


def test_a_sum_says_up_to_which_inputs_it_holds(tmp_path: Path) -> None:
    bound = report(kernel("add.f32 %f9, %f1, %f1;"), tmp_path, *ARRAYS)["errors"]["optimized"]["bound"]
    assert bound["rest"] == 0
    assert 1.5e38 < bound["within"] < 1.71e38
    assert bound["left_out"] is None


def test_inputs_lie_beside_the_constants_of_choices(tmp_path: Path) -> None:
    softmax = """ld.global.f32 %f2, [%a1+4];
{start} max.f32 %f4, %f3, %f2;
sub.f32 %f5, %f1, %f4; mul.f32 %f5, %f5, 0f3FB8AA3B; ex2.approx.f32 %f5, %f5;
sub.f32 %f6, %f2, %f4; mul.f32 %f6, %f6, 0f3FB8AA3B; ex2.approx.f32 %f6, %f6;
add.f32 %f7, %f5, %f6; div.approx.f32 %f9, %f5, %f7;"""
    reference = tmp_path / "reference.ptx"
    reference.write_text(kernel(softmax.format(start="mov.f32 %f3, %f1;")))
    for start in (
        "max.f32 %f3, %f1, 0fC7435000;",
        "mov.b32 %r1, 0xC7435000; mov.b32 %f8, %r1; max.f32 %f3, %f8, %f1;",
        "setp.lt.f32 %p1, %f1, 0fC7435000; selp.f32 %f3, 0fC7435000, %f1, %p1;",
        "mov.f32 %f8, 0f47435000; neg.f32 %f8, %f8; max.f32 %f3, %f8, %f1;",
    ):
        optimized = tmp_path / "optimized.ptx"
        optimized.write_text(kernel(softmax.format(start=start)))
        command = [server.program(), "check", str(reference), str(optimized), "--threads", "1", "--rounding", *ARRAYS]
        done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        inputs = {k["name"]: k for k in found["rounding"]["outputs"][0]["inputs"]}
        assert inputs["normal"]["close"]["passes"]
        assert not inputs["beside constants"]["close"]["passes"], start
        assert "less-accurate" in {w["kind"] for w in found["warnings"]}


def test_what_is_beyond_doubles_is_no_infinity(tmp_path: Path) -> None:
    body = "mul.f32 %f7, %f1, %f1; ex2.approx.f32 %f8, %f7; max.f32 %f8, %f8, %f8; min.f32 %f9, %f8, %f1;"
    bound = report(kernel(body), tmp_path, *ARRAYS, "--assume", "x in 1000..100000")["errors"]["optimized"]["bound"]
    assert bound["absolute"] is None
    assert "ex2" in bound["left_out"]
