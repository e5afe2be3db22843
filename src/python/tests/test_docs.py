"""What the page of the package says is there."""

from __future__ import annotations

import re
from pathlib import Path

import volta

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_names_exist() -> None:
    for name in set(re.findall(r"volta\.(\w+)", README)):
        assert hasattr(volta, name), name
    for name in set(re.findall(r"\barg\.(\w+)", README)):
        assert hasattr(volta.arg, name), name
    for name in set(re.findall(r"\br\.(\w+)", README)):
        kinds = (volta.Result, volta.Slack, volta.Lifted, volta.Classes, volta.Rows)
        assert any(hasattr(k, name) or name in k.__dataclass_fields__ for k in kinds), name


def test_everything_public_is_documented() -> None:
    for name in volta.__all__:
        value = getattr(volta, name)
        assert value.__doc__, name
