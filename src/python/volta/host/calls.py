"""Which of the two calls of a model are judged.

A model is called twice, on different inputs, and the second call is the one whose outputs are compared: what it keeps from call to
call (an output that it gives again, a counter that is not reset) is then what it is on a GPU. Both calls are judged as one
sequence, unless the first cannot matter: the calls do the same, and neither touches memory that is older than itself but inputs and
parameters. Sound is the direction "both": it is what happens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .compiler import Built

Json = dict[str, Any]


#: Variables of the device that a launch may leave changed.
_GLOBAL = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)?\.global\s+(?!.*\$str)", re.M)


def to_judge(recorded: Json, built: Sequence[Built]) -> list[Json]:
    """The events of both calls, or of the second alone."""
    events: list[Json] = recorded["events"]
    first = recorded.get("first")
    if not first:
        return events
    end, older = int(first["events"]), int(first["older"])
    given = {int(v["tensor"]["storage"]) for v in first["inputs"]}
    given |= {
        int(v["tensor"]["storage"]) for v in (*recorded["inputs"], *recorded["parameters"]) if isinstance(v, dict) and "tensor" in v
    }
    one, two = _Shape(given), _Shape(given)
    shapes = [one.of(e) for e in events[:end]], [two.of(e) for e in events[end:]]
    fresh = all(n >= older for n in (*one.seen, *two.seen)) and not set(one.seen) & set(two.seen)
    keeps = any(_GLOBAL.search(text) for b in built for text in b.ptx.values())
    return events[end:] if fresh and not keeps and shapes[0] == shapes[1] else events


class _Shape:
    """An event with the storages of a call numbered as they appear, and given ones as such."""

    def __init__(self, given: set[int]) -> None:
        self.given = given
        self.seen: dict[int, int] = {}

    def number(self, storage: int) -> int:
        """The number of a storage in this call; given ones are all alike here, since their places are compared by position."""
        return -1 if storage in self.given else self.seen.setdefault(storage, len(self.seen))

    def of(self, event: Json) -> Any:
        """What two calls have in common if they do the same."""
        out = {k: self.value(v) for k, v in event.items() if k not in ("parameters", "formula", "storage", "to", "source")}
        if "storage" in event:
            out["storage"] = self.number(int(event["storage"]))
        for key in ("to", "source"):
            if key in event:
                out[key] = [self.number(int(event[key][0])), event[key][1]]
        if "parameters" in event:
            out["parameters"] = [self.parameter(p) for p in event["parameters"]]
        return out

    def value(self, value: Any) -> Any:
        """A value of an operation of torch, with its views."""
        if isinstance(value, list):
            return [self.value(v) for v in value]
        if isinstance(value, dict):
            return {k: self.number(int(v)) if k == "storage" else self.value(v) for k, v in value.items()}
        return value

    def parameter(self, p: Json) -> Any:
        """A parameter of a launch: its numbers, and its pointers by their storages."""
        data = bytearray(bytes.fromhex(p["bytes"]))
        pointers = []
        for at, storage, offset in p["pointers"]:
            data[int(at) : int(at) + 8] = bytes(8)
            pointers.append([at, self.number(int(storage)), offset])
        return [data.hex(), pointers, p["host"]]
