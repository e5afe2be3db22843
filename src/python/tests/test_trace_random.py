"""Random functions of NumPy against NumPy: a sample of those that `benches/measured/traced.py` runs."""

from __future__ import annotations

import pytest
from differential import COVERED, outcome


@pytest.mark.parametrize("first", range(0, 240, 20))
def test_formulas_of_random_functions_are_what_numpy_computes(first: int) -> None:
    found = [(seed, *outcome(seed)) for seed in range(first, first + 20)]
    wrong = [f for f in found if f[1] not in COVERED]
    assert not wrong
    # What is refused says so: a sample in which little else happens would test nothing.
    assert sum(f[1] == "same" for f in found) >= 16
