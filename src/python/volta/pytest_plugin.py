"""The pytest plugin: one test for each size and configuration of a kernel that `volta.verify` decorates.

Kernels are found in every test module and in the modules that it imports; `--volta-modules PKG` adds others.
"""

from __future__ import annotations

import importlib
import pkgutil
import types
from collections.abc import Iterator
from typing import Any

import pytest

from . import verification as _verify
from .errors import Error, NotProved


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("volta")
    group.addoption("--volta-modules", action="append", default=[], metavar="PKG", help="verify the kernels of a package too")
    group.addoption("--volta-deny", default="", metavar="KIND,...", help="warnings that fail a kernel")
    group.addoption("--volta-timeout", type=float, default=None, metavar="SECONDS", help="limit for each kernel")
    group.addoption("--volta-budget", type=int, default=None, metavar="N", help="limit for each kernel, in units of work")


class KernelItem(pytest.Item):
    """One case of one kernel."""

    def __init__(self, *, verification: _verify.Verification, case: _verify.Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.verification, self.case = verification, case

    def runtest(self) -> None:
        """Checks it; what is not proved fails."""
        limits = (self.config.getoption(f"--volta-{name}") for name in ("timeout", "budget"))
        result = self.verification.check(self.case, *limits)
        result.raise_unless_proved(allow_unknown=self.verification.allow_unknown)
        denied = set(str(self.config.getoption("--volta-deny")).split(","))
        found = [w for w in result.warnings if w.kind in denied or "warnings" in denied]
        if found:
            raise NotProved("\n".join(f"denied: {w}" for w in found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone: the way to it tells nothing."""
        if isinstance(excinfo.value, Error):
            return f"{self.name}\n\n{excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where it is."""
        return self.path, None, self.name


class Kernels(pytest.Collector):
    """The kernels of one module."""

    def __init__(self, *, found: list[_verify.Verification], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.found = found

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each case."""
        for v in self.found:
            for case in v.cases():
                yield KernelItem.from_parent(self, name=f"{v.name}[{case.id}]", verification=v, case=case)


def _modules(module: types.ModuleType) -> set[str]:
    """A module and those that it imports, by whatever of theirs it holds."""
    out = {module.__name__}
    for value in vars(module).values():
        if isinstance(value, types.ModuleType):
            out.add(value.__name__)
        else:
            name = getattr(value, "__module__", None)
            if isinstance(name, str):
                out.add(name)
    return out


def _seen(config: pytest.Config) -> set[int]:
    seen: set[int] = config.__dict__.setdefault("_volta_seen", set())
    return seen


def _fresh(config: pytest.Config, modules: set[str]) -> list[_verify.Verification]:
    seen = _seen(config)
    found = [v for m in sorted(modules) for v in _verify.registry.get(m, []) if id(v) not in seen]
    seen.update(map(id, found))
    return found


class _Plugin:
    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> Any:
        made = yield
        if made is None:
            return made
        collect = made.collect

        def with_kernels() -> Iterator[Any]:
            yield from collect()
            found = _fresh(made.config, _modules(made.obj))
            if found:
                yield Kernels.from_parent(made, name="volta", found=found)

        made.collect = with_kernels
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        report = yield
        names = collector.config.getoption("--volta-modules")
        if isinstance(collector, pytest.Session) and names and report.outcome == "passed":
            found = _fresh(collector.config, {m for name in names for m in _package(name)})
            if found:
                report.result = [*report.result, Kernels.from_parent(collector, name="volta", found=found)]
        return report


def _package(name: str) -> set[str]:
    module = importlib.import_module(name)
    out = {name}
    for found in pkgutil.walk_packages(getattr(module, "__path__", []), f"{name}."):
        importlib.import_module(found.name)
        out.add(found.name)
    return out


def pytest_configure(config: pytest.Config) -> None:
    """Registers the rest."""
    config.pluginmanager.register(_Plugin(), "volta-kernels")
