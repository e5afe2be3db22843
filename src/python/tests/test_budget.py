"""Units of work: they reach the program with each question, and what was used comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import ENDLESS, TWICE

import volta
from volta import arg, server

ARGS = {"x": arg.input("f32", 4), "y": arg.output("f32", 4)}
LAUNCH: dict[str, Any] = {"args": ARGS, "block": 4}
TWO = volta.ptx(TWICE)

QUESTIONS: dict[str, Callable[[], object]] = {
    "check": lambda: volta.check(TWO, TWO, **LAUNCH, budget=1000),
    "check at sizes": lambda: volta.check(TWO, TWO, **LAUNCH, sizes=[{}], budget=1000),
    "check of a function": lambda: volta.check(lambda x: x * 2, TWO, **LAUNCH, budget=1000),
    "check of launches": lambda: volta.check(*[[TWO.launch(*ARGS.values(), block=4)]] * 2, budget=1000),
    "race": lambda: volta.race(TWO, **LAUNCH, budget=1000),
    "race of launches": lambda: volta.race([TWO.launch(*ARGS.values(), block=4)], budget=1000),
    "slack": lambda: volta.slack(TWO, **LAUNCH, budget=1000),
    "lift": lambda: volta.lift(TWO, **LAUNCH, budget=1000),
    "rows": lambda: volta.rows(TWO, "y[i] of x[i]", **LAUNCH, budget=1000),
    "classes": lambda: volta.classes([TWO, TWO], **LAUNCH, budget=1000),
    "prepared": lambda: volta.prepare(TWO, **LAUNCH).check(TWO, budget=1000),
    "many": lambda: next(volta.prepare(TWO, **LAUNCH).check_many([TWO], budget=1000)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_it_is_asked_with_each_question(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    submit = server.Server.submit

    def noted(self: server.Server, request: Any) -> Any:
        asked.append(request)
        return submit(self, {k: v for k, v in request.items() if k != "budget"})

    monkeypatch.setattr(server.Server, "submit", noted)
    QUESTIONS[name]()
    questions = [r for r in asked if r["op"] not in ("prepare", "version")]
    assert questions
    assert all(r["budget"] == 1000 and "timeout" not in r for r in questions)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "3", 2**64])
def test_it_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(volta.InputError, match="a budget is a whole number of units of work"):
        volta.check(TWO, TWO, **LAUNCH, budget=wrong)


def test_work_is_read() -> None:
    assert volta.Result("clean", {"stats": {"work": 7}}, "").work == 7
    assert volta.Result("clean", {"stats": {}}, "").work is None


def test_work_is_the_same_and_bounded() -> None:
    first = volta.check(TWO, TWO, **LAUNCH)
    if first.work is None:
        pytest.skip("the program does not count its work")
    assert first.work == volta.check(TWO, TWO, **LAUNCH).work
    r = volta.check(TWO, volta.ptx(ENDLESS), **LAUNCH, budget=1000)
    assert (r.verdict, r.category, r.reward) == ("unknown", "limit", None)
    results = [r for _, r in volta.prepare(TWO, **LAUNCH).check_many([TWO, volta.ptx(ENDLESS)], budget=100_000, jobs=2)]
    assert sorted(str(r.reward) for r in results) == ["1.0", "None"]
