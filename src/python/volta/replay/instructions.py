"""Every instruction becomes one function of the registers of a thread; those of warps are in `collectives`."""

from __future__ import annotations

from typing import Any

from . import access, collectives
from .floats import Floats, Step
from .integers import Integers
from .machine import Arrival, Thread
from .memory import Outside
from .ptx import SIZES, Instruction
from .values import FORMATS, Cannot, Refuted, extract, join

CONTROL = {"bra", "brx", "ret", "exit", "trap", "brkpt", "bar", "barrier", "call"}
MEET = {"shfl", "vote", "match", "redux", "mma", "ldmatrix", "stmatrix", "elect"}
NOTHING = {"membar", "fence", "prefetch", "prefetchu", "nanosleep", "griddepcontrol", "discard", "applypriority", "pmevent"}


def raises(message: str, line: int) -> Step:
    def f(r: list[Any]) -> Any:
        error = Cannot(message)
        error.line = line
        raise error

    return f


class Compiler(Floats, Integers):
    def all(self) -> tuple[dict[int, list[Step]], dict[int, Step], dict[int, Any]]:
        code = self.launch.code
        ends = {i for i, ins in enumerate(code) if self.is_control(ins) or self.meets(ins)}
        starts = {0, *self.launch.module.entry.labels.values(), *(i + 1 for i in ends)} - {len(code)}
        steps: dict[int, Step] = {i: self.plain(ins) for i, ins in enumerate(code) if i not in ends}
        plain: dict[int, list[Step]] = {}
        for start in starts:
            end = start
            while end not in ends:
                end += 1
            plain[start] = [steps[i] for i in range(start, end)]
        control = {i: self.control(i, code[i]) for i in ends if self.is_control(code[i])}
        meet = {i: collectives.compile(self, i, code[i]) for i in ends if self.meets(code[i])}
        return plain, control, meet

    def is_control(self, ins: Instruction) -> bool:
        return ins.opcode[0] in CONTROL and not self.meets(ins)

    def meets(self, ins: Instruction) -> bool:
        return ins.opcode[0] in MEET or ins.opcode[:2] == ["bar", "warp"]

    def plain(self, ins: Instruction) -> Step:
        try:
            f = self.made(ins)
        except Cannot as e:
            f = raises(str(e), ins.line)
        except (KeyError, IndexError, StopIteration):
            f = raises(f"the instruction {ins.text!r}", ins.line)
        if ins.guard is not None:
            p, inner, negated = self.s(ins.guard), f, ins.guard.negated

            def f(r: list[Any]) -> Any:
                x = r[p]
                if x is None:
                    raise Outside("a condition on a register that was never written")
                if x != negated:
                    inner(r)

        f.line = ins.line  # type: ignore[attr-defined]
        if ins.opcode[0] not in access.NAMES and ins.operands:
            out = ins.operands[0]
            written = out.items if out.kind in ("vector", "pair") else [out]
            f.writes = [self.s(o) for o in written if o.kind == "name"]  # type: ignore[attr-defined]
        return f

    def made(self, ins: Instruction) -> Step:
        name = ins.opcode[0]
        if name in NOTHING:
            return lambda r: None
        if name in access.NAMES:
            return access.compile(self, ins)
        if name == "setp":
            return self.setp(ins)
        if name == "cvt":
            floats = any(self.is_float(t) for t in ins.opcode[-2:])
            return self.cvt(ins) if floats else self.integer_conversion(ins)
        if name in ("mov", "cvta", "isspacep", "selp", "slct", "prmt"):
            return self.move(ins)
        if name in ("add", "sub", "mul", "mad", "fma", "div", "neg", "abs", "min", "max") and self.is_float(ins.type):
            return self.floats(ins)
        if name in ("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "testp", "set"):
            return self.functions(ins)
        return self.integers(ins)

    def is_float(self, type: str) -> bool:
        return type in FORMATS or type in ("f16x2", "bf16x2", "f32x2")

    def setp(self, ins: Instruction) -> Step:
        compare, type = ins.opcode[1], ins.type
        combine = next((c for c in ("and", "or", "xor") if c in ins.opcode[2:-1]), None)
        outs = ins.operands[0]
        targets = outs.items if outs.kind == "pair" else [outs]
        places = [self.s(o) for o in targets if o.kind != "sink"]
        if outs.kind == "pair" and targets[0].kind == "sink":
            raise Cannot("a comparison whose second result alone is used")
        a, b = self.s(ins.operands[1]), self.s(ins.operands[2])
        extra, inverted = 0, False
        if combine:
            extra, inverted = self.s(ins.operands[3]), ins.operands[3].negated
        test = self.float_test(ins, compare, type) if self.is_float(type) else self.integer_test(compare, type)

        def f(r: list[Any]) -> None:
            outcome = test(r[a], r[b])
            for i, place in enumerate(places):
                p = outcome ^ (i == 1)
                if combine:
                    q = bool(r[extra]) ^ inverted
                    p = p and q if combine == "and" else p or q if combine == "or" else p ^ q
                r[place] = int(p)

        return f

    def move(self, ins: Instruction) -> Step:
        name = ins.opcode[0]
        if name == "mov":
            return self.mov(ins)
        d, *sources = [self.s(o) for o in ins.operands]
        if name == "cvta":
            window = next((w for s, w in (("shared", 1), ("local", 2), ("param", 3)) if s in ins.opcode), 0) << 60
            a, back = sources[0], "to" in ins.opcode

            def cvta(r: list[Any]) -> None:
                r[d] = r[a] & ~window if back else r[a] | window

            return cvta
        if name == "isspacep":
            window = {"shared": 1, "local": 2, "param": 3}.get(ins.opcode[1], 0)
            a = sources[0]

            def isspacep(r: list[Any]) -> None:
                r[d] = int(r[a] >> 60 == window)

            return isspacep
        if name == "selp":
            a, b, p = sources

            def selp(r: list[Any]) -> None:
                if r[p] is None:
                    raise TypeError("NoneType")
                r[d] = r[a] if r[p] else r[b]

            return selp
        if name == "prmt" and len(ins.opcode) == 2:
            a, b, c = sources

            def prmt(r: list[Any]) -> None:
                whole, control = join([(32, r[a]), (32, r[b])]), r[c]
                if any(control >> 4 * i & 8 for i in range(4)):
                    if type(whole) is not int:
                        raise Cannot("prmt of signs of numbers that data decide")
                    signs = [0xFF if whole >> 8 * (control >> 4 * i & 7) + 7 & 1 else 0 for i in range(4)]
                    plain = [whole >> 8 * (control >> 4 * i & 7) & 0xFF for i in range(4)]
                    r[d] = sum((signs[i] if control >> 4 * i & 8 else plain[i]) << 8 * i for i in range(4))
                    return
                r[d] = permuted(whole, [control >> 4 * i & 7 for i in range(4)])

            return prmt
        raise Cannot(f"the instruction {ins.text!r}")

    def mov(self, ins: Instruction) -> Step:
        to, source = ins.operands
        w = 8 * SIZES[ins.type]
        if source.kind == "vector":
            d, items = self.s(to), [self.s(o) for o in source.items]
            part = w // len(items)

            def pack(r: list[Any]) -> None:
                for i in items:
                    if r[i] is None:
                        raise TypeError("NoneType")
                r[d] = join([(part, r[i] & (1 << part) - 1 if type(r[i]) is int else r[i]) for i in items])

            return pack
        if to.kind == "vector":
            a, part = self.s(source), w // len(to.items)
            outs = [(i * part, self.s(o)) for i, o in enumerate(to.items) if o.kind != "sink"]

            def unpack(r: list[Any]) -> None:
                x = r[a]
                if x is None:
                    raise TypeError("NoneType")
                for low, d in outs:
                    r[d] = extract(x, w, low, part)

            return unpack
        d, a, keep = self.s(to), self.s(source), (1 << w) - 1
        if ins.type == "pred":
            keep = 1

        def mov(r: list[Any]) -> None:
            x = r[a]
            r[d] = x & keep if type(x) is int else x

        return mov

    def control(self, pc: int, ins: Instruction) -> Step:
        try:
            f = self.goes(pc, ins)
        except Cannot as e:
            f = raises(str(e), ins.line)
        if ins.guard is not None:
            p, inner, negated = self.s(ins.guard), f, ins.guard.negated

            def f(r: list[Any]) -> Any:
                if r[p] is None:
                    raise TypeError("NoneType")
                return inner(r) if bool(r[p]) != negated else pc + 1

        f.line = ins.line  # type: ignore[attr-defined]
        return f

    def goes(self, pc: int, ins: Instruction) -> Step:
        entry, name = self.launch.module.entry, ins.opcode[0]
        if name == "bra":
            target = entry.labels[ins.operands[0].text]
            return lambda r: target
        if name in ("ret", "exit"):
            return lambda r: -1
        if name == "brx":
            index = self.s(ins.operands[0])
            targets = [entry.labels[t] for t in entry.targets[ins.operands[1].text]]
            return lambda r: targets[r[index]]
        if name == "trap":

            def trap(r: list[Any]) -> Any:
                raise Refuted("a trap is reached")

            return trap
        if name in ("bar", "barrier") and "cluster" not in ins.opcode:
            return self.barrier(pc, ins)
        raise Cannot(f"the instruction {ins.text!r}")

    def barrier(self, pc: int, ins: Instruction) -> Step:
        operands = list(ins.operands)
        votes = "red" in ins.opcode
        out = self.s(operands.pop(0)) if votes else 0
        predicate = operands.pop() if votes else None
        voted = self.s(predicate) if predicate is not None else 0
        id, waits = self.s(operands[0]), "arrive" not in ins.opcode
        count = self.s(operands[1]) if len(operands) > 1 else None
        op = next((o for o in ("popc", "and", "or") if o in ins.opcode), "")

        def barrier(r: list[Any]) -> int:
            t: Thread = r[0]
            vote = predicate is not None and bool(r[voted]) != predicate.negated

            def result(all: list[bool]) -> None:
                r[out] = sum(all) if op == "popc" else int(all_of(all) if op == "and" else any(all))

            t.cta.arrive(r[id], Arrival(t, waits, vote, result if votes else None), None if count is None else r[count])
            return pc + 1

        return barrier


all_of = all


def permuted(whole: Any, order: list[int]) -> Any:
    """Bytes of a value of 64 bits in an order, in runs."""
    parts, i = [], 0
    while i < len(order):
        n = 1
        while i + n < len(order) and order[i + n] == order[i] + n:
            n += 1
        parts.append((8 * n, extract(whole, 64, 8 * order[i], 8 * n)))
        i += n
    return join(parts)
