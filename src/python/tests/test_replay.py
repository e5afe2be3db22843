"""Certificates and the program that replays them: right ones are confirmed, doctored ones and wrong twins refuted."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import volta
from volta import server
from volta.replay import certificate as files
from volta.replay import library
from volta.replay.__main__ import main

KERNELS = Path(__file__).resolve().parents[3] / "kernels"
if not KERNELS.is_dir():
    pytest.skip("the kernels are not part of the package", allow_module_level=True)

SOFTMAX = ["--threads", "4", "--arg", "0=in:f32[4]", "--arg", "1=out:f32[4]"]
SAMPLE: dict[str, list[str]] = {
    "softmax": ["softmax/naive_4.ptx", "softmax/online_4.ptx", *SOFTMAX],
    "exponential": ["softmax/naive_4.ptx", "softmax/naive_4_ieee.ptx", *SOFTMAX],
    "itself": ["softmax/online_4.ptx", "softmax/online_4.ptx", *SOFTMAX],
    # Minus infinity and the least number are starts of a maximum; the least number of f16 shows below itself only.
    "pooling": [
        "pooling/maximum_plain.ptx",
        "pooling/maximum_from_lowest.ptx",
        *["--threads", "16", "--arg", "0=in:f32[8,8]", "--arg", "1=out:f32[4,4]"],
    ],
    # The code of `logf` and of `tanhf`, as compilers expand it.
    "logarithm": ["softmax/log_naive_4_ieee.ptx", "softmax/log_naive_4.ptx", *SOFTMAX],
    "tangent": [
        "activation/gelu_tanh.ptx",
        "activation/gelu_tanh_ieee.ptx",
        *["--threads", "32", "--arg", "0=in:f32[32]", "--arg", "1=out:f32[32]"],
    ],
    # Where the mask is on, the outputs are infinite.
    "mask": [
        "special/masked_score.ptx",
        "special/masked_score_branch.ptx",
        *["--threads", "1", "--arg", "0=in:f32[4]", "--arg", "1=out:f32[1]"],
    ],
}
TWINS = {
    "softmax/online_4_no_rescale.ptx": "softmax",
    "softmax/naive_4_dropped_element.ptx": "softmax",
    "softmax/max_subtracted_4_wrong_coefficient.ptx": "softmax",
    "pooling/maximum_from_lowest_half.ptx": "pooling",
}


def certify(folder: Path, name: str) -> Path:
    out = folder / f"{name}.json"
    if not out.exists():
        ran = subprocess.run(
            [server.program(), "check", *SAMPLE[name], "--certificate", str(out)], cwd=KERNELS, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(autouse=True)
def beside_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(KERNELS)


@pytest.mark.parametrize("name", list(SAMPLE))
def test_confirmed(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(certify(folder, name))]) == 0
    assert re.match("confirmed: [1-9][0-9]* elements? agree", capsys.readouterr().out)


def test_it_imports_nothing_else(folder: Path) -> None:
    """Neither numpy nor another module of the package."""
    code = (
        "import runpy, sys\n"
        "sys.argv = ['replay', sys.argv[1]]\n"
        "try:\n    runpy.run_module('volta.replay', run_name='__main__')\n"
        "except SystemExit as e:\n    assert e.code == 0, e.code\n"
        "extra = [m for m in sys.modules if m == 'numpy' or m.startswith('volta.') and not m.startswith('volta.replay')]\n"
        "assert not extra, extra\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    subprocess.run([sys.executable, "-c", code, str(certify(folder, "softmax"))], check=True, env=env, stdout=subprocess.DEVNULL)


def another_hash(c: dict[str, Any]) -> None:
    c["optimized"]["sha256"] = "0" * 64


def another_text(c: dict[str, Any]) -> None:
    c["optimized"]["file"] = "softmax/online_4_no_rescale.ptx"


def another_launch(c: dict[str, Any]) -> None:
    c["reference"]["block"] = c["optimized"]["block"] = [3, 1, 1]


def more_threads(c: dict[str, Any]) -> None:
    c["optimized"]["block"] = [5, 1, 1]


def another_binding(c: dict[str, Any]) -> None:
    c["optimized"]["parameters"][1]["pointer"]["at"] = 4


def an_array_for_another(c: dict[str, Any]) -> None:
    c["optimized"]["parameters"][0]["pointer"]["array"] = 1


def an_element_less(c: dict[str, Any]) -> None:
    c["matched"][0]["bytes"] = "0..12"


def an_element_more(c: dict[str, Any]) -> None:
    c["matched"][0]["bytes"] = "0..20"


def a_smaller_array(c: dict[str, Any]) -> None:
    c["arrays"][0]["bytes"] = 12


def a_region_less(c: dict[str, Any]) -> None:
    c["regions"]["samples"].pop()


def a_region_less_in_all(c: dict[str, Any]) -> None:
    """What is left says of itself that it is whole."""
    regions = c["regions"]
    regions["samples"] = regions["samples"][1:2]
    regions["reached"] = regions["samples"][0]["outcomes"]


def another_verdict(c: dict[str, Any]) -> None:
    c["verdict"] = "unknown"


def texts_swapped(c: dict[str, Any]) -> None:
    c["reference"]["file"], c["optimized"]["file"] = c["optimized"]["file"], c["reference"]["file"]


def another_entry(c: dict[str, Any]) -> None:
    c["optimized"]["entry"] = c["reference"]["entry"]


def more_ctas(c: dict[str, Any]) -> None:
    c["reference"]["grid"] = c["optimized"]["grid"] = [2, 1, 1]


def no_ctas(c: dict[str, Any]) -> None:
    c["reference"]["ctas"] = c["optimized"]["ctas"] = []


def an_input_that_is_listed(c: dict[str, Any]) -> None:
    c["matched"].append({"array": 0, "bytes": "0..16"})


def an_output_that_is_scratch(c: dict[str, Any]) -> None:
    c["arrays"][1]["role"] = "scratch"


def an_output_that_is_a_number(c: dict[str, Any]) -> None:
    c["arrays"][1]["origin"] = "scalar"


def an_input_that_is_an_output(c: dict[str, Any]) -> None:
    c["arrays"][0]["role"] = "out"


def an_array_that_is_none(c: dict[str, Any]) -> None:
    c["optimized"]["parameters"][1]["pointer"]["array"] = 7


def a_parameter_that_is_none(c: dict[str, Any]) -> None:
    c["optimized"]["parameters"][1]["parameter"] = 2


def nothing_matched(c: dict[str, Any]) -> None:
    c["matched"] = []


def no_bytes_matched(c: dict[str, Any]) -> None:
    c["matched"][0]["bytes"] = ""


def no_regions(c: dict[str, Any]) -> None:
    c["regions"]["samples"] = []


def regions_that_nothing_reaches(c: dict[str, Any]) -> None:
    c["regions"]["reached"] = "-" * c["regions"]["tests"]


def regions_at_one_place(c: dict[str, Any]) -> None:
    for sample in c["regions"]["samples"]:
        sample["inputs"] = c["regions"]["samples"][0]["inputs"]


def a_reading_that_is_far(c: dict[str, Any]) -> None:
    c["readings"] = [{"format": "f32", "bits": "3fb8aa3b", "reading": "3/2", "reciprocal": False}]


def a_reading_as_a_difference(c: dict[str, Any]) -> None:
    """A difference is as near as its terms are, and no nearer."""
    c["readings"] = [{"format": "f32", "bits": "3fb8aa3b", "reading": "5/2 - 1", "reciprocal": False}]


def two_readings(c: dict[str, Any]) -> None:
    entry = {"format": "f32", "bits": "3fb8aa3b", "reading": "log2(e)", "reciprocal": False}
    c["readings"] = [entry, {**entry, "reading": "1.442695"}]


def an_excuse_that_is_none(c: dict[str, Any]) -> None:
    c["warnings"] = [{"kernel": "pair", "kind": "data-race", "lines": [1]}]


def a_rule_that_it_cites(c: dict[str, Any]) -> None:
    c["rules"] = ["sums-of-products-commute"]


def a_region_that_is_excused(c: dict[str, Any]) -> None:
    c["regions"]["samples"][0]["unreachable"] = True


def an_output_of_no_kind(c: dict[str, Any]) -> None:
    c["arrays"][1]["origin"] = "shared"


def an_output_that_is_constant(c: dict[str, Any]) -> None:
    c["arrays"][1]["origin"] = "const"


def an_output_that_is_a_variable(c: dict[str, Any]) -> None:
    c["arrays"][1]["origin"] = "global"


def an_input_of_other_elements(c: dict[str, Any]) -> None:
    c["arrays"][0]["shape"] = [5]


def one_array_for_both(c: dict[str, Any]) -> None:
    for side in ("reference", "optimized"):
        c[side]["parameters"][1]["pointer"]["array"] = 0


def a_parameter_bound_twice(c: dict[str, Any]) -> None:
    c["optimized"]["parameters"].append(c["optimized"]["parameters"][1])


def no_assumption(c: dict[str, Any]) -> None:
    c["assumptions"] = []


def an_assumption_of_no_kind(c: dict[str, Any]) -> None:
    c["assumptions"][0]["kind"] = "trust"


def a_reading_that_is_not_named(c: dict[str, Any]) -> None:
    c["readings"] = [{"format": "f32", "bits": "3fb8aa3b", "reading": "log2(e)", "reciprocal": False}]
    c["assumptions"] = [a for a in c["assumptions"] if a["kind"] != "constant"]


def a_range_that_is_not_named(c: dict[str, Any]) -> None:
    c["floats"] = [{"array": 0, "least": "0.0", "greatest": "0.0"}]


def integers_that_are_not_named(c: dict[str, Any]) -> None:
    fact = {"array": 0, "bits": 32, "least": "0", "greatest": "0", "distinct": False, "sorted": False, "pow2": False}
    c["facts"] = [fact]


def contents_that_are_not_named(c: dict[str, Any]) -> None:
    c["arrays"][0]["contents"] = ""


def a_part_that_is_not_named(c: dict[str, Any]) -> None:
    c["arrays"][1]["partial"] = True
    c["matched"][0]["bytes"] = "0..4"


def an_extent_that_is_open(c: dict[str, Any]) -> None:
    c["arrays"][0]["bytes"] = None


def ctas_that_are_not_named(c: dict[str, Any]) -> None:
    c["reference"]["ctas"] = c["optimized"]["ctas"] = [[0, 0, 0]]


def a_key_less(c: dict[str, Any]) -> None:
    del c["arrays"][1]["partial"]


def a_word_for_a_number(c: dict[str, Any]) -> None:
    c["optimized"]["grid"] = ["1", 1, 1]


def all_sizes(c: dict[str, Any]) -> None:
    c["covers"] = "every launch of each kernel, for all sizes"


DOCTORED: list[Callable[[dict[str, Any]], None]] = [
    an_output_of_no_kind,
    an_output_that_is_constant,
    an_output_that_is_a_variable,
    an_input_of_other_elements,
    one_array_for_both,
    a_parameter_bound_twice,
    no_assumption,
    an_assumption_of_no_kind,
    a_reading_that_is_not_named,
    a_range_that_is_not_named,
    integers_that_are_not_named,
    contents_that_are_not_named,
    a_part_that_is_not_named,
    an_extent_that_is_open,
    ctas_that_are_not_named,
    a_key_less,
    all_sizes,
    a_word_for_a_number,
    texts_swapped,
    another_entry,
    more_ctas,
    no_ctas,
    an_input_that_is_listed,
    an_output_that_is_scratch,
    an_output_that_is_a_number,
    an_input_that_is_an_output,
    an_array_that_is_none,
    a_parameter_that_is_none,
    nothing_matched,
    no_bytes_matched,
    no_regions,
    regions_that_nothing_reaches,
    regions_at_one_place,
    a_reading_that_is_far,
    a_reading_as_a_difference,
    two_readings,
    an_excuse_that_is_none,
    a_rule_that_it_cites,
    a_region_that_is_excused,
    another_hash,
    another_text,
    another_launch,
    more_threads,
    another_binding,
    an_array_for_another,
    an_element_less,
    an_element_more,
    a_smaller_array,
    a_region_less,
    a_region_less_in_all,
    another_verdict,
]


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("change", DOCTORED)
def test_doctored(folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], sealed: bool) -> None:
    """With the digest of its new content too: the content refutes it."""
    whole = files.load(certify(folder, "softmax"))
    doctored = copy.deepcopy(whole)
    change(doctored)
    assert doctored != whole
    if sealed:
        doctored["digest"] = files.digest(doctored)
    path = tmp_path / "doctored.json"
    path.write_text(json.dumps(doctored))
    assert main([str(path)]) == 1


@pytest.mark.parametrize("twin", TWINS)
def test_wrong_twins(folder: Path, tmp_path: Path, twin: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate of a wrong kernel, as if the program had believed it."""
    text = Path(twin).read_text()
    certificate = files.load(certify(folder, TWINS[twin]))
    certificate["optimized"] |= {
        "file": twin,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "entry": text.split(".entry ")[1].split("(")[0].strip(),
    }
    certificate["digest"] = files.digest(certificate)
    path = tmp_path / "twin.json"
    path.write_text(json.dumps(certificate))
    assert main([str(path)]) == 1
    said = capsys.readouterr().out
    assert "in the reference and" in said, said


@pytest.mark.parametrize("name", ["logarithm", "tangent"])
def test_functions_of_the_library_are_named(folder: Path, tmp_path: Path, name: str) -> None:
    """Their code is a function of the reals by an assumption alone, and only as it stands."""
    certificate = files.load(certify(folder, name))
    path = tmp_path / "library.json"
    said = certificate["assumptions"]
    certificate["assumptions"] = [a for a in said if a["kind"] != "library-function"]
    certificate["digest"] = files.digest(certificate)
    path.write_text(json.dumps(certificate))
    assert main([str(path)]) != 0
    certificate["assumptions"] = said
    side = "reference" if name == "logarithm" else "optimized"
    text = Path(certificate[side]["file"]).read_text()
    constant = "0f3E1039F6" if name == "logarithm" else "0f3E085941"
    assert constant in text
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(text.replace(constant, f"{constant[:-1]}{int(constant[-1], 16) ^ 1:X}"))
    certificate[side] |= {"file": str(wrong), "sha256": hashlib.sha256(wrong.read_bytes()).hexdigest()}
    certificate["digest"] = files.digest(certificate)
    path.write_text(json.dumps(certificate))
    assert main([str(path)]) != 0


def test_the_code_of_functions_computes_them() -> None:
    """On the machine's numbers, beside mpmath."""
    numbers = [0.0078125 * 2.5**i for i in range(8)]
    given = {"logf": numbers, "log2f": numbers, "log10f": numbers, "acoshf": [1 + n for n in numbers]}
    for name, functions in library.FUNCTIONS.items():
        arguments = given.get(name, [s * n for n in numbers for s in (1, -1)])
        arguments = [x for x in arguments if abs(x) < (0.99 if name == "atanhf" else 1 if name == "log1pf" and x < 0 else 11)]
        for argument in arguments:
            x = np.array([argument], np.float32)
            size = len(functions)
            entry = volta.ptx(library.TEXT, entry=f"of_{name}")
            found = volta.run(entry, x, volta.arg.output("f32", (size,)), block=1)
            for y, f in zip(found, functions):
                exact = float(f(mpmath.mpf(float(x[0]))))
                assert abs(float(y) - exact) <= 2e-6 * max(abs(exact), 1e-3), (name, argument, y, exact)


RACY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry sum(.param .u64 px, .param .u64 py) {
    .reg .u64 %rd<6>; .reg .u32 %r<4>; .reg .f32 %f<6>; .shared .align 4 .b8 s[256];
    ld.param.u64 %rd1, [px];
    ld.param.u64 %rd2, [py];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    mov.u32 %r2, s;
    shl.b32 %r3, %r1, 2;
    add.u32 %r3, %r2, %r3;
    st.shared.f32 [%r3], %f1;
    bar.sync 0;
    ld.shared.f32 %f2, [s];
    ld.shared.f32 %f3, [s+128];
    add.f32 %f4, %f2, %f3;
    add.u64 %rd5, %rd2, %rd3;
    st.global.f32 [%rd5], %f4;
    ret;
}
"""


def test_a_race_refutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel, out = tmp_path / "sum.ptx", tmp_path / "sum.json"
    kernel.write_text(RACY)
    flags = ["--threads", "64", "--arg", "0=in:f32[64]", "--arg", "1=out:f32[64]", "--certificate", str(out)]
    subprocess.run([server.program(), "check", str(kernel), str(kernel), *flags], check=True, stdout=subprocess.DEVNULL)
    assert main([str(out)]) == 0
    assert main([str(out), "--field"]) == 0
    assert "a probability below 10^-" in capsys.readouterr().out
    kernel.write_text(RACY.replace("bar.sync 0;", ""))
    certificate = files.load(out)
    for side in ("reference", "optimized"):
        certificate[side]["sha256"] = hashlib.sha256(kernel.read_bytes()).hexdigest()
    certificate["digest"] = files.digest(certificate)
    out.write_text(json.dumps(certificate))
    assert main([str(out)]) == 1
    assert "race" in capsys.readouterr().out


PHASES = RACY.replace(
    "add.f32 %f4, %f2, %f3;",
    "bar.sync 0;\n    add.f32 %f5, %f1, %f1;\n    st.shared.f32 [%r3], %f5;\n    bar.sync 0;\n    ld.shared.f32 %f5, [s+64];\n"
    "    add.f32 %f4, %f2, %f3;\n    add.f32 %f4, %f4, %f5;",
)
WRONG = {
    "a store of the next phase meets a load of this one": (
        PHASES,
        PHASES.replace("    bar.sync 0;\n    add.f32 %f5", "    add.f32 %f5"),
        [],
    ),
    "a load of the next phase meets a store of this one": (PHASES, PHASES.replace("%f5;\n    bar.sync 0;", "%f5;"), []),
    "different numbers at one place, excused as equal": (
        RACY,
        RACY.replace("st.shared.f32 [%r3], %f1;", "st.shared.f32 [%r3], %f1;\n    st.shared.f32 [s], %f1;"),
        ["same-value-write", "real-equal-write"],
    ),
    "a racing load that is used, excused as unused": (
        RACY,
        RACY.replace("bar.sync 0;", "ld.shared.f32 %f5, [s];\n    bar.sync 0;").replace("%f2, %f3;", "%f5, %f3;"),
        ["unused-read"],
    ),
    "a barrier that one warp passes by": (
        RACY,
        RACY.replace("bar.sync 0;", "setp.lt.u32 %p1, %r1, 32;\n    @%p1 bar.sync 0;").replace(
            ".shared .align", ".reg .pred %p<2>; .shared .align"
        ),
        [],
    ),
    "a branch for large numbers": (
        RACY,
        RACY.replace("st.global", "setp.gt.f32 %p1, %f1, 0f42C80000;\n    @%p1 mov.f32 %f4, %f1;\n    st.global").replace(
            ".shared .align", ".reg .pred %p<2>; .shared .align"
        ),
        [],
    ),
    "a branch for equal numbers": (
        RACY,
        RACY.replace("st.global", "setp.eq.f32 %p1, %f2, %f3;\n    @%p1 mov.f32 %f4, %f1;\n    st.global").replace(
            ".shared .align", ".reg .pred %p<2>; .shared .align"
        ),
        [],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_texts_that_look_right(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate of a right kernel, with the text of one that is wrong where nobody looks."""
    right, wrong, excuses = WRONG[name]
    kernel, out = tmp_path / "sum.ptx", tmp_path / "sum.json"
    kernel.write_text(right)
    flags = ["--threads", "64", "--arg", "0=in:f32[64]", "--arg", "1=out:f32[64]", "--certificate", str(out)]
    subprocess.run([server.program(), "check", str(kernel), str(kernel), *flags], check=True, stdout=subprocess.DEVNULL)
    assert main([str(out)]) == 0, capsys.readouterr().out
    twin = tmp_path / "wrong.ptx"
    assert wrong != right
    twin.write_text(wrong)
    certificate = files.load(out)
    certificate["optimized"] |= {"file": str(twin), "sha256": hashlib.sha256(twin.read_bytes()).hexdigest()}
    lines = list(range(1, wrong.count("\n") + 2))
    certificate["warnings"] = [{"kernel": "optimized", "kind": kind, "lines": lines} for kind in excuses]
    certificate["digest"] = files.digest(certificate)
    out.write_text(json.dumps(certificate))
    assert main([str(out)]) == 1, capsys.readouterr().out


CLAMPED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry clamped(.param .u64 px, .param .u64 py) {
    .reg .u64 %rd<5>; .reg .u32 %r<2>; .reg .f32 %f<4>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [px];
    ld.param.u64 %rd2, [py];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    {BODY}
    add.u64 %rd4, %rd2, %rd3;
    st.global.f32 [%rd4], %f2;
    ret;
}
"""
INSIDE = {
    "plain": "mov.f32 %f2, %f1;",
    "clamped": "max.f32 %f2, %f1, 0fBFC00000; min.f32 %f2, %f2, 0f40000000;",
    "below": "max.f32 %f2, %f1, 0fBFB00000; min.f32 %f2, %f2, 0f40000000;",
    "above": "max.f32 %f2, %f1, 0fBFC00000; min.f32 %f2, %f2, 0f3FF00000;",
    "at its end": "setp.eq.f32 %p1, %f1, 0f40000000; selp.f32 %f2, 0f3F800000, %f1, %p1;",
}


def test_ranges_of_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers are drawn inside of what is said of them, its ends too: bounds there change nothing, others are seen."""
    for name, body in INSIDE.items():
        (tmp_path / name).with_suffix(".ptx").write_text(CLAMPED.replace("{BODY}", body))
    out = tmp_path / "range.json"
    flags = ["--threads", "8", "--arg", "0=in:f32[8]", "--arg", "1=out:f32[8]", "--certificate", str(out)]
    files_of = [str(tmp_path / f"{name}.ptx") for name in ("plain", "clamped")]
    run = [server.program(), "check", *files_of, *flags]
    subprocess.run([*run, "--assume", "0 in -1.5..2"], check=True, stdout=subprocess.DEVNULL)
    assert main([str(out)]) == 0, capsys.readouterr().out
    right = files.load(out)
    for name in ("below", "above", "at its end"):
        twin = tmp_path / f"{name}.ptx"
        wrong = copy.deepcopy(right)
        wrong["optimized"] |= {"file": str(twin), "sha256": hashlib.sha256(twin.read_bytes()).hexdigest()}
        wrong["digest"] = files.digest(wrong)
        out.write_text(json.dumps(wrong))
        assert main([str(out)]) == 1, name
    wide = copy.deepcopy(right)
    wide["floats"][0]["greatest"] = "2.5"
    wide["digest"] = files.digest(wide)
    out.write_text(json.dumps(wide))
    assert main([str(out)]) == 1, capsys.readouterr().out


TWICE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 px, .param .u64 py) {
    .reg .u64 %rd<6>; .reg .b32 %r<6>; .reg .f32 %f<8>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [px];
    ld.param.u64 %rd2, [py];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.b32 %r2, [%rd4];
    add.u64 %rd4, %rd2, %rd3;
    {BODY}
    ret;
}
"""
OF_FLOATS = "add.f32 %f2, %f1, %f1; {TEST} st.global.f32 [%rd4], %f2;"
OF_INTEGERS = "add.s32 %r3, %r2, %r2; {TEST} st.global.b32 [%rd4], %r3;"
HIDDEN = {
    "one number": (OF_FLOATS, "setp.eq.f32 %p1, %f1, 0f4640E6B7; @%p1 mov.f32 %f2, 0f00000000;"),
    "one number in one thread": (
        OF_FLOATS,
        "setp.eq.u32 %p1, %r1, 2; setp.eq.and.f32 %p2, %f1, 0f4640E6B7, %p1; @%p2 mov.f32 %f2, 0f00000000;",
    ),
    "two numbers": (
        OF_FLOATS,
        "ld.global.f32 %f3, [%rd1]; setp.eq.f32 %p1, %f1, 0f4640E6B7; setp.eq.and.f32 %p2, %f3, 0f42280000, %p1;"
        " @%p2 mov.f32 %f2, 0f00000000;",
    ),
    "one number behind another": (
        OF_FLOATS,
        "ld.global.f32 %f3, [%rd1+4]; setp.neu.f32 %p1, %f1, 0f4640E6B7; @%p1 bra END; setp.neu.f32 %p1, %f3, 0f42280000;"
        " @%p1 bra END; mov.f32 %f2, 0f00000000; END:",
    ),
    "a root": (OF_FLOATS, "mul.f32 %f3, %f1, %f1; setp.eq.f32 %p1, %f3, 0f40000000; @%p1 mov.f32 %f2, 0f00000000;"),
    "an exponential": (OF_FLOATS, "ex2.approx.f32 %f3, %f1; setp.eq.f32 %p1, %f3, 0f42280000; @%p1 mov.f32 %f2, 0f00000000;"),
    "a band": (
        OF_FLOATS,
        "setp.gt.f32 %p1, %f1, 0f4F32D05E; setp.lt.and.f32 %p2, %f1, 0f4F32D20E, %p1; @%p2 mov.f32 %f2, 0f00000000;",
    ),
    "a pole": (OF_FLOATS, "sub.f32 %f3, %f1, 0f40A00000; div.rn.f32 %f3, %f3, %f3; mul.f32 %f2, %f2, %f3;"),
    "one integer": (OF_INTEGERS, "setp.eq.s32 %p1, %r2, 123456; @%p1 mov.u32 %r3, 7;"),
    "few integers": (OF_INTEGERS, "add.u32 %r4, %r2, -1000000; setp.lt.u32 %p1, %r4, 3; @%p1 mov.u32 %r3, 7;"),
    "an integer that is cut": (OF_INTEGERS, "shr.u32 %r4, %r2, 4; setp.eq.s32 %p1, %r4, 123456; @%p1 mov.u32 %r3, 7;"),
    "an integer that is masked": (OF_INTEGERS, "xor.b32 %r4, %r2, 305419896; setp.eq.s32 %p1, %r4, 0; @%p1 mov.u32 %r3, 7;"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_tests_that_it_says_nothing_of(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate of the kernel without a test, with the text that has one: the replay finds inputs of both ways itself."""
    body, test = HIDDEN[name]
    type = "s32" if body == OF_INTEGERS else "f32"
    right, wrong, out = tmp_path / "right.ptx", tmp_path / "wrong.ptx", tmp_path / "hidden.json"
    right.write_text(TWICE.replace("{BODY}", body.replace("{TEST}", "")))
    wrong.write_text(TWICE.replace("{BODY}", body.replace("{TEST}", test)))
    flags = ["--threads", "4", "--arg", f"0=in:{type}[4]", "--arg", f"1=out:{type}[4]", "--certificate", str(out)]
    subprocess.run([server.program(), "check", str(right), str(right), *flags], check=True, stdout=subprocess.DEVNULL)
    assert main([str(out)]) == 0, capsys.readouterr().out
    certificate = files.load(out)
    assert certificate["regions"]["tests"] == 0
    certificate["optimized"] |= {"file": str(wrong), "sha256": hashlib.sha256(wrong.read_bytes()).hexdigest()}
    certificate["digest"] = files.digest(certificate)
    out.write_text(json.dumps(certificate))
    assert main([str(out)]) == 1, capsys.readouterr().out
    assert "in the reference and" in capsys.readouterr().out


NAMED: dict[str, tuple[list[str], Callable[[dict[str, Any]], None], str]] = {
    "contents": (
        ["--arg", "0=in:f32[4]=1", "--arg", "1=out:f32[4]"],
        lambda c: c["arrays"][0].update(contents="0000803f"),
        "`px` holds the bytes",
    ),
    "a range": (
        ["--arg", "0=in:f32[4]", "--arg", "1=out:f32[4]", "--assume", "0 in 0..1"],
        lambda c: c["floats"][0].update(greatest="0.5"),
        "numbers of `px` lie in 0.0..=1.0",
    ),
    "a part": (
        ["--arg", "0=in:f32[4]", "--arg", "1=out:f32[4]", "--only", "1[0..2]"],
        lambda c: c["matched"][0].update(bytes="0..4"),
        "of `py` only the bytes 0..8 are compared",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_makes_a_claim_smaller_is_named(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In a sentence that is printed; another thing than that sentence says is refused."""
    flags, change, sentence = NAMED[name]
    kernel, out = tmp_path / "twice.ptx", tmp_path / "named.json"
    kernel.write_text(TWICE.replace("{BODY}", OF_FLOATS.replace("{TEST}", "")))
    run = [server.program(), "check", str(kernel), str(kernel), "--threads", "4", *flags, "--certificate", str(out)]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    assert main([str(out)]) == 0, capsys.readouterr().out
    assert f"assuming: {sentence}" in capsys.readouterr().out
    certificate = files.load(out)
    change(certificate)
    certificate["digest"] = files.digest(certificate)
    out.write_text(json.dumps(certificate))
    assert main([str(out)]) == 1
    assert "no assumption of kind" in capsys.readouterr().out


QUOTIENT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry quotient(.param .u64 px, .param .u64 py) {
    .reg .u64 %rd<5>; .reg .u32 %r<2>; .reg .f32 %f<7>;
    ld.param.u64 %rd1, [px];
    ld.param.u64 %rd2, [py];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 16;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];
    {BODY}
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.f32 [%rd4], %f6;
    ret;
}
"""


def test_poles_have_to_be_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where c is 0, (a + b)/c is infinite, and a/c + b/c may be no number."""
    bodies = {
        "whole": "add.f32 %f5, %f1, %f2; div.rn.f32 %f6, %f5, %f3;",
        "apart": "div.rn.f32 %f5, %f1, %f3; div.rn.f32 %f6, %f2, %f3; add.f32 %f6, %f5, %f6;",
    }
    for name, body in bodies.items():
        (tmp_path / name).with_suffix(".ptx").write_text(QUOTIENT.replace("{BODY}", body))
    out = tmp_path / "quotient.json"
    flags = ["--threads", "256", "--arg", "0=in:f32[256,4]", "--arg", "1=out:f32[256]", "--certificate", str(out)]
    subprocess.run(
        [server.program(), "check", str(tmp_path / "whole.ptx"), str(tmp_path / "apart.ptx"), *flags],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert main([str(out)]) == 0, capsys.readouterr().out
    certificate = files.load(out)
    certificate["assumptions"] = [a for a in certificate["assumptions"] if a["kind"] != "defined"]
    certificate["digest"] = files.digest(certificate)
    out.write_text(json.dumps(certificate))
    assert main([str(out)]) == 1
    assert "in the reference and nan in the optimized kernel" in capsys.readouterr().out


def test_what_it_does_not_interpret(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(certify(folder, "softmax")), "--field"]) == 3
    assert "cannot replay: the reference in line" in capsys.readouterr().out
    path = tmp_path / "none.json"
    path.write_text("{}")
    assert main([str(path)]) == 2
