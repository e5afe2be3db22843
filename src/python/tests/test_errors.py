"""Wrong uses: each error names the thing, its place, and a way forward."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import volta
from volta import arg, server

DOUBLES = """
extern "C" __global__ void doubles(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
TWO = DOUBLES + 'extern "C" __global__ void other(const float* x, float* y, int n) {}'
ARGS = {"x": arg.input("f32", 64), "y": arg.output("f32", 64), "n": 64}


def _asked(reference: Any = lambda x: x * 2, source: str = DOUBLES, entry: str | None = None, **more: Any) -> Any:
    call: dict[str, Any] = {"args": ARGS, "grid": 2, "block": 32} | more
    return volta.check(reference, volta.cuda(source, entry=entry), **call)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "type": (lambda: arg.input("f33", 4), "`f33` is no element type; one of f16"),
    "complex": (lambda: _asked(args=[np.zeros(4, complex), arg.output("f32", 4), 4]), "complex128"),
    "missing argument": (lambda: _asked(args=[ARGS["x"], ARGS["y"]]), r"has 3 parameters .* args gives 2: there is none for"),
    "one too many": (lambda: _asked(args=[*ARGS.values(), 7]), r"has 3 parameters .* args gives 4"),
    "negative strides": (lambda: _asked(args=[np.zeros(64, np.float32)[::-1], ARGS["y"], 64]), "ascontiguousarray"),
    "shape of a result": (lambda: _asked(lambda x: x.sum()), r"`y` has shape \(64,\), and the function returns \(\)"),
    "shape of floats": (lambda: arg.input("f32", (2.5,)), "whole number"),  # type: ignore[arg-type]
    "text": (lambda: _asked(args={**ARGS, "n": "64"}), "'64' is no argument"),
    "block": (lambda: _asked(block=None), "block="),
    "block of floats": (lambda: _asked(block=32.5), "not 32.5"),
    "large block": (lambda: _asked(block=2000), "1024"),
    "grid": (lambda: _asked(grid=(1, 1, 1, 1)), "one to three positive numbers"),
    "grid that is a function": (
        lambda: _asked(grid=lambda meta: (2,)),
        "a grid is a function where `sizes` are given, or of a Triton",
    ),
    "two kernels": (lambda: _asked(source=TWO), "doubles, other: say which with entry="),
    "name of a kernel": (lambda: _asked(source=TWO, entry="third"), "no entry is named `third`"),
    "CUDA": (lambda: volta.cuda("__global__ void k(float* x) { x[0] = y; }"), r"kernel.cu\(1\): error: identifier \"y\""),
    "CUDA without a kernel": (lambda: volta.cuda("int f() { return 0; }"), "no kernel"),
    "file": (lambda: volta.ptx("/nowhere/k.ptx"), "cannot read /nowhere/k.ptx"),
    "formula as text": (lambda: _asked("y[i] = x[i]"), r"volta.formula\(text\)"),
    "array of a formula": (lambda: _asked(volta.formula("y[i] = z[i]")), "`z` is no array; there are `x`, `y`"),
    "fact": (lambda: _asked(assume=["q < 3"]), "`q` is no integer parameter"),
    "warning": (lambda: _asked(deny=["nonsense"]), "`nonsense` is not a kind"),
    "timeout": (lambda: _asked(timeout="x"), "number of seconds, not 'x'"),
    "negative timeout": (lambda: _asked(timeout=-1), "seconds, not -1"),
    "keyword": (lambda: _asked(tiemout=3), "unknown keyword 'tiemout'; did you mean timeout="),
    "keyword of nothing": (lambda: _asked(qqqq=3), "unknown keyword 'qqqq'; the options are alias"),
    "name of a size": (lambda: _asked(args=lambda n: ARGS, sizes=[{"m": 3}]), "`n` is no name of a size: there are m"),
    "sizes": (lambda: _asked(args=lambda n: ARGS, sizes="large"), 'a list of dicts, or "awkward"'),
    "parameters of a function": (lambda: _asked(lambda a, b: a), r"takes \(a, b\), and is given \(x\)"),
    "results of a function": (lambda: _asked(lambda x: (x, x)), "returns 2 arrays, and there are 1 outputs"),
    "branch": (lambda: _asked(lambda x: x if x[0] > 0 else -x), "branch on data"),
    "contents": (lambda: volta.run(volta.cuda(DOUBLES), ARGS["x"], ARGS["y"], 64, grid=2, block=32), "args="),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_names_the_thing(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(volta.Error, match=message):
        call()


def test_no_time_is_no_answer() -> None:
    r = _asked(timeout=0)
    assert (r.verdict, r.category, r.reward) == ("unknown", "limit", None)


def test_arrays_of_a_function_come_in_the_order_of_the_arguments() -> None:
    source = """
    extern "C" __global__ void k(const float* a, const float* b, float* y) {
        y[threadIdx.x] = a[threadIdx.x] - b[threadIdx.x];
    }"""
    args = [np.zeros(4, np.float32), arg.input("f32", 4), arg.output("f32", 4)]
    assert volta.check(lambda a, b: a - b, volta.cuda(source), args=args, block=4).ok
    assert volta.check(lambda a, b: b - a, volta.cuda(source), args=args, block=4).verdict == "not-equivalent"


def test_truth_values_are_0_or_1() -> None:
    source = 'extern "C" __global__ void k(const unsigned char* m, float* y) { y[threadIdx.x] = m[threadIdx.x] == 1 ? 2 : 3; }'
    r = volta.check(
        lambda m: np.where(m, 2, 3), volta.cuda(source), args={"m": np.zeros(4, bool), "y": arg.output("f32", 4)}, block=4
    )
    assert r.verdict != "not-equivalent", r
    assert any("in 0..2" in a for a in r.assumptions)
    bytes_ = {"m": arg.input("u8", 4), "y": arg.output("f32", 4)}
    r = volta.check(lambda m: np.where(m, 2, 3), volta.cuda(source), args=bytes_, block=4)
    assert r.verdict == "not-equivalent", r


def test_a_program_that_is_killed_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    running = server.get().process
    running.kill()
    running.wait()
    assert _asked().ok
    large = {"x": arg.input("f32", 10**8), "y": arg.output("f32", 64), "n": 64}
    submit = server.Server.submit

    def killed(self: server.Server, request: Any) -> Any:
        asked = submit(self, request)
        threading.Timer(0.3, self.process.kill).start()
        return asked

    monkeypatch.setattr(server.Server, "submit", killed)
    with pytest.raises(volta.ServerError, match="ended with status"):
        _asked(volta.formula("y[i] = sum(k in 0..99999999: x[k]*k)"), args=large, timeout=60)
    monkeypatch.undo()
    assert _asked().ok


def test_a_program_that_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for path, message in (("/nowhere/volta", "cannot start"), ("/bin/cat", "/bin/cat")):
        server.get().close()
        monkeypatch.setenv(server.BINARY, path)
        with pytest.raises(volta.ServerError, match=message):
            volta.explain("data-race")
        monkeypatch.undo()


def test_nvcc_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.path", ["/nowhere"])
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(volta.CompileError, match=r"nvcc was not found: put it on PATH.*\[cuda\]"):
        volta.cuda(DOUBLES)


def test_notebooks_show_the_report() -> None:
    html = _asked(lambda x: x * 3)._repr_html_()
    assert "not-equivalent" in html
    assert "counterexample" in html
    assert "<script" not in html
