"""Operators of networks as functions of NumPy, each with the launches of its kernels: a plain one, a tuned one and a wrong twin.

`manifest.py` makes `volta.toml` of them; the formulas in there are what the tracer makes of these functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Operator:
    """A function and its kernels.

    `args` are the parameters of the kernels in order, `naive` and `tuned` the block and grid of each spelling, `assume` facts
    about the inputs. `formula` stands where the tracer has none of the function, and `entry` begins the names of the kernels.
    """

    name: str
    function: Callable[..., Any]
    source: str
    args: dict[str, str | int | float]
    naive: tuple[Any, Any]
    tuned: tuple[Any, Any]
    assume: tuple[str, ...]
    formula: str | None
    entry: str


OPERATORS: list[Operator] = []

#: Elements of the elementwise operators: nine vectors and one more.
N = 37
ELEMENTS: dict[str, str | int | float] = {"x": f"in:f32[{N}]", "y": f"out:f32[{N}]", "n": N}
LOSS: dict[str, str | int | float] = {"x": f"in:f32[{N}]", "t": f"in:f32[{N}]", "y": "out:f32[1]", "n": N}
PLAIN, LOOP = (16, 3), (4, 2)


def operator(
    source: str,
    args: dict[str, str | int | float],
    naive: Any = PLAIN,
    tuned: Any = LOOP,
    assume: tuple[str, ...] = (),
    formula: str | None = None,
    entry: str | None = None,
) -> Callable[..., Any]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        OPERATORS.append(Operator(f.__name__, f, source, args, naive, tuned, assume, formula, entry or f.__name__))
        return f

    return add


# Activations.


@operator("elementwise", ELEMENTS)
def leaky_relu(x):
    return np.where(x > 0, x, 0.01 * x)


@operator("elementwise", ELEMENTS)
def elu(x):
    return np.where(x > 0, x, np.expm1(x))


@operator("elementwise", ELEMENTS)
def selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


# NumPy has no erf, so the formula is given.
@operator("elementwise", ELEMENTS, formula="y[i0] = 0.5 * x[i0] * (1 + erf(x[i0] / sqrt(2)))")
def gelu(x):
    erf = np.vectorize(math.erf)
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


@operator("elementwise", ELEMENTS)
def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@operator("elementwise", ELEMENTS)
def silu(x):
    return x / (1 + np.exp(-x))


@operator("elementwise", ELEMENTS)
def softplus(x):
    return np.where(x > 20, x, np.log1p(np.exp(x)))


@operator("elementwise", ELEMENTS)
def mish(x):
    return x * np.tanh(np.log1p(np.exp(x)))


@operator("elementwise", ELEMENTS)
def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


@operator("elementwise", ELEMENTS)
def log_sigmoid(x):
    return -np.logaddexp(0, -x)


@operator(
    "elementwise",
    {"x": f"in:f32[{N}]", "mask": f"in:u8[{N}]", "y": f"out:f32[{N}]", "n": N},
    assume=("mask in 0..2",),
)
def dropout(x, mask):
    return x * mask / 0.9


# Rows.

ROWS: dict[str, str | int | float] = {"x": "in:f32[3,33]", "y": "out:f32[3,33]", "rows": 3, "n": 33}
EACH: dict[str, str | int | float] = {"x": "in:f32[3,33]", "y": "out:f32[3]", "rows": 3, "n": 33}
A_THREAD, A_WARP = (4, 1), (32, 3)


@operator("rows", ROWS, A_THREAD, A_WARP)
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@operator("rows", ROWS, A_THREAD, A_WARP)
def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@operator("rows", EACH, A_THREAD, A_WARP)
def logsumexp(x):
    m = x.max(axis=-1)
    return m + np.log(np.exp(x - m[:, None]).sum(axis=-1))


@operator(
    "rows",
    {"x": "in:f32[3,33]", "w": "in:f32[33]", "b": "in:f32[33]", "y": "out:f32[3,33]", "rows": 3, "n": 33},
    A_THREAD,
    A_WARP,
)
def layer_norm(x, w, b):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * w + b


@operator("rows", {"x": "in:f32[3,24]", "w": "in:f32[24]", "y": "out:f32[3,24]", "rows": 3, "n": 24}, A_THREAD, (64, 3))
def rms_norm(x, w):
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * w


@operator(
    "rows",
    {
        "x": "in:f32[2,3,8]",
        "mean": "in:f32[3]",
        "var": "in:f32[3]",
        "w": "in:f32[3]",
        "b": "in:f32[3]",
        "y": "out:f32[2,3,8]",
        "size": 48,
        "channels": 3,
        "area": 8,
    },
    PLAIN,
    (2, 6),
    assume=("var in 0..1000",),
)
def batch_norm(x, mean, var, w, b):
    column = (slice(None), None)
    return (x - mean[column]) / np.sqrt(var[column] + 1e-5) * w[column] + b[column]


@operator(
    "rows",
    {
        "x": "in:f32[2,4,9]",
        "w": "in:f32[4]",
        "b": "in:f32[4]",
        "y": "out:f32[2,4,9]",
        "groups": 4,
        "n": 18,
        "area": 9,
        "channels": 4,
    },
    A_THREAD,
    (32, 4),
)
def group_norm(x, w, b):
    grouped = x.reshape(2, 2, 18)
    normal = (grouped - grouped.mean(-1, keepdims=True)) / np.sqrt(grouped.var(-1, keepdims=True) + 1e-5)
    return normal.reshape(x.shape) * w[:, None] + b[:, None]


@operator("rows", ROWS, A_THREAD, (64, 3))
def l2_normalise(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


@operator("rows", EACH, A_THREAD, A_WARP)
def deviation(x):
    return np.std(x, axis=-1, ddof=1)


@operator("rows", {"a": "in:f32[3,33]", "b": "in:f32[3,33]", "y": "out:f32[3]", "rows": 3, "n": 33}, A_THREAD, A_WARP)
def cosine_similarity(a, b):
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return (a * b).sum(-1) / np.maximum(lengths, 1e-8)


# Losses.

LABELS: dict[str, str | int | float] = {"x": "in:f32[4,10]", "t": "in:s32[4]", "y": "out:f32[1]", "rows": 4, "n": 10}


def logarithms(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@operator("losses", LABELS, (1, 1), (128, 1), assume=("t in 0..10",))
def cross_entropy(x, t):
    logs = logarithms(x)
    return -(0.9 * logs[np.arange(4), t] + 0.1 * logs.mean(axis=-1)).mean(keepdims=True)


@operator(
    "losses",
    {"x": "in:f32[4,10]", "t": "in:s32[4]", "y": "out:f32[4]", "rows": 4, "n": 10},
    (4, 1),
    (32, 4),
    assume=("t in 0..10",),
)
def cross_entropy_rows(x, t):
    return -logarithms(x)[np.arange(4), t]


@operator("losses", LABELS, (1, 1), (64, 1), assume=("t in -100..10",))
def cross_entropy_ignored(x, t):
    kept = t != -100
    picked = logarithms(x)[np.arange(4), np.where(kept, t, 0)]
    return -np.where(kept, picked, 0).sum(keepdims=True) / kept.sum()


@operator("losses", LOSS, (1, 1), (32, 1))
def mse(x, t):
    return ((x - t) ** 2).mean(keepdims=True)


@operator("losses", LOSS, (1, 1), (32, 1))
def huber(x, t):
    d = np.abs(x - t)
    return np.where(d <= 1.5, 0.5 * d * d, 1.5 * (d - 0.75)).mean(keepdims=True)


@operator("losses", LOSS, (1, 1), (64, 1))
def bce_with_logits(x, t):
    return (np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))).mean(keepdims=True)


@operator("losses", LOSS, (1, 1), (32, 1))
def focal_loss(x, t):
    p = 1 / (1 + np.exp(-x))
    entropy = np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))
    weight = 0.25 * t + 0.75 * (1 - t)
    return (weight * (1 - (p * t + (1 - p) * (1 - t))) ** 2 * entropy).mean(keepdims=True)


@operator(
    "losses",
    {"x": "in:f32[2,9]", "t": "in:f32[2,9]", "y": "out:f32[1]", "rows": 2, "n": 9},
    (1, 1),
    (32, 1),
    assume=("t in 0..1",),
)
def kl_div(x, t):
    return np.where(t > 0, t * (np.log(t) - x), 0).sum(keepdims=True).reshape(1) / x.shape[0]


# Products and windows.


@operator(
    "matrices",
    {"a": "in:f32[5,9]", "b": "in:f32[9,6]", "c": "out:f32[5,6]", "m": 5, "n": 6, "k": 9},
    ((4, 4), (2, 2)),
    ((4, 4), (2, 2)),
)
def matmul(a, b):
    return a @ b


@operator(
    "matrices",
    {"x": "in:f32[4,40]", "w": "in:f32[5,40]", "b": "in:f32[5]", "y": "out:f32[4,5]", "rows": 4, "outs": 5, "ins": 40},
    (16, 2),
    (64, (3, 4)),
)
def linear(x, w, b):
    return x @ w.T + b


def windows(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(-2, -1))


@operator(
    "matrices",
    {
        "x": "in:f32[2,5,6]",
        "w": "in:f32[3,2,3,3]",
        "b": "in:f32[3]",
        "y": "out:f32[3,5,6]",
        "channels": 2,
        "outs": 3,
        "height": 5,
        "width": 6,
    },
    (8, (5, 3)),
    ((4, 4), (2, 2, 3)),
)
def conv2d(x, w, b):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    return np.einsum("chwij,ocij->ohw", windows(padded, 3), w) + b[:, None, None]


@operator(
    "matrices",
    {"x": "in:f32[2,6,5]", "w": "in:f32[2,3,3]", "y": "out:f32[2,6,5]", "height": 6, "width": 5},
    (5, (6, 2)),
    (5, 2),
)
def depthwise(x, w):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    return (windows(padded, 3) * w[:, None, None]).sum(axis=(-2, -1))


@operator("matrices", {"x": "in:f32[2,6,8]", "y": "out:f32[2,3,4]", "size": 24, "height": 3, "width": 4}, (16, 2), (8, 2))
def max_pool(x):
    return x.reshape(2, 3, 2, 4, 2).max(axis=(2, 4))


@operator("matrices", {"x": "in:f32[2,7,7]", "y": "out:f32[2,4,4]", "height": 4, "width": 4, "size": 7}, ((4, 4), 2), ((4, 4), 2))
def average_pool(x):
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    return windows(padded, 3)[:, ::2, ::2].mean(axis=(-2, -1))


@operator(
    "matrices", {"q": "in:f32[4,8]", "k": "in:f32[6,8]", "v": "in:f32[6,8]", "y": "out:f32[4,8]", "queries": 4}, (4, 1), (32, 1)
)
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(8)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


# Places.


@operator(
    "places",
    {"table": "in:f32[10,12]", "ids": "in:s32[5]", "y": "out:f32[5,12]", "count": 5, "width": 12},
    (16, 4),
    (2, 5),
    assume=("ids in 0..10",),
)
def embedding(table, ids):
    return table[ids]


@operator("places", ROWS, A_THREAD, A_WARP)
def cumsum(x):
    return np.cumsum(x, axis=-1)


@operator("places", {"x": "in:f32[3,12]", "y": "out:s32[3]", "rows": 3, "n": 12}, A_THREAD, A_WARP)
def argmax(x):
    return np.argmax(x, axis=-1)


@operator("places", {"x": "in:f32[3,9]", "y": "out:f32[3]", "at": "out:s32[3]", "rows": 3, "n": 9}, A_THREAD, A_WARP)
def max_with_index(x):
    return x.max(axis=-1), x.argmax(axis=-1)


@operator(
    "places",
    {
        "x": "in:f32[3,2,8]",
        "cosine": "in:f32[3,4]",
        "sine": "in:f32[3,4]",
        "y": "out:f32[3,2,8]",
        "positions": 3,
        "heads": 2,
        "width": 8,
    },
    PLAIN,
    ((2, 2), 3),
)
def rope(x, cosine, sine):
    a, b = np.split(x, 2, axis=-1)
    c, s = cosine[:, None], sine[:, None]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


@operator("places", {"x": "in:f32[3,4,2]", "y": "out:f32[3,4,2]", "positions": 3, "pairs": 4}, (8, 2), (4, 3))
def rope_computed(x):
    angles = np.arange(3)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    a, b = x[..., 0], x[..., 1]
    return np.stack([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1)


@operator("places", {"x": "in:f32[6,8]", "y": "out:f32[6,8]", "rows": 6, "n": 8}, PLAIN, (2, 6))
def triu(x):
    return np.triu(x)


@operator("places", {"x": "in:f32[9,13]", "y": "out:f32[13,9]", "rows": 9, "n": 13}, (32, 4), ((8, 2), (2, 2)))
def transpose(x):
    return x.T


def linear_places(size):
    """The two elements between which each of twice as many lies, and the weight of the second."""
    at = np.maximum((np.arange(2 * size) + 0.5) / 2 - 0.5, 0)
    first = np.floor(at).astype(int)
    return first, np.minimum(first + 1, size - 1), at - first


@operator("places", {"x": "in:f32[2,3,4]", "y": "out:f32[2,6,8]", "height": 3, "width": 4}, (8, (6, 2)), ((4, 3), 2))
def bilinear(x):
    i, below, u = linear_places(3)
    j, right, v = linear_places(4)
    rows = x[:, i] * (1 - u)[:, None] + x[:, below] * u[:, None]
    return rows[:, :, j] * (1 - v) + rows[:, :, right] * v


# Updates.


@operator(
    "updates",
    {
        "p": f"inout:f32[{N}]",
        "g": f"in:f32[{N}]",
        "m": f"inout:f32[{N}]",
        "v": f"inout:f32[{N}]",
        "of_m": 0.271,
        "of_v": 0.002997001,
        "n": N,
    },
    assume=("v in 0..1000",),
)
def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    corrected_m, corrected_v = m / (1 - 0.9**3), v / (1 - 0.999**3)
    return p - 0.001 * corrected_m / (np.sqrt(corrected_v) + 1e-8), m, v


@operator("updates", {"p": f"inout:f32[{N}]", "g": f"in:f32[{N}]", "m": f"inout:f32[{N}]", "n": N})
def sgd_momentum(p, g, m):
    d = g + 0.01 * p
    m = 0.9 * m + d
    return p - 0.1 * (d + 0.9 * m), m


@operator("updates", {"x": "in:f32[3,12]", "q": "out:s8[3,12]", "scale": "out:f32[3]", "rows": 3, "n": 12}, A_THREAD, A_WARP)
def quantise(x):
    scale = np.maximum(np.abs(x).max(axis=-1), 1e-8) / 127
    return np.clip(np.rint(x / scale[:, None]), -127, 127).astype(np.int8), scale


@operator(
    "updates",
    {"p": f"inout:f32[{N}]", "g": f"in:f32[{N}]", "m": f"inout:f32[{N}]", "v": f"inout:f32[{N}]", "t": 3, "n": N},
    PLAIN,
    PLAIN,
    assume=("v in 0..1000",),
)
def adam_by_step(p, g, m, v):
    return adam(p, g, m, v)


@operator("updates", {"x": "in:f32[3,12]", "q": "out:s8[3,12]", "scale": "out:f32[3]", "rows": 3, "n": 12}, A_THREAD, A_WARP)
def quantise_unguarded(x):
    scale = np.abs(x).max(axis=-1) / 127
    return np.clip(np.rint(x / scale[:, None]), -127, 127).astype(np.int8), scale


@operator(
    "places",
    {"x": "in:f32[3,9]", "y": "out:f32[3]", "at": "out:s32[3]", "rows": 3, "n": 9},
    A_THREAD,
    A_WARP,
    entry="max_with_index",
)
def max_with_index_taken(x):
    at = np.argmax(x, axis=-1)
    return np.take_along_axis(x, at[:, None], axis=-1)[:, 0], at
