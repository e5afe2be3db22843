"""Keywords of the questions, and what the program says of its flags in their words: `--assume 'n in 0..8'` is
`assume=["n in 0..8"]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from . import lints

if TYPE_CHECKING:
    from .calls import Size, SizedArgs
    from .kernels import Grid, SizedGrid


class Limits(TypedDict, total=False):
    """What ends a question: seconds, and units of work."""

    timeout: float | None
    budget: int | None


class Facts(TypedDict, total=False):
    """What every question takes for granted, reports or denies, beside its launch."""

    alias: Mapping[str, str] | list[str] | None
    assume: list[str] | tuple[str, ...] | None
    buffers: Mapping[str, str] | None
    cluster: Grid | None
    cta: Grid | None
    deny: list[str] | tuple[str, ...] | None
    exact_constants: bool | None
    masks_are_infinite: bool | None
    memory_limit: int | None
    names: Mapping[str, str] | None
    only: list[str] | tuple[str, ...] | None
    precision: bool | None
    probabilistic: bool | None
    seed: int | None
    strict: bool | None
    warp_sync: bool | None
    wmma_layout: str | None


class Options(Limits, Facts, total=False):
    """Keywords of a question about one launch."""

    arch: int | str | None
    args: SizedArgs | None
    grid: SizedGrid | None
    block: Grid | None
    dynamic_shared: int | None


class PairFacts(Facts, total=False):
    """Facts about two kernels."""

    bits: bool | None
    map: Mapping[str, str] | list[str] | None
    rounding: bool | int | None


class PairOptions(Options, PairFacts, total=False):
    """Keywords of `prepare`."""


class CheckOptions(PairOptions, total=False):
    """Keywords of `check`."""

    sizes: Sequence[Size] | Literal["awkward"] | None


class RaceOptions(Options, total=False):
    """Keywords of `race`."""

    sizes: Sequence[Size] | Literal["awkward"] | None
    any: bool | None
    deterministic: bool | None


class SlackOptions(Options, total=False):
    """Keywords of `slack`."""

    any: bool | None


class RowsOptions(Options, total=False):
    """Keywords of `rows`."""

    sizes: Sequence[Size] | None
    values: bool


class ClassesOptions(Options, total=False):
    """Keywords of `classes`."""

    configs: Sequence[Any] | Literal["all"]


#: Every keyword of a question.
OPTIONS = frozenset[str]().union(*(k.__optional_keys__ for k in (CheckOptions, RaceOptions, RowsOptions, ClassesOptions)))


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a call, which `launches.asked` told from other keywords, as keys of a launch; of what is
    denied this package's own kinds are none of the program's."""
    given = {k.replace("_", "-"): v for k, v in options.items() if v is not None}
    if isinstance(given.get("deny"), (list, tuple)):
        given["deny"] = [kind for kind in given["deny"] if kind not in lints.KINDS]
    return given


#: Flags whose keyword has another name.
_RENAMED = {
    **{"threads": "block", "for": "sizes", "arg": "args", "name": "args", "buffer": "buffers", "rows": "pattern"},
    **{f"{side}-{what}": what for side in ("ref", "opt") for what in ("grid", "block", "entry")},
}
#: Flags that are switches.
_SWITCHES = frozenset(
    ("strict", "exact-constants", "probabilistic", "warp-sync", "bits", "any", "deterministic", "values", "rounding")
)
#: Keywords that hold a list of texts.
_LISTS = frozenset(("assume", "only", "deny", "alias"))

#: A flag that stands as a word, with a value where one follows.
_FLAG = re.compile(
    r"(?<![\w-])--([a-z][a-z-]*[a-z])(?![\w-])"
    r"(?:[ =]('[^'\n]*'|\w+=[^\s'`,;)]+(?:,[^\s'`,;)]+)*|\d[^\s'`;)]*|\(\d[^)\n]*\)|(?<= )[A-Z]\b))?"
)
_PAIR = re.compile(r"(\w+)=(.+)")
_COMMAND = re.compile(r"\bvolta [a-z]+ \S")
_ARRAY = re.compile(r"(?:(in|out|inout|scratch):)?(\w+)\[([\w,.]+)\]")


def spoken(text: str) -> str:
    """A message of the program with keywords of this package in the place of flags; flags that are none of it stay."""
    if "--" not in text:
        return text
    said = text.replace("`--format json` has all", "`result.report` has all")
    # A command stays one.
    return "\n".join(line if _COMMAND.search(line) else _FLAG.sub(_keyword, line) for line in said.split("\n"))


def _keyword(found: re.Match[str]) -> str:
    flag, value = found[1], found[2]
    name = _RENAMED.get(flag, flag.replace("-", "_"))
    if name in ("ref_arg", "opt_arg"):
        side = "the reference" if name == "ref_arg" else "the kernel"
        return f"the arguments of {side}" + ("" if value is None else f" ({_bare(value)})")
    if name not in OPTIONS and name not in ("entry", "pattern"):
        return found[0]
    if flag in _SWITCHES:
        return f"{name}=True" + ("" if value is None else f" {value}")
    if value is None:
        return f"{name}="
    value = _bare(value)
    pair = _PAIR.fullmatch(value)
    if name in _LISTS:
        return f'{name}=["{value}"]'
    if name == "sizes" and pair:
        return f"sizes= with {pair[1]} in {pair[2]}"
    if name == "args" and pair:
        array = _ARRAY.fullmatch(pair[2])
        roles = {"in": "input", "out": "output", None: "inout"}
        bound = f'arg.{roles.get(array[1], array[1])}("{array[2]}", ({array[3]},))' if array else pair[2]
        return f"args= with {bound} at {pair[1]}" if pair[1].isdigit() else f'args={{"{pair[1]}": {bound}}}'
    return f'{name}="{value}"' if name == "entry" else f"{name}={value}"


def _bare(value: str) -> str:
    return value[1:-1] if value.startswith("'") else value
