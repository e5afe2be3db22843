"""Loads, stores, atomic operations and asynchronous copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .functions import FUNCTIONS
from .machine import Launch, Step, Thread
from .memory import Memory
from .ptx import Instruction, Operand
from .values import FORMATS, SIZES, Cannot, parts_of, whole

SPACES = {"global": "generic", "const": "generic", "shared": "shared", "local": "local", "param": "param"}
STRONG = ("relaxed", "acquire", "release", "volatile")
Place = Callable[[list[Any]], tuple[Memory, int]]


def space_of(ins: Instruction) -> str:
    """The state space that the opcode names."""
    heads = [part.partition("::")[0] for part in ins.opcode]
    return next((SPACES[h] for h in heads if h in SPACES), "generic")


def place(launch: Launch, o: Operand, space: str, n: int) -> Place:
    """The object and offset of an address, at which there are so many bytes."""
    if o.kind != "address":
        raise Cannot(f"the address {o.text[:30]!r}")
    base, offset, find = launch.slot(o.items[0]), o.value, launch.find

    def at(r: list[Any]) -> tuple[Memory, int]:
        memory, off = find(r[base], r[0], space)
        memory.check(off + offset, n)
        return memory, off + offset

    return at


def refuse_foreign(ins: Instruction) -> None:
    if ins.one_of("async", "bulk", "mmio", "reduce") or any(part.endswith("::cluster") for part in ins.opcode):
        raise ins.foreign()


def load(launch: Launch, ins: Instruction) -> Step:
    refuse_foreign(ins)
    kind, n, line, strong = ins.type, SIZES[ins.type], ins.line, bool(ins.one_of(*STRONG))
    outs = [launch.slot(o) if o.kind != "sink" else None for o in ins.operands[0].each()]
    at = place(launch, ins.operands[1], space_of(ins), n * len(outs))
    # A signed number fills its register by its sign, however wide that is: whoever reads it takes the bits of its own width.
    sign, keep = (8 * n - 1 if kind[0] == "s" else 128), (1 << 64) - 1

    def ld(r: list[Any]) -> None:
        memory, off = at(r)
        for i, d in enumerate(outs):
            x = memory.load(off + i * n, n, kind, r[0], line, strong)
            if d is not None:
                r[d] = x - (1 << sign + 1) & keep if type(x) is int and x >> sign else x

    return ld


def store(launch: Launch, ins: Instruction) -> Step:
    refuse_foreign(ins)
    n, line, strong = SIZES[ins.type], ins.line, bool(ins.one_of(*STRONG))
    sources = [launch.slot(o) for o in ins.operands[1].each()]
    at = place(launch, ins.operands[0], space_of(ins), n * len(sources))

    def st(r: list[Any]) -> None:
        memory, off = at(r)
        for i, s in enumerate(sources):
            memory.store(off + i * n, n, r[s], r[0], line, strong)

    return st


def combined(launch: Launch, ins: Instruction) -> Callable[..., Any]:
    """What an atomic operation makes of the old value and its operands: the function of another instruction, or its own."""
    op, keep = ins.one_of("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas"), (1 << 8 * SIZES[ins.type]) - 1

    def cas(old: Any, wanted: Any, x: Any) -> Any:
        if type(old) is not int or type(wanted) is not int:
            raise TypeError("bits of a float")
        return x if old == wanted & keep else old

    own: dict[str, Callable[..., Any]] = {
        "exch": lambda old, x: x,
        "cas": cas,
        "inc": lambda a, b: 0 if a >= b & keep else a + 1,
        "dec": lambda a, b: b if a == 0 or a > b & keep else a - 1,
    }
    if op in own:
        return own[op]
    if ins.type in FORMATS and op != "add":
        raise ins.foreign()
    return FUNCTIONS[op](launch, Instruction(ins.line, ins.text, [op, ins.type], None, ins.operands))


def atomic(launch: Launch, ins: Instruction) -> Step:
    refuse_foreign(ins)
    if ins.operands[-1].kind == "vector":
        raise ins.foreign()
    operands = ins.operands if ins.name == "red" else ins.operands[1:]
    out = launch.slot(ins.operands[0]) if ins.name == "atom" and ins.operands[0].kind != "sink" else None
    f, kind, n, line = combined(launch, ins), ins.type, SIZES[ins.type], ins.line
    at, sources = place(launch, operands[0], space_of(ins), n), [launch.slot(o) for o in operands[1:]]

    def atom(r: list[Any]) -> None:
        memory, off = at(r)
        old = memory.read(off, n, kind)
        try:
            new = f(old, *[r[s] for s in sources])
        except TypeError as e:
            raise Cannot("bits of a number that data decide, or what was never written, decide an atomic operation") from e
        memory.store(off, n, new, r[0], line, strong=True)
        if out is not None:
            r[out] = old

    return atom


def copy(launch: Launch, ins: Instruction) -> Step:
    """`cp.async`: an agent of its own writes, and is known from the wait on."""
    names = ins.opcode[1:]
    if names[:1] != ["async"] or ins.one_of("bulk", "mbarrier", "reduce"):
        raise ins.foreign()
    if ins.one_of("commit_group", "wait_all", "wait_group"):
        left = 0 if "wait_all" in names else ins.operands[0].value if "wait_group" in names else None

        def wait(r: list[Any]) -> None:
            t: Thread = r[0]
            if "wait_group" not in names:
                t.copies.append(t.open)
                t.open = []
            if left is not None:
                done, t.copies = t.copies[: len(t.copies) - left], t.copies[max(len(t.copies) - left, 0) :]
                t.known = {**t.known, **dict.fromkeys((agent for group in done for agent in group), 1)}

        return wait
    n, line = ins.operands[2].value, ins.line
    to, source = place(launch, ins.operands[0], "shared", n), place(launch, ins.operands[1], "generic", n)
    has_size = len(ins.operands) > 3 and not any("cache_hint" in part for part in names)
    size = launch.slot(ins.operands[3]) if has_size else None

    def cp(r: list[Any]) -> None:
        t: Thread = r[0]
        target, where = to(r)
        agent = t.cta.copier(t)
        count = n if size is None else min(r[size], n)
        value: Any = 0
        if count:
            memory, off = source(r)
            value = memory.load(off, count, "f32", t, line)
        if value is None:
            target.store(where, n, None, agent, line)
        else:
            # Cells of four bytes, as they will be read.
            parts = parts_of(value, n)
            for i in range(0, n, 4):
                target.store(where + i, 4, whole(parts[i : i + 4]), agent, line)
        t.open.append(agent.id)

    return cp


STEPS = {"ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic, "cp": copy}
