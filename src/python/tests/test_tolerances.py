"""The line for a test that `rounding=True` gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from conftest import THRICE, TWICE

import volta
from volta import arg
from volta.tolerances import tolerances

SUMS = """
extern "C" __global__ void forwards(const float* x, float* y) {
    float s = 0;
    for (int i = 0; i < 64; i++) s += x[i];
    y[0] = s;
}
extern "C" __global__ void halves(const float* x, float* y) {
    float s = 0, t = 0;
    for (int i = 0; i < 32; i++) { s += x[2 * i]; t += x[2 * i + 1]; }
    y[0] = s + t;
}
"""
ARGS = [arg.input("f32", 64), arg.output("f32", 1)]


def _kind(least_rtol: float | None, least_atol: float | None, name: str = "normal") -> dict[str, Any]:
    close = {"rtol": 1e-3, "atol": 1e-5, "least_rtol": least_rtol, "least_atol": least_atol}
    return {"name": name, "close": close, "errors": {}}


def _of(*kinds: dict[str, Any], type: str = "f16") -> Any:
    return tolerances([{"name": "y", "type": type, "inputs": list(kinds)}])


def test_the_defaults_stay_where_they_pass_with_room() -> None:
    assert _of(_kind(0.0, 0.0)) == (1e-3, 1e-5)
    assert _of(_kind(4e-4, 1.0)) == (1e-3, 1e-5)


def test_the_smaller_factor_is_taken() -> None:
    assert _of(_kind(0.5, 2e-5)) == (1e-3, 4e-5)
    assert _of(_kind(1.11e-3, 0.25)) == (2.3e-3, 1e-5)
    assert _of(_kind(None, 2e-5)) == (1e-3, 4e-5)
    assert _of(_kind(2e-3, None)) == (4e-3, 1e-5)


def test_the_worst_of_the_inputs_that_tests_draw_counts() -> None:
    assert _of(_kind(0.0, 0.0), _kind(2e-3, 9.0, "uniform"), _kind(0.9, 0.9, "cancelling")) == (4e-3, 1e-5)
    both = [{"name": n, "type": "f16", "inputs": [_kind(r, a)]} for n, r, a in (("y", 2e-3, 9.0), ("z", 0.9, 2e-5))]
    assert tolerances(both) == (4e-3, 4e-5)


def test_beside_a_formula_its_errors_count() -> None:
    def errors(relative: float, absolute: float, nans: int = 0) -> dict[str, Any]:
        spread = {"relative": relative, "absolute": absolute, "overflows": 0, "nans": nans}
        return {"name": "normal", "close": None, "errors": {"optimized": spread}}

    assert _of(errors(0.1, 1e-4), type="f32") == (1.3e-6, 2e-4)
    assert _of(errors(2.6e-6, 1.0), type="f32") == (5.2e-6, 1e-5)
    assert "infinite or NaN" in _of(errors(0.1, 1e-4, nans=1), type="f32")
    assert _of(errors(0.1, 0.25), type="e4m3") == (0.0, 0.5)


def test_there_may_be_none() -> None:
    assert "infinite or NaN" in _of(_kind(None, None))
    assert "not measured on inputs as tests draw them" in _of(_kind(0.0, 0.0, "searched"))
    assert "no output of a float type" in tolerances([])


@pytest.mark.parametrize("reference", [volta.cuda(SUMS, entry="forwards"), lambda x: x.sum(0, keepdims=True)])
def test_the_line_passes(reference: Any) -> None:
    halves = volta.cuda(SUMS, entry="halves")
    r = volta.check(reference, halves, args=ARGS, block=1, rounding=True)
    assert r.assert_close_missing is None
    line = re.fullmatch(r"torch\.testing\.assert_close\(actual, expected, rtol=(\S+), atol=(\S+)\)", str(r.assert_close))
    assert line is not None
    rtol, atol = float(line[1]), float(line[2])
    assert 1.3e-6 <= rtol < 1e-4
    assert 1e-5 <= atol < 1e-4
    for seed in range(8):
        x = np.random.default_rng(seed).normal(size=64).astype(np.float32)
        y = volta.run(halves, x, arg.output("f32", 1), block=1)
        np.testing.assert_allclose(y, x.astype(np.float64).sum(keepdims=True), rtol, atol)


def test_it_says_why_there_is_none(xy: list[arg.Array]) -> None:
    r = volta.check(TWICE, TWICE, args=xy, block=8)
    assert r.assert_close is None
    assert r.assert_close_missing == "rounding was not measured: ask with check(..., rounding=True)"
    r = volta.check(TWICE, THRICE, args=xy, block=8, rounding=True)
    assert r.assert_close is None
    assert "the verdict is not-equivalent" in str(r.assert_close_missing)
