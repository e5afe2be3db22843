"""The threads of one launch: warps of lanes that run apart, meet at warp instructions and barriers, and share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .memory import Memory, Outside, Races, Space, Stamp
from .ptx import Instruction, Module, Operand, Variable
from .values import Cannot, Refuted

SHARED, LOCAL, PARAM = 1 << 60, 2 << 60, 3 << 60
"""Where the windows of other state spaces lie among generic addresses."""

STEPS = 40_000_000

RUN, WAIT, DONE = 0, 1, 2


class Thread(Stamp):
    __slots__ = ("copies", "cta", "index", "local", "open", "pc", "r", "state", "tid", "warp")

    def __init__(self, cta: Cta, index: int, registers: list[Any]) -> None:
        super().__init__(cta.first + index)
        self.cta, self.index, self.r, self.pc, self.state = cta, index, registers, 0, RUN
        self.local: Memory | None = None
        self.copies: list[list[int]] = []
        self.open: list[int] = []
        self.warp: Warp


class Warp:
    def __init__(self, cta: Cta, lanes: list[Thread]) -> None:
        self.cta, self.lanes = cta, lanes
        for lane in lanes:
            lane.warp = self

    def mask(self, lanes: list[Thread]) -> int:
        return sum(1 << (t.index & 31) for t in lanes)


class Cta:
    def __init__(self, launch: Launch, rank: int, first: int) -> None:
        self.launch, self.rank, self.first = launch, rank, first
        self.shared = Memory("shared memory", 0, launch.shared_bytes, None)
        self.agents = 0
        self.barriers: dict[int, list[Arrival]] = {}
        self.counts: dict[int, int | None] = {}
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        self.threads = [Thread(self, i, launch.registers(self, i)) for i in range(threads)]
        for t in self.threads:
            t.r[0] = t
        self.warps = [Warp(self, self.threads[i : i + 32]) for i in range(0, threads, 32)]

    def run(self) -> None:
        progress = True
        while progress:
            progress = False
            for warp in self.warps:
                while self.launch.step(warp):
                    progress = True
        stuck = [t for t in self.threads if t.state != DONE]
        if stuck:
            line = self.launch.code[stuck[0].pc].line if stuck[0].pc < len(self.launch.code) else 0
            raise Refuted(f"a deadlock: {len(stuck)} threads of CTA {self.rank} wait, the first in line {line}")

    def agent(self) -> int:
        self.agents += 1
        return (self.first + 1) * (1 << 24) + self.agents

    def arrive(self, id: int, arrival: Arrival, count: int | None) -> None:
        self.barriers.setdefault(id, []).append(arrival)
        self.counts[id] = count
        t = arrival.thread
        t.time += 1
        t.state = WAIT if arrival.waits else RUN
        self.complete(id, count)

    def complete(self, id: int, count: int | None) -> None:
        arrived = self.barriers.get(id, [])
        gone = sum(t.state == DONE for t in self.threads) if count is None else 0
        if not arrived or len(arrived) + gone < (count or len(self.threads)):
            return
        self.barriers[id] = []
        known = learn([(a.thread, a.time, a.known) for a in arrived])
        for a in arrived:
            if a.waits:
                a.thread.known, a.thread.state = known, RUN
            if a.result is not None:
                a.result([b.vote for b in arrived])

    def finish(self, t: Thread) -> None:
        t.state = DONE
        for id, arrived in list(self.barriers.items()):
            if arrived and self.counts[id] is None:
                self.complete(id, None)


class Arrival:
    """A thread at a barrier, with what it knew when it came."""

    def __init__(self, thread: Thread, waits: bool, vote: bool = False, result: Callable[[list[bool]], None] | None = None) -> None:
        self.thread, self.time, self.known, self.waits, self.vote, self.result = (
            thread,
            thread.time,
            thread.known,
            waits,
            vote,
            result,
        )


def learn(all: list[tuple[Thread, int, dict[int, int]]]) -> dict[int, int]:
    """What threads that meet know of each other and of all others from then on."""
    known: dict[int, int] = {}
    for k in {id(known): known for _, _, known in all}.values():
        for who, time in k.items():
            if known.get(who, -1) < time:
                known[who] = time
    for t, time, _ in all:
        known[t.id] = max(known.get(t.id, -1), time)
    return known


class Launch:
    """A kernel that is about to run."""

    def __init__(
        self,
        module: Module,
        side: dict[str, Any],
        arrays: list[Memory | None],
        domain: Any,
        space: Space,
        params: Memory,
        read_constant: Callable[[int, str], Any],
    ) -> None:
        from .instructions import Compiler  # The instructions name this module's classes.

        self.module, self.domain, self.space, self.params, self.constant = module, domain, space, params, read_constant
        self.block, self.grid = side["block"], side["grid"]
        self.ctas = side["ctas"]
        excused: dict[str, set[int]] = {}
        for w in side.get("excused", []):
            excused.setdefault(w["kind"], set()).update(w["lines"])
        opcodes = [set(i.opcode) for i in module.entry.code]
        self.races = Races(excused, any(o & ORDERING or (o & {"atom", "red"} and o & {"cas", "exch"}) for o in opcodes))
        self.tests: dict[int, int] = {}
        self.outcomes: list[int] = []
        self.steps = 0
        self.names: dict[str, int] = {}
        self._variables(side, arrays)
        self.slots: dict[Any, int] = {"thread": 0}
        self.template: list[Any] = [None]
        self.specials: list[tuple[int, str]] = []
        self.code = [*module.entry.code, Instruction(0, "exit", ["exit"], None, [])]
        compiler = Compiler(self)
        self.plain, self.control, self.meet = compiler.all()

    def _variables(self, side: dict[str, Any], arrays: list[Memory | None]) -> None:
        at = 0
        shared = [v for v in [*self.module.variables, *self.module.entry.shared] if v.space == "shared"]
        for v in shared:
            if v.bytes == 0:
                continue
            at = -(-at // v.align) * v.align
            self.names[v.name] = SHARED + at
            at += v.bytes
        self.shared_bytes: int | None = at
        for v in shared:
            if v.bytes == 0:
                start = -(-at // 1024) * 1024 if at else 0
                self.names[v.name] = SHARED + start
                extent = side["dynamic_shared"]
                self.shared_bytes = None if extent is None else start + extent
        by_name = {v["name"]: v["array"] for v in side["variables"]}
        for v in self.module.variables:
            if v.space in ("global", "const") and v.name in by_name:
                memory = arrays[by_name[v.name]]
                if memory is not None:
                    self.names[v.name] = memory.base
                    self._initial(v, memory)
        at = 0
        for v in self.module.entry.params:
            at = -(-at // v.align) * v.align
            self.names[v.name] = PARAM + at
            at += v.bytes
        at = 0
        for v in self.module.entry.local:
            at = -(-at // v.align) * v.align
            self.names[v.name] = LOCAL + at
            at += v.bytes
        self.local_bytes = at

    def _initial(self, v: Variable, memory: Memory) -> None:
        if v.init is not None:
            memory.preset = [*v.init, *[0] * (v.bytes - len(v.init))]

    def slot(self, o: Operand) -> int:
        """The place of a register or constant among those of a thread."""
        key: Any = o.text if o.kind == "name" else (o.kind, o.value)
        if o.kind == "name" and o.text in self.names:
            key = ("address", o.text, o.value)
        if key in self.slots:
            return self.slots[key]
        self.slots[key] = len(self.template)
        if o.kind in ("int", "float"):
            self.template.append(o.value)
        elif key != o.text:
            self.template.append(self.names[o.text] + o.value)
        elif o.text == "WARP_SZ":
            self.template.append(32)
        elif o.text.startswith(SPECIAL):
            self.specials.append((len(self.template), o.text))
            self.template.append(None)
        else:
            self.template.append(None)
        return self.slots[key]

    def registers(self, cta: Cta, index: int) -> list[Any]:
        r = self.template.copy()
        x, y, z = self.block
        gx, gy, gz = self.grid
        tid = (index % x, index // x % y, index // x // y)
        ctaid = (cta.rank % gx, cta.rank // gx % gy, cta.rank // gx // gy)
        triples = {"%tid": tid, "%ntid": (x, y, z), "%ctaid": ctaid, "%nctaid": (gx, gy, gz)}
        lane = index & 31
        words = {
            "%laneid": lane,
            "%warpid": index >> 5,
            "%nwarpid": -(-x * y * z // 32),
            "%lanemask_eq": 1 << lane,
            "%lanemask_lt": (1 << lane) - 1,
            "%lanemask_le": (2 << lane) - 1,
            "%lanemask_gt": 0xFFFFFFFF ^ (2 << lane) - 1,
            "%lanemask_ge": 0xFFFFFFFF ^ (1 << lane) - 1,
        }
        for slot, name in self.specials:
            base, _, axis = name.partition(".")
            if base in triples and axis in ("x", "y", "z"):
                r[slot] = triples[base]["xyz".index(axis)]
            elif name in words:
                r[slot] = words[name]
        return r

    def run(self) -> None:
        ranks = range(self.grid[0] * self.grid[1] * self.grid[2])
        if self.ctas is not None:
            x, y, _ = self.grid
            chosen = [c[0] + x * (c[1] + y * c[2]) for c in self.ctas]
        else:
            chosen = list(ranks)
        threads = self.block[0] * self.block[1] * self.block[2]
        for rank in chosen:
            Cta(self, rank, rank * threads + 1).run()

    def step(self, warp: Warp) -> bool:
        """Runs some lanes of a warp until they branch or meet; false if none can."""
        ready: dict[int, list[Thread]] = {}
        for t in warp.lanes:
            if t.state == RUN:
                ready.setdefault(t.pc, []).append(t)
        for pc in sorted(ready):
            lanes = ready[pc]
            meet = self.meet.get(pc)
            if meet is not None:
                lanes = self.guarded(pc, lanes)
                if not lanes:
                    return True
                if meet(warp, lanes):
                    return True
                continue
            for t in lanes:
                self.advance(t, pc)
            return True
        return False

    def guarded(self, pc: int, lanes: list[Thread]) -> list[Thread]:
        """The lanes that execute a warp instruction; others pass over it."""
        guard = self.code[pc].guard
        if guard is None:
            return lanes
        slot, out = self.slot(guard), []
        for t in lanes:
            if bool(t.r[slot]) != guard.negated:
                out.append(t)
            else:
                t.pc = pc + 1
        return out

    def advance(self, t: Thread, pc: int) -> None:
        r, f = t.r, None
        try:
            while True:
                block = self.plain[pc]
                pc += len(block)
                self.steps += len(block) + 1
                if self.steps > STEPS:
                    raise Cannot("it takes too many steps")
                while block:
                    try:
                        for f in block:
                            f(r)
                        break
                    except TypeError as e:
                        block = block[block.index(f) + 1 :] if f else []
                        self.poisoned(r, f, e)
                if pc in self.meet:
                    t.pc = pc
                    return
                f = self.control[pc]
                pc = f(r)
                if pc < 0:
                    t.cta.finish(t)
                    return
                if t.state != RUN:
                    t.pc = pc
                    return
        except (Cannot, Refuted) as e:
            if e.line is None:
                e.line = getattr(f, "line", None)
            raise
        except TypeError as e:
            self.poisoned(r, f, e)

    def poisoned(self, r: list[Any], f: Any, e: TypeError) -> None:
        """What is made of a register that was never written was never written either, where nothing else comes of it."""
        line, writes = getattr(f, "line", None), getattr(f, "writes", None)
        error: Cannot | Outside
        if "NoneType" not in str(e):
            error = Cannot("bits of a number that data decide")
        elif writes is None:
            error = Outside("a register that was never written decides an address or where a thread goes on")
        else:
            for d in writes:
                r[d] = None
            return
        error.line = line
        raise error from e

    def test(self, line: int, outcome: int) -> None:
        """Notes the outcome of a test on data."""
        self.tests[line] = self.tests.get(line, 0) | 1 << outcome
        self.outcomes.append(outcome)

    def find(self, address: Any, t: Thread, space: str) -> tuple[Memory, int]:
        """The object and offset of an address, which is generic or one of its state space."""
        if type(address) is not int:
            raise Cannot("an address is made of data that are no integer")
        window = address >> 60
        if space == "shared" or window == 1:
            if window not in (0, 1) or (address & (1 << 60) - 1) >> 32:
                raise Outside(f"{address:#x} is no address of shared memory")
            return t.cta.shared, address & 0xFFFFFFFF
        if space == "local" or window == 2:
            if t.local is None:
                t.local = Memory("local memory", 0, self.local_bytes, None)
            return t.local, address & 0xFFFFFFFF
        if space == "param" or window == 3:
            return self.params, address & 0xFFFFFFFF
        return self.space.find(address)


ORDERING = {"fence", "membar", "acquire", "release", "acq_rel", "relaxed", "volatile", "sc"}

SPECIAL = (
    "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid", "%nwarpid", "%lanemask", "%clock", "%smid", "%gridid",
    "%globaltimer",
    "%cluster", "%nsmid", "%dynamic_smem", "%total_smem", "%envreg", "%pm",
)  # fmt: skip
