"""What `mypy --strict` says of a user's file: options are known by name and type."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TWICE

import volta
from volta import arg

PACKAGE = Path(volta.__file__).parent.parent

RIGHT = """
from pathlib import Path

import volta
from volta import arg

x, y = arg.input("f32", 8), arg.output("f32", 8)
k = volta.ptx("k.ptx")


def reference(x: list[float]) -> list[float]:
    return x


sizes = [dict(n=8), dict(n=16)]
r: volta.Result = volta.check(reference, k[1, 8], x, y, assume=["no-overflow"], bits=False, rounding=16, timeout=3)
volta.check(volta.formula("y[i] = x[i]"), "k.ptx", args=lambda n: [x, y, n], block=8, sizes=sizes, map={"x": "x"}, arch="sm_90")
volta.check([k.launch(x, y)], [k.launch(x, y)], only=["y[0..2]"], budget=10, deny=["narrower"])
volta.race(Path("k.cu"), args={"x": x, "y": y}, grid=(1, 2), any=True, strict=True, cluster=2)
slack: volta.Slack = volta.slack(k, x, y, block=8)
lifted: volta.Lifted = volta.lift(k, x, y, block=8)
rows: volta.Rows = volta.rows(k, "y[i] of x[i]", x, y, sizes=sizes, values=True)
classes: volta.Classes = volta.classes([k, k], x, y, block=8)
volta.run(k, x=x)
volta.prepare(reference, x, y, BLOCK=64, num_warps=4, assume=["no-overflow"]).check(k, timeout=3)


@volta.verify(reference, args=lambda n: [x, y, n], sizes=sizes, BLOCK=64, strict=True)
def kernel(x: object, y: object, n: object, BLOCK: object) -> None: ...


# Parameters of a Triton function are keywords too, so that all are taken.
volta.check(reference, kernel, x, y, 8, BLOCK=64, num_warps=4)
volta.race(kernel, x, y, 8, BLOCK=64)
"""

#: Each alone is refused.
WRONG = (
    'volta.check(reference, k, x, y, asume=["no-overflow"])',
    'volta.check(reference, k, x, y, assume="no-overflow")',
    'volta.check(reference, "k.ptx", x, y, blok=8)',
    "volta.check(reference, k, x, y, any=True)",
    'volta.race(k, x, y, asume=["no-overflow"])',
    "volta.race(k, x, y, bits=True)",
    "volta.slack(k, x, y, sizes=sizes)",
    "volta.lift(k, x, y, strict=3.5)",
    'volta.rows(k, "y[i] of x[i]", x, y, value=True)',
    "volta.classes([k, k], x, y, blocks=8)",
    'volta.run("k.ptx", x, y, asume=[])',
    "volta.same_bits(strickt=True)",
)


def _mypy(folder: Path, *texts: str) -> str:
    file = folder / "user.py"
    file.write_text("\n".join(texts))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--follow-imports=silent",
        "--cache-dir",
        str(folder / "cache"),
        file.name,
    ]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE)} if "site-packages" not in PACKAGE.parts else {**os.environ}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def test_mypy_takes_the_options_and_refuses_others(tmp_path: Path) -> None:
    assert _mypy(tmp_path, RIGHT) == ""
    refused = _mypy(tmp_path, RIGHT, *WRONG)
    first = RIGHT.count("\n") + 2
    lines = {int(n) for n in re.findall(r"user\.py:(\d+): error", refused)}
    assert lines == set(range(first, first + len(WRONG))), refused


def test_an_option_of_another_question_is_refused(xy: list[arg.Array]) -> None:
    with pytest.raises(volta.KeywordError, match="unknown keyword 'bits'"):
        volta.race(TWICE, args=xy, block=8, bits=True)  # type: ignore[call-overload]
    with pytest.raises(volta.KeywordError, match="unknown keyword 'any'"):
        volta.check(TWICE, TWICE, args=xy, block=8, any=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("question", [volta.race, volta.slack, volta.lift])
def test_a_name_that_is_all_but_an_option(question: Callable[..., Any], xy: list[arg.Array]) -> None:
    with pytest.raises(volta.KeywordError, match="unknown keyword 'asume'; did you mean assume="):
        question(".version 8.0\n", args=xy, asume=[])


def test_a_reference_that_waits_for_kernels_refuses_it_too(xy: list[arg.Array]) -> None:
    with pytest.raises(volta.KeywordError, match="did you mean assume="):
        volta.prepare(lambda x: x, args=xy, asume=["no-overflow"])
    assert volta.prepare(lambda x: x, args=xy, BLOCK=64, num_warps=4, block_m=3)
