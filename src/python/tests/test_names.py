"""What needs no program."""

from __future__ import annotations

from volta.results import Names, Result


def test_names_are_whole_words() -> None:
    names = Names({"k_param_1": "y", "k_param_10": "z"})
    assert names.replace("k_param_1[0] k_param_10 k_param_100 xk_param_1") == "y[0] z k_param_100 xk_param_1"
    assert names.replace("param_10[3] + param_1") == "z[3] + y"
    assert Names().replace("k") == "k"


def test_assumptions_of_both_schemas() -> None:
    one = Result("equivalent", {"assumptions": ["a"]}, "")
    two = Result("equivalent", {"assumptions": [{"kind": "k", "message": "a", "sites": []}]}, "")
    assert one.assumptions == two.assumptions == ["a"]


def test_denied_is_not_proved() -> None:
    r = Result("equivalent", {"denied": ["narrower"]}, "")
    assert (r.ok, r.category, r.reward) == (False, "denied", 0.0)
