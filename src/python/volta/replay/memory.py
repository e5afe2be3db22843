"""Memory: objects of cells, each cell a value of some bytes, and who touched them last.

An address is a number; every object gets a place of its own at random, so that a literal address points to nothing. Races are
looked for naively: each access is stamped with its thread and that thread's time, and two of which one writes must be
ordered by what the second thread has learned at barriers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .values import Cannot, Refuted, extract, join


class Outside(Refuted):
    """An access beyond an array, misaligned, or of what was never written."""


class Memory:
    """One object: an array, the shared memory of a CTA, the local memory of a thread, parameters."""

    def __init__(self, name: str, base: int, size: int | None, initial: Callable[[Memory, int, int, str], Any] | None) -> None:
        self.name, self.base, self.size, self.initial = name, base, size, initial
        self.cells: dict[int, tuple[int, Any]] = {}
        self.preset: list[int] | None = None
        self.grain = 0
        self.last: dict[int, tuple[int, int, int, bool, Any]] = {}
        self.reads: dict[int, dict[int, tuple[int, int, bool]]] = {}

    def check(self, off: int, n: int) -> None:
        if off < 0 or (self.size is not None and off + n > self.size):
            raise Outside(f"access of {n} bytes at byte {off} of {self.name}, which has {self.size}")
        if off % n:
            raise Outside(f"access of {n} bytes at byte {off} of {self.name} is misaligned")

    def read(self, off: int, n: int, type: str) -> Any:
        cell = self.cells.get(off)
        if cell is not None and cell[0] == n:
            return cell[1]
        parts, at = [], off
        while at < off + n:
            start, cell = self._covering(at)
            if cell is None:
                count = 1
                while at + count < off + n and self._covering(at + count)[1] is None:
                    count += 1
                value = self._fresh(at, count, type)
            else:
                count = min(start + cell[0], off + n) - at
                value = extract(cell[1], 8 * cell[0], 8 * (at - start), 8 * count)
            if value is None:
                return None
            parts.append((8 * count, value))
            at += count
        return join(parts)

    def _fresh(self, off: int, n: int, type: str) -> Any:
        if self.preset is not None:
            return int.from_bytes(bytes(self.preset[off : off + n]), "little")
        return None if self.initial is None else self.initial(self, off, n, type)

    def _covering(self, at: int) -> tuple[int, tuple[int, Any] | None]:
        for start in range(at, at - 16, -1):
            cell = self.cells.get(start)
            if cell is not None:
                return (start, cell) if start + cell[0] > at else (at, None)
        return at, None

    def write(self, off: int, n: int, value: Any) -> None:
        """Writes; cells that it covers in part are cut."""
        cell = self.cells.get(off)
        if (cell is None or cell[0] != n) and (self.grain != n or off % n):
            self.grain = n if not self.cells else 1
            self._cut(off, off + n)
        self.cells[off] = (n, value)

    def _cut(self, first: int, end: int) -> None:
        for start in range(first - 15, end):
            cell = self.cells.get(start)
            if cell is None or start + cell[0] <= first:
                continue
            size, value = cell
            del self.cells[start]
            if start < first:
                self.cells[start] = (first - start, extract(value, 8 * size, 0, 8 * (first - start)))
            if start + size > end:
                low = 8 * (end - start)
                self.cells[end] = (start + size - end, extract(value, 8 * size, low, 8 * size - low))


class Races:
    """Who touched which bytes, and which unordered accesses the certificate excuses."""

    def __init__(self, excused: dict[str, set[int]], orders_by_memory: bool) -> None:
        self.excused = excused
        self.used: set[str] = set()
        self.orders_by_memory = orders_by_memory
        """Fences, releases or locks may order what barriers do not: then an unordered pair is no race yet."""

    def access(self, memory: Memory, off: int, n: int, who: Stamp, write: bool, value: Any = None) -> None:
        known, me, now, line, atomic = who.known, who.id, who.time, who.line, who.atomic
        last, reads = memory.last, memory.reads
        for b in range(off, off + n):
            w = last.get(b)
            if w is not None and w[0] != me and known.get(w[0], -1) < w[1] and not (atomic and w[3]):
                self._race(memory, b, w[2], line, "same-value-write" if write and _same(w[4], value) else "write", write)
            if write:
                for other, (time, where, was_atomic) in reads.get(b, {}).items():
                    if other != me and known.get(other, -1) < time and not (atomic and was_atomic):
                        self._race(memory, b, where, line, "read", write)
                last[b] = (me, now, line, atomic, value)
                reads.pop(b, None)
            else:
                reads.setdefault(b, {})[me] = (now, line, atomic)

    def _race(self, memory: Memory, byte: int, first: int, second: int, kind: str, write: bool) -> None:
        if kind == "same-value-write":
            kinds = ["same-value-write", "real-equal-write"]
        else:
            kinds = ["unused-read", "ordered-by-value", "same-value-write", "real-equal-write"]
        for k in kinds:
            if {first, second} & self.excused.get(k, set()):
                self.used.add(k)
                return
        if self.orders_by_memory:
            raise Cannot("whether a fence or a lock orders two accesses")
        words = "a write" if write else "a read"
        raise Refuted(f"a data race at byte {byte} of {memory.name}: line {first} and {words} in line {second} are not ordered")


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


class Stamp:
    """A thread, or a copy under way, as it stands to others."""

    __slots__ = ("atomic", "id", "known", "line", "time")

    def __init__(self, id: int) -> None:
        self.id, self.time, self.line, self.atomic = id, 1, 0, False
        self.known: dict[int, int] = {}


class Space:
    """The objects of the 64-bit address space, at places that are drawn."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.at: dict[int, Memory] = {}

    def place(self, make: Callable[[int], Memory]) -> Memory:
        while True:
            slot = self.rng.randrange(1 << 8, 1 << 14)
            if slot not in self.at:
                self.at[slot] = make(slot << 40)
                return self.at[slot]

    def find(self, address: Any) -> tuple[Memory, int]:
        if type(address) is not int:
            raise Cannot("an address is made of data that are no integer")
        memory = self.at.get(address >> 40)
        if memory is None:
            # Just below an array is outside of that array.
            above = self.at.get((address >> 40) + 1)
            if above is None:
                raise Outside(f"the address {address:#x} is that of no array")
            return above, address - above.base
        return memory, address - memory.base
