"""Calls in the shape of a launch: `volta.check(reference, kernel[grid], x, y, n, B=128)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import volta
from volta import arg
from volta.keywords import spoken

SCALE = """
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .f32 scale[1];
.visible .entry scaled(.param .u64 x, .param .u64 y)
{
.reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
ld.param.u64 %rd0,[x]; ld.param.u64 %rd1,[y]; mov.u32 %r0,%tid.x; mov.u32 %r1,%ctaid.x; mov.u32 %r2,%ntid.x;
mad.lo.s32 %r0,%r1,%r2,%r0; mul.wide.u32 %rd2,%r0,4; add.s64 %rd0,%rd0,%rd2; add.s64 %rd1,%rd1,%rd2;
ld.global.f32 %f0,[%rd0]; mov.u64 %rd3,scale; ld.global.f32 %f1,[%rd3]; mul.f32 %f0,%f0,%f1; st.global.f32 [%rd1],%f0; ret;
}
"""


def test_a_kernel_of_text_is_launched_on_a_grid_with_a_block() -> None:
    k = volta.ptx(SCALE)
    twice = {"x": arg.input("f32", 8), "y": arg.output("f32", 8), "scale": arg.known(np.array([2], np.float32))}
    assert volta.check(lambda x: 2 * x, k[2, 4], args=twice).ok
    assert volta.race(k[2, 4], arg.input("f32", 8), arg.output("f32", 8)).ok
    assert volta.check(lambda x: 2 * x, k[1, 4], args=twice).verdict == "not-equivalent"
    r = volta.check(lambda x: 3 * x, k[(2, 1, 1), 4], args=twice)
    assert r.verdict == "not-equivalent", r
    with pytest.raises(volta.InputError, match=r"kernel\[grid, block\]"):
        k[1, 2, 3]
    with pytest.raises(volta.InputError, match="not in both"):
        volta.race(k[2, 4], arg.input("f32", 8), args=twice)
    with pytest.raises(volta.KeywordError, match="launches of Triton functions, and there is none here"):
        volta.race(k[2, 4], arg.input("f32", 8), arg.output("f32", 8), num_warps=4)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("say with --assume 'i in A..B'", 'say with assume=["i in A..B"]'),
        ("bind it with --arg n=VALUE", 'bind it with args={"n": VALUE}'),
        ("--arg 'x=in:f32[4,8]'", 'args={"x": arg.input("f32", (4,8,))}'),
        ("give the grid with --grid; --threads 64", "give the grid with grid=; block=64"),
        ("--for n=1..9,64", "sizes= with n in 1..9,64"),
        ("--ref-arg and --opt-arg", "the arguments of the reference and the arguments of the kernel"),
        ("--strict, --sass, a--b", "strict=True, --sass, a--b"),
        ("volta race a.ptx --grid 2", "volta race a.ptx --grid 2"),
    ],
)
def test_hints_speak_python(said: str, heard: str) -> None:
    assert spoken(said) == heard


def test_an_error_of_the_program_speaks_python() -> None:
    with pytest.raises(volta.InputError, match="block=") as e:
        volta.race(volta.ptx(SCALE), args=[arg.input("f32", 8), arg.output("f32", 8)])
    assert "--" not in str(e.value)


triton = pytest.importorskip("triton")

import triton_kernels_under_test as kernels  # noqa: E402

X, Y, N = arg.input("f32", (2, 20)), arg.output("f32", (2, 20)), 20


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "check": lambda k, *a, **kw: volta.check(softmax, k, *a, **kw),
    "race": volta.race,
    "slack": volta.slack,
    "rows": lambda k, *a, **kw: volta.rows(k, "y[i,*] of x[i,*]", *a, **kw),
    "prepare": lambda k, *a, **kw: volta.prepare(softmax, *a, **kw).check(k),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_takes_a_launch(question: str) -> None:
    asked = QUESTIONS[question]
    assert asked(kernels.softmax[(2,)], X, Y, N, B=32, num_warps=1).ok
    assert asked(kernels.softmax[lambda meta: (meta["n"] // 10,)], X, Y, N, B=32).ok
    # The old form has constants by keyword too.
    if question != "prepare":
        assert asked(kernels.softmax, args=[X, Y, N], grid=(2,), B=32, num_warps=1).ok


def test_keywords_reach_the_kernel() -> None:
    made = [volta.triton(kernels.softmax[(2,)], X, Y, N, B=b, num_warps=w).ptx for b, w in ((32, 1), (64, 1), (64, 2))]
    assert len(set(made)) == 3
    assert ".target sm_90" in volta.triton(kernels.softmax[(2,)], X, Y, N, B=32, arch=90).ptx
    # A block that is shorter than the row is another function.
    assert volta.check(softmax, kernels.softmax[(2,)], X, Y, N, B=16).verdict == "not-equivalent"


def test_defaults_are_bound_before_a_grid_is_asked() -> None:
    x, y = arg.input("f32", 96), arg.output("f32", 96)
    grid = lambda meta: (-(-meta["n"] // meta["BLOCK"]) * meta["TIMES"],)  # noqa: E731
    assert volta.check(lambda x: 2 * x, kernels.scaled_by_default[grid], x, y, 96).ok
    assert volta.check(lambda x: 3 * x, kernels.scaled_by_default[grid], x, y, 96, FACTOR=3.0, BLOCK=32).ok


def test_sizes_and_launches() -> None:
    shapes = [lambda n: arg.input("f32", (2, n)), lambda n: arg.output("f32", (2, n)), lambda n: n]
    r = volta.check(softmax, kernels.softmax[(2,)], *shapes, B=64, num_warps=1, sizes=[{"n": 5}, {"n": 33}])
    assert r.ok, r
    assert len(r.instances) == 2
    with pytest.raises(volta.InputError, match="sizes"):
        volta.check(softmax, kernels.softmax[(2,)], *shapes, B=64)


def test_a_run_takes_its_data() -> None:
    data = np.random.default_rng(0).standard_normal((2, 20)).astype(np.float32)
    bound = volta.triton(kernels.softmax, X, Y, N, grid=(2,), B=32, num_warps=1)
    for y in (
        volta.run(kernels.softmax[(2,)], data, Y, N, B=32, num_warps=1),
        volta.run(bound, data),
        volta.run(bound, x=data),
    ):
        np.testing.assert_allclose(y, softmax(data), rtol=1e-5)
    with pytest.raises(volta.InputError, match="x=array"):
        volta.run(bound)
    with pytest.raises(volta.InputError, match="shape"):
        volta.run(bound, data[:1])
    with pytest.raises(volta.InputError, match="2 arrays are given"):
        volta.run(bound, data, data)


def test_an_empty_grid_launches_nothing() -> None:
    for k in (kernels.softmax[(0,)], kernels.softmax[lambda meta: (2, 0)]):
        assert volta.race(k, X, Y, N, B=32).ok
        r = volta.check(softmax, k, X, Y, N, B=32)
        assert r.verdict == "not-equivalent", r
        assert "on an empty grid: nothing is launched" in str(r)
    kept = np.full((2, 20), 7, np.float32)
    y = volta.run(kernels.softmax[(0,)], np.zeros((2, 20), np.float32), arg.known(kept, "inout"), N, B=32)
    np.testing.assert_array_equal(y, kept)
    with volta.record() as calls:
        kernels.softmax[(0,)](volta.fake(2, 20), volta.fake(2, 20, role="out"), 20, B=32)
    assert len(calls) == 0


@pytest.mark.parametrize(
    ("launch", "says"),
    [
        (lambda: volta.race(kernels.softmax, X, Y, N, B=32), r"say softmax\[grid\]"),
        (lambda: volta.race(kernels.softmax[(2,)], X, Y, B=32), "nothing for `n`"),
        (lambda: volta.race(kernels.softmax[(2,)], X, Y, N, 32, 1), "4 arguments"),
        (lambda: volta.race(kernels.softmax[(2,)], X, Y, N, BB=32), r"did you mean B=\? the kernel's parameters are"),
        (lambda: volta.race(kernels.softmax[(2,)], X, Y, N, B=32, asume=["n < 3"]), r"did you mean assume=\?"),
        (lambda: volta.race(kernels.softmax[(2,)], X, Y, N, n=3, B=32), "twice"),
        (lambda: volta.race(kernels.tuned[(1,)], X, Y, N, B=32), "configuration says B=64"),
        (lambda: volta.race(softmax, X, Y), "asked of a kernel"),
        (lambda: volta.check([kernels.softmax], [kernels.softmax]), "is a Triton function: say how it is launched"),
    ],
)
def test_a_wrong_launch_says_what_is_wrong(launch: Callable[[], Any], says: str) -> None:
    with pytest.raises(volta.InputError, match=says):
        launch()


def test_configurations_of_a_launch() -> None:
    args = arg.input("f32", 96), arg.output("f32", 96), 96
    grid = lambda meta: (-(-96 // meta["BLOCK"]),)  # noqa: E731
    assert [len(c.members) for c in volta.classes(kernels.doubled_in_tiles[grid], *args).classes] == [2]
    assert volta.check(lambda x: x * 2, kernels.doubled_in_tiles[grid], *args, config=1).ok


def test_candidates_of_one_launch() -> None:
    args = [arg.input("f32", (32,)), arg.output("f32", (32,)), 32]
    ref = volta.prepare(lambda x: x * 2, *args)
    found = dict(ref.check_many([kernels.doubled[(1,)], kernels.doubled[(0,)]]))
    assert [r.reward for r in found.values()] in ([1.0, 0.0], [0.0, 1.0])


def test_what_verify_is_told_of_a_launch() -> None:
    from volta.verification import registry

    told = volta.verify(
        lambda x: x * 2, args=lambda n: [arg.input("f32", n), arg.output("f32", n), n], sizes=[{"n": 20}], BLOCK=32, num_warps=1
    )
    told(kernels.scaled_by_default)
    verification = registry[__name__].pop()
    assert [verification.check(case).verdict for case in verification.cases()] == ["equivalent"]
    with pytest.raises(volta.KeywordError, match="BLOCK"):
        volta.verify(lambda x: x, args=lambda: [], BLOK=32)(kernels.scaled_by_default)
