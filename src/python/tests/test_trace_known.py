"""What a traced function knows, what it must not take for known, and arrays that nobody could hold."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formulas import evaluate
from numpy.random import rand

import volta
from volta import arg

GENERATOR, LEGACY, PYTHON = np.random.default_rng(0), np.random.RandomState(1), random.Random(2)
KNOWN = np.random.default_rng(3).normal(size=300)
MANY = 10**6


class _Noise:
    def __init__(self) -> None:
        self.source = np.random.default_rng(4)

    def __call__(self, x: Any) -> Any:
        return np.abs(x) + self.source.normal(size=4)


def _imports(x: Any) -> Any:
    from numpy import random as drawn

    return x + drawn.rand(4)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.random.rand(4),
        lambda x: x + np.random.default_rng(0).normal(size=4),
        lambda x: np.random.permutation(x),
        lambda x: np.abs(x) + GENERATOR.normal(size=4),
        lambda x: np.abs(x) + GENERATOR.integers(2),
        lambda x: np.abs(x) + LEGACY.randn(4),
        lambda x: np.abs(x) + PYTHON.random(),
        lambda x: np.abs(x) + (0 if random.random() < 2 else 1),
        lambda x: np.abs(x) + rand(4),
        lambda x: (lambda y: np.abs(y) + GENERATOR.normal())(x),
        _Noise(),
        _imports,
    ],
)
def test_numbers_that_are_drawn_while_a_function_is_traced_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(volta.InputError, match="draws random numbers"):
        volta.function(f, {"x": (4,)})


def test_a_clock_is_no_number() -> None:
    with pytest.raises(volta.InputError, match="traced again"):
        volta.function(lambda x: np.abs(x) * time.time(), {"x": (4,)})


def test_numpy_is_itself_again_after_a_trace() -> None:
    volta.function(lambda x: x + np.zeros(4), {"x": (4,)})
    assert type(np) is type(random)
    assert isinstance(np.zeros(2), np.ndarray)
    assert np.random.rand(2).shape == (2,)


@pytest.mark.parametrize("size", [3, 65, 300])
def test_known_numbers_without_a_rule_are_choices_that_halve(size: int) -> None:
    formula = volta.function(lambda x: np.exp(x) * KNOWN[:size], {"x": (size,)})
    x = np.random.default_rng(5).uniform(0, 1, size)
    np.testing.assert_allclose(evaluate(formula.text, "y", (size,), {"x": x}), np.exp(x) * KNOWN[:size])


def test_known_places_without_a_rule() -> None:
    order, x = np.random.default_rng(6).permutation(200), np.random.default_rng(7).normal(size=(200, 2))
    formula = volta.function(lambda x: x[order] + x[::-1][order], {"x": (200, 2)})
    np.testing.assert_allclose(evaluate(formula.text, "y", (200, 2), {"x": x}), x[order] + x[::-1][order])


def test_a_write_at_many_known_places() -> None:
    order, x = np.random.default_rng(8).permutation(200)[:150], np.random.default_rng(9).normal(size=200)

    def f(x: Any) -> Any:
        y = x.copy()
        y[order] = x[:150] * 2
        return y

    formula = volta.function(f, {"x": (200,)})
    np.testing.assert_allclose(evaluate(formula.text, "y", (200,), {"x": x}), f(x))


def test_a_table_that_no_formula_holds_says_what_to_do() -> None:
    with pytest.raises(volta.InputError, match="make it an argument"):
        volta.function(lambda x: x * np.sin(np.arange(20000.0)), {"x": (20000,)})


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + x.T,
        lambda x: x.sum(1),
        lambda x: x @ x,
        lambda x: np.pad(x, 3, mode="reflect"),
        lambda x: np.roll(x, 1, axis=0) + np.tril(x) + np.where(x > 0, x, 0),
        lambda x: np.concatenate([x, x[::-1]], 1).reshape(-1, 4 * MANY),
        lambda x: np.repeat(np.tile(x[0], (2, 1)), 3, axis=1),
        lambda x: np.zeros((MANY, MANY)) + np.ones((MANY, MANY)) + np.eye(MANY) * x,
        lambda x: np.take(x, [5, 3], axis=0) + x[[1, 2]],
        lambda x: np.add.outer(x[0], x[1]) + np.broadcast_to(x[2], (MANY, MANY)),
        lambda x: np.stack([x, x.astype(np.float64)]).std(0),
    ],
)
def test_arrays_that_nobody_could_hold_cost_nothing(f: Callable[..., Any]) -> None:
    start = time.process_time()
    formula = volta.function(f, {"x": arg.input("f32", (MANY, MANY))})
    assert len(formula.text) < 1000
    assert time.process_time() - start < 5


def _again(count: int, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(count):
            x = step(x)
        return x

    return f


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (_again(100, lambda x: np.roll(x, 1)), "f64"),
        (_again(100, lambda x: x[::-1]), "f64"),
        (_again(60, lambda x: x.reshape(4, 2).T.reshape(8)), "f64"),
        (_again(40, lambda x: np.concatenate([x[4:], x[:4]])), "f64"),
        (_again(40, lambda x: np.pad(x, 1, mode="edge")[1:-1]), "f64"),
        (_again(40, lambda x: x[[1, 2, 3, 5, 4, 6, 7, 0]]), "f64"),
        (_again(20, lambda x: np.concatenate([x[::2] + x[1::2], x[::2] - x[1::2]]) / 2), "f64"),
        (_again(500, lambda x: x + 1), "f64"),
        (_again(30, lambda x: x * 2 + 1), "s32"),
        (_again(4, lambda x: (x << 1) ^ (x >> 3)), "u32"),
        (lambda x: np.array([x[i % 8] * i for i in range(300)]), "f64"),
        (lambda x: np.select([x < i / 8 for i in range(100)], [x * i for i in range(100)], x), "f64"),
    ],
)
def test_long_functions_have_formulas_that_the_program_reads(f: Callable[..., Any], kind: str) -> None:
    x = (np.arange(8) * 3 % 8 / 4 - 0.6) if kind == "f64" else (np.arange(8) * 37 - 20).astype(arg.numpy_type(kind))
    formula, expected = volta.function(f, {"x": arg.input(kind, (8,))}), f(x)
    np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, {"x": x}), expected.astype(float), rtol=1e-6)
