"""Modules of torch and functions on integers, as references of kernels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from formulas import evaluate
from torch import nn

import volta
from volta import arg


class Block(nn.Module):
    """A layer of a transformer, as people write one."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.qkv = nn.Linear(4, 12, bias=False)
        self.out = nn.Linear(4, 4)
        self.ffn = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Dropout(0.1), nn.Linear(6, 4))
        self.register_buffer("mask", torch.tril(torch.ones(3, 3)).view(1, 1, 3, 3))

    def forward(self, x: Any) -> Any:
        b, t, c = x.size()
        q, k, v = (s.view(b, t, 2, c // 2).transpose(1, 2) for s in self.qkv(self.norm(x)).split(c, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
        att = F.softmax(att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        x = x + self.out((att @ v).transpose(1, 2).contiguous().view(b, t, c))
        return x + self.ffn(x)


class Recurrent(nn.Module):
    """A recurrent cell, and batch normalisation in training."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: Any) -> Any:
        h = torch.zeros(x.shape[1], 2)
        for step in x:
            h = self.cell(step, h)
        return self.norm(h)


MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "block": (Block, (2, 3, 4)),
    "recurrent": (Recurrent, (3, 4, 3)),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)),
        (1, 2, 4, 4),
    ),
    "attention": (lambda: _Attend(), (2, 3, 4)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), (1, 3, 4)),
    "lstm": (lambda: nn.LSTM(3, 2), (3, 2, 3)),
}  # fmt: skip


class _Attend(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attend(x, x, x, need_weights=False)[0]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_with_its_parameters_as_arrays(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make().double().eval() if name != "recurrent" else make().double()
    x = np.random.default_rng(0).uniform(-1, 1, shape)
    formula = volta.function(module, {"x": arg.input("f64", shape)})
    state = {n: t.detach().numpy() for n, t in module.state_dict().items()}
    torch.set_default_dtype(torch.float64)
    try:
        expected = module(torch.tensor(x))
    finally:
        torch.set_default_dtype(torch.float32)
    expected = (expected[0] if isinstance(expected, tuple) else expected).detach().numpy()
    assert {n for n in formula.inputs if n != "x"} <= state.keys()
    out = next(iter(formula.outputs))
    np.testing.assert_allclose(evaluate(formula.text, out, expected.shape, {"x": x, **state}), expected, rtol=1e-6, atol=1e-9)


def test_integers_choose_rows() -> None:
    shapes = {"t": arg.input("f32", (5, 3)), "i": arg.input("s64", (4,))}
    table, at = np.random.default_rng(0).normal(size=(5, 3)), np.array([4, 0, 0, 2])

    def f(t: Any, i: Any) -> Any:
        return t[i] + F.embedding(i, t) + t.index_select(0, i) + torch.gather(t, 0, i[:, None].expand(4, 3))

    formula = volta.function(f, shapes)
    np.testing.assert_allclose(evaluate(formula.text, "y", (4, 3), {"t": table, "i": at}), 4 * table[at])


def test_cross_entropy_of_targets() -> None:
    x, target = np.random.default_rng(0).normal(size=(4, 5)), np.array([1, 4, -100, 0])
    shapes = {"x": arg.input("f32", (4, 5)), "target": arg.input("s64", (4,))}
    for reduction in ("mean", "sum", "none"):
        formula = volta.function(lambda x, t, r=reduction: F.cross_entropy(x, t, reduction=r), shapes)
        expected = F.cross_entropy(torch.tensor(x), torch.tensor(target), reduction=reduction).numpy()
        values = {"x": x, "target": target}
        np.testing.assert_allclose(evaluate(formula.text, "y", expected.shape, values), expected, rtol=1e-9)


def test_a_mask_of_truth_values() -> None:
    mask = torch.ones(2, 3, dtype=torch.bool)
    formula = volta.function(lambda x, m: torch.where(m, x, -1.0), {"x": torch.zeros(2, 3), "m": mask})
    values = {"x": np.ones((2, 3)), "m": np.array([[1, 0, 1], [0, 0, 1]])}
    np.testing.assert_allclose(evaluate(formula.text, "y", (2, 3), values), [[1, -1, 1], [-1, -1, 1]])


def test_gradients() -> None:
    def f(x: Any) -> Any:
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(torch.softmax(x, -1)[:, 0].sum() + (x * x).sum(), x)
        return g

    x = np.random.default_rng(0).normal(size=(2, 3))
    formula = volta.function(f, {"x": arg.input("f64", (2, 3))})
    np.testing.assert_allclose(evaluate(formula.text, "y", (2, 3), {"x": x}), f(torch.tensor(x)).numpy())


SCALE = """
__global__ void k(const float *x, const float *w, const float *b, float *y, int n) {
    int i = threadIdx.x;
    if (i >= 6) return;
    float s = b[i % 3];
    for (int k = 0; k < 4; ++k) s += x[i / 3 * 4 + k] * w[i % 3 * 4 + k];
    y[i] = SOMETHING;
}
"""


@pytest.mark.parametrize(("what", "verdict"), [("fmaxf(s, 0.0f)", "equivalent"), ("s", "not-equivalent")])
def test_a_module_is_the_reference_of_a_kernel(what: str, verdict: str) -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    args = {"x": arg.input("f32", (2, 4)), "0.weight": arg.input("f32", (3, 4)), "0.bias": arg.input("f32", (3,))}
    args["y"] = arg.output("f32", (2, 3))
    kernel = volta.cuda(SCALE.replace("SOMETHING", what))
    assert volta.check(module, kernel, args={**args, "n": 6}, block=32).verdict == verdict
    assert volta.check(lambda x, w, b: torch.relu(x @ w.T + b), kernel, args={**args, "n": 6}, block=32).verdict == verdict


@pytest.mark.parametrize(
    ("f", "needle"),
    [
        (lambda x: torch.sort(x.repeat(9)).values, "sort"),
        (lambda x: torch.fft.fft(x), "fft|complex"),
        (lambda x: torch.atan(x), "atan"),
        (lambda x: x if x.sum() > 0 else -x, "branch"),
        (lambda x: x * x.sum().item(), "branch"),
        (lambda x: torch.rand(4) + x, "rand"),
        (lambda x: F.dropout(x), "dropout|random|bernoulli"),
        (lambda x: x[x > 0], "data"),
        (lambda x: x @ torch.ones(3), "torch says"),
        (lambda x: torch.linalg.svd(x[None]).S, "svd"),
        (lambda x: x.add_(1), "writes to one of its inputs"),
        (lambda x: x * float("nan"), "NaN"),
        (lambda x: torch.topk(x, 2).indices, "topk"),
        (lambda x: x**x, "exponent"),
    ],
)
def test_what_is_not_covered_names_itself(f: Any, needle: str) -> None:
    with pytest.raises(volta.InputError, match=needle):
        volta.function(f, {"x": (4,)})


def test_the_library_is_that_of_the_function() -> None:
    with pytest.raises(volta.InputError, match="library"):
        volta.function(lambda x: x.std(0), {"x": (4,)})
    x = np.random.default_rng(0).normal(size=4)
    cases: list[tuple[Literal["numpy", "torch"], float]] = [("numpy", x.std()), ("torch", x.std(ddof=1))]
    for library, value in cases:
        formula = volta.function(lambda x: x.std(0), {"x": (4,)}, library)
        np.testing.assert_allclose(evaluate(formula.text, "y", (), {"x": x}), value)
    assert "torch" not in volta.function(lambda x: x * 2, {"x": torch.zeros(4)}).text
