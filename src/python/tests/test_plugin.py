"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

MODULE = """
import sys
sys.path.insert(0, {tests!r})
import conftest as ours
import volta
from volta import arg

right = volta.verify(volta.ptx(ours.TWICE), args=lambda n: [arg.input("f32", n).named("x"), arg.output("f32", n).named("y")],
                     block=4, sizes=[dict(n=4), dict(n=8)])(volta.ptx(ours.TWICE, name="right"))
wrong = volta.verify(volta.ptx(ours.TWICE), args=lambda: [arg.input("f32", 4).named("x"), arg.output("f32", 4).named("y")],
                     block=4)(volta.ptx(ours.THRICE, name="wrong"))
open_ = volta.verify(volta.ptx(ours.TWICE), args=lambda: [arg.input("f32", 4), arg.output("f32", 4)], block=4, timeout=1,
                     allow_unknown={allow})(volta.ptx(ours.ENDLESS, name="open"))
"""


def write(pytester: pytest.Pytester, allow: bool) -> None:
    tests = str(pytester._request.path.parent)
    pytester.makepyfile(mykernels=MODULE.format(tests=tests, allow=allow))


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


def test_kernels_of_imported_modules_are_tests(pytester: pytest.Pytester) -> None:
    write(pytester, True)
    pytester.makepyfile(test_it="from mykernels import right\nimport mykernels\n\ndef test_own():\n    assert right is not None\n")
    result = run(pytester, "-v")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines_random(["*right[[]n=4[]] PASSED*", "*right[[]n=8[]] PASSED*", "*wrong[[]launch[]] FAILED*"])
    # The failure is the report, with the input as arrays, and no traceback.
    result.stdout.fnmatch_lines(["*not-equivalent*", "*counterexample:*", "*x = [[]*"])
    assert "Traceback" not in result.stdout.str()
    assert "raise_unless_proved" not in result.stdout.str()


def test_unknown_fails(pytester: pytest.Pytester) -> None:
    write(pytester, False)
    pytester.makepyfile(test_it="import mykernels\n")
    run(pytester).assert_outcomes(passed=2, failed=2)


def test_named_modules(pytester: pytest.Pytester) -> None:
    write(pytester, True)
    pytester.makepyfile(test_it="def test_own():\n    pass\n")
    result = run(pytester, "--volta-modules", "mykernels", "--volta-timeout", "60", "-k", "right")
    result.assert_outcomes(passed=2, deselected=3)


def test_denied_warnings_fail(pytester: pytest.Pytester) -> None:
    tests = str(pytester._request.path.parent)
    text = MODULE.split("wrong = ")[0].format(tests=tests, allow=True)
    writes = 'ours.TWICE.replace("ret;", "st.global.f32 [%rd4], %f1; ret;")'
    text = text.replace('volta.ptx(ours.TWICE, name="right")', f'volta.ptx({writes}, name="right")')
    pytester.makepyfile(mykernels=text, test_it="import mykernels\n")
    run(pytester, "--volta-deny", "write-to-input").assert_outcomes(failed=2)


def test_configurations_of_triton_functions_are_tests(pytester: pytest.Pytester) -> None:
    pytest.importorskip("triton")
    text = """
import sys
sys.path.insert(0, {tests!r})
import triton_kernels_under_test as kernels
import volta
from volta import arg

ARGS = lambda n: [arg.input("f32", (1, n)), arg.output("f32", (1, n)), n]
reference = volta.triton(kernels.softmax, *ARGS(40), grid=(1,), B=64, num_warps=1)
assert volta.verify(reference, args=ARGS, grid=lambda n, meta: (1,), sizes=[dict(n=40)])(kernels.tuned) is kernels.tuned
volta.verify(reference, args=ARGS, sizes=[dict(n=40)], constexprs=dict(B=64))(kernels.softmax_unmasked)
"""
    pytester.makepyfile(mykernels=text.format(tests=str(pytester._request.path.parent)), test_it="import mykernels\n")
    result = run(pytester, "-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(
        ["*softmax[[]n=40[]] PASSED*", "*softmax[[]n=40-config1[]] PASSED*", "*softmax_unmasked[[]n=40[]] FAILED*"]
    )
