"""A harness in the manner of KernelBench: tasks, candidates as a model might write them, and a verdict and a reward for each.

    tasks/NAME.py           REFERENCE (a function of NumPy or torch, or a kernel), SIZES, and of a size: args, grid, BLOCK; DENY
    candidates/NAME/*.cu    a kernel each; the first line says what a harness should make of it

Most of the candidates cheat, and every one is caught or denied. Run it: python examples/harness/run.py (needs nvcc, and no GPU).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import volta

HERE = Path(__file__).parent


def tasks() -> Iterator[Any]:
    """Each task as its module."""
    for path in sorted((HERE / "tasks").glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def judged(task: Any, candidates: Mapping[str, str], jobs: int = 2) -> dict[str, volta.Result]:
    """Candidates by name, each with its result: what survives one size is looked at in the next one."""
    results: dict[str, volta.Result] = {}
    names = {text: name for name, text in candidates.items()}
    left = dict(candidates)
    for size in task.SIZES:
        prepared = volta.prepare(task.REFERENCE, args=task.args(**size), grid=task.grid(**size), block=task.BLOCK, deny=task.DENY)
        for text, r in prepared.check_many(list(left.values()), timeout=30, jobs=jobs):
            results[names[text]] = r
            if r.reward != 1.0:
                del left[names[text]]
    return results


def main() -> None:
    """Prints a table."""
    wrong = []
    for task in tasks():
        folder = HERE / "candidates" / task.__name__
        texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.cu"))}
        for name, r in sorted(judged(task, texts).items()):
            expected = texts[name].splitlines()[0].removeprefix("// ").partition(":")[0]
            print(f"{task.__name__:12} {name:24} {r.category:13} {r.reward!s:5} {r.hint.splitlines()[0][:100]}")
            if r.category != expected:
                wrong.append(f"{task.__name__} {name}: {r.category} instead of {expected}\n{r}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    main()
