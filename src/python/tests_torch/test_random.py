"""Random functions of torch against torch: steps that are drawn while they run on numbers, and run again on traced tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from formulas import evaluate

import volta

Step = Callable[[list[Any]], Any]
MOST = 64
KINDS = (
    "smooth",
    "arithmetic",
    "view",
    "view",
    "view",
    "reduce",
    "compare",
    "where",
    "index",
    "join",
    "product",
    "bits",
    "write",
    "order",
)
SMOOTH = ("tanh", "sigmoid", "sin", "relu", "abs", "neg", "square", "nn.functional.silu", "nn.functional.gelu", "exp2", "log1p")
TYPES = (torch.float64, torch.int32, torch.bool)


def _draw(random: np.random.Generator, pool: list[Any], exact: list[bool]) -> tuple[Step, str, bool] | None:
    """A step on some of the pool, what it is called, and whether its numbers are those of the reals."""

    def below(n: int) -> int:
        return int(random.integers(n))

    def one(*values: Any) -> Any:
        return values[below(len(values))]

    def pick(kinds: str, only_exact: bool = False) -> int:
        names = {"f": torch.float64, "i": torch.int32, "b": torch.bool}
        fits = [i for i, v in enumerate(pool) if v.dtype in [names[k] for k in kinds] and (exact[i] or not only_exact)]
        return int(one(*fits[-4:]))

    kind = one(*KINDS)
    at = pick("f", kind in ("compare", "order"))
    v = pool[at]
    rank, shape = v.ndim, tuple(v.shape)
    axis = below(max(rank, 1)) - (rank if rank and below(2) else 0)
    if kind == "smooth":
        name = one(*SMOOTH)
        f: Any = torch
        for part in name.split("."):
            f = getattr(f, part)
        is_exact = exact[at] and name in ("relu", "abs", "neg")
        return (lambda p: f(p[at].abs() if name == "log1p" else p[at])), f"{name}({at})", is_exact
    if kind == "arithmetic":
        other, name = pick("fi"), one("add", "sub", "mul", "maximum", "minimum", "hypot")
        g = getattr(torch, name)
        return (
            (lambda p: g(p[at], p[other].to(torch.float64))),
            f"{name}({at}, {other})",
            exact[at] and exact[other] and name != "hypot",
        )
    if kind == "view":
        start, step, shift, places = (
            below(2),
            one(1, 2, 3),
            below(5) - 2,
            [below(max(shape[axis], 1)) for _ in range(3)] if rank else [],
        )
        calls: dict[str, Callable[[Any], Any]] = {
            "slice": lambda x: x[start::step],
            "last": lambda x: x[..., -1],
            "flip": lambda x: torch.flip(x, (axis,)),
            "roll": lambda x: torch.roll(x, shift, axis),
            "roll all": lambda x: torch.roll(x, shift),
            "T": lambda x: x.transpose(0, -1),
            "flat": lambda x: x.reshape(-1),
            "two": lambda x: x.reshape(2, -1),
            "three": lambda x: x.reshape(-1, 3).t(),
            "unsqueeze": lambda x: x.unsqueeze(axis),
            "expand": lambda x: x.expand(2, *shape),
            "repeat": lambda x: x.repeat(*(2,) * rank),
            "interleave": lambda x: x.repeat_interleave(2, axis),
            "tril": lambda x: torch.tril(x, shift),
            "diagonal": lambda x: torch.diagonal(x, shift),
            "unfold": lambda x: x.unfold(axis, 2, 1),
            "pad": lambda x: torch.nn.functional.pad(x, (shift, 2)),
            "reflect": lambda x: torch.nn.functional.pad(x[None], (1, 1), mode="reflect")[0],
            "replicate": lambda x: torch.nn.functional.pad(x[None], (2, 1), mode="replicate")[0],
            "circular": lambda x: torch.nn.functional.pad(x[None], (1, 1), mode="circular")[0],
            "select": lambda x: x.index_select(axis, torch.tensor(places)),
            "list": lambda x: x[places],
            "diff": lambda x: torch.diff(x, dim=axis),
            "chunk": lambda x: torch.chunk(x, 2, axis)[0],
        }
        name = one(*calls)
        call = calls[name]
        return (lambda p: call(p[at])), f"{name}({at}; {axis}, {start}, {step}, {shift}, {places})", exact[at]
    if kind == "reduce":
        name = one("sum", "mean", "amax", "amin", "cumsum", "prod", "var", "logsumexp", "softmax", "argmax")
        if name == "argmax" and not exact[at]:
            return None
        g = getattr(torch, name)
        return (lambda p: g(p[at], axis)), f"{name}({at}, {axis})", name in ("amax", "amin", "argmax") and exact[at]
    if kind == "compare":
        other, name = pick("f", True), one("lt", "le", "eq", "ne")
        g = getattr(torch, name)
        return (lambda p: g(p[at], p[other] / 2)), f"{name}({at}, {other} / 2)", True
    if kind == "where":
        mask, other = pick("b"), pick("f")
        return (lambda p: torch.where(p[mask], p[at], p[other])), f"where({mask}, {at}, {other})", exact[at] and exact[other]
    if kind == "index":
        i, step = pick("i"), one(1, 2)
        n = len(v[::step])
        return (lambda p: p[at][::step][torch.remainder(p[i] + 1, n).long()]), f"{at}[::{step}][({i} + 1) % {n}]", exact[at]
    if kind == "join":
        other = pick("f")
        call = one(lambda a, b: torch.cat([a, b, a], axis), lambda a, b: torch.stack([a, b], axis))
        return (lambda p: call(p[at], p[other])), f"join({at}, {other}, {axis})", exact[at] and exact[other]
    if kind == "product":
        other = pick("f")
        call = one(torch.matmul, lambda a, b: a @ b.transpose(-1, -2), lambda a, b: torch.einsum("ij,kj->ik", a, b))
        return (lambda p: call(p[at], p[other])), f"product({at}, {other})", False
    if kind == "bits":
        i, j, n = pick("i"), pick("i"), one(1, 2, 3)
        calls = {
            "and": lambda p: p[i] & p[j],
            "or": lambda p: p[i] | p[j],
            "xor": lambda p: p[i] ^ 21,
            "left": lambda p: p[i] << n,
            "right": lambda p: p[i] >> n,
            "not": lambda p: ~p[i],
            "div": lambda p: torch.div(p[i], n + 1, rounding_mode="floor"),
            "rest": lambda p: torch.remainder(p[i], -n),
            "fmod": lambda p: torch.fmod(p[i], n + 2),
            "flip": lambda p: p[i].flip(0) * n,
        }
        name = one(*calls)
        return calls[name], f"{name}({i}, {j}, {n})", True
    if kind == "write":

        def written(p: list[Any]) -> Any:
            out = p[at].clone()
            out[0] = 2.5
            out[..., ::2] *= 3
            out[-1] += out[0]
            return out

        return written, f"written({at})", exact[at]
    call = one(
        lambda x: torch.sort(x, dim=axis).values, lambda x: torch.sort(x, dim=axis, stable=True).indices, lambda x: x.clamp(-1, 0.5)
    )
    return (lambda p: call(p[at])), f"order({at}, {axis})", True


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_formulas_of_random_functions_are_what_torch_computes(first: int) -> None:
    refused = []
    for seed in range(first, first + 20):
        random = np.random.default_rng(seed)
        shapes = [tuple(int(n) for n in random.integers(1, 6, int(random.integers(1, 4)))) for _ in range(4)]
        inputs = [torch.tensor(random.integers(-24, 25, s) / 8) for s in shapes[:2]]
        inputs += [
            torch.tensor(random.integers(-9, 10, shapes[2]), dtype=torch.int32),
            torch.tensor(random.integers(0, 2, shapes[3]) > 0),
        ]
        pool, steps, words, exact = list(inputs), [], [], [True] * 4
        for _ in range(60):
            try:
                drawn = _draw(random, pool, exact)
                found: Any = None if drawn is None else drawn[0](pool)
            except (RuntimeError, IndexError, ValueError, TypeError):
                continue
            if drawn is None or not 0 < found.numel() <= MOST or found.dtype not in TYPES:
                continue
            wide = found.to(torch.float64)
            if not bool(torch.isfinite(wide).all()) or float(wide.abs().max()) > 1e6:
                continue
            pool.append(found)
            steps.append(drawn[0])
            words.append(drawn[1])
            exact.append(drawn[2])
            if len(steps) == 5:
                break

        def f(x: Any, y: Any, i: Any, b: Any, steps: list[Step] = steps) -> Any:
            values = [x, y, i, b]
            for step in steps:
                values.append(step(values))
            return values[-1]

        text = f"seed {seed}, {shapes}: {'; '.join(words)}"
        try:
            formula = volta.function(f, dict(zip("xyib", inputs)), library="torch")
        except volta.InputError as e:
            refused.append(f"{e} | {text}")
            continue
        expected = pool[-1].to(torch.float64).numpy()
        values = {n: v.numpy().astype(float) if v.dtype is torch.bool else v.numpy() for n, v in zip("xyib", inputs)}
        found = evaluate(formula.text, "y", expected.shape, values)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7, err_msg=text)
    assert len(refused) <= 4, refused
    assert not [r for r in refused if "bug of volta" in r]


def test_every_step_is_drawn() -> None:
    random, seen = np.random.default_rng(0), set()
    pool = [torch.ones(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.int32), torch.ones(2, 3) > 0]
    for _ in itertools.repeat(None, 600):
        drawn = _draw(random, pool, [True] * 3)
        seen |= {drawn[1].partition("(")[0]} if drawn is not None else set()
    assert {"roll", "reflect", "written", "order", "join", "product", "fmod", "where"} <= seen


MANY = 10**6


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.softmax(x + x.t(), -1),
        lambda x: torch.where(torch.ones(MANY, MANY, dtype=torch.bool).tril(), x, 0.0),
        lambda x: torch.nn.functional.pad(torch.cat([x, x]), (1, 2)) * 2,
    ],
)
def test_tensors_that_nobody_could_hold_cost_nothing(f: Callable[..., Any]) -> None:
    assert len(volta.function(f, {"x": (MANY, MANY)}, library="torch").text) < 1000


@pytest.mark.parametrize(
    ("f", "needle"),
    [
        (lambda x: x + torch.rand(4), "random"),
        (lambda x: torch.nn.functional.dropout(x), "random"),
        (lambda x: x + torch.tensor(np.random.rand(4)), "numpy.random"),
        (lambda x: torch.atan(x), "inverse of a tangent"),
        (lambda x: torch.argsort(x), "stable=True"),
    ],
)
def test_what_has_no_formula_says_what_to_do(f: Callable[..., Any], needle: str) -> None:
    with pytest.raises(volta.InputError, match=needle):
        volta.function(f, {"x": (4,)}, library="torch")
