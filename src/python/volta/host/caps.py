"""Which ways the integer tests of a kernel can go at a launch, so that a size that is cut short by a number is noticed.

The problem: a proof at smaller sizes says nothing of `min(columns, 1024)` where no size came near 1024. Each place of a kernel that
compares integers, takes the smaller of two, masks, divides or narrows is a test; the ways that it can go are computed from
intervals of the registers: parameters are what was recorded, thread and CTA indices have the extents of the launch, what a loop changes is
widened to what it is compared with. A way that the declared launch can go, and none of the proved ones, is a gap.

Not claimed: that a way that can be gone is gone (the program's own `thin-coverage` is about that), or that intervals see every
connection between registers. The direction is that of a warning: a gap takes a proof away and never makes one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Json = dict[str, Any]
Interval = tuple[int, int]
Ways = frozenset[bool]

_BOTH: Ways = frozenset((True, False))
_ANY: Interval = (-(1 << 64), 1 << 64)
_STATEMENT = re.compile(r"^\s*(?:@!?[%\w]+\s+)?([a-z]\w*)((?:\.\w+(?:::\w+)?)*)\s+([^;]*);")
_OPERAND = re.compile(r"\[[^\]]*\]|\{[^}]*\}|[^,\s][^,]*")
_INTEGER = re.compile(r"[sub](8|16|32|64)")
#: Passes after which what still grows is widened.
_PASSES = 3


@dataclass(frozen=True)
class Statement:
    """One instruction of a kernel, by its line in the file."""

    line: int
    op: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]

    def bits(self) -> int:
        """The width of the last integer type among its modifiers, or 0."""
        found = [m for m in map(_INTEGER.fullmatch, self.modifiers) if m]
        return int(found[-1][1]) if found else 0


@lru_cache(maxsize=256)
def statements(ptx: str, kernel: str) -> tuple[Statement, ...]:
    """The instructions of a kernel."""
    start = re.search(rf"\.entry\s+{re.escape(kernel)}\b", ptx)
    if start is None:
        return ()
    end = ptx.find("\n}", start.end())
    first = ptx.count("\n", 0, start.start()) + 1
    out = []
    for at, line in enumerate(ptx[start.start() : end].split("\n")):
        found = _STATEMENT.match(line.split("//")[0])
        if found:
            operands = tuple(o.strip() for o in _OPERAND.findall(found[3]))
            out.append(Statement(first + at, found[1], tuple(found[2].split(".")[1:]), operands))
    return tuple(out)


def _fit(value: Interval, s: Statement) -> Interval:
    """An interval in the range of a type; what leaves it may be anything there."""
    bits = s.bits() * (2 if "wide" in s.modifiers else 1)
    if bits == 0:
        return _ANY
    signed = any(m.startswith("s") and m[1:].isdigit() for m in s.modifiers)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (-(1 << (bits - 1)), (1 << bits) - 1)
    return value if low <= value[0] and value[1] <= high else (low, high)


def _products(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return (0, a[1]) if a[0] >= 0 else _ANY
    corners = [abs(x) // y * (1 if x >= 0 else -1) for x in a for y in b]
    return min(corners), max(corners)


def _remainder(a: Interval, b: Interval) -> Interval:
    most = max(abs(b[0]), abs(b[1])) - 1
    return (0 if a[0] >= 0 else -most, min(most, max(a[1], 0)))


def _masked(a: Interval, b: Interval) -> Interval:
    least = [v for v in (a, b) if v[0] >= 0]
    return (0, min(v[1] for v in least)) if least else _ANY


def _shifted(a: Interval, b: Interval) -> Interval:
    return _products(a, (1 << b[0], 1 << b[1])) if 0 <= b[0] <= b[1] < 64 else _ANY


def _lowered(a: Interval, b: Interval) -> Interval:
    return (a[0] >> b[0], a[1] >> b[0]) if b[0] == b[1] and 0 <= b[0] < 64 else ((0, a[1]) if a[0] >= 0 else _ANY)


_BINARY: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _products,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "div": _quotient,
    "rem": _remainder,
    "and": _masked,
    "shl": _shifted,
    "shr": _lowered,
}


def _less(a: Interval, b: Interval) -> Ways:
    return frozenset([True] * (a[0] < b[1]) + [False] * (a[1] >= b[0]))


def _equal(a: Interval, b: Interval) -> Ways:
    return frozenset([True] * (a[0] <= b[1] and b[0] <= a[1]) + [False] * (not a[0] == a[1] == b[0] == b[1]))


def _turned(ways: Ways) -> Ways:
    return frozenset(not w for w in ways)


_COMPARED: dict[str, Callable[[Interval, Interval], Ways]] = {
    **dict.fromkeys(("lt", "lo"), _less),
    **dict.fromkeys(("gt", "hi"), lambda a, b: _less(b, a)),
    **dict.fromkeys(("ge", "hs"), lambda a, b: _turned(_less(a, b))),
    **dict.fromkeys(("le", "ls"), lambda a, b: _turned(_less(b, a))),
    "eq": _equal,
    "ne": lambda a, b: _turned(_equal(a, b)),
}


class _Launch:
    """The registers of one launch."""

    def __init__(self, code: Sequence[Statement], event: Json, kinds: Sequence[Sequence[Any]]) -> None:
        self.code = code
        self.kinds = kinds
        self.data = [bytes.fromhex(p["bytes"]) for p in event["parameters"]]
        self.pointers = [{int(q[0]) for q in p["pointers"]} for p in event["parameters"]]
        self.registers: dict[str, Interval] = {}
        grid, block = [int(n) for n in event["grid"]], [int(n) for n in event["block"]]
        self.special: dict[str, Interval] = {"%laneid": (0, 31), "%warpid": (0, 31), "WARP_SZ": (32, 32)}
        for axis, g, b in zip("xyz", grid, block):
            self.special |= {f"%tid.{axis}": (0, b - 1), f"%ntid.{axis}": (b, b)}
            self.special |= {f"%ctaid.{axis}": (0, g - 1), f"%nctaid.{axis}": (g, g)}
        scalars = [self._number(i, 0, len(d)) for i, d in enumerate(self.data) if len(d) in (4, 8) and not self.pointers[i]]
        floats = [str(k[0]).startswith("f") for k in kinds]
        whole = [v for i, v in enumerate(scalars) if v < 1 << 40 and not any(floats[i : i + 1])]
        self.reach = max([g * b for g, b in zip(grid, block)] + whole)
        self._settle()

    def _number(self, i: int, at: int, width: int) -> int:
        return int.from_bytes(self.data[i][at : at + width], "little", signed=True)

    def _settle(self) -> None:
        """Intervals that hold for every definition of each register."""
        counts = Counter(name for s in self.code for name, _ in self._defined(s))
        widened: set[str] = set()
        for turn in range(2 * _PASSES):
            before = dict(self.registers)
            fresh: dict[str, Interval] = {}
            for s in self.code:
                for name, value in self._defined(s):
                    if name in widened:
                        continue
                    old = fresh.get(name) if counts[name] == 1 else self.registers.get(name)
                    value = value if old is None else (min(old[0], value[0]), max(old[1], value[1]))
                    fresh[name] = self.registers[name] = value
            if before == self.registers:
                return
            if turn + 1 >= _PASSES:
                for name in (n for n, times in counts.items() if times > 1 and before.get(n) != self.registers[n]):
                    self.registers[name] = self._widened(name, before.get(name, self.registers[name]))
                    widened.add(name)
        moving = {n for n, v in self.registers.items() if before.get(n) != v}
        self.registers |= dict.fromkeys(moving, _ANY)

    def _widened(self, name: str, old: Interval) -> Interval:
        """A register that a loop changes: one step beyond what it is compared with, else as far as the numbers of the launch go."""
        new = self.registers[name]
        bounds = [
            self.value(s.operands[3 - at])
            for s in self.code
            if s.op == "setp"
            for at in (1, 2)
            if len(s.operands) > 2 and s.operands[at] == name
        ]
        if not bounds or any(b == _ANY for b in bounds):
            bounds = [(min(0, -self.reach), self.reach)]
        step = max(new[1] - old[1], old[0] - new[0])
        low = min([new[0], *(b[0] - step for b in bounds)]) if new[0] < old[0] else new[0]
        return low, max([new[1], *(b[1] + step for b in bounds)]) if new[1] > old[1] else new[1]

    def value(self, operand: str) -> Interval:
        """What an operand can be."""
        if re.fullmatch(r"-?\d+|0[xX][0-9a-fA-F]+U?", operand):
            n = int(operand.rstrip("U"), 0)
            return n, n
        return self.special.get(operand) or self.registers.get(operand, _ANY)

    def _defined(self, s: Statement) -> list[tuple[str, Interval]]:
        if not s.operands or s.op in ("st", "setp", "bra", "bar", "red", "ret", "call"):
            return []
        if s.op == "ld" and s.modifiers[:1] == ("param",):
            return self._parameter(s)
        target, rest = s.operands[0], s.operands[1:]
        if target.startswith("{") or not target.startswith("%") or not s.bits():
            return []
        values = [self.value(o) for o in rest]
        if s.op in _BINARY and len(values) == 2:
            made = _BINARY[s.op](*values)
            return [(target, (made[0] >> s.bits(), made[1] >> s.bits()) if "hi" in s.modifiers else _fit(made, s))]
        if s.op == "mad" and len(values) == 3 and "hi" not in s.modifiers:
            product = _products(values[0], values[1])
            return [(target, _fit((product[0] + values[2][0], product[1] + values[2][1]), s))]
        if s.op == "selp" and len(values) == 3:
            return [(target, (min(values[0][0], values[1][0]), max(values[0][1], values[1][1])))]
        if s.op in ("mov", "cvt") and len(values) == 1 and not any(m.startswith(("f", "bf")) for m in s.modifiers):
            return [(target, values[0])]
        if s.op == "neg" and len(values) == 1:
            return [(target, _fit((-values[0][1], -values[0][0]), s))]
        return [(target, _ANY)]

    def _parameter(self, s: Statement) -> list[tuple[str, Interval]]:
        place = re.search(r"_param_(\d+)(?:\+(\d+))?\]", s.operands[-1])
        targets = [t.strip() for t in s.operands[0].strip("{}").split(",")]
        if place is None or int(place[1]) >= len(self.data):
            return [(t, _ANY) for t in targets]
        i, at, width = int(place[1]), int(place[2] or 0), s.bits() // 8
        out = []
        for k, t in enumerate(targets):
            known = width and at + k * width not in self.pointers[i]
            value = self._number(i, at + k * width, width) if known else 0
            out.append((t, (value, value) if known else _ANY))
        return out

    def ways(self, s: Statement) -> Ways | None:
        """How a test can go; None for an instruction that tests nothing."""
        if not s.bits():
            return None
        values = [self.value(o) for o in s.operands[1:3]]
        if s.op == "setp" and len(values) == 2:
            compared = next((m for m in s.modifiers if m in _COMPARED), None)
            return None if compared is None else _COMPARED[compared](*values)
        if s.op in ("min", "max", "rem", "div") and len(values) == 2:
            return _less(*values)
        if s.op == "shr" or (s.op == "mul" and "hi" in s.modifiers):
            # A quotient by a constant.
            return _less((0, 0), dict(self._defined(s)).get(s.operands[0], _ANY))
        if s.op == "and" and len(values) == 2 and values[1][0] == values[1][1] > 0:
            kept = (1 << values[1][0].bit_length()) - 1
            return _turned(_less((kept, kept), values[0]))
        if s.op == "cvt" and len(s.modifiers) >= 2 and _narrows(s):
            limit = (1 << _bits(s.modifiers[-2])) - 1
            return _turned(_less((limit, limit), self.value(s.operands[1])))
        return None


def _bits(kind: str) -> int:
    """The width of an integer type, or 0."""
    found = _INTEGER.fullmatch(kind)
    return int(found[1]) if found else 0


def _narrows(s: Statement) -> bool:
    return 0 < _bits(s.modifiers[-2]) < _bits(s.modifiers[-1])


Tests = Mapping[tuple[str, int], Ways]


def tests_of(ptx: str, event: Json, kinds: Sequence[Sequence[Any]]) -> Tests:
    """Each test of a launch by kernel and line, and the ways that it can go."""
    code = statements(ptx, str(event["kernel"]))
    launch = _Launch(code, event, kinds)
    found = ((s.line, launch.ways(s)) for s in code)
    return {(str(event["kernel"]), line): ways for line, ways in found if ways is not None}


def joined(parts: Sequence[Tests]) -> dict[tuple[str, int], Ways]:
    """Tests of several launches: every way that one of them can go."""
    out: dict[tuple[str, int], Ways] = {}
    for part in parts:
        for place, ways in part.items():
            out[place] = out.get(place, frozenset()) | ways
    return out
