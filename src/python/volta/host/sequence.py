"""From what was recorded to launches in a sequence, as `volta.check` and `volta.race` take them.

A storage becomes one buffer of the sequence, so that views, aliases and a storage given twice are what they are; a pointer becomes
the buffer and an offset. Roles follow from the run: an input or a parameter is read, what is returned is an output, other memory is
scratch; memory that was made with known contents has them, and memory that was only allocated has none, so that reading it
is an uninitialised read. A message of a job is data: whatever is malformed raises `Malformed`.

What this does not express raises `Unclear` with the reason, and the verdict is `unknown`: nothing is skipped.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import arg
from ..arg import Array
from ..kernels import Kernel
from ..results import Category
from .compiler import Built

Json = dict[str, Any]


class Malformed(Exception):
    """A job sent what no recording is."""


class Unclear(Exception):
    """A recording holds something whose meaning is not expressed here."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Wrong(Exception):
    """A recording holds a mistake of the host code: a defect."""

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category = category


@dataclass
class Sequence_:
    """The launches, the arrays by storage, and what was seen on the way."""

    launches: list[Kernel] = field(default_factory=list)
    arrays: dict[int, Array] = field(default_factory=dict)
    libraries: list[str] = field(default_factory=list)
    operations: list[Json] = field(default_factory=list)
    seeded: bool = False  # something has the values of one seed


_SCALARS = {
    **{f"{k}{n}": (n // 8, {"u": "BHIQ", "s": "bhiq", "b": "BHIQ"}[k][n.bit_length() - 4]) for k in "usb" for n in (8, 16, 32, 64)},
    "f32": (4, "f"),
    "f64": (8, "d"),
}


def name_of(storage: Json) -> str:
    """The name of a storage's buffer."""
    given = storage.get("name")
    text = re.sub(r"\W", "_", given) if isinstance(given, str) and given else f"memory{int(storage['number'])}"
    return text if text[:1].isalpha() else f"p_{text}"


def dense(view: Json) -> tuple[int, ...] | None:
    """The shape of a view that covers its storage row by row; None for another."""
    step = 1
    for n, s in zip(reversed(view["shape"]), reversed(view["strides"])):
        if n != 1 and s != step:
            return None
        step *= n
    return tuple(view["shape"]) if view["offset"] == 0 else None


class Builder:
    """Reads the events of one recording in order."""

    def __init__(self, recorded: Json, built: Sequence[Built], inputs: Mapping[int, Array], outputs: Mapping[int, Array]) -> None:
        self.storages: dict[int, Json] = {int(s["number"]): s for s in recorded["storages"]}
        self.events: list[Json] = list(recorded["events"])
        self.kernels = {name: (b, described) for b in built for name, described in b.kernels.items()}
        self.inputs, self.outputs = inputs, outputs
        self.out = Sequence_()
        self.symbols: dict[str, bytearray] = {}
        self.streams: set[int] = set()

    def build(self) -> Sequence_:
        """The whole sequence."""
        for event in self.events:
            self.one(event)
        return self.out

    def one(self, event: Json) -> None:
        """One event."""
        handler = getattr(self, f"_on_{str(event.get('event')).replace('-', '_')}", None)
        if handler is None:
            raise Malformed(f"an event {event.get('event')!r}")
        handler(event)

    def array(self, number: int, kind: str | None = None) -> Array:
        """The buffer of a storage."""
        if number in self.out.arrays:
            return self.out.arrays[number]
        storage = self.storages.get(number)
        if storage is None:
            raise Malformed(f"storage {number}")
        made = self._array(number, storage, kind)
        self.out.arrays[number] = made
        return made

    def _array(self, number: int, storage: Json, kind: str | None) -> Array:
        if number in self.inputs:
            return self.inputs[number]
        element = kind if storage["type"] == "u8" and kind else str(storage["type"])
        size = int(storage["size"])
        count = size // width(element)
        output = self.outputs.get(number)
        origin = storage.get("origin") or storage["state"]
        if origin in ("input", "parameter"):
            raise Unclear("missing-binding", f"`{storage['name']}` is no parameter of the reference")
        self.out.seeded = self.out.seeded or origin == "random"
        known = known_contents(storage, element, count) if origin in ("known", "random") else None
        name = name_of(storage)
        if output is not None:
            role = "out" if known is None else "inout"
            return Array(output.type, output.shape, role, output.strides, known, output.name)
        return Array(element, (count,), "scratch", contents=known, name=name)

    # One handler for each kind of event.

    def _on_launch(self, event: Json) -> None:
        found = self.kernels.get(event["kernel"])
        if found is None:
            raise Malformed(f"a launch of {event['kernel']!r}, which was not compiled here")
        built, described = found
        ptx = built.ptx[described["file"]]
        values: dict[int, Any] = {}
        fields: dict[str, Any] = {}
        for i, (kind, size) in enumerate(described["parameters"]):
            given = event["parameters"][i]
            data = bytes.fromhex(given["bytes"])
            if len(data) != size:
                raise Malformed("a parameter of another size")
            if given["host"]:
                raise Wrong("memory", f"line {event['line']}: parameter {i} of {event['kernel']} is an address of the host")
            pointers = {int(at): self._pointer(int(n), int(o), ptx, event["kernel"], i) for at, n, o in given["pointers"]}
            if kind in _SCALARS and size == _SCALARS[kind][0]:
                values[i] = pointers[0] if 0 in pointers else _scalar(kind, data)
            else:
                fields |= self._fields(i, data, pointers, ptx, event["kernel"])
        if math.prod(event.get("cluster") or (1,)) > 1:
            raise Unclear("unsupported-instruction", f"line {event['line']}: a launch in clusters of CTAs by an attribute")
        self._in_order(event)
        grid, block = tuple(map(int, event["grid"])), tuple(map(int, event["block"]))
        name = f"{built.module}.ptx"
        kernel = Kernel(
            self._with_symbols(ptx), name, event["kernel"], (), values, grid, block, int(event["shared"]), fields=fields
        )
        self.out.launches.append(kernel)

    def _in_order(self, event: Json) -> None:
        """Launches on one stream come one after the other; what several streams do at once is not judged here."""
        self.streams.add(int(event.get("stream") or 0))
        if len(self.streams) > 1:
            raise Unclear("unsupported-instruction", f"line {event['line']}: work on several streams")

    def _pointer(self, number: int, offset: int, ptx: str, kernel: str, i: int) -> arg.View:
        return arg.View(self.array(number, _pointee(kernel, i)), offset)

    def _fields(self, i: int, data: bytes, pointers: Mapping[int, arg.View], ptx: str, kernel: str) -> dict[str, Any]:
        """A parameter that is passed by value: its pointers, and each scalar that the kernel reads."""
        out: dict[str, Any] = {f"{i}+{at}" if at else f"{i}+0": view for at, view in pointers.items()}
        for kind, at in _reads(ptx, kernel, i):
            width, code = _SCALARS[kind]
            if at in pointers or at + width > len(data):
                continue
            value = struct.unpack("<" + code, data[at : at + width])[0]
            suffix = kind.replace("b", "u") if kind[0] == "b" else kind
            out[f"{i}+{at}"] = f"{_number(value)}:{suffix}"
        return out

    def _with_symbols(self, ptx: str) -> str:
        for name, data in self.symbols.items():
            declared = re.compile(
                rf"(\.(?:const|global)\s+(?:\.align\s+\d+\s+)?)\.(\w+)\s+{re.escape(name)}(?:\[(\d+)\])?\s*(?:=[^;]*)?;"
            )
            listed = ", ".join(str(b) for b in data)
            ptx = declared.sub(lambda m, name=name, data=data, listed=listed: f"{m[1]}.b8 {name}[{len(data)}] = {{{listed}}};", ptx)  # type: ignore[misc]
        return ptx

    def _on_symbol(self, event: Json) -> None:
        if "bytes" not in event:
            raise Unclear(
                "unsupported-instruction",
                f"line {event['line']}: contents of the symbol {event['name']} are copied from memory of the device",
            )
        data = base64.b64decode(event["bytes"])
        end = int(event["offset"]) + len(data)
        sizes = [
            int(m[1])
            for b, _ in self.kernels.values()
            for t in b.ptx.values()
            for m in [re.search(rf"{re.escape(event['name'])}\[(\d+)\]", t)]
            if m
        ]
        held = self.symbols.setdefault(event["name"], bytearray(max([end, *sizes])))
        held[int(event["offset"]) : end] = data

    def _on_refused(self, event: Json) -> None:
        raise Wrong("launch", f"line {event['line']}: the launch of {event['kernel']} is refused: {event['why']}")

    def _on_host_read(self, event: Json) -> None:
        raise Unclear(
            "data-dependent-branch", f"line {event['line']}: the host looks at a value that depends on data ({event['how']})"
        )

    def _on_library(self, event: Json) -> None:
        self.out.libraries.append(str(event["name"]))

    def _on_release(self, event: Json) -> None:
        """Memory that was given back; launches that use it afterwards have another storage's address or none."""

    def _on_fill(self, event: Json) -> None:
        self._in_order(event)
        storage = self.storages[int(event["storage"])]
        if (
            int(event["storage"]) not in self.out.arrays
            and event["offset"] == 0
            and int(event["size"]) == int(storage["size"])
            and not self._used(event)
        ):
            # Nothing saw the memory before, so that this is what it holds at first.
            value = int(event["value"])
            if value == 0:
                storage["origin"], storage["contents"] = "known", {"fill": 0}
                return
            storage["origin"], storage["contents"] = (
                "known",
                {"bytes": base64.b64encode(bytes([value]) * int(storage["size"])).decode()},
            )
            return
        self._fill(event)

    def _used(self, event: Json) -> bool:
        origin = self.storages[int(event["storage"])].get("origin")
        return origin not in ("empty", "known", "")

    def _fill(self, event: Json) -> None:
        from .steps import fill

        self.out.launches.append(
            fill(self.array(int(event["storage"])), int(event["offset"]), int(event["size"]), int(event["value"]))
        )

    def _on_copy(self, event: Json) -> None:
        self._in_order(event)
        from .steps import copy

        (to, at), (source, start) = event["to"], event["source"]
        self.out.launches.append(copy(self.array(int(to)), int(at), self.array(int(source)), int(start), int(event["size"])))

    def _on_upload(self, event: Json) -> None:
        self._in_order(event)
        number, offset = int(event["to"][0]), int(event["to"][1])
        storage = self.storages[number]
        data = base64.b64decode(event["bytes"])
        if number in self.out.arrays or offset or len(data) != int(storage["size"]) or storage.get("origin") not in ("empty", ""):
            raise Unclear(
                "missing-binding", f"line {event['line']}: values of the host are copied into memory that was used before"
            )
        storage["origin"], storage["contents"] = "known", {"bytes": event["bytes"]}

    def _on_download(self, event: Json) -> None:
        """What the host does with it is seen by what it launches: nothing may follow."""
        later = self.events[self.events.index(event) + 1 :]
        if any(e["event"] in ("launch", "op", "upload") for e in later):
            raise Unclear("data-dependent-branch", f"line {event['line']}: results are copied to the host, and launches follow")

    def _on_op(self, event: Json) -> None:
        self.out.operations.append(event)
        from .steps import operation

        self.out.launches += operation(event, self)


def known_contents(storage: Json, element: str, count: int) -> str:
    """The contents of a storage as a binding has them."""
    contents = storage.get("contents")
    if not contents:
        raise Unclear("missing-binding", f"memory with known contents is too large to list ({storage['size']} bytes)")
    if "fill" in contents:
        return _number(contents["fill"])
    data = base64.b64decode(contents["bytes"])
    if element == "bf16":
        raw = np.frombuffer(data, dtype=np.uint16).astype(np.uint32) << 16
        values = raw.view(np.float32)
    else:
        values = np.frombuffer(data, dtype=arg.numpy_type(element))
    return f"[{','.join(_number(v) for v in values[:count].tolist())}]"


def width(kind: str) -> int:
    return {"8": 1, "16": 2, "32": 4, "64": 8}.get(kind.lstrip("usfbi"), 1)


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            raise Unclear("not-a-number", "a NaN is among the values of the host")
        return {math.inf: "inf", -math.inf: "-inf"}.get(value) or repr(value)
    return str(value)


def _scalar(kind: str, data: bytes) -> int | float:
    value = struct.unpack("<" + _SCALARS[kind][1], data)[0]
    return value if not isinstance(value, float) or math.isfinite(value) else float(value)


_MANGLED = {
    "f": "f32",
    "d": "f64",
    "i": "s32",
    "j": "u32",
    "l": "s64",
    "m": "u64",
    "x": "s64",
    "y": "u64",
    "s": "s16",
    "t": "u16",
    "h": "u8",
    "a": "s8",
    "b": "u8",
}


def _pointee(kernel: str, i: int) -> str | None:
    """The element type of a pointer parameter by the kernel's mangled name, for memory that has none of its own."""
    found = re.match(r"_Z(\d+)", kernel)
    if not found:
        return None
    rest = kernel[found.end() + int(found[1]) :]
    seen: list[str] = []
    kinds: list[str | None] = []
    while rest:
        token = re.match(r"S(\d*)_|P(V?K?)(\w)|(6__half|13__nv_bfloat16)|(\w)", rest)
        if token is None:
            return None
        if token[3] is not None and token[3] in _MANGLED:
            kinds.append(_MANGLED[token[3]])
            seen += [f"K{token[3]}", token[3]] if token[2] else [token[3]]
        elif token[0].startswith("S"):
            return _by_index(kernel, i)
        elif token[5] is not None and token[5] in _MANGLED:
            kinds.append(None)
        else:
            return None
        rest = rest[token.end() :]
    return kinds[i] if i < len(kinds) else None


def _by_index(kernel: str, i: int) -> str | None:
    """Where a name repeats types by number: the one pointer type that it has, if it has one only."""
    kinds = {m[1] for m in re.finditer(r"PV?K?([fdijlmxyhastb])", kernel)}
    return _MANGLED[kinds.pop()] if len(kinds) == 1 else None


def _reads(ptx: str, kernel: str, i: int) -> list[tuple[str, int]]:
    """The scalars of a by-value parameter that a kernel reads: their types and offsets."""
    out = []
    parameter = re.escape(f"{kernel}_param_{i}")
    for m in re.finditer(rf"ld\.param\.(?:(v[24])\.)?(\w+)\s+(\{{[^}}]*\}}|[^,]+),\s*\[{parameter}(?:\+(\d+))?\]", ptx):
        count, kind, at = {None: 1, "v2": 2, "v4": 4}[m[1]], m[2], int(m[4] or 0)
        if kind not in _SCALARS:
            raise Unclear("unsupported-instruction", f"a parameter is read as {kind}")
        out += [(kind, at + k * _SCALARS[kind][0]) for k in range(count)]
    return sorted(set(out))
