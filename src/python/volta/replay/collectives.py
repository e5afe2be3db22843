"""Instructions that the lanes of a warp execute together: exchanges of registers, votes, matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .access import place
from .machine import DONE, Thread, Warp, learn
from .ptx import Instruction
from .values import Cannot, Half, extract, join

if TYPE_CHECKING:
    from .instructions import Compiler

Meet = Callable[[Warp, list[Thread]], bool]


def compile(c: Compiler, pc: int, ins: Instruction) -> Meet:
    """A function that is told the lanes that stand there; false if others have to come first."""
    makers = {"shfl": shfl, "vote": vote, "match": match, "redux": redux, "elect": elect, "bar": warp_barrier}
    try:
        name = ins.opcode[0]
        if name in ("mma", "ldmatrix", "stmatrix"):
            f = {"mma": mma, "ldmatrix": ldmatrix, "stmatrix": stmatrix}[name](c, ins)
            mask: int | None = None
        else:
            f, slot = makers[name](c, ins)
            mask = slot
    except (Cannot, KeyError, IndexError) as e:
        message = str(e) if isinstance(e, Cannot) else f"the instruction {ins.text!r}"

        def refuse(warp: Warp, lanes: list[Thread]) -> bool:
            error = Cannot(message)
            error.line = ins.line
            raise error

        return refuse

    def meet(warp: Warp, lanes: list[Thread]) -> bool:
        if mask is None:
            if len(lanes) < sum(t.state != DONE for t in warp.lanes):
                return False
            f(warp, lanes)
        else:
            lanes = together(warp, lanes, mask)
            if not lanes:
                return False
            f(warp, lanes)
        for t in lanes:
            t.pc = pc + 1
        return True

    def placed(warp: Warp, lanes: list[Thread]) -> bool:
        try:
            return meet(warp, lanes)
        except Exception as e:
            if isinstance(e, TypeError):
                e = Cannot(f"bits of a number that data decide, or a register that was never written ({e})")
            if getattr(e, "line", 0) is None:
                e.line = ins.line  # type: ignore[attr-defined]
            raise e

    return placed


def together(warp: Warp, lanes: list[Thread], slot: int) -> list[Thread]:
    """The lanes of one mask, if all of them are there."""
    for t in lanes:
        mask = t.r[slot] & 0xFFFFFFFF
        own = [u for u in lanes if u.r[slot] & 0xFFFFFFFF == mask and mask >> (u.index & 31) & 1]
        wanted = [u for u in warp.lanes if mask >> (u.index & 31) & 1 and u.state != DONE]
        if t in own and len(own) == len(wanted):
            return own
    return []


def by_lane(lanes: list[Thread]) -> dict[int, Thread]:
    return {t.index & 31: t for t in lanes}


def shfl(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    mode = next(m for m in ("up", "down", "bfly", "idx") if m in ins.opcode)
    out = ins.operands[0]
    d, p = (c.s(out.items[0]), c.s(out.items[1])) if out.kind == "pair" else (c.s(out), None)
    a, b, clamp = (c.s(o) for o in ins.operands[1:4])
    mask = c.s(ins.operands[4])

    def f(warp: Warp, lanes: list[Thread]) -> None:
        present = by_lane(lanes)
        results = []
        for t in lanes:
            lane, n, bound = t.index & 31, t.r[b] & 31, t.r[clamp]
            segment, limit = bound >> 8 & 31, bound & 31
            low, high = lane & segment, lane & segment | limit & ~segment
            j = {"up": lane - n, "down": lane + n, "bfly": lane ^ n, "idx": low | n & ~segment}[mode]
            inside = j >= high if mode == "up" else j <= high
            j = j if inside else lane
            source = present.get(j)
            results.append((t, source.r[a] if source is not None else None, inside))
        for t, value, inside in results:
            t.r[d] = value
            if p is not None:
                t.r[p] = int(inside)

    return f, mask


def vote(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    d, source, mask = c.s(ins.operands[0]), ins.operands[1], c.s(ins.operands[2])
    a, mode = c.s(source), ins.opcode[2]

    def f(warp: Warp, lanes: list[Thread]) -> None:
        votes = {t.index & 31: bool(t.r[a]) != source.negated for t in lanes}
        values = votes.values()
        result = {
            "all": int(all(values)),
            "any": int(any(values)),
            "uni": int(len(set(values)) == 1),
            "ballot": sum(1 << i for i, v in votes.items() if v),
        }[mode]
        for t in lanes:
            t.r[d] = result

    return f, mask


def match(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    if ins.opcode[1] != "any":
        raise Cannot(f"the instruction {ins.text!r}")
    d, a, mask = (c.s(o) for o in ins.operands[:3])

    def f(warp: Warp, lanes: list[Thread]) -> None:
        for t in lanes:
            if type(t.r[a]) is not int:
                raise Cannot("numbers that data decide are compared by their bits")
        for t in lanes:
            t.r[d] = sum(1 << (u.index & 31) for u in lanes if u.r[a] == t.r[a])

    return f, mask


def redux(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    op, ty = ins.opcode[2], ins.type
    d, a, mask = (c.s(o) for o in ins.operands)
    if ty not in ("u32", "s32", "b32") or len(ins.opcode) > 4:
        raise Cannot(f"the instruction {ins.text!r}")

    def f(warp: Warp, lanes: list[Thread]) -> None:
        values = [t.r[a] for t in lanes]
        if any(type(v) is not int for v in values):
            raise Cannot("bits of a number that data decide are asked for")
        if ty == "s32":
            values = [v - (1 << 32) if v >> 31 else v for v in values]
        x = values[0]
        for v in values[1:]:
            x = {"add": x + v, "min": min(x, v), "max": max(x, v), "and": x & v, "or": x | v, "xor": x ^ v}[op]
        for t in lanes:
            t.r[d] = x & 0xFFFFFFFF

    return f, mask


def elect(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    out, mask = ins.operands[0], c.s(ins.operands[1])
    d = None if out.items[0].kind == "sink" else c.s(out.items[0])
    p = c.s(out.items[1])

    def f(warp: Warp, lanes: list[Thread]) -> None:
        leader = min(t.index & 31 for t in lanes)
        for t in lanes:
            t.r[p] = int(t.index & 31 == leader)
            if d is not None:
                t.r[d] = leader

    return f, mask


def warp_barrier(c: Compiler, ins: Instruction) -> tuple[Any, int]:
    mask = c.s(ins.operands[0])

    def f(warp: Warp, lanes: list[Thread]) -> None:
        known = learn([(t, t.time, t.known) for t in lanes])
        for t in lanes:
            t.known = known
            t.time += 1

    return f, mask


def ldmatrix(c: Compiler, ins: Instruction) -> Any:
    if ins.type != "b16" or "m8n8" not in ins.opcode:
        raise Cannot(f"the instruction {ins.text!r}")
    out = ins.operands[0]
    outs = [c.s(o) for o in (out.items if out.kind == "vector" else [out])]
    base, offset = place(c, ins.operands[1])
    trans, launch = "trans" in ins.opcode, c.launch

    def f(warp: Warp, lanes: list[Thread]) -> None:
        present = by_lane(lanes)
        for k, d in enumerate(outs):
            rows = []
            for i in range(8):
                t = present[8 * k + i]
                memory, at = launch.find(t.r[base] + offset, t, "shared")
                memory.check(at, 16)
                t.line, t.atomic = ins.line, False
                launch.races.access(memory, at, 16, t, False)
                rows.append([memory.read(at + 2 * j, 2, "b16") for j in range(8)])
            for lane, t in present.items():
                i, j = lane >> 2, 2 * (lane & 3)
                pair = (rows[j][i], rows[j + 1][i]) if trans else (rows[i][j], rows[i][j + 1])
                t.r[d] = join([(16, x) for x in pair])

    return f


def stmatrix(c: Compiler, ins: Instruction) -> Any:
    if ins.type != "b16" or "m8n8" not in ins.opcode:
        raise Cannot(f"the instruction {ins.text!r}")
    source = ins.operands[1]
    sources = [c.s(o) for o in (source.items if source.kind == "vector" else [source])]
    base, offset = place(c, ins.operands[0])
    trans, launch = "trans" in ins.opcode, c.launch

    def f(warp: Warp, lanes: list[Thread]) -> None:
        present = by_lane(lanes)
        for k, s in enumerate(sources):
            for i in range(8):
                t = present[8 * k + i]
                memory, at = launch.find(t.r[base] + offset, t, "shared")
                memory.check(at, 16)
                t.line, t.atomic = ins.line, False
                for j in range(8):
                    row, column = (j, i) if trans else (i, j)
                    x = extract(present[4 * row + column // 2].r[s], 32, 16 * (column % 2), 16)
                    launch.races.access(memory, at + 2 * j, 2, t, True, x)
                    memory.write(at + 2 * j, 2, x)

    return f


def _places(shape: tuple[int, int, int], per: int, which: str, lane: int) -> list[tuple[int, int]]:
    """Row and column of each element of a fragment, by the manual's figures; `per` elements share a register."""
    k = shape[2]
    g, t = lane >> 2, lane & 3
    if shape == (8, 8, 4):
        return {"a": [(g, t)], "b": [(t, g)], "c": [(g, 2 * t), (g, 2 * t + 1)]}[which]
    if which == "c":
        return [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)]
    out = []
    if which == "a":
        for block in range(0, k, 4 * per):
            for row in (g, g + 8):
                out += [(row, block + t * per + i) for i in range(per)]
    else:
        for block in range(0, k, 4 * per):
            out += [(block + t * per + i, g) for i in range(per)]
    return out


SHAPES = {"m16n8k16": (16, 8, 16), "m16n8k8": (16, 8, 8), "m16n8k4": (16, 8, 4), "m16n8k32": (16, 8, 32), "m8n8k4": (8, 8, 4)}


def mma(c: Compiler, ins: Instruction) -> Any:
    names = ins.opcode
    shape = next(SHAPES[s] for s in names if s in SHAPES)
    m, _, k = shape
    td, ta, tb, tc = names[-4:]
    if "sp" in names or "row" not in names or "col" not in names or td != tc or "satfinite" in names or "xor" in names:
        raise Cannot(f"the instruction {ins.text[:60]!r}")
    if (m == 8 and ta != "f64") or ta[-2:] not in ("16", "32", "64", "s8", "u8") or ta == "e4m3":
        raise Cannot(f"the instruction {ins.text[:60]!r}")
    integer = ta in ("s8", "u8")
    width = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8}[ta]
    per = max(32 // width, 1)
    registers = [[c.s(o) for o in (v.items if v.kind == "vector" else [v])] for v in ins.operands]
    d = c.domain
    wide = {"f32": 32, "f16": 16, "f64": 64, "s32": 32}[tc]
    kept = "f32" if tc == "s32" else tc
    number_c, wrap = c.number(kept), c.wrap(kept)
    number_a = c.number(ta if not integer else "f32")

    def elements(t: Thread, slots: list[int], w: int) -> list[Any]:
        each = max(32 // w, 1)
        return [extract(t.r[s], max(32, w), w * i, w) for s in slots for i in range(each)]

    def value(x: Any, ty: str) -> Any:
        if integer:
            if type(x) is not int:
                raise Cannot("numbers that data decide are read as small integers")
            return x - 256 if ty == "s8" and x > 127 else x
        if ta in ("f16", "bf16") and type(x) not in (int, Half):
            x = Half(x, ta)
        return number_a(x)

    def f(warp: Warp, lanes: list[Thread]) -> None:
        a: dict[tuple[int, int], Any] = {}
        b: dict[tuple[int, int], Any] = {}
        for t in lanes:
            lane = t.index & 31
            for at, x in zip(_places(shape, per, "a", lane), elements(t, registers[1], width)):
                a[at] = value(x, ta)
            for at, x in zip(_places(shape, per, "b", lane), elements(t, registers[2], width)):
                b[at] = value(x, tb)
        for t in lanes:
            out = []
            held = elements(t, registers[3], wide)
            for (i, j), x in zip(_places(shape, per, "c", t.index & 31), held):
                if integer:
                    total = x + sum(a[i, q] * b[q, j] for q in range(k))
                    out.append(total & 0xFFFFFFFF)
                    continue
                total = number_c(x)
                for q in range(k):
                    total = d.add(total, d.mul(a[i, q], b[q, j]))
                out.append(wrap(total))
            each = max(32 // wide, 1)
            for s, slot in enumerate(registers[0]):
                t.r[slot] = join([(wide, x) for x in out[each * s : each * s + each]])

    return f
