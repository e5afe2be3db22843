"""Keywords of the questions, and what the program says of its flags in their words: `--assume 'n in 0..8'` is
`assume=["n in 0..8"]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Keys of a manifest that a call may give as keywords.
OPTIONS = frozenset(
    (
        *("strict", "warp_sync", "exact_constants", "probabilistic", "precision", "wmma_layout", "memory_limit"),
        *("alias", "map", "assume", "only", "deny", "buffers", "cluster", "masks_are_infinite", "rounding", "arch", "bits"),
        *("any", "cta", "deterministic", "seed", "names", "rows", "values"),
    )
)

#: Keywords that the questions take by themselves.
SIGNATURE = ("args", "grid", "block", "dynamic_shared", "sizes", "timeout", "budget")


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a call, which `launches.asked` told from other keywords, as keys of a launch."""
    return {k.replace("_", "-"): v for k, v in options.items() if v is not None}


#: Flags whose keyword has another name.
_RENAMED = {
    **{"threads": "block", "for": "sizes", "arg": "args", "name": "args", "buffer": "buffers"},
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
    if name not in OPTIONS and name not in SIGNATURE and name != "entry":
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
