"""The questions beside `check`: race in every launch, slack, lift, rows, classes, bits, rounding, facts, replay."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import HEAD, THRICE, TWICE, scale

import volta
from volta import arg

#: y[i] = x[i] + (x[i] + 1), with two barriers of which none is needed; the order of the sums differs in the other.
SUM = """
extern "C" __global__ void k(const float *x, float *y) {
    int i = threadIdx.x;
    __syncthreads();
    y[i] = ORDER;
}
"""

#: y[i] = x[(i + 1) % 32] through shared memory.
SHIFT = """
extern "C" __global__ void k(const float *x, float *y) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = x[i];
    __syncthreads();
    y[i] = s[(i + 1) % 64];
    __syncthreads();
}
"""

#: A scaled row each, where the factor of a row depends on the number of rows, or not.
ROWS = """
extern "C" __global__ void k(const float *x, float *y, int m) {
    int i = blockIdx.x * 4 + threadIdx.x;
    y[i] = x[i] * FACTOR;
}
"""

#: t[i[j]] for each j.
TAKE = """
extern "C" __global__ void k(const float *t, const int *i, float *y) { y[threadIdx.x] = t[i[threadIdx.x]]; }
"""


def test_slack() -> None:
    args = {"x": arg.input("f32", 64), "y": arg.output("f32", 64)}
    r = volta.slack(volta.cuda(SHIFT), args=args, block=64)
    assert (r.verdict, r.ok) == ("clean", True)
    assert [s.state for s in r.sync] == ["needed", "spare"]
    assert r.together == [r.sync[1]]
    breaks = r.sync[0].breaks
    assert breaks is not None
    assert breaks.kind == "data-race"
    assert [s.why for s in r.sync] == [None, None]
    late = volta.slack(volta.cuda(SHIFT), args=args, block=64, timeout=0.0)
    assert {(s.state, s.why.kind if s.why else None) for s in late.sync} <= {("unjudged", "limit")}


def test_lift() -> None:
    r = volta.lift(TWICE, args={"x": arg.input("f32", 4), "y": arg.output("f32", 4)}, block=4)
    assert r.verdict == "lifted"
    assert list(r.formulas) == ["y"]
    again = volta.check(r.formulas["y"], TWICE, args={"x": arg.input("f32", 4), "y": arg.output("f32", 4)}, block=4)
    assert again.ok, again


@pytest.mark.parametrize(("factor", "verdict"), [("3.0f", "equivalent"), ("(m > 1 ? 3.0f : 3.5f)", "not-equivalent")])
def test_rows(factor: str, verdict: str) -> None:
    r = volta.rows(
        volta.cuda(ROWS.replace("FACTOR", factor)),
        "y[i,*] of x[i,*]",
        args=lambda m: {"x": arg.input("f32", (m, 4)), "y": arg.output("f32", (m, 4)), "m": m},
        grid=lambda m: m,
        block=4,
        sizes=[{"m": 3}, {"m": 1}],
    )
    assert r.verdict == verdict, r
    assert [size for size, _ in r.instances] == [{"m": 3}, {"m": 1}]
    if verdict == "not-equivalent":
        assert r.example is not None
        assert (r.example.grid, r.example.block) == ((3, 1, 1), (4, 1, 1))


def test_classes() -> None:
    kernels = [
        volta.cuda(SUM.replace("ORDER", o)) for o in ("x[i] + (x[i] + 1.0f)", "(x[i] + 1.0f) + x[i]", "(x[i] + x[i]) + 1.0f")
    ]
    r = volta.classes(kernels, args={"x": arg.input("f32", 4), "y": arg.output("f32", 4)}, block=4)
    assert r.verdict == "not-equivalent", r
    assert [c.members for c in r.classes] == [(0, 1), (2,)]
    assert r.classes[0].differs[1]
    args = {"x": arg.input("f32", 4), "y": arg.output("f32", 4)}
    assert volta.check(kernels[0], kernels[1], args=args, block=4, bits=True).ok
    assert volta.check(kernels[0], kernels[2], args=args, block=4).ok
    assert volta.check(kernels[0], kernels[2], args=args, block=4, bits=True).verdict == "not-equivalent"
    with pytest.raises(volta.InputError, match="two kernels"):
        volta.classes(kernels[:1], args=args, block=4)


def test_races_in_every_launch() -> None:
    kernel = scale("0f40000000")
    r = volta.race(kernel, any=True, assume=["grid.x == 1"])
    assert (r.verdict, r.ok) == ("clean", True)
    assert r.launches
    assert r.launches.startswith("all blocks")
    racy = kernel.replace("add.u64 %rd5, %rd2, %rd3;", "mov.u64 %rd5, %rd2;")
    r = volta.race(racy, any=True)
    assert r.verdict == "defective"
    assert r.launches
    assert r.launches.startswith("this launch breaks")
    assert volta.race(racy, block=1).verdict == "clean"
    r = volta.race(kernel, args=[arg.input("f32", 8), arg.output("f32", 8)], block=8, deterministic=True)
    assert (r.verdict, r.deterministic) == ("clean", "yes")


def test_facts_use_the_names_of_python() -> None:
    args = {"table": arg.input("f32", 8), "at": arg.input("s32", 4), "y": arg.output("f32", 4)}
    kernel = volta.cuda(TAKE)
    assert volta.race(kernel, args=args, block=4, assume=["at in 0..8"]).ok
    r = volta.check(lambda table, at: table[at], kernel, args=args, block=4, assume=["at in 0..8"])
    assert r.ok, r
    assert any("at" in a for a in r.assumptions)
    with pytest.raises(volta.InputError, match="nothing"):
        volta.race(kernel, args=args, block=4, assume=["nothing in 0..8"])


def test_rounding() -> None:
    r = volta.check(TWICE, TWICE, args=[arg.input("f32", 8), arg.output("f32", 8)], block=8, rounding=True)
    (y,) = r.rounding
    assert y.optimized is not None
    assert y.optimized.ulps <= 1


def test_sizes_of_a_race() -> None:
    def args(n: int) -> list[arg.Array]:
        return [arg.input("f32", 8), arg.output("f32", n)]

    r = volta.race(TWICE, args=args, block=8, sizes=[{"n": 8}, {"n": 7}])
    assert (r.verdict, r.instances) == ("defective", [({"n": 8}, "clean"), ({"n": 7}, "defective")])


def test_a_counterexample_is_replayed() -> None:
    args = {"x": arg.input("f32", 8), "y": arg.output("f32", 8)}
    found = volta.check(TWICE, THRICE, args=args, block=8).counterexample
    assert found is not None
    played = found.replay()
    assert played.reference is not None
    np.testing.assert_allclose(played.reference["y"], 2 * found.inputs["x"])
    np.testing.assert_allclose(played.optimized["y"], 3 * found.inputs["x"])
    assert played.optimized["y"][found.element] == found.optimized
    formula = volta.check(volta.formula("y[i] = x[i]"), THRICE, args=args, block=8).counterexample
    assert formula is not None
    assert formula.replay().reference is None


def test_explain() -> None:
    assert "barrier" in volta.explain("data-race")
    with pytest.raises(volta.InputError, match="nonsense"):
        volta.explain("nonsense")


def test_only_kernels_are_asked() -> None:
    for question in (volta.race, volta.slack, volta.lift):
        with pytest.raises(volta.InputError, match="kernel"):
            question(volta.formula("y[i] = x[i]"))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="strickt"):
        volta.race(HEAD + ".visible .entry k() { ret; }", block=1, strickt=True)  # type: ignore[call-overload]
