"""Answers of questions that say more than a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from .kernels import Formula
from .results import Finding, Result, Site

S = TypeVar("S", bound=Result)


def _as(kind: type[S], result: Result, **more: Any) -> S:
    """A result as one that says more."""
    return kind(**{f.name: getattr(result, f.name) for f in fields(Result)}, **more)


@dataclass(frozen=True)
class Sync:
    """A place of a synchronising operation: `needed`, with what breaks without it; `spare`; or `unjudged`, with `why`."""

    site: Site
    op: str
    state: Literal["needed", "spare", "unjudged"]
    breaks: Finding | None
    why: Finding | None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Sync:
        """From JSON."""
        breaks, why = (Finding.of(found) if found else None for found in (entry.get("breaks"), entry.get("why")))
        return cls(Site.of(entry["site"]), str(entry["op"]), entry["state"], breaks, why)


@dataclass(frozen=True, repr=False)
class Slack(Result):
    """The answer of `volta.slack`."""

    @classmethod
    def of(cls, result: Result) -> Slack:
        """From an answer."""
        return _as(cls, result)

    @property
    def sync(self) -> list[Sync]:
        """Every place of a synchronising operation that the launch executes."""
        return [Sync.of(s) for s in self.report.get("sync", [])]

    @property
    def together(self) -> list[Sync]:
        """Those that can go at once."""
        every = self.sync
        return [every[i] for i in self.report.get("together", [])]


@dataclass(frozen=True)
class LiftedOutput:
    """The formula of one output, the sizes that it was proved at, and whether it is conjectured for others."""

    name: str
    formula: Formula
    proved_at: tuple[dict[str, int], ...]
    conjectured: bool


@dataclass(frozen=True, repr=False)
class Lifted(Result):
    """The answer of `volta.lift`."""

    @classmethod
    def of(cls, result: Result) -> Lifted:
        """From an answer."""
        return _as(cls, result)

    @property
    def outputs(self) -> list[LiftedOutput]:
        """Each output that has a formula."""
        return [
            LiftedOutput(o["name"], Formula(o["formula"]), tuple(o.get("proved_at", [])), bool(o.get("conjectured")))
            for o in self.report.get("outputs", [])
            if "formula" in o
        ]

    @property
    def formulas(self) -> dict[str, Formula]:
        """The formulas by the names of the outputs."""
        return {o.name: o.formula for o in self.outputs}


@dataclass(frozen=True)
class BitClass:
    """Kernels that give the same bits, by position and by name. `differs` says of other classes, by position, what shows that
    they differ; `None` where nothing was found."""

    members: tuple[int, ...]
    names: tuple[str, ...]
    differs: Mapping[int, str | None]


@dataclass(frozen=True, repr=False)
class Classes(Result):
    """The answer of `volta.classes`; `labels` are the names of the kernels, configurations for example."""

    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Result, labels: Sequence[str]) -> Classes:
        """From an answer."""
        return _as(cls, result, labels=tuple(labels))

    @property
    def classes(self) -> list[BitClass]:
        """The classes, in the order of their first members."""
        return [
            BitClass(
                tuple(c["members"]),
                tuple(self.labels[i] for i in c["members"]),
                {int(k): None if v is None else str(v.get("message", "")) for k, v in c["differs"].items()},
            )
            for c in self.report.get("classes") or []
        ]


@dataclass(frozen=True)
class RowExample:
    """A row that has other values than row 0 of the smallest launch, or that reads another row (`other`)."""

    row: int | None
    other: int | None
    sizes: dict[str, int]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    site: Site | None


@dataclass(frozen=True, repr=False)
class Rows(Result):
    """The answer of `volta.rows`."""

    @classmethod
    def of(cls, result: Result) -> Rows:
        """From an answer."""
        return _as(cls, result)

    @property
    def example(self) -> RowExample | None:
        """The row that depends on its batch; `counterexample` has its element and values."""
        found = self.report.get("counterexample")
        if not found:
            return None
        launch = found.get("launch") or {}
        site = found.get("site")
        return RowExample(
            found.get("row"),
            found.get("other"),
            dict(found.get("sizes") or {}),
            tuple(launch.get("grid", ())),
            tuple(launch.get("block", ())),
            Site.of(site) if site else None,
        )
