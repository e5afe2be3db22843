"""Requests and answers, through the program."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ENDLESS, HEAD, THRICE, TWICE, scale

import volta
from volta import server


def test_equivalent(xy: list[volta.arg.Array]) -> None:
    added = TWICE.replace("mul.f32 %f2, %f1, 0f40000000", "add.f32 %f2, %f1, %f1")
    assert added != TWICE
    r = volta.check(volta.ptx(TWICE), volta.ptx(added), args=xy, block=8)
    assert r.verdict == "equivalent"
    assert (r.ok, r.reward, r.category, r.hint) == (True, 1.0, "proved", "Proved.")
    assert r.raise_unless_proved() is r
    assert "equivalent" in str(r)
    assert "equivalent" in r._repr_html_()


def test_not_equivalent(xy: list[volta.arg.Array]) -> None:
    r = volta.check(TWICE, THRICE, args=xy, block=8)
    assert (r.verdict, r.ok, r.reward, r.category) == ("not-equivalent", False, 0.0, "wrong-values")
    example = r.counterexample
    assert example is not None
    assert example.output == "y"
    x = example.inputs["x"]
    assert (x.shape, x.dtype) == ((8,), np.dtype(np.float32))
    (i,) = example.element
    assert example.reference == 2 * x[i]
    assert example.optimized == 3 * x[i]
    with pytest.raises(volta.NotProved, match="y"):
        r.raise_unless_proved()
    assert "x = [" in str(r)


def test_a_result_is_no_truth_value(xy: list[volta.arg.Array]) -> None:
    r = volta.check(TWICE, THRICE, args=xy, block=8)
    with pytest.raises(TypeError, match=r"result\.ok"):
        bool(r)


def test_names_from_a_dict() -> None:
    args = {"left": volta.arg.input("f32", (8,)), "right": volta.arg.output("f32", (8,))}
    r = volta.check(TWICE, THRICE, args=args, block=8)
    assert r.counterexample is not None
    assert r.counterexample.output == "right"
    assert list(r.counterexample.inputs) == ["left"]
    assert "scale_param" not in r.hint


def test_race() -> None:
    racing = TWICE.replace("st.global.f32 [%rd5], %f2", "st.global.f32 [%rd2], %f2")
    args = [volta.arg.input("f32", 8), volta.arg.output("f32", 8)]
    r = volta.race(racing, args=args, block=8)
    assert (r.verdict, r.category) == ("defective", "race")
    assert r.defects[0].kind == "data-race"
    assert r.defects[0].sites[0].line > 1
    assert volta.race(TWICE, args=args, block=8).verdict == "clean"


def test_run() -> None:
    x = np.array([1.5, -2, 0, 3, 4, 5, 6, np.inf], np.float32)
    y = volta.run(TWICE, x[:7], volta.arg.output("f32", 7), block=7)
    np.testing.assert_array_equal(y, 2 * x[:7])
    assert y.dtype == np.float32
    with pytest.raises(volta.NotProved, match="out-of-bounds"):
        volta.run(TWICE, x[:7], volta.arg.output("f32", 7), block=8)
    with pytest.raises(volta.InputError, match="CONTENTS"):
        volta.run(TWICE, volta.arg.input("f32", 7), volta.arg.output("f32", 7), block=7)


def test_sizes() -> None:
    args = lambda n: [volta.arg.input("f32", n), volta.arg.output("f32", n)]  # noqa: E731
    r = volta.check(TWICE, TWICE, args=args, sizes=[{"n": 8}, {"n": 4}], block=4)
    assert r.verdict == "equivalent"
    assert [i["for"] for i in r.report["instances"]] == [{"n": 8}, {"n": 4}]
    r = volta.check(TWICE, TWICE, args=args, sizes=[{"n": 8}, {"n": 4}], block=8)
    assert r.verdict == "defective"
    assert "n = 4" in str(r)


def test_errors_are_exceptions(xy: list[volta.arg.Array], tmp_path: Path) -> None:
    with pytest.raises(volta.InputError, match=r"\.version"):
        volta.check(volta.ptx("nonsense\n"), TWICE, args=xy, block=8)
    with pytest.raises(volta.InputError, match="block"):
        volta.check(TWICE, TWICE, args=xy)
    with pytest.raises(volta.InputError, match="cannot read"):
        volta.ptx(tmp_path / "none.ptx")
    with pytest.raises(volta.InputError, match="2"):
        volta.check(TWICE, TWICE, args=[*xy, 3], block=8)
    with pytest.raises(TypeError, match="'blok'"):
        volta.check(TWICE, TWICE, args=xy, blok=8)  # type: ignore[call-overload]
    with pytest.raises(volta.InputError, match="no element type"):
        volta.arg.input("complex64", 3)
    with pytest.raises(volta.InputError, match="no argument"):
        volta.check(TWICE, TWICE, args=["x"], block=8)
    path = tmp_path / "twice.ptx"
    path.write_text(TWICE)
    assert volta.check(path, str(path), args=xy, block=8).ok


def test_arrays_that_numpy_has() -> None:
    x, y = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
    assert volta.check(TWICE, TWICE, args=[x, y], block=8).ok
    assert volta.arg.text(volta.arg.coerce(x.T)) == "f32[8]"
    assert volta.arg.coerce(np.int64(3)) == 3
    assert volta.arg.coerce(True) == 1
    assert volta.arg.known(np.array([1.5, 2.0])).text() == "in:f64[2]=[1.5,2.0]"


def test_check_many(xy: list[volta.arg.Array]) -> None:
    kernels = {
        "right": (TWICE, "proved", 1.0),
        "wrong": (THRICE, "wrong-values", 0.0),
        "other name": (scale("0f40000000", "other"), "proved", 1.0),
        "syntax": (HEAD + "}", "syntax", 0.0),
        "endless": (ENDLESS, "limit", None),
        "another launch": (TWICE.replace(" {\n", " .reqntid 4 {\n", 1), "launch", 0.0),
        "out of bounds": (TWICE.replace("%rd5, %rd2, %rd3", "%rd5, %rd2, 32"), "memory", 0.0),
    }
    names = {text: name for name, (text, _, _) in kernels.items()}
    ref = volta.prepare(TWICE, args=xy, block=8)
    seen: dict[str, int] = {}
    for candidate, r in ref.check_many([k[0] for k in kernels.values()] * 3, timeout=1, jobs=4):
        name = names[candidate]
        seen[name] = seen.get(name, 0) + 1
        assert (r.category, r.reward) == kernels[name][1:], f"{name}: {r}"
        assert r.hint
    assert seen == dict.fromkeys(kernels, 3)
    ref.release()
    assert ref.check(TWICE).ok


def test_the_server_is_restarted(xy: list[volta.arg.Array]) -> None:
    ref = volta.prepare(TWICE, args=xy, block=8)
    first = server.get()
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert ref.check(TWICE).ok
    assert server.get() is not first


def test_a_server_that_dies_at_work(xy: list[volta.arg.Array]) -> None:
    running = server.get()
    threading.Timer(0.5, lambda: os.kill(running.process.pid, signal.SIGKILL)).start()
    with pytest.raises(volta.ServerError, match="ended"):
        volta.race(ENDLESS, args=xy, block=8)
    assert volta.race(TWICE, args=xy, block=8).ok


def test_an_interrupt_cancels(xy: list[volta.arg.Array], request: pytest.FixtureRequest) -> None:
    # A shell that starts the tests in the background leaves the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    running = server.get()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        volta.race(ENDLESS, args=xy, block=8, timeout=60)
    while running.pending and time.monotonic() < start + 20:
        time.sleep(0.05)
    assert not running.pending
    assert server.get() is running


def _in_child(queue: multiprocessing.Queue[str]) -> None:
    args = [volta.arg.input("f32", 8), volta.arg.output("f32", 8)]
    queue.put(volta.check(TWICE, THRICE, args=args, block=8).verdict)


def test_a_fork_has_a_server_of_its_own(xy: list[volta.arg.Array]) -> None:
    assert volta.check(TWICE, TWICE, args=xy, block=8).ok
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[str] = context.Queue()
    children = [context.Process(target=_in_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    assert [queue.get(timeout=60) for _ in children] == ["not-equivalent"] * 2
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert volta.check(TWICE, TWICE, args=xy, block=8).ok


def test_the_program_ends_with_the_interpreter() -> None:
    code = "import volta.server as s; print(s.get().process.pid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_another_program_of_this_name(tmp_path: Path) -> None:
    fake = tmp_path / "volta"
    fake.write_text('#!/bin/sh\nwhile read line; do echo \'{"id": 1, "ok": true}\'; done\n')
    fake.chmod(0o755)
    code = "import volta, volta.server as s\ntry:\n    s.get()\nexcept volta.ServerError as e:\n    print(e)"
    env = {**os.environ, "VOLTA_BINARY": str(fake)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, env=env)
    assert "another program" in done.stdout
    env["VOLTA_BINARY"] = str(tmp_path / "none")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, env=env)
    assert "cannot start" in done.stdout
