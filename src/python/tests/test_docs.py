"""What the page of the package and the docstrings say is there, and is so."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import readme_names

import volta

README = readme_names.PAGE.read_text()

#: Functions that raise nothing of this package's own, since they only write something down.
QUIET = frozenset(("formula", "fake", "same_bits", "verify", "explain", "triton_configs"))


def test_names_exist() -> None:
    for name in set(re.findall(r"volta\.(\w+)", README)):
        assert hasattr(volta, name), name
    for name in set(re.findall(r"\barg\.(\w+)", README)):
        assert hasattr(volta.arg, name), name
    for name in set(re.findall(r"\br\.(\w+)", README)):
        kinds = (volta.Result, volta.Slack, volta.Lifted, volta.Classes, volta.Rows, volta.Judgement)
        assert any(hasattr(k, name) or name in k.__dataclass_fields__ for k in kinds), name


def _public() -> Iterator[tuple[str, Any]]:
    for name in volta.__all__:
        value = getattr(volta, name)
        yield name, value
        if inspect.isclass(value) or inspect.ismodule(value):
            members = vars(value).items()
            own = value.__name__ if inspect.ismodule(value) else value.__module__
            for member, found in members:
                of_package = getattr(found, "__module__", own) == own or isinstance(found, property)
                if not member.startswith("_") and of_package and (callable(found) or isinstance(found, property)):
                    yield f"{name}.{member}", found


@pytest.mark.parametrize("name", dict(_public()))
def test_everything_public_is_documented(name: str) -> None:
    value = dict(_public())[name]
    assert inspect.getdoc(value), name


@pytest.mark.parametrize("name", [n for n, v in _public() if inspect.isfunction(v) and "." not in n and n not in QUIET])
def test_functions_say_what_they_raise(name: str) -> None:
    text = inspect.getdoc(getattr(volta, name)) or ""
    assert re.search(r"Raises `\w+`|Arguments as those of `|is an `InputError`", text), name


@pytest.mark.parametrize("example", [e for e in readme_names.examples() if not readme_names.needs_torch(e)])
def test_examples_of_the_page_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = ""
    if "triton" in example:
        pytest.importorskip("triton")
        head = "import triton\nimport triton.language as tl\n"
    module = readme_names.run(example, tmp_path, head)
    if "check_many" not in example and hasattr(module, "r"):
        assert module.r.ok, module.r
