"""A result on one line, and what pytest shows of it."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import ENDLESS, THRICE, TWICE

import volta
from volta import arg
from volta.results import WIDEST, Result, failed

pytest_plugins = ["pytester"]

#: Every second lane writes what its neighbour reads, in a file of a deep folder.
RACING = (
    TWICE.replace("ld.global.f32 %f1, [%rd4]", "ld.global.f32 %f1, [%rd2]")
    .replace(".visible", '.file 1 "/home/user/a/deep/folder/of/kernels/scale.cu"\n.visible', 1)
    .replace("ld.global", ".loc 1 14 3\nld.global")
    .replace("st.global", ".loc 1 17 3\nst.global")
)


def _is_one_line(r: Result) -> bool:
    said = repr(r)
    return "\n" not in said and said.startswith("<volta.") and said.endswith(">") and len(said) <= WIDEST


def test_proved_says_how_much(xy: list[arg.Array]) -> None:
    assert repr(volta.check(TWICE, TWICE, args=xy, block=8)) == "<volta.Result equivalent: 8 elements>"
    sized = lambda n: [arg.input("f32", n), arg.output("f32", n)]  # noqa: E731
    r = volta.check(TWICE, TWICE, args=sized, block=4, sizes=[{"n": 4}, {"n": 8}])
    assert repr(r) == "<volta.Result equivalent: 8 elements at 2 sizes>"
    assert repr(volta.race(TWICE, args=xy, block=8)) == "<volta.Result clean>"
    assert repr(volta.rows(TWICE, "y[i] of x[i]", args=xy, block=8)) == "<volta.Rows equivalent: 8 elements>"


def test_a_defect_says_both_places(xy: list[arg.Array]) -> None:
    xy = [xy[0], xy[1].named("y")]
    r = volta.race(RACING, args=[xy[0], arg.inout("f32", 8).named("y")], block=8)
    assert repr(r).startswith("<volta.Result defective: data-race at scale.cu:14 and scale.cu:17: ") or repr(r).startswith(
        "<volta.Result defective: data-race at scale.cu:17 and scale.cu:14: "
    ), repr(r)
    assert _is_one_line(r)


def test_a_difference_says_both_values(xy: list[arg.Array]) -> None:
    r = volta.check(TWICE, THRICE, args=xy, block=8)
    assert repr(r) == "<volta.Result not-equivalent: y[0] is 2 in the reference and 3 in the optimized kernel.>"
    r = volta.classes([TWICE, THRICE], args=xy, block=8)
    assert repr(r) == "<volta.Classes not-equivalent: some kernels leave different bits>"


def test_an_open_question_says_its_first_reason(xy: list[arg.Array]) -> None:
    r = volta.race(ENDLESS, args=xy, block=8, timeout=0.5)
    assert repr(r).startswith("<volta.Result unknown: limit: ")
    assert repr(failed("syntax", "one\n  two")) == "<volta.Result unknown: syntax: one two>"
    assert repr(Result("equivalent", {"denied": ["narrower"]}, "")) == "<volta.Result equivalent: denied: narrower>"


@pytest.mark.parametrize("message", ["x" * 1000, "a\nb\n" * 100, "\x1b[2J\r\n\u202e", "", "a" * 400 + "\n"])
def test_it_is_one_line_whatever_a_message_holds(message: str) -> None:
    entry: dict[str, Any] = {"kind": "data-race", "message": message, "sites": [{"file": message, "line": 3}] * 2}
    for r in (
        failed("syntax", message),
        Result("defective", {"defects": [entry]}, message),
        Result("unknown", {"unknown": [entry]}, message),
        Result("not-equivalent", {}, message),
    ):
        assert _is_one_line(r), repr(r)


def test_a_failing_assertion_explains_itself(pytester: pytest.Pytester) -> None:
    tests = str(pytester._request.path.parent)
    pytester.makepyfile(f"""
        import sys
        sys.path.insert(0, {tests!r})
        from conftest import THRICE, TWICE
        import volta
        from volta import arg

        def test_it():
            r = volta.check(TWICE, THRICE, args=dict(x=arg.input("f32", 8), y=arg.output("f32", 8)), block=8)
            assert r.ok
    """)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    said = "where False = <volta.Result not-equivalent: y[[]0] is 2 in the reference and 3 in the optimized kernel.>.ok"
    result.stdout.fnmatch_lines([f"*{said}*"])
