"""Inputs on which tests go the way that no other input took them.

The problem: a kernel may test for one number, or one number beside another, and be wrong there alone; random inputs never
come there, and what a certificate says of its own tests is its own word. The way: every test on data has a margin, the
difference of what it compares. Both kernels are run at a base and at one step along each of some directions, an element each
where there are few, and all together; a margin that moved is brought to 0 by the secant method along that direction, and the
kernels are run there and just beyond. From there it goes on with what else is tested, along directions that keep the margins
at 0 that were brought there. Divisors are brought to 0 too: an optimized kernel may have a pole where the reference has none.

A root that is no end of a fast convergence is dropped: near a double one other tests would see its error.

Not claimed: that every outcome is reached. A test of bits, or one whose margin jumps, may go one way on all inputs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from .inputs import Inputs, near
from .machine import Margin
from .values import Beyond, Outside, Refuted, Stop, exact

if TYPE_CHECKING:
    from .checker import Checker, Run

STEPS = 120_000
"""Instructions of threads that steering may take, or half as many as all other inputs took where that is more."""

A_FUNCTION = 60
"""Instructions that take as long as a function of the reals."""

DIRECTIONS = 48
"""The most directions; of more elements, some move together."""

DEPTH = 3
"""Margins that are brought to 0 together."""

ITERATIONS = 24

DIGITS_APART = 54
"""How far apart the numbers of a sum may lie: more than floats of 32 bits do, and less than what is 0 beside another number."""

FAR = 1 << 20
"""Steps along a way where one changes nothing: what is cut off of a number."""

LITERALS = 16
"""Inputs of numbers that the texts name."""

CLOSE = Decimal(10) ** -80
"""The last step to a root, as a part of where it lies."""

Element = tuple[int, int]
"""An array and the first byte of an element."""


class Base(NamedTuple):
    """An element at the base: whether it is a float, and its number."""

    is_float: bool
    number: Fraction


Way = dict[Element, Fraction]
"""How far each element moves, or where it is."""


class Test(NamedTuple):
    """A test by one thread: side, line, thread, and the how manieth time."""

    side: int
    line: int
    thread: int
    time: int


Margins = dict[Test, Margin]


@dataclass
class State:
    """A place among the inputs, and what was seen there."""

    at: Way
    margins: Margins
    ways: list[Way]
    held: frozenset[Test] = frozenset()
    moved: list[list[tuple[int, Margins]]] = field(default_factory=list)
    """By way, the margins some steps along it."""


class Steered(Inputs):
    """A base of numbers with few digits, so that sums of them are exact, with some elements elsewhere."""

    def __init__(self, certificate: dict[str, Any], domain: Any, seed: str, sample: dict[str, Any], at: Way) -> None:
        super().__init__(certificate, domain, seed, sample, near(Fraction(1)))
        self.seed, self.moved = seed, at
        self.elements: dict[Element, Base] = {}
        """The elements that were read, with their place at the base."""

    def value(self, array: int, start: int, kind: str, bits: int | None) -> Any:
        self.rng, self.element = random.Random(f"{self.seed} {array} {start}"), (array, start)
        self.away = self.moved.get(self.element, Fraction(0))
        return super().value(array, start, kind, bits)

    def integer(self, array: int, width: int, bits: int | None) -> int:
        base = super().integer(array, width, bits)
        self.elements[self.element] = Base(False, Fraction(base))
        if not self.away:
            return base
        fact, there = self.facts.get(array), base + int(self.away)
        if fact is not None:
            signed = there - (1 << width) if int(fact["least"]) < 0 and there >> (width - 1) & 1 else there
            if fact["distinct"] or fact["sorted"] or fact["pow2"] or not int(fact["least"]) <= signed <= int(fact["greatest"]):
                raise Beyond("an integer that a fact excludes")
        return there & ((1 << width) - 1)

    def rational(self, array: int, kind: str, bits: int | None) -> Fraction | str:
        base = super().rational(array, kind, bits)
        if isinstance(base, str):
            return base
        rounded = Fraction(round(base * 10**9), 10**9)
        low, high = self.limits(array, kind)
        base = rounded if low <= rounded <= high else base
        self.elements[self.element] = Base(True, base)
        there = base + self.away
        if not low <= there <= high:
            raise Beyond("a number that its type or a range excludes")
        return there


class Steering:
    def __init__(self, checker: Checker, as_read: bool) -> None:
        self.checker, self.as_read = checker, as_read
        self.left = max(STEPS, checker.result.steps // 2)
        self.failing: dict[Any, str] = {}
        self.elements: dict[Element, Base] = {}
        self.together: Way = {}
        """All elements, for what none moves alone."""
        self.sample = checker.certificate["regions"]["samples"][0]

    def cost(self) -> int:
        return self.checker.result.steps + A_FUNCTION * self.checker.reals.calls

    def steer(self) -> dict[Any, str]:
        """The elements that differ on some input."""
        first = self.margins({})
        if not first:
            return self.failing
        self.literals()
        queue = [State({}, first, self.directions())]
        while queue and self.left > 0:
            queue.extend(self.around(queue.pop(0)))
        return self.failing

    def literals(self) -> None:
        """Some elements are numbers that the texts name, or next to one: what no secant finds is often named."""
        modules, rng = self.checker.modules, random.Random(f"{self.checker.seed} literals")
        floats = sorted({q for m in modules for fmt, bits in m.constants if not isinstance(q := exact(bits, fmt), str)})
        words = sorted({Fraction(n + i) for m in modules for n in m.words for i in (-1, 0, 1)})
        for _ in range(LITERALS if floats or words else 0):
            at = Way()
            for e, base in self.elements.items():
                named = floats if base.is_float else words
                if named and rng.randrange(2):
                    at[e] = rng.choice(named) - base.number
            self.margins(at)

    def margins(self, at: Way) -> Margins | None:
        """Runs both kernels; None where the reference is not defined or something leaves what can be followed."""
        checker = self.checker
        before = self.cost()
        inputs = Steered(checker.certificate, checker.reals, f"{checker.seed} steered", self.sample, at)
        # What vanishes beside another number is no root, and what is left of two equal ones is.
        checker.watches = checker.reals.snaps = True
        checker.reals.keeps_digits = DIGITS_APART
        try:
            run = checker.run(checker.reals, inputs, self.as_read)
        except Stop as e:
            if isinstance(e, Refuted) and not (isinstance(e, Outside) and e.side == "reference"):
                raise
            return None
        finally:
            checker.watches = checker.reals.snaps = False
            checker.reals.keeps_digits = 0
            self.left -= self.cost() - before
            self.elements.update(inputs.elements)
        return self.seen(run)

    def seen(self, run: Run) -> Margins:
        margins = {
            Test(side, line, thread, time): margin
            for side, found in enumerate(run.margins)
            for (line, thread), all in found.items()
            for time, margin in enumerate(all)
        }
        # Where the reference divides by 0 itself, the sign of that zero decides, which nothing here knows.
        if not any(t.side == 0 and m.kind == "pole" and m.value == 0 for t, m in margins.items()):
            self.failing.update(run.failing)
        return margins

    def directions(self) -> list[Way]:
        all = sorted(self.elements)
        self.together = dict.fromkeys(all, Fraction(1))
        if len(all) <= DIRECTIONS:
            return [*({e: Fraction(1)} for e in all), self.together]
        rng, ways = random.Random(self.checker.seed), [Way() for _ in range(DIRECTIONS)]
        for e in all:
            rng.choice(ways)[e] = Fraction(rng.randrange(1, 8))
        return [*filter(None, ways), self.together]

    # One place.

    def around(self, state: State) -> Iterator[State]:
        """Brings each test that has something new to show to 0, alone."""
        tests = self.wanted(state)
        if not tests:
            return
        for way in state.ways:
            there = self.margins(along(state.at, way, Fraction(1))) if self.left > 0 else None
            state.moved.append([(1, there or {})])
        for test in tests:
            roots = 0
            for way, moved in zip(state.ways, state.moved):
                if self.left <= 0 or roots == (1 if way is self.together else 2):
                    break
                root = self.root(state, test, way, moved)
                if root is not None:
                    roots += 1
                    yield from self.beyond(state, test, way, root)

    def beyond(self, state: State, test: Test, way: Way, root: tuple[Fraction, Margins]) -> Iterator[State]:
        """Just beyond a root, and the state at it."""
        at, margins = root
        kind = state.margins[test].kind
        if self.is_whole(way):
            for step in (-1, 1):
                self.margins(along(state.at, way, at + step))
        elif kind != "pole":
            self.margins(along(state.at, way, at + (at / 2**16 or Fraction(1, 2**16))))
        if kind == "test" and len(state.held) + 1 < DEPTH:
            ways = [w for w in self.keeping(state, test, way) if w]
            yield State(along(state.at, way, at), margins, ways, state.held | {test})

    def wanted(self, state: State) -> list[Test]:
        """The tests whose margins are brought to 0 from here: those of the lines first that had one outcome on all inputs."""

        def is_open(test: Test) -> bool:
            return not {(test.side, test.line, i) for i in (0, 1)} <= self.checker.reached

        out: list[tuple[bool, int, Test]] = []
        counts: dict[tuple[int, int], int] = {}
        for test, m in state.margins.items():
            if m.value is None or test in state.held or (m.kind == "choice" and not is_open(test)):
                continue
            at = (test.side, test.line)
            counts[at] = counts.get(at, 0) + 1
            out.append((not is_open(test), counts[at], test))
        return [test for _, _, test in sorted(out)]

    def is_whole(self, way: Way) -> bool:
        return not any(e not in self.elements or self.elements[e].is_float for e in way)

    def keeping(self, state: State, test: Test, way: Way) -> Iterator[Way]:
        """Ways along which the margin of a test stays, as far as it is linear: each takes something of one that moves it."""
        own = self.slope(state, test, way)
        if not own:
            return
        for w in state.ways:
            if w is way or w is self.together:
                continue
            part = self.slope(state, test, w) / own
            if part and (self.is_whole(w) or self.is_whole(way)) and part.denominator != 1:
                continue
            yield along(w, way, -part) if part else w

    def slope(self, state: State, test: Test, way: Way) -> Fraction:
        there = state.moved[state.ways.index(way)][0][1].get(test)
        value = state.margins[test].value
        return Fraction(there.value) - Fraction(value) if there is not None and there.value is not None else Fraction(0)

    # Roots.

    def root(self, state: State, test: Test, way: Way, moved: list[tuple[int, Margins]]) -> tuple[Fraction, Margins] | None:
        """How far to go along a way until a margin is 0, and what is seen there."""
        here = state.margins[test]

        def changed(steps: int) -> Margin | None:
            there = next((m.get(test) for n, m in moved if n == steps), None)
            return there if there is not None and there.value not in (None, here.value) else None

        steps, there = 1, changed(1)
        if there is None and here.bits and not state.held:
            if len(moved) == 1:
                moved.append((FAR, self.margins(along(state.at, way, Fraction(FAR))) or {}))
            steps, there = FAR, changed(FAR)
        if there is None:
            return None
        if here.bits and self.is_whole(way) and steps == 1:
            at = solved(here.value, there.value - here.value, here.bits)
            found = None if at is None else self.margins(along(state.at, way, Fraction(at)))
            hit = found.get(test) if found else None
            if at is not None and found and hit and hit.value == 0:
                return Fraction(at), found
        ends = Decimal(steps), here, there
        root = self.secant(test, state.at, way, ends, difference)
        # Numbers of other sizes, such as exponentials, are brought together by their ratio.
        has_ratio = root is None and here.kind == "test" and None not in (ratio(here), ratio(there))
        return self.secant(test, state.at, way, ends, ratio) if has_ratio else root

    def secant(
        self,
        test: Test,
        base: Way,
        way: Way,
        ends: tuple[Decimal, Margin, Margin],
        measure: Callable[[Margin], Decimal | None],
    ) -> tuple[Fraction, Margins] | None:
        t1, here, there = ends
        t0, m0, m1 = Decimal(0), measure(here), measure(there)
        assert m0 is not None
        assert m1 is not None
        if abs(m1) > abs(m0):
            t0, m0, t1, m1 = t1, m1, t0, m0
        t2 = None
        for _ in range(ITERATIONS):
            if m1 == m0 or self.left <= 0:
                return None
            t2 = t1 - m1 * (t1 - t0) / (m1 - m0) if t2 is None else (t1 + t2) / 2
            if self.is_whole(way):
                t2 = t2.to_integral_value()
            if t2 == t1:
                return None
            found = self.margins(along(base, way, Fraction(t2)))
            hit = found.get(test) if found else None
            m2 = measure(hit) if hit is not None else None
            # A step too far is halved until the test is there, and its margin not larger.
            if not found or hit is None or m2 is None or abs(m2) > abs(m1):
                continue
            if hit.value == 0 or (not hit.bits and abs(t2 - t1) <= CLOSE * abs(t2)):
                return Fraction(t2), found
            t0, m0, t1, m1, t2 = t1, m1, t2, m2, None
        return None


def difference(m: Margin) -> Decimal | None:
    return None if m.value is None else Decimal(m.value)


def ratio(m: Margin) -> Decimal | None:
    """The logarithm of the ratio of two numbers with one sign."""
    if m.sides is None or m.value is None or not m.sides[0] or not m.sides[1] or (m.sides[0] < 0) != (m.sides[1] < 0):
        return None
    return Decimal(m.sides[0] / m.sides[1]).ln()


def solved(value: int, slope: int, bits: int) -> int | None:
    """How many steps make an integer 0 that grows by so much each, modulo 2^bits; the one nearest to 0."""
    shift = (slope & -slope).bit_length() - 1
    if slope == 0 or value % (1 << shift):
        return None
    modulus = 1 << max(bits - shift, 0)
    steps = -(value >> shift) * pow(slope >> shift, -1, modulus) % modulus
    return steps - modulus if steps > modulus // 2 else steps


def along(at: Way, way: Way, steps: Fraction) -> Way:
    out = {**at}
    for e, n in way.items():
        out[e] = out.get(e, Fraction(0)) + steps * n
    return {e: n for e, n in out.items() if n}
