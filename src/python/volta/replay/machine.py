"""The threads of one launch. Each runs alone until it ends or comes to a meeting: a barrier, or an instruction of its warp.

A meeting takes place when all are there whom it waits for. What the threads that meet at a barrier know of each other is
what orders their accesses to memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from .memory import Agent, Memory, Races, Space
from .ptx import Module, Operand
from .values import Cannot, Num, Outside, Refuted, Stop

if TYPE_CHECKING:
    from .library import Library, Trees

SHARED, LOCAL, PARAM = 1 << 60, 2 << 60, 3 << 60
"""Where the windows of other state spaces lie among generic addresses."""

STEPS = 40_000_000
"""Instructions of all threads of a launch, beyond which it is given up."""

WATCHED = 64
"""How many times a thread is watched at one test."""

ENDS, WAITS = -1, -2
"""Where a thread goes on that does not."""

Step = Callable[[list[Any]], int | None]
"""An instruction as a function of the registers of a thread, the first of which is the thread: where it goes on."""


SPECIALS = {"%tid", "%ctaid", "%ntid", "%nctaid", "%laneid", "%warpid", "%nwarpid"} | {
    f"%lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")
}
UNKNOWN = ("%clock", "%smid", "%nsmid", "%gridid", "%globaltimer", "%cluster", "%dynamic_smem", "%total_smem", "%envreg", "%pm")
"""Registers that hold what the launch says, and those of which nothing is said."""


class Margin(NamedTuple):
    """What a test compared: the difference, how it came out, whether it is a `test`, a `choice` or a `pole`, and its bits."""

    value: Any
    outcome: int
    kind: str
    bits: int = 0
    sides: tuple[Any, Any] | None = None
    """The numbers that a `test` of floats compared."""


class Thread(Agent):
    __slots__ = ("copies", "cta", "index", "local", "open", "pc", "r")

    def __init__(self, cta: Cta, index: int, registers: list[Any]) -> None:
        super().__init__(cta.first + index, {})
        self.cta, self.index, self.r, self.pc = cta, index, registers, 0
        self.local: Memory | None = None
        self.copies: list[list[int]] = []
        """Groups of asynchronous copies that were committed, and those that were not."""
        self.open: list[int] = []
        registers[0] = self

    @property
    def lane(self) -> int:
        return self.index & 31


class Meeting:
    """Threads that wait for others; one that only arrives goes on at once. At a barrier they learn of each other."""

    def __init__(self, needed: int, expects: Callable[[Thread], bool], then: Callable[[list[Thread]], None], learns: bool) -> None:
        self.needed, self.expects, self.then, self.learns = needed, expects, then, learns
        self.arrived: list[tuple[Thread, int, dict[int, int]]] = []
        self.waiting: list[Thread] = []

    def take_place(self) -> None:
        self.then(sorted((t for t, _, _ in self.arrived), key=lambda t: t.index))
        if self.learns:
            known: dict[int, int] = {}
            for k in [*{id(k): k for _, _, k in self.arrived}.values(), {t.id: time for t, time, _ in self.arrived}]:
                for who, time in k.items():
                    known[who] = max(known.get(who, 0), time)
            for t in self.waiting:
                t.known = known


class Cta:
    def __init__(self, launch: Launch, rank: int) -> None:
        x, y, z = launch.block
        self.launch, self.rank, self.first, self.agents = launch, rank, rank * x * y * z + 1, 0
        self.shared = Memory("shared memory", 0, launch.shared_bytes, races=launch.races)
        self.threads = [Thread(self, i, launch.registers(rank, i)) for i in range(x * y * z)]
        self.alive = set(self.threads)
        self.ready = deque(self.threads)
        self.meetings: dict[Any, Meeting] = {}

    def run(self) -> None:
        while self.ready:
            self.launch.advance(self.ready.popleft())
        if self.alive:
            first = min(self.alive, key=lambda t: t.index)
            line = self.launch.module.code[first.pc - 1].line
            raise Refuted(f"a deadlock: {len(self.alive)} threads of CTA {self.rank} wait, the first in line {line}")

    def come(self, t: Thread, key: Any, meeting: Callable[[], Meeting], waits: bool = True) -> None:
        """A thread arrives at a meeting, which the first one there makes."""
        if key not in self.meetings:
            self.meetings[key] = meeting()
        m = self.meetings[key]
        m.arrived.append((t, t.time, t.known))
        t.time += 1
        if waits:
            m.waiting.append(t)
        self.hold(key, m)

    def hold(self, key: Any, m: Meeting) -> None:
        if len(m.arrived) >= m.needed:
            del self.meetings[key]
            m.take_place()
            self.ready.extend(m.waiting)

    def end(self, t: Thread) -> None:
        self.alive.remove(t)
        for key, m in list(self.meetings.items()):
            if m.expects(t):
                m.needed -= 1
                self.hold(key, m)

    def barrier(self, then: Callable[[list[Thread]], None], count: int | None) -> Meeting:
        """A meeting of all threads that have not ended, or of so many."""
        return Meeting(len(self.alive) if count is None else count, lambda t: count is None, then, True)

    def lanes(self, t: Thread, mask: int, then: Callable[[list[Thread]], None], learns: bool) -> Meeting:
        """A meeting of the lanes of a mask that have not ended."""
        first = t.index - t.lane

        def is_member(u: Thread) -> bool:
            return u.index - u.lane == first and bool(mask >> u.lane & 1)

        if not is_member(t):
            raise Refuted("a lane executes an instruction of its warp, and is not in its mask")
        return Meeting(sum(is_member(u) and u in self.alive for u in self.threads[first : first + 32]), is_member, then, learns)

    def copier(self, t: Thread) -> Agent:
        """Who copies for a thread that goes on."""
        self.agents += 1
        return Agent((self.rank + 1) * (1 << 40) + self.agents, {**t.known, t.id: t.time})


class Launch:
    """A kernel that is about to run."""

    def __init__(
        self,
        module: Module,
        side: dict[str, Any],
        addresses: dict[str, int],
        races: Races,
        domain: Any,
        space: Space,
        params: Memory,
        constant: Callable[[int, str], Num],
    ) -> None:
        self.module, self.domain, self.space, self.params, self.races, self.constant = (
            module,
            domain,
            space,
            params,
            races,
            constant,
        )
        self.block, self.grid, self.ctas = side["block"], side["grid"], side["ctas"]
        self.tests: dict[int, int] = {}
        """By line, which outcomes tests on data had."""
        self.outcomes: list[int] = []
        self.margins: dict[tuple[int, int], list[Margin]] | None = None
        """By line and thread, what tests compared, where that is watched."""
        self.trees: Trees | None = None
        """The operations that made each value, where they are kept."""
        self.library: Library | None = None
        """The functions that are looked for among them."""
        self.now = 0
        """The thread that runs."""
        self.steps = 0
        self.names = addresses
        self._variables(side["dynamic_shared"])
        self.slots: dict[Any, int] = {"thread": 0}
        self.template: list[Any] = [None]
        self.specials: list[tuple[int, str]] = []
        self.code: list[Step] = []
        """One step of each instruction, and the end; all registers have their places before the first thread begins."""

    def _variables(self, dynamic: int | None) -> None:
        """Lays out variables and parameters one after the other; shared memory of no size of its own begins behind the rest."""
        ends = {"shared": 0, "local": 0, "param": 0}
        bases = {"shared": SHARED, "local": LOCAL, "param": PARAM}
        self.shared_bytes: int | None = None
        for v in sorted((v for v in [*self.module.variables, *self.module.params] if v.space in ends), key=lambda v: v.size == 0):
            align = v.align if v.size else 1024
            start = -(-ends[v.space] // align) * align
            self.names[v.name] = bases[v.space] + start
            ends[v.space] = start + v.size
        has_dynamic = any(v.space == "shared" and v.size == 0 for v in self.module.variables)
        if dynamic is not None or not has_dynamic:
            self.shared_bytes = ends["shared"] + (dynamic or 0) * has_dynamic
        self.local_bytes = ends["local"]

    def slot(self, o: Operand) -> int:
        """The place of a register or constant among those of a thread."""
        if o.kind not in ("name", "bits") or o.text.startswith(UNKNOWN):
            raise Cannot(f"the operand {o.text[:30]!r}")
        key = (o.kind == "name" and o.text, o.value)
        if key not in self.slots:
            self.slots[key] = len(self.template)
            fixed = o.value if o.kind == "bits" else 32 if o.text == "WARP_SZ" else None
            self.template.append(self.names[o.text] + o.value if o.text in self.names else fixed)
            if o.text.partition(".")[0] in SPECIALS:
                self.specials.append((self.slots[key], o.text))
        return self.slots[key]

    def registers(self, rank: int, index: int) -> list[Any]:
        r = self.template.copy()
        (x, y, z), (gx, gy, gz), lane = self.block, self.grid, index & 31
        words = {
            **_axes("%tid", (index % x, index // x % y, index // x // y)),
            **_axes("%ctaid", (rank % gx, rank // gx % gy, rank // gx // gy)),
            **_axes("%ntid", (x, y, z)),
            **_axes("%nctaid", (gx, gy, gz)),
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
            r[slot] = words[name]
        return r

    def run(self) -> None:
        x, y, z = self.grid
        chosen = range(x * y * z) if self.ctas is None else [c[0] + x * (c[1] + y * c[2]) for c in self.ctas]
        for rank in chosen:
            Cta(self, rank).run()

    def advance(self, t: Thread) -> None:
        """Runs a thread until it ends or waits."""
        r, pc, code, steps = t.r, t.pc, self.code, 0
        self.now = t.id
        try:
            while True:
                go = code[pc](r)
                steps += 1
                if go is None:
                    pc += 1
                elif go >= 0:
                    pc = go
                    if self.steps + steps > STEPS:
                        raise Cannot("it takes too many steps")
                elif go == WAITS:
                    # A meeting that this thread completed has set it free already; it goes on behind the instruction.
                    t.pc = pc + 1
                    return
                else:
                    t.cta.end(t)
                    return
        except Stop as e:
            e.line = e.line or (self.module.code[pc].line if pc < len(self.module.code) else None)
            raise
        finally:
            self.steps += steps

    def test(self, line: int, outcome: int) -> None:
        """Notes the outcome of a test on data."""
        self.tests[line] = self.tests.get(line, 0) | 1 << outcome
        self.outcomes.append(outcome)

    def watch(self, line: int, value: Any, outcome: int, kind: str, bits: int = 0, sides: tuple[Any, Any] | None = None) -> None:
        """Notes the margin of a test, the first times that a thread comes to it."""
        assert self.margins is not None
        all = self.margins.setdefault((line, self.now), [])
        if len(all) < WATCHED:
            is_number = type(value) is int or (type(value) is Decimal and value.is_finite())
            all.append(Margin(value if is_number else None, outcome, kind, bits, sides))

    def find(self, address: Any, t: Thread, space: str) -> tuple[Memory, int]:
        """The object and offset of an address, which is generic or one of its state space."""
        if type(address) is not int:
            if address is None:
                raise Outside("a register that was never written decides an address")
            raise Cannot("an address is made of data that are no integer")
        window = address >> 60
        if space == "shared" or window == 1:
            if window not in (0, 1) or (address & (1 << 60) - 1) >> 32:
                raise Outside(f"{address:#x} is no address of shared memory")
            return t.cta.shared, address & 0xFFFFFFFF
        if space == "local" or window == 2:
            if t.local is None:
                t.local = Memory("local memory", 0, self.local_bytes)
            return t.local, address & 0xFFFFFFFF
        if space == "param" or window == 3:
            return self.params, address & 0xFFFFFFFF
        return self.space.find(address)


def _axes(name: str, all: tuple[int, int, int]) -> dict[str, int]:
    return {f"{name}.{axis}": n for axis, n in zip("xyz", all)}
