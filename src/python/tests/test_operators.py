"""The formulas of `kernels/operators` are what the tracer makes of the functions of NumPy that stand beside its kernels."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from formulas import evaluate

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "kernels" / "operators"


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # A dataclass looks its module up.
    spec.loader.exec_module(module)
    return module


OPERATORS = _module("operators").OPERATORS
MANIFEST = _module("manifest")


def test_the_manifest_is_of_today() -> None:
    assert MANIFEST.manifest() == (FOLDER / "volta.toml").read_text(), "run kernels/operators/manifest.py"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_a_formula_is_what_numpy_computes(operator: Any) -> None:
    random = np.random.default_rng(0)
    arrays = {n: a.partition(":") for n, a in operator.args.items() if isinstance(a, str)}
    shapes = {n: tuple(int(d) for d in a[2].partition("[")[2][:-1].split(",")) for n, a in arrays.items()}
    whole = {n for n, a in arrays.items() if a[2][0] in "su"}
    values = {
        n: random.integers(0, 2, shapes[n]) if n in whole else random.uniform(0.1, 1.0, shapes[n])
        for n, a in arrays.items()
        if a[0] != "out"
    }
    found = operator.function(*values.values())
    outputs = [n for n, a in arrays.items() if a[0] != "in"]
    text = MANIFEST.formula(operator)
    for name, expected in zip(outputs, found if isinstance(found, tuple) else [found], strict=True):
        np.testing.assert_allclose(evaluate(text, name, shapes[name], values), expected, rtol=1e-6, err_msg=name)
