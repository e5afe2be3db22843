"""Candidates that are no kernels, or that end what looks at them: each is one result, and costs no other one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import HEAD, THRICE, TWICE

import volta
from volta import arg, server


class Hostile:
    """Its text, its attributes and its call are code that raises."""

    def __repr__(self) -> str:
        raise SystemExit(3)

    @property
    def fn(self) -> Any:
        raise Unprintable

    def __call__(self) -> None:
        raise ValueError


class Unprintable(Exception):
    """Its text raises."""

    def __str__(self) -> str:
        raise ValueError


class Unshown:
    """Its text ends the interpreter."""

    def __repr__(self) -> str:
        raise SystemExit(3)


def _raises(x: Any) -> Any:
    return 1 / 0


#: What is no kernel: its category and a part of its hint.
NONE: dict[str, tuple[Any, str, str]] = {
    "text": ("to be or not to be\n", "syntax", "a text is PTX, CUDA"),
    "empty": ("", "syntax", "a text is PTX, CUDA"),
    "text as PTX": (volta.ptx("nonsense\n"), "syntax", ".version"),
    "PTX without a kernel": (HEAD, "syntax", "the module has no entry"),
    "half of PTX": (TWICE[: len(TWICE) // 2], "syntax", ""),
    "path": (Path("/nowhere/k.ptx"), "syntax", "cannot read /nowhere/k.ptx"),
    "path as text": ("/nowhere/k.cu", "syntax", "cannot read /nowhere/k.cu"),
    "folder": (Path("/"), "syntax", "cannot read /"),
    "None": (None, "syntax", "None is no kernel"),
    "number": (3.5, "syntax", "3.5 is no kernel"),
    "bytes": (b".version 8.0", "syntax", "is no kernel"),
    "list": ([TWICE], "syntax", "is no kernel"),
    "formula": (volta.formula("y[i] = 2*x[i]"), "syntax", "not a formula or a Python function"),
    "function": (_raises, "syntax", "not a formula or a Python function"),
    "class": (Hostile, "syntax", "not a formula or a Python function"),
    "hostile attribute": (Hostile(), "launch", "the candidate raises"),
    "hostile text": (Unshown(), "launch", "the candidate raises SystemExit: 3"),
    "CUDA that does not compile": ("__global__ void k(float* x) { x[0] = y; }", "compile", "identifier"),
    "CUDA without a kernel": ("// __global__\nint f() { return 0; }", "compile", "no kernel"),
    "kernel of a number": (volta.Kernel(5, "k"), "unknown", "TypeError"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("jobs", [1, 4])
def test_what_is_no_kernel_is_one_result(jobs: int, xy: list[arg.Array]) -> None:
    given = [TWICE, *(candidate for candidate, _, _ in NONE.values()), THRICE]
    found = list(volta.prepare(TWICE, args=xy, block=8).check_many(given, timeout=60, jobs=jobs))
    results = {id(candidate): r for candidate, r in found}
    assert len(found) == len(results) == len(given)
    for name, (candidate, category, hint) in NONE.items():
        r = results[id(candidate)]
        assert (r.category, r.reward) == (category, None if category == "unknown" else 0.0), f"{name}: {r!r}"
        assert hint in r.hint, f"{name}: {r.hint}"
    assert (results[id(TWICE)].reward, results[id(THRICE)].reward) == (1.0, 0.0)


def test_a_triton_function_that_raises_is_one_result() -> None:
    pytest.importorskip("triton")
    import triton_kernels_under_test as kernels

    def grid(meta: Any) -> Any:
        raise ZeroDivisionError("a grid of their own")

    args = {"x": arg.input("f32", 32), "y": arg.output("f32", 32), "n": 32}
    ref = volta.prepare(lambda x: x * 2, args=args, grid=(1,))
    candidates = [kernels.doubled[grid], kernels.broken, kernels.doubled]
    for limit in ({"timeout": 60}, {"budget": 10**9}, {}):
        found = {id(c): r for c, r in ref.check_many(candidates, **limit)}
        raised, broken, right = (found[id(c)] for c in candidates)
        assert raised.reward == 0.0
        assert "a grid of their own" in raised.hint
        assert (broken.category, broken.reward) == ("launch" if "B" in broken.hint else "compile", 0.0)
        assert right.reward == 1.0, right


@pytest.mark.parametrize("candidate", [Path("/nowhere/candidate.py"), "/nowhere/candidate.py", Path("/"), 5, None, b"import torch"])
def test_what_is_no_file_is_a_judgement(candidate: Any) -> None:
    r = volta.judge("class Model: pass\n", candidate)
    assert (r.category, r.reward) == ("syntax", 0.0), r
    with pytest.raises(volta.InputError):
        volta.judge(candidate, "class ModelNew: pass\n")


#: A program that proves everything and ends at one word.
FRAGILE = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if "FATAL" in line:
        os.abort()
    time.sleep(0.05)
    result = {"verdict": "equivalent"}
    if request["op"] == "version":
        result = {"volta": "0.2.0", "schema": "volta/2"}
    print(json.dumps({"id": request["id"], "ok": True, "result": result}), flush=True)
"""


def test_a_candidate_that_ends_the_program_costs_itself_alone(
    xy: list[arg.Array], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "volta"
    path.write_text(f"#!{sys.executable} -S\n{FRAGILE}")
    path.chmod(0o755)
    server.get().close()
    monkeypatch.setenv(server.BINARY, str(path))
    candidates = [f"{TWICE}// {'FATAL' if i % 5 == 2 else 'right'} {i}" for i in range(20)]
    found = dict(volta.prepare(volta.formula("y[i] = 2*x[i]"), args=xy, block=8).check_many(candidates, jobs=4))
    server.get().close()
    assert len(found) == len(candidates)
    for candidate, r in found.items():
        fatal = "FATAL" in candidate
        assert (r.category, r.reward) == (("unknown", None) if fatal else ("proved", 1.0)), r
        assert not fatal or "volta itself does not survive it" in r.hint


def test_a_program_that_is_not_there_is_no_result(xy: list[arg.Array], monkeypatch: pytest.MonkeyPatch) -> None:
    ref = volta.prepare(volta.formula("y[i] = 2*x[i]"), args=xy, block=8)
    server.get().close()
    monkeypatch.setenv(server.BINARY, "/nowhere/volta")
    with pytest.raises(volta.ServerError, match="cannot start"):
        list(ref.check_many([TWICE, THRICE]))
