"""Warnings about Triton kernels whose cause PTX does not show."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import volta
from volta import arg

triton = pytest.importorskip("triton")

import linted_kernels_under_test as kernels  # noqa: E402

X, Y = arg.input("f32", 4096), arg.output("f32", 4096)
INOUT = arg.inout("f32", 64)
FILE = Path(kernels.__file__).name


def _kernel(function: Any, *args: Any, **more: Any) -> volta.Kernel:
    return volta.triton(function, *(args or (X, Y, 20)), grid=(1,), num_warps=1, **more)


def _name(function: Any) -> str:
    return str(function.__name__)


@pytest.mark.parametrize("function", kernels.WARNED, ids=_name)
def test_lanes_without_a_value_that_are_taken_in(function: Any) -> None:
    (lint,) = _kernel(function, B=32).lints
    lines, first = inspect.getsourcelines(function.fn)
    (taker,) = [first + i for i, line in enumerate(lines) if "# takes" in line]
    assert lint["kind"] == "masked-load-without-other"
    assert f"in line {taker} takes them in" in lint["message"]
    assert Path(lint["sites"][0]["file"]).name == FILE
    assert "tl.load(" in lint["sites"][0]["text"]
    assert lint["sites"][-1]["line"] == taker


@pytest.mark.parametrize("function", kernels.QUIET, ids=_name)
def test_lanes_without_a_value_that_stay_out(function: Any) -> None:
    assert _kernel(function, B=32).lints == ()


@pytest.mark.parametrize(
    ("function", "args", "changed"),
    [
        (kernels.tuned(kernels.scaled_in_place), (INOUT, 64), "x"),
        (kernels.tuned(kernels.counted), (X, INOUT, 64), "y"),
        (kernels.tuned(kernels.counted, restore_value=["x"]), (X, INOUT, 64), "y"),
    ],
)
def test_a_tuner_that_spoils_its_data(function: Any, args: Any, changed: str) -> None:
    (lint,) = _kernel(function, *args).lints
    assert lint["kind"] == "autotune-in-place"
    assert f"reads and writes `{changed}`" in lint["message"]
    assert f'restore_value=["{changed}"]' in lint["hint"]
    assert Path(lint["sites"][0]["file"]).name == FILE


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (kernels.tuned(kernels.scaled_in_place, restore_value=["x"]), (INOUT, 64)),
        (kernels.tuned(kernels.counted, reset_to_zero=["y"]), (X, INOUT, 64)),
        (kernels.tuned(kernels.counted, pre_hook=lambda *_, **__: None), (X, INOUT, 64)),
        (kernels.tuned(kernels.scaled_in_place, kernels.CONFIGS[:1]), (INOUT, 64)),
        (kernels.tuned(kernels.copied), (X, Y, 64)),
    ],
)
def test_a_tuner_that_does_not(function: Any, args: Any) -> None:
    assert _kernel(function, *args).lints == ()


def _row(n: int = 20) -> list[object]:
    return [arg.input("f32", n), arg.output("f32", 1), n]


def _summed(x: Any) -> Any:
    return (x * x).sum(0, keepdims=True)


def test_they_are_warnings_of_every_question() -> None:
    launch = kernels.total[(1,)]
    answers = [
        volta.race(launch, *_row(), B=32),
        volta.slack(launch, *_row(), B=32),
        volta.check(_summed, launch, *_row(), B=32),
        volta.check(_kernel(kernels.total, *_row(), B=32), kernels.total[(1,)], *_row(), B=32),
        volta.classes(kernels.total[(1,)], *_row(), configs=kernels.CONFIGS),
        volta.prepare(_summed, *_row(), B=32).judge(launch, timeout=60),
        volta.race([_kernel(kernels.total, *_row(), B=32)]),
    ]
    for r in answers:
        found = [w for w in r.warnings if w.kind == "masked-load-without-other"]
        assert found, r
        assert FILE in str(found[0])
        assert "tl.where" in str(found[0].hint)
        assert "warning[masked-load-without-other]" in str(r)
        assert "v = tl.load(x + i, mask=i < n)" in str(r)
        assert not r.denied


def test_they_change_no_verdict_and_can_be_denied() -> None:
    launch = kernels.total[(1,)]
    plain = volta.race(launch, *_row(), B=32)
    for deny in (["masked-load-without-other"], ["warnings"], ["masked-load-without-other", "narrower"]):
        r = volta.race(launch, *_row(), B=32, deny=deny)
        assert r.verdict == plain.verdict
        assert "masked-load-without-other" in r.denied
        assert not r.ok
    assert volta.race(launch, *_row(), B=32, deny=["autotune-in-place"]).denied == []
    r = volta.check(lambda x: x, kernels.unmasked_store[(1,)], X, Y, 4096, B=32, deny=["masked-load-without-other"])
    assert r.denied == ["masked-load-without-other"]
    with pytest.raises(volta.InputError, match="not a kind"):
        volta.race(launch, *_row(), B=32, deny=["masked-load"])


def test_they_are_explained() -> None:
    for kind in ("masked-load-without-other", "autotune-in-place"):
        assert kind in volta.explain(kind)
