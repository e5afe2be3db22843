"""Loads, stores, atomic operations and asynchronous copies of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .machine import Thread
from .memory import Stamp
from .ptx import SIZES, Instruction, Operand
from .values import FORMATS, Cannot, Pieces, extract

if TYPE_CHECKING:
    from .floats import Step
    from .instructions import Compiler

NAMES = {"ld", "ldu", "st", "atom", "red", "cp"}
SPACES = ("global", "shared", "local", "param", "const")


def space_of(ins: Instruction) -> str:
    for part in ins.opcode:
        head = part.partition("__")[0]
        if head in SPACES:
            return "generic" if head in ("global", "const") else head
    return "generic"


def compile(c: Compiler, ins: Instruction) -> Step:
    name = ins.opcode[0]
    if name in ("ld", "ldu"):
        return load(c, ins)
    if name == "st":
        return store(c, ins)
    if name == "cp":
        return copy(c, ins)
    return atomic(c, ins)


def place(c: Compiler, o: Operand) -> tuple[int, int]:
    """The slot and offset of an address."""
    if o.kind != "address":
        raise Cannot(f"the address {o.text[:30]!r}")
    base = o.items[0]
    if base.kind == "int":
        base.value += o.value
        return c.s(base), 0
    return c.s(base), o.value


def check_plain(ins: Instruction) -> None:
    for part in ins.opcode[1:]:
        if part in ("async", "bulk", "mmio", "reduce") or part.endswith("__cluster"):
            raise Cannot(f"the instruction {ins.text[:60]!r}")


def load(c: Compiler, ins: Instruction) -> Step:
    check_plain(ins)
    ty, space, line, launch = ins.type, space_of(ins), ins.line, c.launch
    n = SIZES[ty]
    out = ins.operands[0]
    outs = [c.s(o) if o.kind != "sink" else None for o in (out.items if out.kind == "vector" else [out])]
    base, offset = place(c, ins.operands[1])
    atomic = any(p in ins.opcode for p in ("relaxed", "acquire", "volatile"))
    extend = ty[0] == "s" and n < 8
    races, find, total = launch.races, launch.find, n * len(outs)
    private = space in ("param", "local")

    def load(r: list[Any]) -> None:
        t: Thread = r[0]
        memory, at = find(r[base] + offset, t, space)
        memory.check(at, total)
        if not private:
            t.line, t.atomic = line, atomic
            races.access(memory, at, total, t, False)
        for i, d in enumerate(outs):
            if d is None:
                continue
            x = memory.read(at + i * n, n, ty)
            if extend and type(x) is int and x >> (8 * n - 1):
                x |= (1 << 64) - (1 << 8 * n) if n == 4 else (1 << 32) - (1 << 8 * n)
                x &= 0xFFFFFFFF if n < 4 else (1 << 64) - 1
            r[d] = x

    return load


def store(c: Compiler, ins: Instruction) -> Step:
    check_plain(ins)
    ty, space, line, launch = ins.type, space_of(ins), ins.line, c.launch
    n = SIZES[ty]
    base, offset = place(c, ins.operands[0])
    source = ins.operands[1]
    sources = [c.s(o) for o in (source.items if source.kind == "vector" else [source])]
    atomic = any(p in ins.opcode for p in ("relaxed", "release", "volatile"))
    races, find, total = launch.races, launch.find, n * len(sources)

    def store(r: list[Any]) -> None:
        t: Thread = r[0]
        memory, at = find(r[base] + offset, t, space)
        memory.check(at, total)
        t.line, t.atomic = line, atomic
        for i, s in enumerate(sources):
            x = r[s]
            if type(x) is int:
                x &= (1 << 8 * n) - 1
            elif type(x) is Pieces and sum(w for w, _ in x.parts) > 8 * n:
                x = extract(x, sum(w for w, _ in x.parts), 0, 8 * n)
            races.access(memory, at + i * n, n, t, True, x)
            memory.write(at + i * n, n, x)

    return store


def combined(c: Compiler, ins: Instruction) -> Callable[..., Any]:
    """What an atomic operation leaves, of what is there and its operands."""
    ty = ins.type
    op = next(p for p in ins.opcode if p in ("add", "min", "max", "exch", "cas", "inc", "dec", "and", "or", "xor"))
    if op == "exch":
        return lambda old, x: x
    if op == "cas":

        def cas(old: Any, expected: Any, new: Any) -> Any:
            if type(old) is not int or type(expected) is not int:
                raise Cannot("numbers that data decide are compared by their bits")
            return new if old == expected else old

        return cas
    if ty in FORMATS:
        number, wrap = c.number(ty), c.wrap(ty)
        if op != "add":
            raise Cannot(f"the instruction {ins.text!r}")
        return lambda old, x: wrap(c.domain.add(number(old), number(x)))
    if ty.endswith("x2"):
        raise Cannot(f"the instruction {ins.text!r}")
    w = 8 * SIZES[ty]
    keep = (1 << w) - 1

    def v(x: int) -> int:
        x &= keep
        return x - (1 << w) if ty[0] == "s" and x >> (w - 1) else x

    table: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "min": lambda a, b: min(v(a), v(b)),
        "max": lambda a, b: max(v(a), v(b)),
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "inc": lambda a, b: 0 if a >= b else a + 1,
        "dec": lambda a, b: b if a == 0 or a > b else a - 1,
    }
    f = table[op]

    def integer(a: Any, b: Any) -> Any:
        if type(a) is not int or type(b) is not int:
            raise Cannot("bits of a number that data decide are asked for")
        return f(a, b) & keep

    return integer


def atomic(c: Compiler, ins: Instruction) -> Step:
    check_plain(ins)
    if ins.opcode[1] in ("async", "noftz") or ins.operands[-1].kind == "vector":
        raise Cannot(f"the instruction {ins.text[:60]!r}")
    operands = list(ins.operands)
    out = c.s(operands.pop(0)) if ins.opcode[0] == "atom" and operands[0].kind != "sink" else None
    if operands[0].kind == "sink":
        operands.pop(0)
    base, offset = place(c, operands[0])
    sources = [c.s(o) for o in operands[1:]]
    f, ty, line, launch, space = combined(c, ins), ins.type, ins.line, c.launch, space_of(ins)
    n = SIZES[ty]

    def atomic(r: list[Any]) -> None:
        t: Thread = r[0]
        memory, at = launch.find(r[base] + offset, t, space)
        memory.check(at, n)
        t.line, t.atomic = line, True
        old = memory.read(at, n, ty)
        new = f(old, *[r[s] for s in sources])
        launch.races.access(memory, at, n, t, True, new)
        memory.write(at, n, new)
        t.atomic = False
        if out is not None:
            r[out] = old

    return atomic


def copy(c: Compiler, ins: Instruction) -> Step:
    """`cp.async`: an agent of its own writes, and is known from the wait on."""
    names = ins.opcode[1:]
    if names[:1] != ["async"] or "bulk" in names or "mbarrier" in names or "reduce" in names:
        raise Cannot(f"the instruction {ins.text[:60]!r}")
    if "commit_group" in names:

        def commit(r: list[Any]) -> None:
            t: Thread = r[0]
            t.copies.append(t.open)
            t.open = []

        return commit
    if "wait_all" in names or "wait_group" in names:
        everything = "wait_all" in names
        left = 0 if everything else ins.operands[0].value

        def wait(r: list[Any]) -> None:
            t: Thread = r[0]
            if everything:
                t.copies.append(t.open)
                t.open = []
            done = t.copies[: len(t.copies) - left] if left else t.copies
            t.copies = t.copies[len(done) :]
            if any(done):
                t.known = dict(t.known)
                t.known.update((agent, 1) for group in done for agent in group)

        return wait
    to, to_offset = place(c, ins.operands[0])
    source, source_offset = place(c, ins.operands[1])
    n = ins.operands[2].value
    size = c.s(ins.operands[3]) if len(ins.operands) > 3 and "L2__cache_hint" not in names else None
    launch, line = c.launch, ins.line

    def copy(r: list[Any]) -> None:
        t: Thread = r[0]
        memory, at = launch.find(r[source] + source_offset, t, "generic")
        target, where = launch.find(r[to] + to_offset, t, "shared")
        count = n if size is None else min(r[size], n)
        target.check(where, n)
        agent = Stamp(t.cta.agent())
        agent.known, agent.line, t.line, t.atomic = {**t.known, t.id: t.time}, line, line, False
        parts: list[tuple[int, Any]] = []
        if count:
            memory.check(at, n)
            launch.races.access(memory, at, count, t, False)
            value = memory.read(at, count, "f32")
            parts = value.parts if type(value) is Pieces else [(8 * count, value)]
        if count < n:
            parts = [*parts, (8 * (n - count), 0)]
        launch.races.access(target, where, n, agent, True)
        for width, value in parts:
            if width % 8:
                raise Cannot("a copy of pieces of bytes")
            target.write(where, width // 8, value)
            where += width // 8
        t.open.append(agent.id)

    return copy
