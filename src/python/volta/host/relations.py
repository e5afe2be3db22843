"""Whether the numbers that host code computes at the declared sizes are those that it computes at the smaller ones.

The problem: `min(columns, 1024)` in host code is seen in no kernel: at small sizes the launch gets the columns, at the declared
ones 1024. So each number of a recording (extents of launches, scalars, offsets, arguments of torch's operations) must be one
expression of the sizes at all of them: the same number, a product of extents of one tensor, its quotient by a constant, rounded
up or down, or one of these plus a constant. The expressions are looked for in a fixed family; a number that none explains is told.

Sound is the direction "not explained": it takes a proof away. What is explained may still be another expression; two smaller
sizes and the declared ones agree by chance on large numbers only rarely.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
#: What a number is at each choice of sizes, the declared ones last.
Values = tuple[float, ...]

_DIVISORS = (*range(1, 33), *(1 << k for k in range(6, 15)), *(96, 48, 192, 384, 768))
#: Dimensions of a tensor of which all products are looked at.
_RANK = 6
_SHIFT = 64


def _shapes(recorded: Json) -> Iterator[Sequence[int]]:
    for v in recorded["inputs"]:
        if isinstance(v, Mapping) and "tensor" in v:
            yield v["tensor"]["shape"]
    for p in recorded["parameters"]:
        yield p["tensor"]["shape"]
    for v in recorded["outputs"]:
        yield v["shape"]


def atoms(recordings: Sequence[Json]) -> list[Values]:
    """The products of extents of each tensor, at each choice of sizes."""
    out: dict[Values, None] = {}
    for together in zip(*map(_shapes, recordings)):
        rank = len(together[0])
        if rank > _RANK or any(len(s) != rank for s in together):
            continue
        for chosen in itertools.product((False, True), repeat=rank):
            out[tuple(float(math.prod(n for n, c in zip(s, chosen) if c)) for s in together)] = None
    # Two tensors together: rows of one by columns of another.
    single = [v for v in out if len(set(v)) > 1]
    for a, b in itertools.combinations(single[:40], 2):
        out[tuple(x * y for x, y in zip(a, b))] = None
    return list(out)


def explained(values: Values, known: Sequence[Values], divisors: Sequence[int] = ()) -> bool:
    """Whether one expression of the sizes gives a number at all of them."""
    if len(set(values)) == 1:
        return True
    for a in known:
        shift = values[0] - a[0]
        if abs(shift) <= _SHIFT and all(v - x == shift for v, x in zip(values, a)):
            return True
        if _ratio(values, a) or _quotient(values, a, divisors):
            return True
    return False


def _ratio(values: Values, a: Values) -> bool:
    """A multiple, an inverse, or a root of it; of floats to their precision."""
    if 0 in a or 0 in values:
        return False
    for each in ([v / x for v, x in zip(values, a)], [v * x for v, x in zip(values, a)], [v * v * x for v, x in zip(values, a)]):
        if all(abs(e - each[0]) <= 1e-6 * abs(each[0]) for e in each):
            return True
    return False


def _quotient(values: Values, a: Values, divisors: Sequence[int]) -> bool:
    if any(v != int(v) or x < v for v, x in zip(values, a)):
        return False
    for c in (*divisors, *_DIVISORS):
        parts = [(int(x) // c, -(-int(x) // c)) for x in a]
        if any(all(v == p[k] for v, p in zip(values, parts)) for k in (0, 1)):
            return True
    return False


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Mapping):
        for k, v in value.items():
            if k not in ("storage", "line", "stream", "formula"):
                yield from _leaves(v, (*path, k))
    elif isinstance(value, (list, tuple)):
        for k, v in enumerate(value):
            yield from _leaves(v, (*path, k))
    else:
        yield path, value


def _launch(event: Json, kinds: Sequence[Sequence[Any]]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for key in ("grid", "block", "cluster"):
        for k, n in enumerate(event.get(key) or ()):
            yield (key, k), n
    yield ("shared",), event["shared"]
    for i, p in enumerate(event["parameters"]):
        data = bytes.fromhex(p["bytes"])
        inside = {int(q[0]) for q in p["pointers"]}
        yield ("pointers", i), str(sorted(inside))
        for q in p["pointers"]:
            yield ("offset", i, q[0]), q[2]
        kind = str(kinds[i][0]) if i < len(kinds) else ""
        width = len(data) if len(data) in (4, 8) and kind[:1] in "sufb" else 4
        for at in range(0, len(data) - width + 1, width):
            if at in inside or at - 4 in inside:
                continue
            piece = data[at : at + width]
            if kind in ("f32", "f64"):
                yield ("parameter", i, at), struct.unpack("<f" if width == 4 else "<d", piece)[0]
            else:
                yield ("parameter", i, at), int.from_bytes(piece, "little", signed=True)


def _numbers(event: Json, kinds: Mapping[str, Sequence[Sequence[Any]]]) -> dict[tuple[Any, ...], Any]:
    if event["event"] == "launch":
        return dict(_launch(event, kinds.get(event["kernel"], ())))
    return dict(_leaves(event))


def ends(events: Sequence[Json]) -> list[Json]:
    """The events, or, of a loop of the host, the first and last of each kind."""
    kept: dict[Any, list[Json]] = {}
    for e in events:
        kept.setdefault((e["event"], e.get("kernel"), e.get("op")), []).append(e)
    return [e for of in kept.values() for e in (of if len(of) < 3 else (of[0], of[-1]))]


def unexplained(recordings: Sequence[Json], events: Sequence[Sequence[Json]], kinds: Mapping[str, Sequence[Any]]) -> list[str]:
    """The numbers that no expression of the sizes explains, as `kernel grid 0`; the declared recording comes last."""
    lists = [ends([e for e in listed if e["event"] not in ("release", "host-read")]) for listed in events]
    names = [[(e["event"], e.get("kernel"), e.get("op")) for e in listed] for listed in lists]
    if any(n != names[0] for n in names):
        return ["order"]
    known = atoms(recordings)
    out = []
    for together in zip(*lists):
        name = str(together[0].get("kernel") or together[0].get("op") or together[0]["event"])
        read = [_numbers(e, kinds) for e in together]
        if any(r.keys() != read[0].keys() for r in read):
            out.append(f"{name} form")
            continue
        block = math.prod(together[-1].get("block") or (1,))
        divisors = tuple(k * b for b in {block, *(together[-1].get("block") or ())} for k in (1, 2, 4, 8, 16))
        for path in read[0]:
            values = [r[path] for r in read]
            if all(isinstance(v, (int, float)) for v in values):
                if not explained(tuple(map(float, values)), known, divisors):
                    out.append(" ".join(map(str, (name, *path))))
            elif any(v != values[0] for v in values):
                out.append(" ".join(map(str, (name, *path))))
    return out
