"""Memory: objects of bytes, each byte with the write that it comes from.

An address is a number; every object gets a place of its own at random, so that a literal address points to nothing. Races are
looked for naively: each access is stamped with its thread and that thread's time, and two of which one writes must be
ordered by what the second thread has learned at barriers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .values import FORMATS, Cannot, Mixed, Num, Outside, Refuted, exact, parts_of, take, whole


class Agent:
    """Who touches memory: a thread, or a copy under way. It knows the times of others up to which it stands after them."""

    __slots__ = ("id", "known", "time")

    def __init__(self, id: int, known: dict[int, int]) -> None:
        self.id, self.known, self.time = id, known, 1


@dataclass(eq=False, slots=True)
class Write:
    off: int
    size: int
    value: Any
    id: int = 0
    time: int = 0
    line: int = 0
    strong: bool = False


OF_WRITES, OF_A_READ = ("same-value-write", "real-equal-write"), ("unused-read", "ordered-by-value")
"""What may excuse two writes of equal numbers, and a read beside a write."""


class Races:
    """What becomes of two unordered accesses, one of which writes."""

    def __init__(self, domain: Any, excused: dict[str, set[int]], orders_by_memory: bool) -> None:
        self.domain, self.excused, self.used = domain, excused, set[str]()
        self.orders_by_memory = orders_by_memory
        """Fences, releases or locks may order what barriers do not: then an unordered pair is no race yet."""

    def found(self, name: str, byte: int, first: int, second: int, kinds: tuple[str, ...], words: str) -> str:
        """How the certificate excuses it."""
        for kind in kinds:
            if {first, second} & self.excused.get(kind, set()):
                self.used.add(kind)
                return kind
        if self.orders_by_memory:
            raise Cannot("whether a fence or a lock orders two accesses")
        raise Refuted(f"a data race at byte {byte} of {name}: line {first} and {words} in line {second} are not ordered")

    def are_equal(self, a: Any, b: Any, n: int) -> bool:
        """Whether two values of so many bytes are the same bits or real numbers."""
        if n > 2 and Mixed in (type(a), type(b)) and None not in (a, b):
            return all(self.are_equal(take(a, low, n // 2), take(b, low, n // 2), n // 2) for low in (0, n // 2))
        fmt = next((v.fmt for v in (a, b) if type(v) is Num and v.fmt in FORMATS), "f16")
        numbers = [self.domain.number(exact(v, fmt)) if type(v) is int else v.v for v in (a, b) if type(v) in (int, Num)]
        return a == b or (len(numbers) == 2 and bool(self.domain.equal(*numbers)))


class Memory:
    """One object: an array, the shared memory of a CTA, the local memory of a thread, parameters."""

    def __init__(
        self,
        name: str,
        base: int,
        size: int | None,
        initial: Callable[[int, int, str], Any] = lambda *_: None,
        races: Races | None = None,
    ) -> None:
        self.name, self.base, self.size, self.initial, self.races = name, base, size, initial, races
        self.bytes: dict[int, Write] = {}
        self.reads: dict[int, dict[int, tuple[int, int, bool]]] = {}

    def check(self, off: int, n: int) -> None:
        if off < 0 or (self.size is not None and off + n > self.size):
            raise Outside(f"access of {n} bytes at byte {off} of {self.name}, which has {self.size}")
        if off % n:
            raise Outside(f"access of {n} bytes at byte {off} of {self.name} is misaligned")

    def load(self, off: int, n: int, type: str, who: Agent, line: int, strong: bool = False) -> Any:
        if self.races is not None:
            known, me, stamp, unused = who.known, who.id, (who.time, line, strong), False
            for b in range(off, off + n):
                w = self.bytes.get(b)
                if w is not None and w.id != me and known.get(w.id, 0) < w.time and not (strong and w.strong):
                    unused |= self.races.found(self.name, b, w.line, line, OF_A_READ, "a read") == "unused-read"
                self.reads.setdefault(b, {})[me] = stamp
            # What no result depends on is not there: if one does, it was never written.
            if unused:
                return None
        return self.read(off, n, type)

    def store(self, off: int, n: int, value: Any, who: Agent, line: int, strong: bool = False) -> None:
        value = value & (1 << 8 * n) - 1 if type(value) is int else value
        if self.races is not None:
            known, me = who.known, who.id
            for b in range(off, off + n):
                w = self.bytes.get(b)
                if w is not None and w.id != me and known.get(w.id, 0) < w.time and not (strong and w.strong):
                    same = (w.off, w.size) == (off, n) and self.races.are_equal(w.value, value, n)
                    self.races.found(self.name, b, w.line, line, OF_WRITES if same else (), "a write")
                for other, (time, where, was_strong) in self.reads.pop(b, {}).items():
                    if other != me and known.get(other, 0) < time and not (strong and was_strong):
                        self.races.found(self.name, b, where, line, OF_A_READ, "a write")
        self.put(Write(off, n, value, who.id, who.time, line, strong))

    def put(self, w: Write) -> None:
        if type(w.value) is not int and w.value is not None:
            w.value = take(w.value, 0, w.size)
        for b in range(w.off, w.off + w.size):
            self.bytes[b] = w

    def read(self, off: int, n: int, type: str) -> Any:
        """The value of some bytes; None where one of them was never written."""
        found = [self.bytes.get(b) for b in range(off, off + n)]
        first = found[0]
        if all(w is first for w in found):
            return self.initial(off, n, type) if first is None else take(first.value, off - first.off, n)
        parts, at = [], 0
        while at < n:
            w, count = found[at], 1
            while at + count < n and found[at + count] is w:
                count += 1
            value = self.initial(off + at, count, type) if w is None else take(w.value, off + at - w.off, count)
            if value is None:
                return None
            parts += parts_of(value, count)
            at += count
        return whole(parts)


class Space:
    """The objects of the 64-bit address space, at places that are drawn."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.at: dict[int, Memory] = {}

    def place(self, make: Callable[[int], Memory]) -> Memory:
        slot = 0
        while slot == 0 or slot in self.at:
            slot = self.rng.randrange(1 << 8, 1 << 14)
        self.at[slot] = make(slot << 40)
        return self.at[slot]

    def find(self, address: int) -> tuple[Memory, int]:
        # Just below an array is outside of that array.
        memory = self.at.get(address >> 40) or self.at.get((address >> 40) + 1)
        if memory is None:
            raise Outside(f"the address {address:#x} is that of no array")
        return memory, address - memory.base
