"""What needs no program."""

from __future__ import annotations

from volta.results import Result


def test_assumptions_of_both_schemas() -> None:
    one = Result("equivalent", {"assumptions": ["a"]}, "")
    two = Result("equivalent", {"assumptions": [{"kind": "k", "message": "a", "sites": []}]}, "")
    assert one.assumptions == two.assumptions == ["a"]


def test_denied_is_not_proved() -> None:
    r = Result("equivalent", {"denied": ["narrower"]}, "")
    assert (r.ok, r.category, r.reward) == (False, "denied", 0.0)
