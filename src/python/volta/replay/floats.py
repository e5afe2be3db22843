"""What instructions of floats do: numbers of the domain, in which rounding is the identity.

One idiom is the exception: a sum with a constant so large that the format keeps integers only is rounded as the machine does,
and its bits are known. That is how compilers round the argument of an exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .machine import Launch
from .ptx import SIZES, Instruction, Operand
from .values import FORMATS, WIDTHS, Beyond, Cannot, Half, Known, Pieces, exact, extract, join

Step = Callable[[list[Any]], Any]

ROUNDINGS: dict[str, Callable[[Fraction], int]] = {"rn": round, "rm": math.floor, "rp": math.ceil, "rz": math.trunc}

LARGE = {"f32": (149, 153, 23), "f64": (1074, 1077, 52)}
"""Exponents of constants that make a sum an integer, and the bits of the fraction."""


def signed(x: int, w: int) -> int:
    return x - (1 << w) if x >> (w - 1) & 1 else x


class Base:
    def __init__(self, launch: Launch) -> None:
        self.launch, self.domain = launch, launch.domain

    def s(self, o: Operand) -> int:
        if o.kind in ("other", "vector", "pair"):
            raise Cannot(f"the operand {o.text[:30]!r}")
        return self.launch.slot(o)

    # Numbers.


class Floats(Base):
    def number(self, fmt: str) -> Callable[[Any], Any]:
        """A value of a register as a number, by its format."""
        constant, top = self.launch.constant, FORMATS[fmt][0] + FORMATS[fmt][1] + 1

        def number(x: Any) -> Any:
            kind = type(x)
            if kind is int:
                return constant(x & (1 << top) - 1, fmt)
            if kind is Known:
                return x.v
            if kind is Half:
                if top != 16 or (x.kind is not None and x.kind != fmt):
                    raise Cannot(f"a float of 16 bits ({x.kind}) is read as {fmt}")
                return x.v
            if kind is Pieces:
                if fmt == "f32" and x.parts[0] == (16, 0) and len(x.parts) == 2 and type(x.parts[1][1]) is Half:
                    return x.parts[1][1].v
                if top == 16 and type(x.parts[0][1]) is Half:
                    return number(x.parts[0][1])
                raise Cannot(f"pieces are read as {fmt}")
            if x is None:
                raise TypeError("NoneType")
            return x

        return number

    def wrap(self, fmt: str) -> Callable[[Any], Any]:
        return (lambda v: Half(v, fmt)) if WIDTHS[fmt] == 16 else (lambda v: v)

    def clamp(self, ins: Instruction, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The function with `.sat` or `.relu`."""
        d, launch, line = self.domain, self.launch, ins.line
        if "sat" in ins.opcode:
            zero, one = d.number(0), d.number(1)
            # The compilers' exponential of f32 limits its argument so that its bits stay those of a number.
            limits_range = ("f32", 0x3BBB989D) in launch.module.constants

            def sat(v: Any) -> Any:
                low, high = d.order(v, zero), d.order(v, one)
                if limits_range and (low == -1 or high == 1):
                    raise Beyond("the exponential of f32 leaves its range")
                launch.test(line, 1 if low == -1 or low is None else 0)
                launch.test(line, 2 if high == 1 else 3)
                return f(zero if low is None or low < 0 else one if high == 1 else v)

            return sat
        if "relu" in ins.opcode:
            zero = d.number(0)

            def relu(v: Any) -> Any:
                low = d.order(v, zero)
                launch.test(line, 1 if low == -1 else 0)
                return f(zero if low == -1 else v)

            return relu
        return f

    def rounded(self, q: Fraction, fmt: str, mode: str) -> int:
        """The bits of a number in a format, for numbers whose unit in the last place is that of a large constant."""
        e, m = FORMATS[fmt]
        exponent = max(abs(q).numerator.bit_length() - abs(q).denominator.bit_length(), 0)
        if Fraction(2) ** exponent > abs(q):
            exponent -= 1
        scaled = q / Fraction(2) ** (exponent - m)
        n = ROUNDINGS[mode](scaled)
        back = Fraction(n) * Fraction(2) ** (exponent - m)
        if abs(back) >= Fraction(2) ** (exponent + 1):
            exponent += 1
        fraction = int(abs(back) / Fraction(2) ** (exponent - m)) - (1 << m)
        return (1 if back < 0 else 0) << (e + m) | (exponent + (1 << (e - 1)) - 1) << m | fraction

    def adder(self, ins: Instruction, fmt: str) -> Callable[[Any, Any], Any]:
        """The sum of a value of a register and a number that data decide, which a large constant rounds to an integer."""
        d, number, wrap = self.domain, self.number(fmt), self.clamp(ins, self.wrap(fmt))
        large = LARGE.get(fmt)
        mode = next((m for m in ("rm", "rp", "rz") if m in ins.opcode), "rn")
        launch = self.launch

        def add(c: Any, v: Any) -> Any:
            if large is not None and type(c) is int and large[0] <= (c >> large[2] & ((1 << FORMATS[fmt][0]) - 1)) < large[1]:
                q = d.fraction(v)
                if q is None:
                    return wrap(v)
                total = q + Fraction(exact(c, fmt))
                if abs(total) >= 1 << (large[2] - 1):
                    bits = self.rounded(total, fmt, mode)
                    launch.outcomes.append(bits)
                    return bits
            return wrap(d.add(number(c), v))

        return add

    def floats(self, ins: Instruction) -> Step:
        type = ins.type
        if type.endswith("x2"):
            fmt = type[:-2]
            d, *sources = [self.s(o) for o in ins.operands]
            one, w = self.arithmetic(ins, fmt), WIDTHS[fmt]

            def packed(r: list[Any]) -> None:
                halves = []
                for low in (0, w):
                    halves.append((w, one(*[extract(r[s], 2 * w, low, w) for s in sources])))
                r[d] = join(halves)

            return packed
        one = self.of_constants(self.arithmetic(ins, type))
        d, *sources = [self.s(o) for o in ins.operands]
        if len(sources) == 1:
            (a,) = sources

            def f1(r: list[Any]) -> None:
                r[d] = one(r[a])

            return f1
        if len(sources) == 2:
            a, b = sources

            def f2(r: list[Any]) -> None:
                r[d] = one(r[a], r[b])

            return f2
        a, b, c = sources

        def f3(r: list[Any]) -> None:
            r[d] = one(r[a], r[b], r[c])

        return f3

    def of_constants(self, one: Callable[..., Any]) -> Callable[..., Any]:
        """The same, noting what is made of constants alone."""

        def noted(*values: Any) -> Any:
            out = one(*values)
            first = type(values[0])
            if (first is int or first is Known) and type(out) is not int and all(type(x) in (int, Known) for x in values):
                return Known(out.v if type(out) is Half else out)
            return out

        return noted

    def arithmetic(self, ins: Instruction, fmt: str) -> Callable[..., Any]:
        """A function of the values of registers."""
        d, number, name = self.domain, self.number(fmt), ins.opcode[0]
        plain = self.wrap(fmt)
        wrap = self.clamp(ins, plain)
        if name in ("add", "sub"):
            adder, minus = self.adder(ins, fmt), name == "sub"
            sign = 1 << (FORMATS[fmt][0] + FORMATS[fmt][1])

            def add(x: Any, y: Any) -> Any:
                if minus:
                    y = y ^ sign if type(y) is int else d.neg(number(y))
                if type(y) is int:
                    x, y = y, x
                return adder(x, number(y)) if type(x) is int else wrap(d.add(number(x), number(y)))

            return add
        if name in ("mad", "fma"):
            adder = self.adder(ins, fmt)

            def fma(x: Any, y: Any, z: Any) -> Any:
                product = d.mul(number(x), number(y))
                return adder(z, product) if type(z) is int else wrap(d.add(product, number(z)))

            return fma
        if name == "mul":
            return lambda x, y: wrap(d.mul(number(x), number(y)))
        if name == "div":
            return lambda x, y: plain(d.div(number(x), number(y)))
        if name == "neg":
            return lambda x: plain(d.neg(number(x)))
        if "xorsign" in ins.opcode:
            raise Cannot(f"the instruction {ins.text!r}")
        launch, line, absolute = self.launch, ins.line, "abs" in ins.opcode[1:]
        keep_nan, sign = "NaN" in ins.opcode, -1 if name == "min" else 1

        def fabs(v: Any) -> Any:
            negative = d.order(v, d.number(0)) == -1
            launch.outcomes.append(int(negative))
            return d.neg(v) if negative else v

        if name == "abs":
            return lambda x: plain(fabs(number(x)))

        def best(*all: Any) -> Any:
            v = number(all[0])
            for x in all[1:]:
                w = number(x)
                order = d.order(v, w)
                if order is None:
                    v = (v if v != v else w) if keep_nan else (w if v != v else v)
                    continue
                launch.test(line, int(order == -1))
                v = w if order == -sign else v
            return plain(fabs(v)) if absolute else plain(v)

        return best

    def functions(self, ins: Instruction) -> Step:
        name, fmt = ins.opcode[0], ins.type
        dom = self.domain
        if fmt.endswith("x2") or name == "set":
            raise Cannot(f"the instruction {ins.text!r}")
        number, wrap = self.number(fmt), self.wrap(fmt)
        d, *sources = [self.s(o) for o in ins.operands]
        a = sources[0]
        if name == "copysign":
            launch, line, zero, top = self.launch, ins.line, dom.number(0), 8 * SIZES[fmt] - 1

            def copysign(r: list[Any]) -> None:
                x, v = r[a], number(r[sources[1]])
                order = (-1 if x >> top & 1 else 1) if type(x) is int else dom.order(number(x), zero)
                if not order:
                    raise Cannot("the sign of a zero or of what is no number")
                launch.test(line, int(order == -1))
                launch.test(line, 2 + int(dom.order(v, zero) == -1))
                r[d] = wrap(dom.neg(v) if dom.order(v, zero) == -order else v)

            return copysign
        if name == "testp":
            launch, line, which = self.launch, ins.line, ins.opcode[1]

            def testp(r: list[Any]) -> None:
                v = number(r[a])
                infinite, nan = v in (dom.inf, -dom.inf), v != v
                answers = {"finite": not infinite and not nan, "infinite": infinite, "number": not nan, "notanumber": nan}
                if which not in answers:
                    answers = {"normal": not infinite and not nan and v != 0, "subnormal": False}
                r[d] = int(answers[which])
                launch.test(line, r[d])

            return testp

        def function(r: list[Any]) -> None:
            r[d] = one(r[a])

        one = self.of_constants(lambda x: wrap(dom.function(name, number(x))))
        return function

    def float_test(self, ins: Instruction, compare: str, fmt: str) -> Callable[[Any, Any], bool]:
        d, number, launch, line = self.domain, self.number(fmt), self.launch, ins.line
        tests = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
        if compare not in ("num", "nan"):
            unordered = compare.endswith("u") and compare[:-1] in tests
            wanted = tests[compare[:-1] if unordered else compare]

        def f(x: Any, y: Any) -> bool:
            known = type(x) is int and type(y) is int
            if not known and type(x) in (int, Known) and type(y) in (int, Known):
                u, v = number(x), number(y)
                if u - u != 0 or v - v != 0 or abs(u - v) * 1000 < abs(u) + abs(v):
                    raise Cannot("rounding may decide a test of known numbers")
            if known:
                p, q = exact(x, fmt), exact(y, fmt)
                u, v = ((float(n) if isinstance(n, str) else n) for n in (p, q))
                order = None if "nan" in (p, q) else (u > v) - (u < v)
            elif compare in ("num", "nan"):
                u, v = number(x), number(y)
                order = None if u != u or v != v else 0
            else:
                order = d.order(number(x), number(y))
            if compare in ("num", "nan"):
                outcome = (order is None) == (compare == "nan")
            else:
                outcome = unordered if order is None else order in wanted
            if not known:
                launch.test(line, int(outcome))
            return outcome

        return f

    def cvt(self, ins: Instruction) -> Step:
        to, source = ins.opcode[-2], ins.opcode[-1]
        d, a = self.s(ins.operands[0]), self.s(ins.operands[1])
        dom, launch = self.domain, self.launch
        modes: dict[str, Callable[[Any], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
        mode = next((modes[m] for m in modes if m in ins.opcode), None)
        if to in ("f16x2", "bf16x2") and source == "f32":
            fmt, number = to[:-2], self.number("f32")
            b = self.s(ins.operands[2])
            half = self.clamp(ins, lambda v: Half(v, fmt))

            def pack(r: list[Any]) -> None:
                r[d] = join([(16, half(number(r[b]))), (16, half(number(r[a])))])

            return pack
        if to in FORMATS and source in FORMATS and "x2" not in to + source and WIDTHS[to] > 8 and WIDTHS[source] > 8:
            number = self.number(source)
            wrap = self.clamp(ins, self.wrap(to))

            def convert(r: list[Any]) -> None:
                v = number(r[a])
                if mode is not None:
                    q = dom.fraction(v)
                    if q is not None:
                        launch.outcomes.append(mode(q))
                        v = dom.number(mode(q))
                r[d] = wrap(v)

            return convert
        if to in FORMATS and source[0] in "us":
            w, is_signed, wrap = 8 * SIZES[source], source[0] == "s", self.clamp(ins, self.wrap(to))

            def of_int(r: list[Any]) -> None:
                x = r[a] & ((1 << w) - 1)
                r[d] = wrap(dom.number(signed(x, w) if is_signed else x))

            return of_int
        if source in FORMATS and to[0] in "us":
            w, number, is_signed = 8 * SIZES[to], self.number(source), to[0] == "s"
            low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if is_signed else (0, (1 << w) - 1)
            if mode is None:
                raise Cannot(f"the instruction {ins.text!r}")
            rounding = mode

            def to_int(r: list[Any]) -> None:
                v = number(r[a])
                q = dom.fraction(v)
                infinite = 0 if v != v else high if q is None and v > 0 else low
                n = infinite if q is None else min(max(rounding(q), low), high)
                launch.outcomes.append(n)
                r[d] = n & ((1 << w) - 1)

            return to_int
        raise Cannot(f"the instruction {ins.text!r}")
