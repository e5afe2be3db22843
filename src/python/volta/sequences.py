"""Launches in a sequence: lists of kernels that share arrays, as either side of a check, or in a race.

    x, t, y = volta.arg.input("f32", (4, 64)), volta.arg.scratch("f32", (4,)), volta.arg.output("f32", (4, 64))
    two = [volta.cuda(FIRST).launch(x, t, block=4), volta.cuda(SECOND).launch(x, t, y, grid=4, block=64)]
    volta.check(two, volta.cuda(FUSED).launch(x, y, grid=4, block=64))

An array is one buffer wherever the same object stands, or one of the same name; that is also what pairs the sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import arg, kernels, lints
from .calls import with_facts
from .errors import InputError
from .kernels import Formula, Function, Kernel
from .recording import Recording

Json = dict[str, Any]
Side = Sequence[Kernel] | Formula


class Buffers:
    """The arrays of all launches, each under one name."""

    def __init__(self) -> None:
        self.arrays: dict[str, arg.Array] = {}
        self._names: dict[int, str] = {}
        #: Arrays of pointers, by what they hold.
        self._tables: dict[str, str] = {}

    def name(self, array: arg.Array) -> str:
        """The name of an array: its own, or one that is made."""
        known = array.name or self._names.get(id(array))
        if known is None:
            known = next(n for n in (f"buffer{i}" for i in range(len(self.arrays) + 1)) if n not in self.arrays)
            self._names[id(array)] = known
        found = self.arrays.setdefault(known, array)
        if found.text() != array.text():
            raise InputError(f"two arrays are called {known}, and they differ: {found.text()} and {array.text()}")
        return known

    def value(self, value: arg.Arg | str) -> str:
        """What a parameter or a field is bound to."""
        if isinstance(value, str):
            return value
        if isinstance(value, arg.Pointers):
            text = f"in:ptr[{len(value.arrays)}]=[{','.join(f'${self.name(a)}' for a in value.arrays)}]"
            return f"${self._tables.setdefault(text, f'pointers{len(self._tables)}')}"
        if isinstance(value, arg.View):
            return f"${self.name(value.array)}" + (f"+{value.offset}" if value.offset else "")
        return f"${self.name(value)}" if isinstance(value, arg.Array) else arg.text(value)

    def launch(self, kernel: Kernel) -> Json:
        """A launch as a request has it."""
        out: Json = kernel.request()
        out["args"] = {str(k): self.value(v) for k, v in [*kernel.args.items(), *kernel.fields.items()]}
        for key, extent in (("grid", kernel.grid), ("block", kernel.block)):
            if extent is not None:
                out[key] = kernels.grid_of(extent)
        if kernel.dynamic_shared is not None:
            out["dynamic-shared"] = kernel.dynamic_shared
        if kernel.entry is not None:
            out["entry"] = kernel.entry
        return out

    def side(self, side: Side) -> Json | list[Json]:
        """A side as a request has it."""
        return side.request() if isinstance(side, Formula) else [self.launch(k) for k in side]

    def declared(self) -> dict[str, str]:
        """The buffers as a request has them."""
        tables = {name: text for text, name in self._tables.items()}
        return {name: array.text() for name, array in self.arrays.items()} | tables


def is_sequence(value: object) -> bool:
    """Whether a value is a list of launches, or what was recorded."""
    return isinstance(value, (list, tuple, Recording))


def _side(value: object) -> Side:
    if isinstance(value, Recording):
        return value.sequence()
    parts = list(value) if isinstance(value, (list, tuple)) else [value]
    if not parts:
        raise InputError("a sequence has at least one launch")
    out: list[Kernel] = []
    for part in parts:
        kernel = kernels.coerce(part)
        if isinstance(kernel, Formula) and len(parts) == 1 and not is_sequence(value):
            return kernel
        if not isinstance(kernel, Kernel):
            raise InputError("a launch of a sequence is of a kernel; beside a sequence there may be a formula")
        if not kernel.args and kernel.parameters():
            raise InputError(f"{kernel!r} has no arguments: say kernel.launch(x, y, grid=..., block=...)")
        out.append(kernel)
    return out


def lints_of(sides: Mapping[str, object]) -> list[Json]:
    """What is suspect of the source of kernels in a sequence."""
    parts = {side: value.sequence() if isinstance(value, Recording) else value for side, value in sides.items()}
    listed = {side: part if isinstance(part, (list, tuple)) else [part] for side, part in parts.items()}
    return lints.of_sides({side: [k for k in part if isinstance(k, Kernel)] for side, part in listed.items()})


def _is_function(value: object) -> bool:
    return not is_sequence(value) and isinstance(kernels.coerce(value), Function)


def _function(value: object, buffers: Buffers, beside: Recording | None) -> Json:
    """A function of arrays beside launches, for their inputs and outputs."""
    from .trace import formula_of, function_of_call

    function = kernels.coerce(value)
    assert isinstance(function, Function)
    if beside is not None:
        return formula_of(function.function, beside.inputs(), beside.outputs()).request()
    return function_of_call(function.function, [(n, a) for n, a in buffers.arrays.items() if a.role != "scratch"]).request()


def request(op: str, sides: Mapping[str, object], options: Json, limits: Json) -> tuple[Json, dict[str, arg.Array]]:
    """A request about sides of which one is a sequence, and the arrays that its report names."""
    buffers = Buffers()
    out: Json = {"op": op, "formats": ["human"], **limits}
    recording = next((v for v in sides.values() if isinstance(v, Recording)), None)
    found = {key: buffers.side(_side(value)) for key, value in sides.items() if not _is_function(value)}
    # The arrays of a function are those of the launches that it is compared with.
    out |= {key: found[key] if key in found else _function(value, buffers, recording) for key, value in sides.items()}
    given = dict(options.get("buffers") or {})
    out["launch"] = {**with_facts(options, buffers.arrays), "buffers": {**given, **buffers.declared()}}
    return out, buffers.arrays
