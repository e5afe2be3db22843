"""Sizes that a kernel's guards choose, arrays of pointers, and compilers that can be ended."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import volta
from volta import apart, arg
from volta.awkward import sizes_of
from volta.verification import Verification, registry

DOUBLES = """
extern "C" __global__ void doubles(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
    for (int j = i + gridDim.x * blockDim.x; j < n; j += gridDim.x * blockDim.x) y[j] = %s * x[j];
}
"""

SUMS = """
extern "C" __global__ void sums(float* const* p, float* y) {
    int i = threadIdx.x;
    y[i] = p[0][i] + %s;
}
"""


def _verified(factor: str) -> Verification:
    kernel = volta.cuda(DOUBLES % factor)
    volta.verify(
        lambda x: x * 2,
        args=lambda n: {"x": arg.input("f32", n), "y": arg.output("f32", n), "n": n},
        grid=2,
        block=32,
        sizes="awkward",
    )(kernel)
    return registry[__name__].pop()


def test_awkward_sizes_show_what_a_loop_does() -> None:
    verified = _verified("2")
    (case,) = verified.cases()
    assert case.id == "awkward"
    r = verified.check(case)
    assert r.ok, r
    # A loop that begins beyond 64 elements ran, once and twice, and did not run.
    assert max(size["n"] for size, _ in r.instances) > 128
    assert "thin-coverage" not in {w.kind for w in r.warnings}
    wrong = _verified("3")
    r = wrong.check(next(wrong.cases()))
    assert r.verdict == "not-equivalent", r
    assert "for n = 131" in str(r)


def test_sizes_of_several_names_differ() -> None:
    assert sizes_of(["m", "n"])[0] == {"m": 5, "n": 7}
    assert all(len(set(s.values())) == 3 for s in sizes_of(["m", "n", "k"]))


def test_awkward_sizes_need_a_function_of_them() -> None:
    volta.verify(lambda x: x, args=lambda: [], sizes="awkward")(volta.cuda(DOUBLES % "2"))
    verified = registry[__name__].pop()
    with pytest.raises(volta.InputError, match="awkward"):
        verified.check(next(verified.cases()))


def test_an_array_of_pointers() -> None:
    a, b, y = arg.input("f32", 4).named("a"), arg.input("f32", 4).named("b"), arg.output("f32", 4)
    args = {"p": arg.pointers([a, b]), "y": y}
    r = volta.check(lambda a, b: a + b, volta.cuda(SUMS % "p[1][i]"), args=args, block=4)
    assert r.ok, r
    assert volta.check(volta.formula("y[i] = a[i] + b[i]"), volta.cuda(SUMS % "p[1][i]"), args=args, block=4).ok
    r = volta.check(volta.cuda(SUMS % "p[1][i]"), volta.cuda(SUMS % "2 * p[1][i]"), args=args, block=4)
    assert r.verdict == "not-equivalent", r
    example = r.counterexample
    assert example is not None
    assert {"a", "b"} <= example.inputs.keys()
    told = example.replay()
    assert told.reference is not None
    assert not np.array_equal(told.reference["y"], told.optimized["y"])
    unnamed = {"p": arg.pointers([(4,), (4,)]), "y": y}
    assert volta.check(volta.formula("y[i] = p0_0[i] + p0_1[i]"), volta.cuda(SUMS % "p[1][i]"), args=unnamed, block=4).ok
    assert volta.race(volta.cuda(SUMS % "p[2][i]"), args=unnamed, block=4).verdict == "defective"
    with pytest.raises(volta.InputError, match="one at least"):
        arg.pointers([])


def test_a_call_apart_can_be_ended() -> None:
    lock = threading.RLock()
    assert apart.call(lambda: 7, 10, "this", lock) == 7
    with pytest.raises(volta.CompileError, match=r"this took more than 0\.2 s"):
        apart.call(lambda: time.sleep(60), 0.2, "this", lock)
    with pytest.raises(volta.CompileError, match="status -9"):
        apart.call(lambda: __import__("os").kill(__import__("os").getpid(), 9), 10, "this", lock)
    with pytest.raises(volta.InputError, match="as it was"):
        apart.call(_refused, 10, "this", lock)


def _refused() -> None:
    raise volta.InputError("as it was")
