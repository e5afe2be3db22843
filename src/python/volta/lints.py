"""Warnings about Triton kernels whose cause PTX does not show: of this package, beside those of the program, and like them."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import foreign, masks

if TYPE_CHECKING:
    from .kernels import Kernel
    from .results import Result

Json = dict[str, Any]

#: The kinds, each with what it means.
KINDS = {
    "masked-load-without-other": """\
masked-load-without-other (warning)

A `tl.load` with a mask and without `other` has no value in the lanes that its mask leaves out, and a reduction, a product, an
address or a store takes these lanes in. What they hold is the compiler's choice: often 0, and something else after a change
elsewhere. Give the load `other=`, or replace the lanes with `tl.where(mask, value, ...)`. It is found in Triton's intermediate
text, and where another condition may keep the lanes out nothing is said.

    v = tl.load(x + i, mask=i < n)             # warned about: the sum is over all lanes
    tl.store(y, tl.sum(v, 0))

    v = tl.load(x + i, mask=i < n, other=0.0)
""",
    "autotune-in-place": """\
autotune-in-place (warning)

A kernel under `triton.autotune` reads and writes the same argument, in place or by atomics. While it is tuned it is run many times,
each time on what the run before left, so that the first call gives something else than all others. Say
`restore_value=["x"]` in `triton.autotune`, or `reset_to_zero=["x"]` for what starts at 0.
""",
}


def of_triton(function: Any, wrappers: Iterable[Any], ttir: str, changed: Iterable[str]) -> tuple[Json, ...]:
    """What is suspect of a compiled function: `changed` are its parameters that it reads and writes."""
    out = []
    for use in masks.undefined_uses(ttir):
        file, line = use.taker
        where = f"in line {line}" if file == use.load[0] else f"at {file}:{line}"
        message = (
            "the lanes that the mask of this load leaves out have no value, since it has no `other`, and "
            f"{use.what} {where} takes them in"
        )
        hint = "say other=... in tl.load, or tl.where(mask, value, ...) of what it loads"
        out.append(_finding("masked-load-without-other", message, hint, use.load, use.taker))
    tuner = next((w for w in wrappers if len(getattr(w, "configs", None) or ()) > 1), None)
    if tuner is not None and not _has_hooks(tuner):
        kept = {*(getattr(tuner, "restore_value", None) or ()), *(getattr(tuner, "reset_to_zero", None) or ())}
        code = function.fn.__code__
        for name in (n for n in changed if n not in kept):
            message = f"{function.__name__} is autotuned, and it reads and writes `{name}`: each run of the tuner changes it again"
            hint = f'say restore_value=["{name}"] in triton.autotune, or reset_to_zero=["{name}"] where it starts at 0'
            out.append(_finding("autotune-in-place", message, hint, (code.co_filename, code.co_firstlineno)))
    return tuple(out)


def _has_hooks(tuner: Any) -> bool:
    """Whether a function of the user's own runs before a configuration does: it may restore anything."""
    return bool(getattr(tuner, "user_defined_pre_hook", False)) or any(getattr(c, "pre_hook", None) for c in tuner.configs)


def _finding(kind: str, message: str, hint: str, *places: tuple[str, int]) -> Json:
    """A warning in the form of the program's."""
    sites = [
        {"file": file, "line": line, "text": linecache.getline(file, line).strip(), "source": {"file": file, "line": line}}
        for file, line in dict.fromkeys(places)
    ]
    return {"kind": kind, "message": message, "count": 1, "sites": sites, "hint": hint}


def of_sides(sides: Mapping[str, Iterable[Kernel]]) -> list[Json]:
    """The warnings about the kernels of a question, each once, with the side that it is about."""
    found = {repr(lint): {"kernel": side, **lint} for side, kernels in sides.items() for k in kernels for lint in k.lints}
    return list(found.values())


def with_lints(result: Result, found: Sequence[Json], deny: Iterable[str] | None) -> Result:
    """An answer of the program with warnings of this package."""
    if not found:
        return result
    kinds = {lint["kind"] for lint in found}
    wanted = set(deny or ())
    denied = kinds if "warnings" in wanted else kinds & wanted
    report = {
        **result.report,
        "warnings": [*result.report.get("warnings", []), *found],
        "denied": sorted({*result.denied, *denied}),
    }
    return replace(result, report=report, text="\n".join([result.text.rstrip(), *map(_text, found)]) + "\n")


def _text(lint: Json) -> str:
    site = lint["sites"][0]
    margin = " " * len(str(site["line"]))
    return f"""
warning[{lint["kind"]}]: {foreign.line(lint["message"])}
{margin}--> {foreign.line(site["file"])}:{site["line"]}
{margin} |
{site["line"]} |     {foreign.line(site["text"])}
{margin} |
{margin} = help: {foreign.line(lint["hint"])}"""
