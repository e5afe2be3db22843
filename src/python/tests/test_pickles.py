"""Every answer and every error can be pickled and copied, and says the same after it."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import HEAD, THRICE, TWICE, scale

import volta
from volta import answers, arg, errors, results
from volta.host import compiler

RACY = (
    HEAD
    + """.visible .entry k(.param .u64 x, .param .u64 y) {
    .reg .u64 %rd<2>; .reg .u32 %r<2>;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret;
}
"""
)


def _xy() -> list[arg.Array]:
    return [arg.input("f32", (8,)).named("x"), arg.output("f32", (8,)).named("y")]


def _check(optimized: str, reference: Any = TWICE, **more: Any) -> volta.Result:
    return volta.check(reference, optimized, args=_xy(), block=8, **more)


def _prepared(candidate: str) -> volta.Result:
    return next(iter(volta.prepare(TWICE, args=_xy(), block=8).check_many([candidate])))[1]


ANSWERS: dict[str, Callable[[], Any]] = {
    "equivalent": lambda: _check(TWICE),
    "not equivalent": lambda: _check(THRICE),
    "a formula": lambda: _check(THRICE, volta.formula("y[i] = x[i] * 2")),
    "a function": lambda: _check(THRICE, lambda x: x * 2),
    "a grid that is a function": lambda: volta.check(
        TWICE, TWICE, args=lambda n: _xy(), grid=lambda n: 1, block=8, sizes=[{"n": 8}, {"n": 9}]
    ),
    "rounding": lambda: _check(TWICE, rounding=True),
    "bits": lambda: _check(THRICE, bits=True),
    "unknown": lambda: _check(TWICE, timeout=0),
    "defective": lambda: volta.race(RACY, args=_xy(), block=8),
    "any": lambda: volta.race(TWICE, args=_xy(), any=True),
    "a candidate": lambda: _prepared(THRICE),
    "no candidate": lambda: _prepared("nonsense\n"),
    "a sequence": lambda: volta.check([volta.ptx(TWICE).launch(*_xy(), block=8)], [volta.ptx(THRICE).launch(*_xy(), block=8)]),
    "slack": lambda: volta.slack(TWICE.replace("mov.u32 %r1", "bar.sync 0; mov.u32 %r1"), args=_xy(), block=8),
    "lift": lambda: volta.lift(TWICE, args=_xy(), block=8),
    "rows": lambda: volta.rows(TWICE, "y[i] of x[i]", args=_xy(), block=8),
    "classes": lambda: volta.classes([TWICE, THRICE, scale("0f40000000", "other")], args=_xy(), block=8),
    "a kernel": lambda: volta.ptx(TWICE).launch(arg.known(np.arange(8.0)), arg.output("f32", 8), grid=1, block=8),
    "a reference": lambda: volta.prepare(TWICE, args=_xy(), block=8).reference,
}


def _looks(value: Any) -> Any:
    """What a value says of itself."""
    if not isinstance(value, results.Result):
        return repr(value)
    named = [n for n, m in inspect.getmembers(type(value)) if isinstance(m, property)]
    return [type(value), repr(value), str(value), *(repr(getattr(value, n)) for n in sorted(named) if n != "counterexample")]


def _copies(value: Any) -> list[Any]:
    pickled = [pickle.loads(pickle.dumps(value, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
    return [*pickled, copy.copy(value), copy.deepcopy(value)]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_the_same_in_a_copy(name: str) -> None:
    value = ANSWERS[name]()
    parts = [value]
    if isinstance(value, results.Result):
        parts += [*value.defects, *value.warnings, *value.unknown, *value.rounding]
        for list_of in ("sync", "outputs", "classes"):
            parts += getattr(value, list_of, [])
        parts += [p for p in (value.counterexample, getattr(value, "example", None)) if p is not None]
    for part in parts:
        for other in _copies(part):
            assert _looks(other) == _looks(part)


def test_a_copy_can_be_replayed() -> None:
    first = _check(THRICE).counterexample
    assert first is not None
    here = first.replay()
    for other in _copies(first):
        again = other.replay()
        assert np.array_equal(again.reference["y"], here.reference["y"])  # type: ignore[index]
        assert np.array_equal(again.optimized["y"], here.optimized["y"])
        for found in _copies(again):
            assert np.array_equal(found.optimized["y"], here.optimized["y"])


def test_a_prepared_reference_is_prepared_again_in_a_copy() -> None:
    prepared = volta.prepare(TWICE, args=_xy(), block=8)
    for other in _copies(prepared):
        assert other.check(TWICE).ok


def _types(module: Any, kind: type) -> list[type]:
    found = (t for _, t in inspect.getmembers(module, inspect.isclass) if t.__module__ == module.__name__)
    return [t for t in found if issubclass(t, kind)]


def test_every_type_of_an_answer_is_tried() -> None:
    """A type of answers that is new is met by the answers above, or is made here."""
    seen: set[type] = set()

    def note(value: Any, depth: int = 0) -> None:
        seen.add(type(value))
        for v in value if isinstance(value, (list, tuple)) else ():
            note(v, depth + 1)
        if type(value).__module__ in (results.__name__, answers.__name__) and depth < 6:
            named = [n for n in dir(value) if not n.startswith("_") and n not in ("replay", "reward")]
            for n in named:
                found = getattr(value, n)
                if not callable(found):
                    note(found, depth + 1)

    for ask in ANSWERS.values():
        note(ask())
    example = _check(THRICE).counterexample
    assert example is not None
    note(example.replay())
    made = answers.RowExample(1, 2, {"n": 3}, (1,), (8,), results.Site("k.ptx", 1, "ret;", ((0, 0, 0),), ("k.cu", 2)))
    assert _copies(made) == [made] * len(_copies(made))
    seen.add(type(made))
    missing = {t for m in (results, answers) for t in _types(m, object)} - seen
    assert not missing


def test_an_error_is_the_same_in_a_copy() -> None:
    made: list[Exception] = [t("it \x1b is wrong") for t in _types(errors, errors.Error)]
    made += [errors.InputError("it", {"kind": "syntax", "sites": [1]}), compiler.Failed("compile", "it")]
    with pytest.raises(volta.InputError) as e:
        _check(HEAD + "nonsense\n")
    made.append(e.value)
    for error in made:
        for other in _copies(error):
            assert (type(other), str(other), other.__dict__) == (type(error), str(error), error.__dict__)
            assert "\x1b" not in str(other)


def _fails(_: int) -> None:
    _check(HEAD + "nonsense\n")


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_answers_come_from_other_processes(how: str) -> None:
    with multiprocessing.get_context(how).Pool(2) as pool:
        found = pool.map(_check, [TWICE, THRICE])
        assert [r.verdict for r in found] == ["equivalent", "not-equivalent"]
        example = found[1].counterexample
        assert example is not None
        assert example.replay().optimized["y"].shape == (8,)
        with pytest.raises(volta.InputError, match="nonsense"):
            pool.map(_fails, [0])
