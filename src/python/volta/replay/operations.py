"""What the instructions of a thread do to its registers and where it goes on: one table, `STEPS`, by name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from . import memory_operations, warp_operations
from .functions import FUNCTIONS, float_test, integer_test, named
from .library import traced
from .machine import ENDS, Launch, Step
from .ptx import Instruction
from .values import FORMATS, SIZES, Cannot, Opaque, Outside, take

ROUNDING = named(None, "rn rz rm rp rni rzi rmi rpi rna ftz sat relu approx full")
OTHERS = named(None, "NaN abs lo hi wide shiftamt l r wrap clamp finite infinite number notanumber normal subnormal")
MODIFIERS = {*SIZES, *ROUNDING, *OTHERS, *named(None, "to global const shared local param shared::cta")}
"""What may stand in the opcode of a function: another modifier changes what it computes."""


def computes(launch: Launch, ins: Instruction) -> Step:
    """Writes one register. What is made of a register that was never written was never written either."""
    if not {*ins.opcode[1:]} <= MODIFIERS:
        raise ins.foreign()
    f, to, operands = FUNCTIONS[ins.name](launch, ins), ins.operands[0], ins.operands[1:]
    if to.kind == "vector":
        return unpacks(launch, ins)
    d, sources = launch.slot(to), [launch.slot(p) for o in operands for p in o.each()]
    if launch.trees is not None:
        return traced(launch, ins, f, d, sources)

    def step(r: list[Any]) -> None:
        try:
            r[d] = f(*[r[s] for s in sources])
        except TypeError as e:
            if all(r[s] is not None for s in sources):
                raise Cannot("bits of a number that data decide are asked for") from e
            r[d] = None

    return step


def unpacks(launch: Launch, ins: Instruction) -> Step:
    a, outs = launch.slot(ins.operands[1]), ins.operands[0].items
    each = SIZES[ins.type] // len(outs)
    places = [(i * each, launch.slot(o)) for i, o in enumerate(outs) if o.kind != "sink"]

    def unpack(r: list[Any]) -> None:
        x = r[a]
        for low, d in places:
            r[d] = take(x, low, each)

    return unpack


def set_predicate(launch: Launch, ins: Instruction) -> Step:
    compare, combine = ins.opcode[1], ins.one_of("and", "or", "xor")
    outs = [None if o.kind == "sink" else launch.slot(o) for o in ins.operands[0].each()]
    a, b, *more = [launch.slot(o) for o in ins.operands[1:]]
    inverted = bool(combine) and ins.operands[3].negated
    test = float_test(launch, ins, compare) if ins.type in FORMATS else integer_test(launch, ins, compare)
    op = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}.get(combine)

    def setp(r: list[Any]) -> None:
        try:
            outcome = test(r[a], r[b])
            for d, p in zip(outs, (outcome, not outcome)):
                if d is not None:
                    r[d] = int(p if op is None else op(p, r[more[0]] ^ inverted))
        except TypeError as e:
            unknown = None
            if r[a] is not None and r[b] is not None:
                if launch.trees is None:
                    raise Cannot("bits of a number that data decide are asked for") from e
                unknown = Opaque(1)
            for d in filter(None, outs):
                r[d] = unknown

    return setp


def branch(launch: Launch, ins: Instruction) -> Step:
    labels = launch.module.labels
    if ins.name == "bra":
        target = labels[ins.operands[0].text]
        return lambda r: target
    index, targets = launch.slot(ins.operands[0]), [labels[t] for t in launch.module.targets[ins.operands[1].text]]
    return lambda r: targets[r[index]]


def trap(launch: Launch, ins: Instruction) -> Step:
    def reached(r: list[Any]) -> int:
        raise Outside("a trap is reached")

    return reached


STEPS: dict[str, Callable[[Launch, Instruction], Step]] = {
    **dict.fromkeys(FUNCTIONS, computes),
    **named(branch, "bra brx"),
    **named(lambda launch, ins: lambda r: ENDS, "ret exit"),
    **named(lambda launch, ins: lambda r: None, "membar fence prefetch prefetchu nanosleep griddepcontrol discard pmevent"),
    "setp": set_predicate,
    "trap": trap,
    **memory_operations.STEPS,
    **warp_operations.STEPS,
}


def refuses(reason: str) -> Step:
    def step(r: list[Any]) -> int:
        raise Cannot(reason)

    return step


def step_of(launch: Launch, ins: Instruction) -> Step:
    """The step of an instruction under its guard; of one that is not interpreted, a step that says so."""
    try:
        step = STEPS[ins.name](launch, ins)
    except (Cannot, KeyError, IndexError, ValueError) as e:
        step = refuses(e.args[0] if isinstance(e, Cannot) else ins.foreign().args[0])
    if ins.guard is None:
        return step
    guard, negated = launch.slot(ins.guard), ins.guard.negated

    def guarded(r: list[Any]) -> int | None:
        p = r[guard]
        if p is None:
            raise Outside("a register that was never written decides where a thread goes on")
        return step(r) if p != negated else None

    return guarded
