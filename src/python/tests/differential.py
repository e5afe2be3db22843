"""Random functions of NumPy: each is a list of steps that is drawn while it runs on numbers, and runs again on traced arrays.

Numbers are small multiples of an eighth, and what rounds, compares or chooses does so with numbers that are exact in floats, so
that the order of additions does not matter to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from formulas import evaluate

import volta
from volta import arg

Array = Any
Step = Callable[[list[Array]], Array]

#: Elements of an array, at most.
MOST = 64


@dataclass
class Program:
    """A function: its inputs, and what is done to a growing list of arrays that begins with them."""

    inputs: dict[str, Array]
    steps: list[Step] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)

    def __call__(self, *arrays: Array) -> Array:
        pool = list(arrays)
        for step in self.steps:
            pool.append(step(pool))
        return pool[-1]

    def text(self) -> str:
        """The steps for people."""
        shapes = [f"{n}: {v.dtype}{list(v.shape)}" for n, v in self.inputs.items()]
        return "; ".join([*shapes, *(f"v{len(self.inputs) + i} = {w}" for i, w in enumerate(self.words))])


class Drawn:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        inputs = {n: self.numbers(self.shape()) for n in "xy"}
        inputs["i"] = self.random.integers(-9, 10, self.shape(), dtype=np.int32)
        inputs["u"] = self.random.integers(0, 256, self.shape(), dtype=np.uint8)
        inputs["b"] = self.random.integers(0, 2, self.shape()) > 0
        self.program = Program(inputs, exact=[True] * len(inputs))
        self.pool = list(inputs.values())
        count = int(self.random.integers(2, 8))
        tries = 0
        while len(self.program.steps) < count and tries < 200:
            tries += 1
            self.try_step()

    def shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.random.integers(1, 6, int(self.random.integers(1, 4))))

    def numbers(self, shape: tuple[int, ...]) -> Array:
        return self.random.integers(-24, 25, shape) / 8

    def one(self, *values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def below(self, n: int) -> int:
        return int(self.random.integers(n))

    def pick(self, kinds: str = "fiub", exact: bool = False, rank: int = 0) -> int:
        """A place in the pool, a late one more often."""
        fits = [
            at
            for at, v in enumerate(self.pool)
            if v.dtype.kind in kinds and (self.program.exact[at] or not exact) and v.ndim >= rank and v.size
        ]
        if not fits:
            raise LookupError
        return fits[-1 - min(self.below(len(fits)), self.below(len(fits)))]

    def try_step(self) -> None:
        name = self.one(*FAMILIES)
        try:
            step, word, exact = FAMILIES[name](self)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = np.asarray(step(self.pool))
        except (LookupError, ValueError, IndexError, TypeError, OverflowError):
            return
        if not 0 < found.size <= MOST or found.ndim > 4 or found.dtype.kind not in "fiub":
            return
        if found.dtype.kind == "f" and found.dtype.itemsize < 8 and not exact:
            # What NumPy rounds is no number of a formula.
            return
        wide = found.astype(float)
        if not np.isfinite(wide).all() or np.abs(wide).max() > 1e6:
            return
        self.pool.append(found)
        self.program.steps.append(step)
        self.program.words.append(word)
        self.program.exact.append(exact)


Found = tuple[Step, str, bool]
FAMILIES: dict[str, Callable[[Drawn], Found]] = {}


def family(weight: int = 1) -> Callable[[Callable[[Drawn], Found]], Callable[[Drawn], Found]]:
    def take(f: Callable[[Drawn], Found]) -> Callable[[Drawn], Found]:
        for i in range(weight):
            FAMILIES[f"{f.__name__}{i or ''}"] = f
        return f

    return take


def _named(name: str) -> Callable[..., Array]:
    out: Any = np
    for part in name.split("."):
        out = getattr(out, part)
    return out  # type: ignore[no-any-return]


@family(2)
def smooth(d: Drawn) -> Found:
    at = d.pick("fi")
    name = d.one("tanh", "sin", "cos", "exp", "log1p", "sqrt", "arcsinh", "expm1", "log2", "cosh", "cbrt", "exp2")
    f = _named(name)
    positive = name in ("log1p", "sqrt", "log2")
    if positive:
        return lambda p: f(np.abs(p[at]) + 1.0), f"{name}(|v{at}| + 1)", False
    return lambda p: f(np.minimum(p[at] * 0.25, 4.0)), f"{name}(min(v{at} / 4, 4))", False


@family(2)
def exact_unary(d: Drawn) -> Found:
    name = d.one("negative", "absolute", "square", "floor", "ceil", "trunc", "rint", "sign", "positive")
    at, f = d.pick("fi", exact=name in ("floor", "ceil", "trunc", "rint", "sign")), _named(name)
    return lambda p: f(p[at]), f"{name}(v{at})", d.program.exact[at] and name != "square"


@family(4)
def arithmetic(d: Drawn) -> Found:
    name = d.one(
        "add", "subtract", "multiply", "maximum", "minimum", "divide", "hypot", "logaddexp", "floor_divide", "remainder", "fmod"
    )
    rounds = name in ("floor_divide", "remainder", "fmod")
    a, f = d.pick("fiu", exact=rounds), _named(name)
    constant = d.one(0.5, 2, -3, 1.25, 3, 7)
    if name == "logaddexp":
        # An evaluator in floats has no exponential of much.
        b = d.pick("fiu")
        return lambda p: f(np.minimum(p[a], 50), np.minimum(p[b], 50)), f"logaddexp(min(v{a}, 50), min(v{b}, 50))", False
    if rounds:
        return lambda p: f(p[a], constant), f"{name}(v{a}, {constant})", False
    if d.below(3) == 0:
        swap = d.below(2)
        if name == "divide" and swap:
            return lambda p: constant / (np.abs(p[a]) + 1), f"{constant} / (|v{a}| + 1)", False
        exact = d.program.exact[a] and name in ("add", "subtract", "maximum", "minimum")
        return (lambda p: f(constant, p[a]) if swap else f(p[a], constant)), f"{name}(v{a}, {constant}, {swap})", exact
    b = d.pick("fiu")
    if name == "divide":
        return lambda p: p[a] / (np.abs(p[b]) + 1), f"v{a} / (|v{b}| + 1)", False
    exact = d.program.exact[a] and d.program.exact[b] and name in ("add", "subtract", "maximum", "minimum")
    return lambda p: f(p[a], p[b]), f"{name}(v{a}, v{b})", exact


@family()
def quotients_of_integers(d: Drawn) -> Found:
    a, b = d.pick("iu"), d.pick("iu")
    name = d.one("floor_divide", "remainder", "true_divide")
    f = _named(name)
    return lambda p: f(p[a], np.abs(p[b]).astype(np.int32) % 5 + 1), f"{name}(v{a}, |v{b}| % 5 + 1)", name != "true_divide"


@family(2)
def comparison(d: Drawn) -> Found:
    a, b = d.pick("fiu", exact=True), d.pick("fiu", exact=True)
    name = d.one("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    f = _named(name)
    halves = d.below(2)
    if halves:
        return lambda p: f(p[a] / 2, p[b] / 4), f"{name}(v{a} / 2, v{b} / 4)", True
    return lambda p: f(p[a], p[b]), f"{name}(v{a}, v{b})", True


@family()
def truth(d: Drawn) -> Found:
    a, b = d.pick("b"), d.pick("b")
    name = d.one("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
    f = _named(name)
    return (lambda p: f(~p[a], p[b])), f"{name}(~v{a}, v{b})", True


@family(2)
def chosen(d: Drawn) -> Found:
    c, a, b = d.pick("b"), d.pick(), d.pick()
    return lambda p: np.where(p[c], p[a], p[b]), f"where(v{c}, v{a}, v{b})", d.program.exact[a] and d.program.exact[b]


@family(2)
def bits(d: Drawn) -> Found:
    a, b = d.pick("iu"), d.pick("iu")
    name = d.one("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert")
    f = _named(name)
    if name == "invert":
        return lambda p: ~p[a], f"~v{a}", True
    n = d.one(1, 2, 3) if "shift" in name else d.one(1, 6, 15, 85, 102)
    if d.below(2) or "shift" in name:
        return lambda p: f(p[a], n), f"{name}(v{a}, {n})", True
    return lambda p: f(p[a], p[b]), f"{name}(v{a}, v{b})", True


@family(2)
def cast(d: Drawn) -> Found:
    at = d.pick(exact=True)
    # What a type does not reach has no value as one of it: floats are brought near first.
    kind = d.one(np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64, np.bool_, np.int16)
    if d.pool[at].dtype.kind == "f" and np.dtype(kind).kind in "iu":
        low = 0 if np.dtype(kind).kind == "u" else -100
        return lambda p: np.clip(p[at], low, 100).astype(kind), f"clip(v{at}, {low}, 100).astype({np.dtype(kind)})", True
    return lambda p: p[at].astype(kind), f"v{at}.astype({np.dtype(kind)})", True


def _slices(d: Drawn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    lists = 0
    for n in shape:
        what = d.below(7)
        if what == 0:
            out.append(d.below(2 * n) - n)
        elif what == 1 and not lists:
            lists = 1
            out.append([d.below(2 * n) - n for _ in range(1 + d.below(3))])
        elif what == 2 and not lists:
            lists = 1
            out.append(d.random.integers(0, n, (2, 2)) if d.below(2) else d.random.integers(0, 2, n) > 0)
        elif what == 3:
            out += [None, slice(None)]
        else:
            ends = sorted(d.below(n + 2) for _ in range(2))
            step = d.one(1, 1, 2, 3, -1, -2)
            out.append(slice(ends[0], ends[1], step) if step > 0 else slice(ends[1], ends[0] - 1 if ends[0] else None, step))
            if d.below(3) == 0:
                out[-1] = slice(None, None, step)
    if d.below(6) == 0:
        return (*out[: d.below(len(out) + 1)], ...)
    return tuple(out)


@family(8)
def indexed(d: Drawn) -> Found:
    at = d.pick(rank=1)
    key = _slices(d, d.pool[at].shape)
    return lambda p: p[at][key], f"v{at}[{key}]", d.program.exact[at]


@family(3)
def at_data(d: Drawn) -> Found:
    a, i = d.pick(rank=1), d.pick("iu")
    n = d.pool[a].shape[0]
    if d.pool[i].size > 12:
        raise LookupError
    shift = d.below(3)
    step = d.one(1, -1)
    word = f"v{a}[::{step}][(v{i} + {shift}) % {n}]"
    return lambda p: p[a][::step][(p[i].astype(np.int32) + shift) % n], word, d.program.exact[a]


@family(6)
def moved(d: Drawn) -> Found:
    at = d.pick(rank=1)
    shape, rank = d.pool[at].shape, d.pool[at].ndim
    axis, shift = d.below(rank) - (rank if d.below(2) else 0), d.below(7) - 3
    other = d.below(rank)
    calls: dict[str, Callable[[Array], Array]] = {
        "roll": lambda v: np.roll(v, shift, axis),
        "roll all": lambda v: np.roll(v, shift),
        "flip": lambda v: np.flip(v, axis),
        "T": lambda v: v.T,
        "swap": lambda v: np.swapaxes(v, axis, other),
        "moveaxis": lambda v: np.moveaxis(v, axis, other),
        "ravel": lambda v: np.ravel(v),
        "reshape": lambda v: v.reshape(v.shape[::-1]),
        "reshape 2": lambda v: np.reshape(v, (2, -1)),
        "reshape 3": lambda v: np.reshape(v, (-1, 3)),
        "expand": lambda v: np.expand_dims(v, axis),
        "squeeze": lambda v: np.squeeze(v),
        "repeat": lambda v: np.repeat(v, 2, axis=axis),
        "repeat all": lambda v: v.repeat(3),
        "tile": lambda v: np.tile(v, (2,) + (1,) * (rank - 1)),
        "tile more": lambda v: np.tile(v, (2, 1, 1)),
        "broadcast": lambda v: np.broadcast_to(v, (2, *shape)),
        "tril": lambda v: np.tril(v, shift),
        "triu": lambda v: np.triu(v, shift),
        "diagonal": lambda v: np.diagonal(v, shift),
        "rot90": lambda v: np.rot90(v, shift),
        "diff": lambda v: np.diff(v, axis=axis),
        "take": lambda v: np.take(v, [0, -1, 0], axis=axis),
        "delete": lambda v: np.delete(v, 0, axis=axis),
        "insert": lambda v: np.insert(v, 1, 2, axis=axis),
        "split": lambda v: np.array_split(v, 2, axis=axis)[0],
        "windows": lambda v: np.lib.stride_tricks.sliding_window_view(v, 2, axis=axis),
        "copy": lambda v: v.copy(),
        "resize": lambda v: np.resize(v, (3, 4)),
        "rollaxis": lambda v: np.rollaxis(v, axis),
        "atleast": lambda v: np.atleast_3d(v),
    }
    name = d.one(*calls)
    f = calls[name]
    return lambda p: f(p[at]), f"{name}(v{at}, axis={axis}, shift={shift}, other={other})", d.program.exact[at]


@family(3)
def padded(d: Drawn) -> Found:
    at = d.pick("fiu", rank=1)
    mode = d.one("constant", "edge", "reflect", "symmetric", "wrap")
    amounts = [(d.below(4), d.below(4)) for _ in d.pool[at].shape]
    return lambda p: np.pad(p[at], amounts, mode=mode), f"pad(v{at}, {amounts}, {mode})", d.program.exact[at]


@family(3)
def joined(d: Drawn) -> Found:
    a = d.pick(rank=1)
    fits = [b for b, v in enumerate(d.pool) if v.ndim == d.pool[a].ndim]
    b = d.one(*fits)
    rank = d.pool[a].ndim
    axis = d.below(rank) - (rank if d.below(2) else 0)
    name = d.one("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")
    f = _named(name)
    exact = d.program.exact[a] and d.program.exact[b]
    if name in ("concatenate", "stack"):
        return lambda p: f([p[a], p[b], p[a]], axis=axis), f"{name}([v{a}, v{b}, v{a}], {axis})", exact
    return lambda p: f([p[a], p[b]]), f"{name}([v{a}, v{b}])", exact


@family(4)
def reduced(d: Drawn) -> Found:
    name = d.one("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "ptp")
    at = d.pick("fiu" if name in ("max", "min", "ptp") else "fiub", exact=name not in ("sum", "mean", "var", "std"), rank=1)
    rank = d.pool[at].ndim
    axis: Any = d.one(None, *range(-rank, rank))
    if rank > 1 and name in ("sum", "max", "mean", "any", "prod", "var") and d.below(3) == 0:
        axis = (0, rank - 1)
    f = _named(name)
    exact = name in ("max", "min", "any", "all", "argmax", "argmin")
    if name in ("cumsum", "cumprod"):
        return lambda p: f(p[at], axis=axis), f"{name}(v{at}, {axis})", False
    keep = bool(d.below(2))
    return lambda p: f(p[at], axis=axis, keepdims=keep), f"{name}(v{at}, {axis}, keepdims={keep})", exact


@family(3)
def contracted(d: Drawn) -> Found:
    a, b = d.pick("fi", rank=1), d.pick("fi", rank=1)
    calls: dict[str, Callable[[Array, Array], Array]] = {
        "matmul": lambda v, w: v @ w,
        "matmul T": lambda v, w: v @ w.T,
        "dot": lambda v, w: np.dot(v, w),
        "outer": lambda v, w: np.outer(v, w),
        "inner": lambda v, w: np.inner(v, w),
        "kron": lambda v, w: np.kron(v, w),
        "tensordot": lambda v, w: np.tensordot(v, w, 1),
        "einsum": lambda v, w: np.einsum("ij,kj->ik", v, w),
        "einsum own": lambda v, w: np.einsum("ij,ij->j", v, v) + np.einsum("ij->ji", v).sum(),
        "einsum dots": lambda v, w: np.einsum("...i,i...->...", v, v.T),
        "convolve": lambda v, w: np.convolve(v, w),
        "multiply.outer": lambda v, w: np.multiply.outer(v, w),
        "norm": lambda v, w: v / (np.linalg.norm(v, axis=-1, keepdims=True) + 1),
    }
    name = d.one(*calls)
    f = calls[name]
    return lambda p: f(p[a], p[b]), f"{name}(v{a}, v{b})", False


@family(2)
def ordered(d: Drawn) -> Found:
    at = d.pick("fi", exact=True, rank=1)
    if d.pool[at].size > 24:
        raise LookupError
    calls: dict[str, Callable[[Array], Array]] = {
        "sort": lambda v: np.sort(v, axis=-1),
        "sort all": lambda v: np.sort(v, axis=None),
        "argsort": lambda v: np.argsort(v, axis=-1, kind="stable"),
        "in order": lambda v: np.take_along_axis(v, np.argsort(v, axis=0, kind="stable"), axis=0),
        "by order": lambda v: v[np.argsort(v[..., 0] if v.ndim > 1 else v, axis=0, kind="stable")],
        "best": lambda v: v.reshape(-1)[v.argmax()],
        "median": lambda v: np.median(v, axis=0),
        "percentile": lambda v: np.percentile(v, 30, axis=-1),
        "quantiles": lambda v: np.quantile(v, [0.25, 1.0]),
    }
    name = d.one(*calls)
    f = calls[name]
    return lambda p: f(p[at]), f"{name}(v{at})", name in ("sort", "sort all", "argsort", "in order", "by order", "best")


@family(3)
def sampled(d: Drawn) -> Found:
    at = d.pick("f", exact=True, rank=1)
    low, high = sorted((d.below(9) / 4 - 1, d.below(9) / 4 - 1))
    points = sorted({float(v) for v in d.random.integers(-9, 10, 4)})
    heights = [float(v) for v in d.random.integers(-9, 10, len(points))]
    calls: dict[str, Callable[[Array], Array]] = {
        "clip": lambda v: np.clip(v, low, high),
        "clip low": lambda v: v.clip(min=low),
        "interp": lambda v: np.interp(v, points, heights),
        "digitize": lambda v: np.digitize(v, points),
        "searchsorted": lambda v: np.searchsorted(np.array(points), v, "right"),
        "select": lambda v: np.select([v < low, v < high], [v * 2, -v], 0.5),
        "isin": lambda v: np.isin(v, points),
        "isclose": lambda v: np.isclose(v, low),
        "count": lambda v: np.count_nonzero(v > low, axis=-1),
        "average": lambda v: np.average(v, axis=0, weights=np.arange(1.0, v.shape[0] + 1)),
        "gradient": lambda v: np.gradient(v, axis=0),
        "trapezoid": lambda v: np.trapezoid(v, axis=-1),
        "polyval": lambda v: np.polyval(heights[:3], v),
        "heaviside": lambda v: np.heaviside(v - low, 0.5),
        "nan_to_num": lambda v: np.nan_to_num(v) + np.nansum(v),
        "modf": lambda v: np.modf(v)[0] + np.divmod(v, 2)[1],
        "power": lambda v: v**2 - v**3 + (np.abs(v) + 1) ** 0.5 - (np.abs(v) + 1) ** -1.5 + 2.0**v,
    }
    name = d.one(*calls)
    f = calls[name]
    exact = name in ("clip", "clip low", "digitize", "searchsorted", "isin", "count")
    return lambda p: f(p[at]), f"{name}(v{at}; {low}, {high}, {points}, {heights})", exact


@family(3)
def written(d: Drawn) -> Found:
    at = d.pick("fi", rank=1)
    a = d.pool[at]
    key = _slices(d, a.shape)
    part = a[key]
    value = d.one(2, 7, -1)
    kind = d.below(4)
    mask_at = d.pick("fi", exact=True)
    if any(isinstance(k, (list, np.ndarray)) for k in key) and (kind == 1 or len(key) > 1):
        raise LookupError

    def step(p: list[Array]) -> Array:
        out = p[at].copy()
        if kind == 0:
            out[key] = value
        elif kind == 1:
            out[key] += value
        elif kind == 2:
            out[key] = p[at].reshape(-1)[: part.size].reshape(part.shape)
        else:
            out[p[mask_at] > 0] = value
        return out

    if kind == 3 and d.pool[mask_at].shape != a.shape:
        raise LookupError
    return step, f"v{at} with [{key if kind < 3 else f'v{mask_at} > 0'}] written ({kind}, {value})", d.program.exact[at]


@family()
def known(d: Drawn) -> Found:
    at = d.pick("fi", rank=1)
    n = d.pool[at].shape[-1]
    table = d.one(d.numbers((n,)), d.random.integers(-5, 6, n), d.random.integers(0, 2, (3, n)) > 0, np.arange(n) * 2 - 3)
    return lambda p: p[at] * table + table, f"v{at} * {table.tolist()} + it", False


#: Outcomes that are no fault: a formula that gives NumPy's numbers, an input error that says what is not covered, and a
#: function of no step.
COVERED = frozenset(("same", "refused", "empty"))


def outcome(seed: int) -> tuple[str, str]:
    """How the formula of the function of a seed compares with NumPy, and what to know of it."""
    program = Drawn(seed).program
    if not program.steps:
        return "empty", ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = np.asarray(program(*(v.copy() for v in program.inputs.values())))
    try:
        formula = volta.function(program, {n: arg.array(v) for n, v in program.inputs.items()}, library="numpy")
    except volta.InputError as e:
        return ("bug" if "bug of volta" in str(e) else "refused"), f"{e} | {program.text()}"
    except Exception as e:
        return "crash", f"{type(e).__name__}: {e} | {program.text()}"
    # Truth values are numbers in memory.
    values = {n: v.astype(float) if v.dtype.kind == "b" else v for n, v in program.inputs.items()}
    try:
        found = evaluate(formula.text, "y", expected.shape, values)
    except AssertionError as e:
        return "no formula", f"{str(e)[:200]} | {program.text()}"
    if np.allclose(found, expected.astype(float), rtol=1e-6, atol=1e-7):
        return "same", ""
    return "different", f"{found.ravel()[:4]} and {expected.ravel()[:4]} | {program.text()}"
