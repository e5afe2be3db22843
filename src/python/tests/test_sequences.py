"""Lists of launches that share arrays."""

from __future__ import annotations

import pytest
from conftest import scale

import volta

N = 8
X = volta.arg.input("f32", (N,)).named("x")
Y = volta.arg.output("f32", (N,)).named("y")
T = volta.arg.scratch("f32", (N,))


def launch(factor: str, *args: object) -> volta.Kernel:
    return volta.ptx(scale(factor)).launch(*args, block=N)


TWICE, SIX = "0f40000000", "0f40C00000"
THRICE = "0f40400000"


def test_two_launches_are_one() -> None:
    two = [launch(TWICE, X, T), launch(THRICE, T, Y)]
    assert volta.check(two, launch(SIX, X, Y)).ok
    assert volta.check(launch(SIX, X, Y), two).ok
    assert volta.check(volta.formula("y[i] = 6*x[i]"), two).ok
    assert volta.race(two).ok


def test_a_wrong_order_names_the_launch() -> None:
    r = volta.check([launch(THRICE, T, Y), launch(TWICE, X, T)], launch(SIX, X, Y))
    assert r.verdict == "defective"
    assert r.report["defects"][0]["sites"][0]["launch"] == 0
    wrong = volta.check([launch(TWICE, X, T), launch(TWICE, T, Y)], launch(SIX, X, Y))
    assert wrong.verdict == "not-equivalent"
    assert "launch 1 of the reference" in wrong.report["counterexample"]["message"]


def test_what_is_no_sequence_is_an_input_error() -> None:
    for wrong in ([], [volta.ptx(scale(TWICE))], [volta.formula("y[i] = x[i]")]):
        with pytest.raises(volta.InputError):
            volta.check(wrong, launch(SIX, X, Y))
    with pytest.raises(volta.InputError, match="its own arguments"):
        volta.check([launch(SIX, X, Y)], launch(SIX, X, Y), block=N)
