"""Traced functions against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formulas import evaluate

import volta
from volta.trace import formula_of


def _in_place(x: Any) -> Any:
    y = x.copy()
    y[0] = 0
    y[:, 1] *= 2
    y[-1, ::-2] += x[0, :2]
    row = y[1]
    row[2] = 7.0
    y += 1
    y[y < 1.2] = 0
    y[[0, 2], [1, 3]] = 5.0
    return y + row


def _filled(x: Any) -> Any:
    y, z = np.empty_like(x), np.zeros(x.shape, dtype=np.float32)
    y[:] = x * 2
    for i in range(3):
        z[i] = x[i] * i
    np.multiply(y, z, out=y)
    return y + z[::-1]


def _loops(a: Any, b: Any) -> Any:
    c = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for k in range(3):
                c[i, j] += a[i, k] * b[k, j]
    return c


def _writes_its_input(x: Any) -> Any:
    y = x[1:]
    y[0] = 1.0
    return x


def _writes_a_view(x: Any) -> Any:
    y = x.copy()
    y.reshape(2, 2)[0] = 1.0
    return y


def _reads_an_old_view(x: Any) -> Any:
    y = x.copy()
    turned = y.reshape(2, 2).T
    y[1] = 5.0
    return turned


def _normal(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _rope(x: Any) -> Any:
    angle = np.arange(3)[:, None] / 10000 ** (np.arange(2) / 2)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def _bits(x: Any) -> Any:
    n = (x * 200 - 99).astype(np.int32)
    return (n >> 2) + (n & 15) + ~n + (n[:, None] >> np.array([0, 4]) & 3).sum(1)


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
    "in_place": (_in_place, ((3, 4),)),
    "filled": (_filled, ((3, 4),)),
    "loops": (_loops, ((2, 3), (3, 2))),
    "windows": (lambda x, w: np.array([np.sum(x[i : i + 3] * w) for i in range(4)]), ((6,), (3,))),
    "convolve": (lambda x, w: np.convolve(x, w)[:6] + np.convolve(x, w, "same") + np.correlate(x, w, "same"), ((6,), (3,))),
    "sliding": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).sum(-1) + x[2:], ((6,),)),
    "patches": (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(-2, -1)).sum((-2, -1)), ((2, 4, 5),)),
    "average": (lambda x: np.average(x, axis=0, weights=np.array([1.0, 2.0, 3.0])) + np.average(x), ((3, 4),)),
    "logs": (lambda x: np.logaddexp(x[:, 0], x[:, 1]) + np.logaddexp.reduce(x, axis=1), ((3, 4),)),
    "bounds": (lambda x: np.clip(x, 0.2, None) + x.clip(max=0.5) + np.fmax(x, 0.1), ((3, 4),)),
    "pads": (lambda x: np.pad(x, ((1, 1), (2, 0)), constant_values=3.0) + np.pad(x, 1), ((3, 4),)),
    "edges": (lambda x: np.pad(x, ((0, 0), (1, 1)), mode="edge") + np.pad(x, ((0, 0), (0, 2)), "reflect"), ((3, 4),)),
    "rolls": (lambda x: np.roll(x, (1, 2), axis=(0, 1)) + np.rot90(x, 2) + np.fliplr(x), ((3, 4),)),
    "running": (lambda x: np.cumprod(x, axis=1) + np.maximum.accumulate(x, axis=1), ((3, 4),)),
    "stacks": (lambda x, y: np.vstack([x, y])[:3] + np.hstack([x, y])[:, :4] + np.dstack([x, y])[:, :, 0], ((3, 4), (3, 4))),
    "columns": (lambda x, y: np.column_stack([x, y]) + np.append(x[:2], y[2:], axis=0)[:, None], ((3,), (3,))),
    "splits": (lambda x: np.split(x, 2, axis=1)[0] * np.array_split(x, 3, axis=1)[0] + np.hsplit(x, [2])[1], ((3, 4),)),
    "flat": (lambda x: x.flatten() + x.ravel() + np.ravel(x), ((3, 4),)),
    "outer": (lambda a, b: np.multiply.outer(a, b) + np.add.outer(a, b) + np.kron(a[:, None], b), ((3,), (4,))),
    "inner": (lambda a, b: np.inner(a, b) + np.vdot(a[0], b[0]) + np.tensordot(a, b, axes=([1], [1])), ((3, 4), (2, 4))),
    "dots": (lambda a, b: np.einsum("...k,kj->...j", a, b) + np.einsum("bik,kj", a, b, optimize=True), ((2, 3, 4), (4, 2))),
    "lengths": (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True) + np.linalg.norm(x) + np.linalg.norm(x[0], 3), ((3, 4),)),
    "diagonals": (lambda x: np.diag(np.diag(x)) @ x + np.trace(x) + np.eye(3) * x + np.tri(3) * x, ((3, 3),)),
    "takes": (lambda x: np.take(x, [2, 0], axis=0) + x.take([0, 1], axis=0) + x[[0, -1]], ((3, 4),)),
    "along": (lambda x: np.take_along_axis(x, np.array([[0], [1], [2]]), axis=1) + x[np.arange(3), [0, 1, 2]][:, None], ((3, 4),)),
    "columns_of": (lambda x: x[:, [0, -1]] + x[:, np.array([True, False, True, False])], ((3, 4),)),
    "one_hot": (lambda x: np.eye(4)[np.array([1, 0, 3])] * x + (np.arange(4) == x.argmax(1)[:, None]), ((3, 4),)),
    "causal": (lambda x: _normal(np.where(np.tri(3, dtype=bool), x @ x.T / np.sqrt(4), -np.inf)) @ x, ((3, 4),)),
    "rope": (_rope, ((3, 4),)),
    "inverse": (lambda x, y: np.hypot(x, y) + np.fmod(x, -y) + np.arcsinh(x) + np.arctanh(x * 0.5) + np.deg2rad(x), ((4,), (4,))),
    "rounds": (lambda x: np.round(x * 7) + np.around(x * 7, 1) + (x * 7).round() + np.trunc(x * 7) + np.fix(x * -7), ((4,),)),
    "finite": (lambda x: np.nan_to_num(x) + np.isfinite(x) + np.nansum(x) + np.nanmax(x) + np.nanmean(x), ((4,),)),
    "select": (lambda x: np.select([x < 0.3, x < 0.6], [x, x * 2], 0.5) + np.heaviside(x - 0.5, 0.5), ((4,),)),
    "counts": (lambda x: np.count_nonzero(x > 0.5, axis=1) + np.ptp(x, axis=1) + (x > 0.9).any(1, keepdims=True)[0], ((3, 4),)),
    "sorted": (lambda x: np.sort(x, axis=1) + np.median(x, axis=1, keepdims=True) + np.median(x), ((3, 4),)),
    "differences": (lambda x: np.diff(x, axis=0) + np.diff(x[:, :1], axis=0), ((3, 4),)),
    "grids": (lambda a, b: np.meshgrid(a, b)[0] * np.meshgrid(a, b)[1] + np.meshgrid(a, b, indexing="ij")[0].T, ((3,), (4,))),
    "rows": (lambda x: sum(r * 2 for r in x) + (lambda a, b, c: a + b * c)(*x) + np.array([x[0], x[1] * 2])[1], ((3, 4),)),
    "buckets": (lambda x: np.digitize(x, [0.2, 0.5]) + np.searchsorted(np.array([0.2, 0.5]), x), ((4,),)),
    "bits": (_bits, ((4,),)),
    "narrow": (lambda x: (x * 999).astype(np.int32).astype(np.int8) + (x * 9).astype(int).astype(np.uint8), ((4,),)),
    "quantized": (lambda x: np.clip(np.round(x * 127), -128, 127).astype(np.int8).astype(np.float32) / 127, ((4,),)),
    "each_row": (lambda x: np.apply_along_axis(lambda r: r / r.sum(), 1, x) + np.polyval([1.0, 2.0, 3.0], x), ((3, 4),)),
    "chains": (lambda a, b: np.linalg.multi_dot([a, b, b.T]) + np.delete(np.insert(a, 1, 0, axis=0), 1, axis=0), ((3, 4), (4, 4))),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_formula_is_what_numpy_computes(name: str) -> None:
    f, shapes = FUNCTIONS[name]
    random = np.random.default_rng(0)
    inputs = {n: random.uniform(0.1, 1.0, s) for n, s in zip("abcd", shapes)}
    expected = np.asarray(f(*inputs.values()), dtype=float)
    formula = volta.function(f, dict(zip("abcd", shapes)))
    np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, inputs), expected, rtol=1e-6)


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
        (lambda x: np.partition(x, 2), "partition"),
        (lambda x: np.median(np.tile(x, 20)), "order"),
        (lambda x: x[x > 0.5], "mask"),
        (lambda x: np.vectorize(lambda v: v * 2)(x), "no values"),
        (_writes_its_input, "one of its inputs"),
        (_writes_a_view, "view"),
        (_reads_an_old_view, "view"),
        (lambda x: np.linalg.norm(x.reshape(2, 2), 2), "norm"),
        (lambda x: np.fft.fft(x), "fft"),
        (lambda x: np.arctan(x), "numpy.arctan: .* compare with another kernel"),
        (lambda x: np.arctan2(x, x), "inverse of a tangent"),
        (lambda x: np.arcsin(x), "inverse of a sine"),
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
