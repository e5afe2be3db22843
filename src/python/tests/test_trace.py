"""Traced functions against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formulas import evaluate

import volta
from volta.trace import formula_of

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "axpy": (lambda x, y: 2.5 * x + y, ((5,), (5,))),
    "broadcast": (lambda x, y: x - y[:, None] + y[None] * 1e-5, ((3, 3), (3,))),
    "softmax": (
        lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
        ((3, 5),),
    ),
    "layernorm": (
        lambda x, w: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w,
        ((3, 4), (4,)),
    ),
    "matmul": (lambda a, b: np.maximum(a @ b, 0), ((3, 4), (4, 2))),
    "batched": (lambda a, b: a @ b, ((2, 3, 4), (4, 2))),
    "vectors": (lambda a, b: (a @ b) * a, ((4,), (4,))),
    "einsum": (lambda a, b: np.einsum("bij,bkj->bik", a, b), ((2, 3, 4), (2, 2, 4))),
    "attention": (
        lambda q, k, v: (
            (lambda s: np.exp(s - s.max(1, keepdims=True)) / np.exp(s - s.max(1, keepdims=True)).sum(1, keepdims=True))(
                q @ k.T / 2.0
            )
            @ v
        ),
        ((3, 4), (5, 4), (5, 2)),
    ),
    "slices": (lambda x: x[1:, ::2] + x[:-1, ::-1][:, :3], ((4, 6),)),
    "negative": (lambda x: x[-1] - x[..., -2, :], ((3, 4),)),
    "where": (lambda x: np.where((x > 0.5) & (x < 0.8), x, -x), ((4, 3),)),
    "masks": (lambda x: (x > 0.5) * x + ~(x > 0.5), ((6,),)),
    "count": (lambda x: (x > 0.5).sum(0) + 0.5, ((4, 3),)),
    "concatenate": (lambda a, b: np.concatenate([a, b, a], axis=1), ((2, 3), (2, 1))),
    "stack": (lambda a, b: np.stack([a, b], axis=-1), ((2, 3), (2, 3))),
    "reshape": (lambda x: x.reshape(3, 2, 4).transpose(2, 0, 1) * 2, ((6, 4),)),
    "pool": (lambda x: x.reshape(2, 3, 2).mean(-1), ((2, 6),)),
    "argmax": (lambda x: np.argmax(x, axis=1), ((3, 5),)),
    "cumsum": (lambda x: np.cumsum(x, axis=-1), ((2, 5),)),
    "gelu": (lambda x: 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3))), ((5,),)),
    "silu": (lambda x: x / (1 + np.exp(-x)), ((5,),)),
    "power": (lambda x: (-x) ** 2 - x**-1 + x**0.5, ((5,),)),
    "signs": (lambda x: -x - -x * -2 - (-(x**2)), ((5,),)),
    "clip": (lambda x: np.clip(x, 0.25, 0.75), ((5,),)),
    "axes": (lambda x: np.sum(x, axis=(0, 2)) + np.prod(x[0], axis=1), ((2, 3, 4),)),
    "whole": (lambda x: x / np.sqrt(np.sum(x * x)), ((2, 3),)),
    "constants": (lambda x: x * np.array([1.0, -2.0, 0.5]), ((2, 3),)),
    "casts": (lambda x: x.astype(np.float64) + 1, ((3,),)),
    "squeeze": (lambda x: np.squeeze(np.expand_dims(x, 0), 0) + np.zeros_like(x), ((3,),)),
    "deviation": (lambda x: np.std(x, axis=1, ddof=1) + x.std(1), ((3, 4),)),
    "truncation": (lambda x: (x * 9 - 4).astype(np.int32) + np.floor(x * 9) // 2 + np.rint(x * 5), ((5,),)),
    "integers": (lambda x: x + (x.argmax(0) + 7) // 2 % 3, ((5,),)),
    "any": (lambda x: (x > 0.9).any(1) | np.all(x > 0.1, axis=1), ((5, 3),)),
    "tiles": (lambda x: np.tile(x, (2, 2)) + np.repeat(np.repeat(x, 2, 0), 2, axis=1), ((2, 3),)),
    "triangles": (lambda x: np.tril(x) + np.triu(x, 1) * 2 + np.diagonal(x)[None], ((3, 3),)),
    "turned": (lambda x: np.flip(x, 0) + np.roll(x, 1, axis=1) + np.roll(x, -2) + x.copy(), ((3, 4),)),
    "moved": (lambda x: np.moveaxis(x, 0, 2) + np.outer(x[0, 0], x[0, 1])[0, 0], ((2, 3, 4),)),
    "grows": (lambda x: (lambda y: y * y + y)((lambda y: y * y + y)((lambda y: y * y + y)(x * x + x))), ((3,),)),
    "scalar": (lambda x: np.max(np.abs(x)), ((3, 2),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_formula_is_what_numpy_computes(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    random = np.random.default_rng(0)
    inputs = {n: random.uniform(0.1, 1.0, s) for n, s in zip("abcd", shapes)}
    expected = np.asarray(f(*inputs.values()), dtype=float)
    formula = volta.function(f, dict(zip("abcd", shapes)))
    np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, inputs), expected, rtol=1e-9)


def test_several_outputs() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(0.1, 1.0, (3, 4))
    formula = volta.function(lambda x: (x.sum(1), x.max(0)), {"x": (3, 4)})
    np.testing.assert_allclose(evaluate(formula.text, "y0", (3,), {"x": x}), x.sum(1))
    np.testing.assert_allclose(evaluate(formula.text, "y1", (4,), {"x": x}), x.max(0))


def test_gather() -> None:
    table, at = np.arange(12.0).reshape(4, 3), np.array([2, 0, 2])
    shapes = {"t": volta.arg.input("f32", (4, 3)), "i": volta.arg.input("s32", (3,))}
    formula = volta.function(lambda t, i: t[i], shapes)
    np.testing.assert_allclose(evaluate(formula.text, "y", (3, 3), {"t": table, "i": at}), table[at])


@pytest.mark.parametrize(
    ("f", "needle"),
    [
        (lambda x: np.sort(x), "sort"),
        (lambda x: np.fft.fft(x), "fft"),
        (lambda x: np.arctan(x), "arctan"),
        (lambda x: x if x[0] > 0 else -x, "branch"),
        (lambda x: float(x[0]), "float"),
        (lambda x: np.power(x, x), "power"),
        (lambda x: x * float("nan"), "NaN"),
        (lambda x: x[7], "7"),
        (lambda x: x + np.ones(3), "broadcast"),
        (lambda x: np.max(x, initial=0), "max"),
        (lambda x: np.sum(x, where=x > 0), "sum"),
        (lambda x: np.add(x, x, where=np.ones(4, bool)), "add"),
        (lambda x: x.astype(complex), "cast"),
        (lambda x: x.partition(2), "partition"),
        (lambda x: np.argmax(x) / 2, "quotient"),
    ],
)
def test_what_is_not_covered_names_itself(f: Callable[..., Any], needle: str) -> None:
    with pytest.raises(volta.InputError, match=needle):
        volta.function(f, {"x": (4,)})


def test_names_that_the_grammar_reserves() -> None:
    formula = volta.function(lambda x: x + 1, {"max": (2,)})
    assert "`max`[" in formula.text
    formula = volta.function(lambda x: x.sum() + x, {"t0": (2,)})
    np.testing.assert_allclose(evaluate(formula.text, "y", (2,), {"t0": np.array([1.0, 2.0])}), [4.0, 5.0])


def test_strides_are_those_of_the_memory() -> None:
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    row = np.broadcast_to(np.arange(1.0, 5.0, dtype=np.float32), (3, 4))
    formula = volta.function(lambda a, b: a + b, {"a": x.T, "b": row.T})
    values = {"a": x.ravel(), "b": np.arange(1.0, 5.0, dtype=np.float32)}
    np.testing.assert_allclose(evaluate(formula.text, "y", (4, 3), values), x.T + row.T)
    transposed = volta.arg.array(np.zeros((3, 4), np.float32).T)
    formula = formula_of(lambda a: a * 2, {"a": volta.arg.array(x.T)}, {"y": transposed})
    np.testing.assert_allclose(evaluate(formula.text, "y", (12,), values), 2 * x.ravel())
    with pytest.raises(volta.InputError, match="gaps"):
        formula_of(lambda a: a, {"a": volta.arg.array(x[:, ::2])}, {"y": volta.arg.array(x[:, ::2])})
