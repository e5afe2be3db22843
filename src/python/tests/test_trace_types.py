"""Traced functions of NumPy whose value hangs on a type, a keyword or an order of writes, against NumPy itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from formulas import evaluate

import volta
from volta import arg
from volta.trace.elementwise import _AT_CORNERS, _bounds, apply
from volta.trace.symbolic import Bounds, Trace


def _filled(make: Callable[[Any], Any], values: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = make(x)
        y[:] = values(x)
        return y

    return f


def _sums(x: Any) -> Any:
    y, z = np.zeros((3, 4)), np.zeros(4)
    np.cumsum(x, axis=0, out=y)
    np.sum(x, axis=0, out=z)
    np.add(z, 1, out=z)
    return y + z


def _products(a: Any, b: Any) -> Any:
    y = np.zeros((3, 2))
    np.dot(a, b, out=y)
    return y


def _parts(x: Any) -> Any:
    y = x.copy()
    y[1:, ::2] = y[:-1, 1::2]
    y[:, [0, 2]] += 1
    y[(0, 1), (1, 1)] = 9
    y[-1] *= -1
    y[..., 0] = y[..., 1]
    y[[2, 0]] = y[[0, 2]]
    return y


def _views(x: Any) -> Any:
    y = x.copy()
    below = y[1:]
    below[:, 0] = 5
    row = below[0]
    row += 1
    y[0] = row
    below *= 2
    z = y.astype(np.float32)
    y = y + 1
    row[0] = 100.0
    return y + row + z


def _turned(x: Any) -> Any:
    y = x.copy()
    y[::-1] = x
    y[1, ::-1] = x[0]
    y += y[::-1]
    y -= y.T
    return y


def _counted(x: Any) -> Any:
    y = np.zeros(4, dtype=np.int64)
    y += x > 0.5
    y[1] += 3
    return y // 2


BYTES = ("u8", (6,))
SIGNED = ("s8", (6,))
WORDS = ("s32", (6,))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "keepdims": (lambda x: x / x.sum(-1, keepdims=1) + x.max(1, keepdims=1) + x.argmin(1, keepdims=True), ((3, 3),)),
    "reduce": (lambda x: np.add.reduce(x) + np.maximum.reduce(x) + np.add.reduce(x, 1)[0] + np.add.reduce(x, axis=None), ((3, 4),)),
    "reduce_truth": (lambda x: np.logical_and.reduce(x > 0.2).sum() + np.logical_or.reduce(x > 0.9, axis=1).sum(), ((3, 4),)),
    "sums_of_integers": (lambda x: np.add.reduce(x * 3, dtype=np.int64) + np.sum(x * 3, dtype=int), ((5,),)),
    "correction": (lambda x: np.var(x, axis=1, correction=1) + np.std(x, 1, ddof=1), ((3, 4),)),
    "integers_like": (_filled(lambda x: np.zeros_like(x, dtype=np.int32), lambda x: x * 10), ((3, 4),)),
    "empty_integers": (_filled(lambda x: np.empty((3, 4), dtype=int), lambda x: x * 10), ((3, 4),)),
    "empty_like": (_filled(lambda x: np.empty_like(x, dtype=int), lambda x: x * 10), ((3, 4),)),
    "bytes": (_filled(lambda x: np.zeros(4, dtype=np.uint8), lambda x: (x * 500).astype(np.int64)), ((4,),)),
    "full_like": (lambda x: np.full_like(x, 0.7, dtype=int) + x + np.full_like(x, 0.7), ((3, 4),)),
    "shape_like": (lambda x: np.zeros_like(x, shape=(2, 2)) + x[:2, :2] + np.ones_like(x, shape=2), ((3, 4),)),
    "out": (_sums, ((3, 4),)),
    "dot_out": (_products, ((3, 4), (4, 2))),
    "truth_added": (lambda x: ((x > 0.2) + (x > 0.5)) * 1.0 + (~((x > 0.2) * (x > 0.5))) * 1.0, ((7,),)),
    "truth_extremes": (lambda x: (~np.maximum(x > 0.2, x > 0.5)) * 1.0 + ~(x > 0.5).max(keepdims=True), ((7,),)),
    "truth_products": (lambda x: np.dot(x > 0.2, (x > 0.3).T) * 1.0 + ((x > 0.2) @ (x > 0.3).T) * 1.0, ((3, 4),)),
    "truth_einsum": (lambda x: np.einsum("ij,kj->ik", x > 0.2, x > 0.3) * 1.0, ((3, 4),)),
    "truth_chosen": (lambda x: np.where((x > 0.2) * (x > 0.5), x, 0) + np.where(x > 0.5, x > 0.7, x < 0.1), ((7,),)),
    "truth_joined": (lambda x: np.concatenate([x > 0.5, x < 0.2]) + (~np.stack([x > 0.5, x < 0.2])).sum(), ((3,),)),
    "byte_sums": (lambda u: (u + u).astype(int) + (u * 3) + ~u + -u + (u - np.uint8(200)), (BYTES,)),
    "byte_quotients": (lambda u: (u // 2).astype(int) + u % 7 + (u >> 1) + (u & 15) + u.sum() + np.cumsum(u), (BYTES,)),
    "wider": (lambda u, s: (u + s).astype(int) + u * s + u.astype(np.int32) * u + u.astype(int) * 1000, (BYTES, SIGNED)),
    "signed": (lambda a: np.abs(a).astype(int) + -a + a // np.int8(-3) + a % np.int8(-3), (SIGNED,)),
    "byte_matmul": (lambda a, b: (a @ b).astype(int) + a.astype(int) @ b.astype(int), (("s8", (2, 3)), ("s8", (3, 2)))),
    "unsigned": (lambda a: a.astype(np.uint32).astype(np.int64) + (a.astype(np.uint32) >> 4).astype(int), (WORDS,)),
    "negative": (lambda a: a // -3 + a % -3 + np.fmod(a, -3) + np.fmod(a, 4) + np.trunc(a / 3) + a**2, (WORDS,)),
    "negative_divisors": (lambda a, b: a // (b - 20) + a % (b - 20) + np.fmod(a, b - 20), (WORDS, WORDS)),
    "quotients": (lambda a: a / 2 + a.mean() + a.var() + np.where(a > 0, 1, 0) / 2 + a.argmax() / 3, (WORDS,)),
    "large": (lambda a: (a * 2**30).astype(int) + (a - 2147483647), (WORDS,)),
    "powers": (lambda a: a**2.0 + a**0 + np.power(a, 3) + (a + 0.5) ** -2, (WORDS,)),
    "padded": (lambda a: np.pad(a, 1, constant_values=3.7) + 0.5, (WORDS,)),
    "sorted": (lambda a: np.sort(a) // 2 + np.sort(a) % 3 + np.clip(a, 0.5, None) + np.clip(a, -2, 2) / 2, (WORDS,)),
    "rolled": (lambda x: np.roll(x, (1, 2), axis=0) + np.roll(x, 1, axis=(0, 1)) + np.roll(x, -5), ((3, 4),)),
    "falling_bins": (lambda x: np.digitize(x, [0.8, 0.5, 0.2]) + np.digitize(x, [0.8, 0.2], right=True), ((5,),)),
    "matrices_of_rows": (lambda x: np.apply_along_axis(lambda r: np.outer(r, r), 0, x), ((2, 3),)),
    "numbers_of_rows": (lambda x: np.apply_along_axis(lambda r: r * 2 + r.sum(), 0, x), ((2, 3),)),
    "axes": (lambda x: np.moveaxis(x, (0, 1), (-1, -2)) + np.moveaxis(x, -1, 0).swapaxes(1, -1), ((2, 3, 4),)),
    "batches": (lambda x: np.linalg.diagonal(x).sum(-1) + np.linalg.trace(x) + np.trace(x, 1, 2, 1)[0], ((2, 3, 3),)),
    "turns": (lambda x: np.rot90(x) + np.rot90(x, -1) + np.rot90(x, 3), ((3, 3),)),
    "joined": (lambda a, b: np.concatenate((a, b), axis=None)[:6] + np.broadcast_to(b[0], (4,))[0], ((2, 3), (2, 4))),
    "type": (lambda x: x * 2 if x.dtype == np.float32 else x * 3, (("f32", (4,)),)),
    "width": (lambda a: a * a.dtype.itemsize, (WORDS,)),
    "parts": (_parts, ((3, 4),)),
    "views": (_views, ((3, 4),)),
    "turned": (_turned, ((3, 3),)),
    "counted": (_counted, ((4,),)),
    "places": (lambda x: x[[0, 1], :, [1, 2]] + x[0, :, [1, 2]] + x[-1:-3:-1][:, 0, :3], ((2, 3, 4),)),
    "places_apart": (lambda x: x[[1, 0], None, [1, 2]].sum(1) + x[:, [[0, 1], [1, 2]]][0, 0].sum(), ((2, 3, 4),)),
    "corners": (lambda x: x[np.ix_([0, 2], [1, 3])] + x[::-2, ::-1].T.reshape(-1)[:4].reshape(2, 2) + x[5:].sum(), ((3, 4),)),
}  # fmt: skip

RANGES = {"u8": (0, 256), "s8": (-128, 128), "s32": (-9, 9)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_formula_is_what_numpy_computes(name: str) -> None:
    f, given = FUNCTIONS[name]
    random = np.random.default_rng(0)
    values: dict[str, Any] = {}
    arrays: dict[str, arg.Array] = {}
    for n, what in zip("abcd", given):
        typed = isinstance(what[0], str)
        arrays[n] = arg.input(*what) if typed else arg.input("f64", what)
        kind = arg.numpy_type(arrays[n].type)
        if typed and what[0] in RANGES:
            values[n] = random.integers(*RANGES[what[0]], what[1]).astype(kind)
        else:
            values[n] = random.uniform(0.1, 1.0, arrays[n].shape).astype(kind)
    expected = np.asarray(f(*(v.copy() for v in values.values())), dtype=float)
    formula = volta.function(f, arrays)
    wide = {n: v.astype(np.int64 if v.dtype.kind in "iu" else np.float64) for n, v in values.items()}
    assert formula.outputs is not None
    found = evaluate(formula.text, "y", formula.outputs["y"].shape, wide)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda x, a: np.any(x > 0, axis=0, where=np.ones(3, bool)), "where"),
    (lambda x, a: np.std(x, mean=np.zeros(1)), "mean"),
    (lambda x, a: x.sum(keepdims=np.True_), "sum"),
    (lambda x, a: np.reciprocal(a), "reciprocal"),
    (lambda x, a: a**-1, "power"),
    (lambda x, a: np.add.reduce(x, initial=1.0), "initial"),
    (lambda x, a: np.linalg.norm(np.outer(x, x), 1, axis=(0, 1)), "norm of order 1 of a matrix"),
    (lambda x, a: np.linalg.norm(np.outer(x, x), 2, axis=(0, 1)), "norm of order 2 of a matrix"),
    (lambda x, a: np.pad(x, 1, constant_values=(1, 2)), "constant_values"),
    (lambda x, a: np.digitize(x, x), "digitize"),
    (lambda x, a: (x > 0) - (x > 1), "subtract"),
    (lambda x, a: -(x > 0), "negative"),
    (lambda x, a: np.moveaxis(x, (0, 1), (1, 0)), "moveaxis"),
    (lambda x, a: x[: x.argmax()], "bound of a slice"),
    (lambda x, a: np.cumsum(x, out=np.ones(3)), "out"),
    (lambda x, a: np.einsum("i->ij", x), "einsum"),
    (lambda x, a: np.choose(a, [x, x]), "choose"),
    (lambda x, a: a.astype(np.uint8) + 1000, "add"),
    (lambda x, a: a.astype(np.uint64) >> np.uint64(4), "unsigned integer of 64 bits"),
]


@pytest.mark.parametrize(("f", "needle"), REFUSED)
def test_what_numpy_refuses_or_a_formula_lacks_names_itself(f: Callable[..., Any], needle: str) -> None:
    with pytest.raises(volta.InputError, match=needle):
        volta.function(f, {"x": (3,), "a": arg.input("s32", (3,))})


BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "integer_quotient", "integer_remainder", "integer_truncated", "fmod")
UNARY = ("negative", "positive", "absolute", "square", "sign", "relu", "floor", "ceil", "trunc", "rint")


@pytest.mark.parametrize("name", sorted({*BINARY, *UNARY, *_AT_CORNERS}))
def test_bounds_hold_for_every_integer_between_those_of_the_operands(name: str) -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        divides = name.startswith("integer_") or name == "fmod"
        sides = 2 if name in BINARY else 1
        ranges: list[Bounds] = []
        for side in range(sides):
            low = int(random.integers(-4, 5))
            # A formula divides integers by positive ones.
            low = max(low, 1) if side == 1 and divides else low
            ranges.append((low, low + int(random.integers(0, 4))))
        bounds = _bounds(name, ranges)
        assert bounds is not None
        for values in itertools.product(*(range(low, high + 1) for low, high in ranges)):
            trace = Trace()
            operands = [trace.leaf(n, arg.input("s32", ())) for n in "ab"[:sides]]
            text = f"y[] = {apply(name, *operands).at(())}"
            found = evaluate(text, "y", (), {n: np.array(v) for n, v in zip("ab", values)})
            assert bounds[0] <= found <= bounds[1], (values, found)


#: An operation on two integers of 32 bits, stored at a width.
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 z, .param .u64 y) {{
    .reg .u32 %r<6>; .reg .u64 %rd<6>;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd1, %r1, 4;
    ld.param.u64 %rd2, [x]; add.u64 %rd2, %rd2, %rd1; ld.global.u32 %r2, [%rd2];
    ld.param.u64 %rd2, [z]; add.u64 %rd2, %rd2, %rd1; ld.global.u32 %r3, [%rd2];
    mul.wide.u32 %rd1, %r1, {bytes};
    ld.param.u64 %rd2, [y]; add.u64 %rd2, %rd2, %rd1;
    {text}
    ret;
}}
"""


@pytest.mark.parametrize(
    ("f", "text", "out", "verdict"),
    [
        (lambda x, z: x * z, "mul.lo.s32 %r4, %r2, %r3; st.global.u32 [%rd2], %r4;", "s32", "equivalent"),
        (lambda x, z: x * z, "mul.wide.s32 %rd3, %r2, %r3; st.global.u64 [%rd2], %rd3;", "s64", "not-equivalent"),
        (lambda x, z: x.astype(np.int64) * z, "mul.wide.s32 %rd3, %r2, %r3; st.global.u64 [%rd2], %rd3;", "s64", "equivalent"),
        (lambda x, z: x - z, "sub.s32 %r4, %r2, %r3; st.global.u32 [%rd2], %r4;", "s32", "equivalent"),
        (lambda x, z: (x + z) >> 1, "add.s32 %r4, %r2, %r3; shr.s32 %r4, %r4, 1; st.global.u32 [%rd2], %r4;", "s32", "equivalent"),
        (
            lambda x, z: x.astype(np.uint8) + z.astype(np.uint8),
            "add.s32 %r4, %r2, %r3; st.global.u8 [%rd2], %r4;",
            "u8",
            "equivalent",
        ),
    ],
)
def test_integers_wrap_in_formulas_as_they_do_in_kernels(f: Callable[..., Any], text: str, out: str, verdict: str) -> None:
    size = int(out[1:]) // 8
    args = {"x": arg.input("s32", (4,)), "z": arg.input("s32", (4,)), "y": arg.output(out, (4,))}
    r = volta.check(f, volta.ptx(KERNEL.format(text=text, bytes=size)), args=args, block=4)
    assert r.verdict == verdict, r


def test_a_reduction_of_integers_that_is_returned_stays_one_of_integers() -> None:
    formula = volta.function(lambda x: x.max(1).T, {"x": arg.input("s32", (2, 3))})
    assert "where" not in formula.text
    found = evaluate(formula.text, "y", (2,), {"x": np.array([[1, 5, 3], [-7, -9, -8]])})
    np.testing.assert_array_equal(found, [5, -7])
    # A program that is shown many operations cannot know that they give an integer.
    assert "floor(" in volta.function(lambda x: np.stack([x.sum(1)]), {"x": arg.input("s32", (2, 3))}).text
