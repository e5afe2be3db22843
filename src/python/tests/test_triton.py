"""Triton functions, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import volta
from volta import arg

pytest.importorskip("triton")

import triton_kernels_under_test as kernels


def softmax_args(n: int, rows: int = 2) -> list[object]:
    return [arg.input("f32", (rows, n)), arg.output("f32", (rows, n)), n]


def test_a_function_is_compiled_for_its_arguments() -> None:
    k = volta.triton(kernels.softmax, *softmax_args(48), grid=(2,), B=64, num_warps=1)
    assert k.entry == "softmax"
    assert k.names == ("x", "y", "n")
    assert ".target sm_80" in k.ptx
    assert (k.args[2], k.grid) == (48, (2,))
    k = volta.triton(kernels.softmax, *softmax_args(48), grid=(2,), B=64, num_warps=1, arch=90)
    assert ".target sm_90" in k.ptx


def test_two_functions() -> None:
    def make(function: object) -> volta.Kernel:
        return volta.triton(function, *softmax_args(20), grid=(2,), B=32, num_warps=1)

    r = volta.check(make(kernels.softmax), make(kernels.softmax_unscaled))
    assert r.verdict == "equivalent", str(r)
    r = volta.check(make(kernels.softmax), make(kernels.softmax_unmasked))
    assert r.verdict == "not-equivalent", str(r)
    example = r.counterexample
    assert example is not None
    assert example.output == "y"
    assert example.inputs["x"].shape == (2, 20)


def test_parameters_are_paired_by_name() -> None:
    x, y, n = softmax_args(20)
    first = volta.triton(kernels.softmax, x, y, n, grid=(2,), B=32, num_warps=1)
    other = volta.triton(kernels.softmax_other_order, n, y, x, grid=(2,), B=32, num_warps=1)
    assert volta.check(first, other).verdict == "equivalent"
    swapped = volta.triton(kernels.softmax_other_order, n, x, y, grid=(2,), B=32, num_warps=1)
    with pytest.raises(volta.InputError, match="bound as"):
        volta.check(first, swapped)


def test_every_configuration() -> None:
    found = volta.triton_configs(kernels.tuned, *softmax_args(40, 1), grid=lambda meta: (1,))
    assert [k.split(",")[0] for k in found] == ["B: 64", "B: 128"]
    first, *rest = found.values()
    for other in rest:
        r = volta.check(first, other)
        assert r.verdict == "equivalent", str(r)


def test_wrapped_functions() -> None:
    k = volta.triton(kernels.wrapped, *softmax_args(100, 1), grid=(1,), num_warps=1)
    direct = volta.triton(kernels.softmax, *softmax_args(100, 1), grid=(1,), num_warps=1, B=128)
    assert k.ptx == direct.ptx


def test_a_tuner_may_ask_for_a_benchmarker_and_not_use_it() -> None:
    from triton.runtime.driver import driver

    from volta.triton_kernels import without_gpu

    with without_gpu(80):
        measured = driver.active.get_benchmarker()
        with pytest.raises(volta.CompileError, match="no device"):
            measured(lambda: None, quantiles=(0.5,))


def test_what_a_configuration_says_the_launch_does_not() -> None:
    args = (arg.input("f32", 32), arg.output("f32", 32), 32)
    with pytest.raises(volta.InputError, match="its configuration says num_warps=1: num_warps=4 cannot be given"):
        volta.triton(kernels.doubled_in_tiles, *args, grid=(2,), num_warps=4)
    assert (
        volta.triton(kernels.doubled_in_tiles, *args, grid=(2,), num_warps=1).ptx
        == volta.triton(kernels.doubled_in_tiles, *args, grid=(2,)).ptx
    )


def test_specialised_arguments() -> None:
    # A 1 is a constant of the kernel and no parameter of it.
    k = volta.triton(kernels.copy_then_scale, arg.input("f32", 32), arg.output("f32", 32), 1, 2.0, grid=(1,), B=32, num_warps=1)
    assert k.names == ("x", "y", "factor")
    assert k.args[2] == 2.0


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(volta.CompileError, match="undefined_name"):
        volta.triton(kernels.broken, *softmax_args(32), grid=(1,), B=32)
    with pytest.raises(volta.CompileError, match="nope"):
        volta.triton(kernels.softmax, *softmax_args(32), grid=(1,), B=32, nope=3)
    with pytest.raises(volta.InputError, match="4 arguments"):
        volta.triton(kernels.softmax, *softmax_args(32), 32, 1, grid=(1,))
    with pytest.raises(volta.InputError, match="Triton"):
        volta.triton(len, grid=(1,))


def test_numpy_arrays() -> None:
    x = np.zeros((2, 20), np.float16)
    k = volta.triton(kernels.softmax, x, x.copy(), 20, grid=(2,), B=32, num_warps=1)
    assert "ld.global.b16" in k.ptx


def test_recorded_launches() -> None:
    def wrapper(x: volta.recording.Fake) -> volta.recording.Fake:
        y = x.new_empty(x.shape)
        kernels.wrapped[lambda meta: (x.shape[0],)](x, y, x.shape[1], num_warps=1)
        return y

    with volta.record() as calls:
        wrapper(volta.fake(2, 20))
    kernel = calls.only()
    assert kernel.grid == (2,)
    assert {k: arg.text(v) for k, v in kernel.args.items() if k < 3} == {0: "in:f32[2,20]", 1: "out:f32[2,20]", 2: "20"}
    assert volta.race(kernel).verdict == "clean"
    reference = volta.triton(kernels.softmax, *softmax_args(20), grid=(2,), B=32, num_warps=1)
    assert volta.check(reference, kernel).ok

    with volta.record() as calls:
        x = volta.fake(2, 20, role="inout")
        kernels.softmax[(2,)](x, x, 20, B=32)
    assert calls[0].alias == {"1": "0"}
    with pytest.raises(volta.InputError, match="alias"):
        calls.only()
    assert kernels.softmax.run.__name__ == "run"
    assert "recording" not in kernels.softmax.run.__module__


def test_configurations_are_pruned_to_those_with_the_same_bits() -> None:
    tuner = kernels.row_sums
    tuner.nargs = {"x": arg.input("f32", (2, 40)), "y": arg.output("f32", 2), "n": 40}
    kept = tuner.prune_configs({"grid": (2,), "warmup": False})
    # Two warps add up in another order than one.
    assert [(c.num_warps, c.num_stages) for c in kept] == [(1, 2), (1, 3)]
    r = volta.classes(tuner, args=list(tuner.nargs.values()), grid=(2,))
    assert [c.members for c in r.classes] == [(0, 1), (2,)]
    assert all(
        volta.check(lambda x: x.sum(1), k).ok for k in volta.triton_configs(tuner, *tuner.nargs.values(), grid=(2,)).values()
    )
    with pytest.raises(volta.InputError, match="hook"):
        volta.same_bits()([], {})


@pytest.mark.parametrize(("few", "verdict"), [(4, "not-equivalent"), (1, "equivalent")])
def test_rows_see_the_splits_that_a_wrapper_chooses(few: int, verdict: str) -> None:
    def sums(rows: int) -> None:
        x = volta.fake(rows, 60)
        y = x.new_empty((rows,))
        # Few rows leave the device idle unless each is split.
        splits = few if rows < 4 else 1
        kernels.split_sums[(rows,)](x, y, 60, B=64 // splits, SPLITS=splits, num_warps=1)

    r = volta.rows(sums, "y[i] of x[i,*]", sizes=[{"rows": 1}, {"rows": 3}, {"rows": 5}])
    assert r.verdict == verdict, r
    assert [at for _, at in r.instances] == ["equivalent", "equivalent", verdict]
    if verdict == "not-equivalent":
        assert r.counterexample is not None
        assert "the batch decides the grid ((5,1,1), and (1,1,1) in the smallest) and the code" in r.counterexample.message
        assert "the first operation that differs is" in str(r)
        assert r.example is not None
        assert r.example.grid == (5, 1, 1)
        assert r.example.site is not None


@pytest.mark.parametrize(("least", "verdict"), [(1, "not-equivalent"), (4, "equivalent")])
def test_rows_see_the_launch_that_joins_splits(least: int, verdict: str) -> None:
    def sums(rows: int) -> None:
        x = volta.fake(rows, 64)
        y = x.new_empty((rows,))
        # Few rows are split, and a second launch joins the parts.
        splits = max(least, 4 // rows)
        if splits == 1:
            kernels.split_sums[(rows,)](x, y, 64, B=64, SPLITS=1, num_warps=1)
            return
        p = x.new_empty((rows, splits))
        kernels.partial_sums[(rows, splits)](x, p, 64, B=64 // splits, SPLITS=splits, num_warps=1)
        kernels.joined_sums[(rows,)](p, y, SPLITS=splits, num_warps=1)

    sizes = [{"rows": 1}, {"rows": 2}, {"rows": 5}]
    r = volta.rows(sums, "y[i] of x[i,*]", sizes=sizes)
    assert r.verdict == verdict, r
    if verdict == "not-equivalent":
        assert [at for _, at in r.instances] == ["equivalent", "not-equivalent", "not-equivalent"]
        assert r.counterexample is not None
        assert "the grid of launch 0 ((2,2,1), and (1,4,1) in the smallest)" in r.counterexample.message
        assert "the first operation that differs is" in str(r)
    values = volta.rows(sums, "y[i] of x[i,*]", sizes=sizes, values=True)
    assert values.verdict == "equivalent", values


def test_configurations_of_a_function_without_a_tuner() -> None:
    import triton

    scaled = kernels.scaled
    args = {"x": arg.input("f32", (32,)), "y": arg.output("f32", (32,)), "n": 32, "BLOCK": 32}
    configs = [triton.Config({"SCALE": 2}), triton.Config({"SCALE": 3}), triton.Config({"SCALE": 2}, num_warps=1)]
    r = volta.classes(scaled, configs=configs, args=args, grid=(1,))
    assert [len(c.members) for c in r.classes] == [2, 1]
    with pytest.raises(volta.InputError, match="no configurations"):
        volta.triton(scaled, *list(args.values())[:3], grid=(1,), BLOCK=32, SCALE=2, config=5)


def test_a_candidate_that_compiles_for_ever_costs_itself_alone() -> None:
    args = [arg.input("f32", (32,)), arg.output("f32", (32,)), 32]
    ref = volta.prepare(lambda x: x * 2, args=args, grid=(1,))
    found = dict(ref.check_many([kernels.endless, kernels.doubled], timeout=20))
    assert found[kernels.doubled].reward == 1.0, found[kernels.doubled]
    r = found[kernels.endless]
    assert (r.category, r.reward) == ("compile", 0.0)
    assert "Triton took more than 20 s" in r.hint


def test_a_launch_has_a_grid() -> None:
    for made in (volta.triton, volta.triton_configs):
        with pytest.raises(volta.KeywordError, match=r"softmax is launched on a grid: say grid="):
            made(kernels.softmax, *softmax_args(48), B=64)


def test_a_grid_is_a_function_of_what_is_bound() -> None:
    args = {"x": arg.input("f32", (96,)), "y": arg.output("f32", (96,)), "n": 96}
    r = volta.check(lambda x: x * 2, kernels.doubled_in_tiles, args=args, grid=lambda meta: (-(-96 // meta["BLOCK"]),))
    assert r.ok, r
    grid = lambda n, meta: (-(-n // meta["BLOCK"]),)  # noqa: E731
    sized = lambda n: [arg.input("f32", n), arg.output("f32", n), n]  # noqa: E731
    assert volta.check(lambda x: x * 2, kernels.doubled_in_tiles, args=sized, grid=grid, sizes=[{"n": 5}, {"n": 70}]).ok
    assert volta.race(kernels.doubled_in_tiles, args=args, grid=lambda meta: (3,)).ok
    assert [len(c.members) for c in volta.classes(kernels.doubled_in_tiles, args=args, grid=lambda meta: (6,)).classes] == [2]


def test_configurations_on_grids_of_their_own() -> None:
    grid = lambda meta: (-(-96 // meta["BLOCK"]),)  # noqa: E731
    found = volta.triton_configs(kernels.doubled_in_tiles, arg.input("f32", 96), arg.output("f32", 96), 96, grid=grid)
    first, second = found.values()
    assert (first.grid, second.grid) == ((6,), (3,))
    assert volta.check(first, second).ok
    assert volta.check(first, second, bits=True).ok


def test_pointers_in_memory() -> None:
    a, b = arg.input("f32", 32).named("a"), arg.input("f32", 32).named("b")
    args = {"sources": arg.pointers([a, b]), "y": arg.output("f32", (2, 32)), "B": 32}
    r = volta.check(volta.formula("y[i,j] = if i = 0 then a[j] else b[j]"), kernels.listed, args=args, grid=2)
    assert r.ok, r
    r = volta.check(volta.formula("y[i,j] = if i = 1 then a[j] else b[j]"), kernels.listed, args=args, grid=2)
    assert r.verdict == "not-equivalent", r
