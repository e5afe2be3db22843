"""The declared launches themselves, as far as they can be looked at: first, middle and last CTAs, and every launch by `any`.

At the declared shapes nothing is proved equal, but memory errors show there that smaller sizes never have: an index that leaves 32
bits, an extent that no guard covers. A CTA is run alone, on arrays of the declared extents with any contents; no other launch
and no other CTA takes part, so that only accesses outside of an array are told, and only where no array holds integers that
could be places. A finding is then one of the real launch: the CTA does that access whatever the others do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import api
from ..arg import Array, View
from ..errors import Error
from ..kernels import Kernel
from ..results import Result
from . import coverage, relations, sequence
from .coverage import Seen
from .sequence import Json

#: Defects that one CTA has whatever the others do.
_ALONE = ("out-of-bounds", "misaligned-access")


class _Alone(sequence.Builder):
    """A launch by itself: each storage that it is given is an array of any contents."""

    def _array(self, number: int, storage: Json, kind: str | None) -> Array:
        element = kind if storage["type"] == "u8" and kind else str(storage["type"])
        count = int(storage["size"]) // sequence.width(element)
        return Array(element, (count,), "inout", name=f"{sequence.name_of(storage)}_{number}")


def _launches(seen: Seen) -> Iterator[tuple[Json, Kernel]]:
    for event in relations.ends(seen.launches()):
        alone = _Alone(seen.recorded, seen.built, {}, {})
        try:
            alone.one(event)
        except (sequence.Unclear, sequence.Wrong):
            continue
        kernel = _plain(alone.out.launches[-1])
        if kernel is not None and all(a.type.startswith(("f", "bf")) and a.elements for a in alone.out.arrays.values()):
            yield event, kernel


def _plain(kernel: Kernel) -> Kernel | None:
    """A launch whose arrays are its parameters, each once and whole: one CTA of it can be asked for. None for another."""
    views = [v for v in kernel.args.values() if isinstance(v, View)]
    if kernel.fields or any(v.offset for v in views) or len({v.array.name for v in views}) < len(views):
        return None
    return replace(kernel, args={k: v.array if isinstance(v, View) else v for k, v in kernel.args.items()})


def _asked(kernel: Kernel, **options: Any) -> Result | None:
    try:
        return api.race(kernel, **options)
    except Error:
        return None


@dataclass
class Corners:
    """What three CTAs of each declared launch did: a memory error, and the places that went one way in all of them."""

    error: str | None = None
    one_way: frozenset[coverage.Place] = frozenset()


def corners(seen: Seen, limits: Mapping[str, Any]) -> Corners:
    """Runs them, each within the limits."""
    out = Corners()
    for event, kernel in _launches(seen):
        middle, last = [int(n) // 2 for n in event["grid"]], [int(n) - 1 for n in event["grid"]]
        sides = []
        for cta in ([0, 0, 0], middle, last):
            result = _asked(kernel, cta=cta, **limits)
            if result is None or result.verdict == "unknown":
                break
            found = next((d for d in result.report["defects"] if d["kind"] in _ALONE), None)
            if found is not None:
                out.error = f"at the declared shapes CTA {tuple(cta)} of {event['kernel']}: {found['message']}"
                return out
            sides.append(frozenset(coverage.places(result, [kernel])))
        if len(sides) == 3:
            out.one_way |= frozenset.intersection(*sides)
    return out


def every_launch(seen: Seen, limits: Mapping[str, Any]) -> str:
    """The worst verdict of `race --any` over the kernels at the declared shapes: clean, unknown or defective."""
    order: Sequence[str] = ("defective", "unknown", "clean")
    verdicts = []
    for _, kernel in _launches(seen):
        result = _asked(kernel, any=True, **limits)
        verdicts.append("unknown" if result is None else str(result.verdict))
    return min(verdicts, key=lambda v: order.index(v) if v in order else 1) if verdicts else "unknown"
