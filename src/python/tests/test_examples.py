"""Every example runs, and finds what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = [*sorted(FOLDER.glob("*.py")), FOLDER / "harness" / "run.py"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_example(path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
