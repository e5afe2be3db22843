"""Barriers, and what the lanes of a warp execute together: exchanges of registers, votes, matrix products."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .functions import FUNCTIONS
from .machine import WAITS, Launch, Step, Thread
from .memory_operations import place
from .ptx import Instruction, Operand
from .values import FORMATS, SIZES, Cannot, Num, Stop, parts_of, take, whole

Together = Callable[[list[Thread]], None]


def barrier(launch: Launch, ins: Instruction) -> Step:
    """`bar` and `barrier`: all threads of the CTA, or so many, meet by a number; some only arrive, some vote."""
    operands, op = list(ins.operands), ins.one_of("popc", "and", "or")
    if "warp" in ins.opcode:
        return warp_wide(warp_barrier)(launch, ins)
    if "cluster" in ins.opcode:
        raise ins.foreign()
    out = launch.slot(operands.pop(0)) if "red" in ins.opcode else 0
    vote = operands.pop() if "red" in ins.opcode else Operand("bits")
    voted, id = launch.slot(vote), launch.slot(operands[0])
    count = launch.slot(operands[1]) if len(operands) > 1 else None
    waits = "arrive" not in ins.opcode

    def all_there(threads: list[Thread]) -> None:
        if op:
            votes = [bool(t.r[voted]) != vote.negated for t in threads]
            for t in threads:
                t.r[out] = sum(votes) if op == "popc" else int(all(votes) if op == "and" else any(votes))

    def bar(r: list[Any]) -> int | None:
        t: Thread = r[0]
        needed = None if count is None else r[count]
        key = ("barrier", r[id], ins.line if op else 0)
        t.cta.come(t, key, lambda: t.cta.barrier(all_there, needed), waits)
        return WAITS if waits else None

    return bar


def warp_wide(make: Callable[[Launch, Instruction], tuple[Operand | None, Together]]) -> Callable[[Launch, Instruction], Step]:
    """An instruction that the lanes of its mask execute when all of them are there; without a mask all lanes of the warp."""

    def made(launch: Launch, ins: Instruction) -> Step:
        mask, together = make(launch, ins)
        slot = launch.slot(mask or Operand("bits", value=0xFFFFFFFF))

        def then(lanes: list[Thread]) -> None:
            try:
                together(lanes)
            except TypeError as e:
                raise Cannot(f"bits of a number that data decide, or a register that was never written ({e})") from e
            except Stop as e:
                e.line = ins.line
                raise

        def meet(r: list[Any]) -> int:
            t: Thread = r[0]
            wanted = r[slot] & 0xFFFFFFFF
            key = (ins.line, ins.text, t.index >> 5, wanted)
            t.cta.come(t, key, lambda: t.cta.lanes(t, wanted, then, ins.name == "bar"))
            return WAITS

        return meet

    return made


def warp_barrier(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    return ins.operands[0], lambda lanes: None


def shfl(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    mode = ins.one_of("up", "down", "bfly", "idx")
    d, *inside_too = [launch.slot(o) for o in ins.operands[0].each()]
    a, b, clamp = (launch.slot(o) for o in ins.operands[1:4])

    def together(lanes: list[Thread]) -> None:
        present = {t.lane: t.r[a] for t in lanes}
        for t in lanes:
            lane, n, bound = t.lane, t.r[b] & 31, t.r[clamp]
            segment, limit = bound >> 8 & 31, bound & 31
            low, high = lane & segment, lane & segment | limit & ~segment
            j = {"up": lane - n, "down": lane + n, "bfly": lane ^ n, "idx": low | n & ~segment}[mode]
            inside = j >= high if mode == "up" else j <= high
            t.r[d] = present.get(j if inside else lane)
            for p in inside_too:
                t.r[p] = int(inside)

    return ins.operands[4], together


def vote(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    d, source = launch.slot(ins.operands[0]), ins.operands[1]
    a, mode = launch.slot(source), ins.opcode[2]

    def together(lanes: list[Thread]) -> None:
        votes = {t.lane: (t.r[a] ^ source.negated) & 1 for t in lanes}
        values = votes.values()
        results = {"all": all(values), "any": any(values), "uni": len(set(values)) == 1}
        result = sum(v << lane for lane, v in votes.items()) if mode == "ballot" else int(results[mode])
        for t in lanes:
            t.r[d] = result

    return ins.operands[2], together


def match(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    d, a = (launch.slot(o) for o in ins.operands[:2])
    if ins.opcode[1] != "any":
        raise ins.foreign()

    def together(lanes: list[Thread]) -> None:
        values = {t.lane: t.r[a] & (1 << 8 * SIZES[ins.type]) - 1 for t in lanes}
        for t in lanes:
            t.r[d] = sum(1 << lane for lane, v in values.items() if v == values[t.lane])

    return ins.operands[2], together


def redux(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    d, a = (launch.slot(o) for o in ins.operands[:2])
    if ins.type not in ("u32", "s32", "b32") or len(ins.opcode) > 4:
        raise ins.foreign()
    op = FUNCTIONS[ins.opcode[2]](launch, Instruction(ins.line, ins.text, ins.opcode[2:], None, ins.operands))

    def together(lanes: list[Thread]) -> None:
        total = functools.reduce(op, [t.r[a] & 0xFFFFFFFF for t in lanes])
        for t in lanes:
            t.r[d] = total

    return ins.operands[2], together


def elect(launch: Launch, ins: Instruction) -> tuple[Operand, Together]:
    leader, is_leader = (None if o.kind == "sink" else launch.slot(o) for o in ins.operands[0].items)

    def together(lanes: list[Thread]) -> None:
        for t in lanes:
            for d, value in ((leader, lanes[0].lane), (is_leader, int(t is lanes[0]))):
                if d is not None:
                    t.r[d] = value

    return ins.operands[1], together


def matrices(launch: Launch, ins: Instruction) -> tuple[None, Together]:
    """`ldmatrix` and `stmatrix` of 8 by 8 elements of 16 bits: lane 8 m + i has the address of row i of matrix m."""
    if ins.type != "b16" or "m8n8" not in ins.opcode:
        raise ins.foreign()
    loads, trans = ins.name == "ldmatrix", "trans" in ins.opcode
    registers, address = ins.operands if loads else ins.operands[::-1]
    slots, at = [launch.slot(o) for o in registers.each()], place(launch, address, "shared", 16)

    def together(lanes: list[Thread]) -> None:
        if len(lanes) != 32:
            raise ins.foreign()
        for m, s in enumerate(slots):
            rows = [(lanes[8 * m + i], *at(lanes[8 * m + i].r)) for i in range(8)]
            read = [[memory.load(off + 2 * j, 2, "b16", t, ins.line) for j in range(8)] for t, memory, off in rows if loads]
            for t in lanes:
                places = [(t.lane >> 2, 2 * (t.lane & 3) + k) for k in (0, 1)]
                places = [(j, i) for i, j in places] if trans else places
                if loads:
                    t.r[s] = (
                        None
                        if any(read[i][j] is None for i, j in places)
                        else whole([p for i, j in places for p in parts_of(read[i][j], 2)])
                    )
                    continue
                for k, (i, j) in enumerate(places):
                    owner, memory, off = rows[i]
                    memory.store(off + 2 * j, 2, take(t.r[s], 2 * k, 2), owner, ins.line)

    return None, together


SHAPES = {"m16n8k16": (16, 16), "m16n8k8": (16, 8), "m16n8k4": (16, 4), "m16n8k32": (16, 32), "m8n8k4": (8, 4)}
"""Rows and depth of matrix products; all have eight columns."""


def fragment(which: str, rows: int, depth: int, per: int, lane: int) -> list[tuple[int, int]]:
    """Row and column of each element that a lane holds, by the manual's figures; `per` elements share a register."""
    g, t = lane >> 2, lane & 3
    halves = range(g, rows, 8)
    if which == "c":
        return [(i, 2 * t + j) for i in halves for j in (0, 1)]
    blocks = [[k + t * per + i for i in range(per)] for k in range(0, depth, 4 * per)]
    return (
        [(i, k) for block in blocks for i in halves for k in block] if which == "a" else [(k, g) for block in blocks for k in block]
    )


def mma(launch: Launch, ins: Instruction) -> tuple[None, Together]:
    rows, depth = next(SHAPES[s] for s in ins.opcode if s in SHAPES)
    td, ta, tb, tc = ins.opcode[-4:]
    widths = {"f16": 2, "bf16": 2, "tf32": 4, "f64": 8, "s8": 1, "u8": 1}
    if ins.one_of("sp", "satfinite", "xor") or not {"row", "col"} <= {*ins.opcode} or td != tc or (rows == 8) != (ta == "f64"):
        raise ins.foreign()
    size_a, size_c, domain = widths[ta], SIZES[tc], launch.domain
    to, *registers = [[launch.slot(o) for o in v.each()] for v in ins.operands]

    def elements(t: Thread, slots: list[int], kind: str, size: int) -> list[Any]:
        """The elements of registers as numbers: integers, or numbers of the domain."""
        each = [take(t.r[s], low, size) for s in slots for low in range(0, max(size, 4), size)]
        if kind in FORMATS:
            return [(launch.constant(x, kind) if isinstance(x, int) else checked(x, kind)).v for x in each]
        if any(not isinstance(x, int) for x in each):
            raise TypeError("a float")
        return [x - (1 << 8 * size) if kind[0] == "s" and x >> 8 * size - 1 else x for x in each]

    def checked(x: Any, kind: str) -> Num:
        if not isinstance(x, Num) or x.fmt not in {"tf32": ("f32", "tf32"), "f64": ("f64",), "f32": ("f32",)}.get(
            kind, (kind, "b16")
        ):
            raise Cannot(f"what is no {kind} is a factor or term of a matrix product")
        return x

    def together(lanes: list[Thread]) -> None:
        if len(lanes) != 32:
            raise ins.foreign()
        at = {w: [fragment(w, rows, depth, max(4 // size_a, 1), t.lane) for t in lanes] for w in "abc"}
        a, b, c = (
            {place: x for t, places in zip(lanes, at[w]) for place, x in zip(places, elements(t, slots, kind, size))}
            for w, slots, kind, size in zip("abc", registers, (ta, tb, tc), (size_a, size_a, size_c))
        )
        for t, places in zip(lanes, at["c"]):
            out: list[int | Any] = []
            for i, j in places:
                total = c[i, j]
                for k in range(depth):
                    x, y = a[i, k], b[k, j]
                    total = total + x * y if tc == "s32" else domain.add(total, domain.mul(x, y))
                out += parts_of(total & 0xFFFFFFFF if tc == "s32" else Num(total, tc), size_c)
            each = len(out) // len(to)
            for n, d in enumerate(to):
                t.r[d] = whole(out[each * n : each * n + each])

    return None, together


STEPS = {
    "bar": barrier,
    "barrier": barrier,
    **{f.__name__: warp_wide(f) for f in (shfl, vote, match, redux, elect, mma)},
    "ldmatrix": warp_wide(matrices),
    "stmatrix": warp_wide(matrices),
}
