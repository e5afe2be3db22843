"""What each instruction does to the registers of a thread: every instruction becomes one function.

Floats are numbers of the domain, and rounding is the identity, but for one idiom: a sum with a constant so large that the
format keeps integers only is rounded as the machine does, and its bits are known. Integers are those of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from . import access, collectives
from .machine import Arrival, Launch, Thread
from .memory import Outside
from .ptx import SIZES, Instruction, Operand
from .values import FORMATS, WIDTHS, Beyond, Cannot, Half, Pieces, Refuted, exact, extract, join

Step = Callable[[list[Any]], Any]

CONTROL = {"bra", "brx", "ret", "exit", "trap", "brkpt", "bar", "barrier", "call"}
MEET = {"shfl", "vote", "match", "redux", "mma", "ldmatrix", "stmatrix", "elect"}
NOTHING = {"membar", "fence", "prefetch", "prefetchu", "nanosleep", "griddepcontrol", "discard", "applypriority", "pmevent"}
LARGE = {"f32": (149, 153, 23), "f64": (1074, 1077, 52)}
"""Exponents of constants that make a sum an integer, and the bits of the fraction."""


def signed(x: int, w: int) -> int:
    return x - (1 << w) if x >> (w - 1) & 1 else x


def raises(message: str, line: int) -> Step:
    def f(r: list[Any]) -> Any:
        error = Cannot(message)
        error.line = line
        raise error

    return f


class Compiler:
    def __init__(self, launch: Launch) -> None:
        self.launch, self.domain = launch, launch.domain
        self.number_types = (int, Half, Pieces, type(None))

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

    def s(self, o: Operand) -> int:
        if o.kind in ("other", "vector", "pair"):
            raise Cannot(f"the operand {o.text[:30]!r}")
        return self.launch.slot(o)

    # Numbers.

    def number(self, fmt: str) -> Callable[[Any], Any]:
        """A value of a register as a number, by its format."""
        constant, top = self.launch.constant, FORMATS[fmt][0] + FORMATS[fmt][1] + 1

        def number(x: Any) -> Any:
            kind = type(x)
            if kind is int:
                return constant(x & (1 << top) - 1, fmt)
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
        n = {"rn": round, "rm": math.floor, "rp": math.ceil, "rz": math.trunc}[mode](scaled)
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
        launch, line = self.launch, ins.line

        def add(c: Any, v: Any) -> Any:
            if large is not None and type(c) is int and large[0] <= (c >> large[2] & ((1 << FORMATS[fmt][0]) - 1)) < large[1]:
                q = d.fraction(v)
                if q is None:
                    return wrap(v)
                bits = self.rounded(q + Fraction(exact(c, fmt)), fmt, mode)
                launch.outcomes.append(bits)
                return bits
            return wrap(d.add(number(c), v))

        return add

    # Instructions of one thread.

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
            return self.cvt(ins)
        if name in ("mov", "cvta", "isspacep", "selp", "slct", "prmt"):
            return self.move(ins)
        if name in ("add", "sub", "mul", "mad", "fma", "div", "neg", "abs", "min", "max") and self.is_float(ins.type):
            return self.floats(ins)
        if name in ("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "testp", "set"):
            return self.functions(ins)
        return self.integers(ins)

    def is_float(self, type: str) -> bool:
        return type in FORMATS or type in ("f16x2", "bf16x2", "f32x2")

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
        one = self.arithmetic(ins, type)
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
            launch.test(line, int(negative))
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
        if fmt.endswith("x2") or name in ("set", "copysign"):
            raise Cannot(f"the instruction {ins.text!r}")
        number, wrap = self.number(fmt), self.wrap(fmt)
        d, *sources = [self.s(o) for o in ins.operands]
        a = sources[0]
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
            r[d] = wrap(dom.function(name, number(r[a])))

        return function

    def setp(self, ins: Instruction) -> Step:
        compare, type = ins.opcode[1], ins.type
        combine = next((c for c in ("and", "or", "xor") if c in ins.opcode[2:-1]), None)
        outs = ins.operands[0]
        targets = outs.items if outs.kind == "pair" else [outs]
        places = [self.s(o) for o in targets if o.kind != "sink"]
        if outs.kind == "pair" and targets[0].kind == "sink":
            raise Cannot("a comparison whose second result alone is used")
        a, b = self.s(ins.operands[1]), self.s(ins.operands[2])
        extra, inverted = None, False
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

    def integer_test(self, compare: str, type: str) -> Callable[[Any, Any], bool]:
        w, is_signed = 8 * SIZES[type], type[0] == "s"
        compare = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(compare, compare)
        tests: dict[str, Callable[[int, int], bool]] = {
            "eq": lambda x, y: x == y,
            "ne": lambda x, y: x != y,
            "lt": lambda x, y: x < y,
            "le": lambda x, y: x <= y,
            "gt": lambda x, y: x > y,
            "ge": lambda x, y: x >= y,
        }
        test, keep = tests[compare], (1 << w) - 1

        def f(x: Any, y: Any) -> bool:
            x, y = x & keep, y & keep
            return test(signed(x, w), signed(y, w)) if is_signed else test(x, y)

        return f

    def float_test(self, ins: Instruction, compare: str, fmt: str) -> Callable[[Any, Any], bool]:
        d, number, launch, line = self.domain, self.number(fmt), self.launch, ins.line
        tests = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
        if compare not in ("num", "nan"):
            unordered = compare.endswith("u") and compare[:-1] in tests
            wanted = tests[compare[:-1] if unordered else compare]

        def f(x: Any, y: Any) -> bool:
            known = type(x) is int and type(y) is int
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
        dom, launch, line = self.domain, self.launch, ins.line
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
                if q is None:
                    n = 0 if v != v else high if v > 0 else low
                else:
                    n = min(max(rounding(q), low), high)
                launch.outcomes.append(n)
                r[d] = n & ((1 << w) - 1)

            return to_int
        if source[0] not in "usb" or to[0] not in "usb":
            raise Cannot(f"the instruction {ins.text!r}")
        return self.integer_conversion(ins, to, source, (d, a))

    def integer_conversion(self, ins: Instruction, to: str, source: str, places: tuple[int, int]) -> Step:
        (d, a), w, n = places, 8 * SIZES[source], 8 * SIZES[to]
        is_signed, sat = source[0] == "s", "sat" in ins.opcode
        low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if to[0] == "s" else (0, (1 << n) - 1)

        def convert(r: list[Any]) -> None:
            x = r[a]
            if type(x) is not int:
                if w > n:
                    x = extract(x, w, 0, n)
                elif w < n:
                    x = join([(w, x), (n - w, 0)])
                r[d] = x
                return
            x &= (1 << w) - 1
            if is_signed:
                x = signed(x, w)
            if sat:
                x = min(max(x, low), high)
            r[d] = x & ((1 << max(n, 32)) - 1 if to[0] == "s" else (1 << n) - 1)

        return convert

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

    def integers(self, ins: Instruction) -> Step:
        name, ty = ins.opcode[0], ins.type
        if name in ("and", "or", "xor", "not"):
            return self.logic(ins)
        w = 8 * SIZES[ty]
        keep, is_signed = (1 << w) - 1, ty[0] == "s"
        d, *s = [self.s(o) for o in ins.operands]

        def v(x: Any) -> int:
            x &= keep
            return signed(x, w) if is_signed else x

        if name == "shl":
            a, b = s

            def shl(r: list[Any]) -> None:
                x, n = r[a], r[b]
                if type(x) is int:
                    r[d] = x << n & keep if n < w else 0
                else:
                    r[d] = join([(n, 0), (w - n, extract(x, w, 0, w - n))])

            return shl
        if name == "shr" and not is_signed:
            a, b = s

            def shr(r: list[Any]) -> None:
                x, n = r[a], r[b]
                if type(x) is int:
                    r[d] = (x & keep) >> n if n < w else 0
                else:
                    r[d] = join([(w - n, extract(x, w, n, w - n)), (n, 0)])

            return shr
        wide = (1 << 2 * w) - 1 if "wide" in ins.opcode else keep
        high = "hi" in ins.opcode
        sat = "sat" in ins.opcode
        if name in ("add", "sub", "mul", "mad"):
            if sat or "cc" in ins.opcode:
                raise Cannot(f"the instruction {ins.text!r}")
            if name in ("add", "sub"):
                a, b = s
                sign = 1 if name == "add" else -1

                def add(r: list[Any]) -> None:
                    r[d] = r[a] + sign * r[b] & keep

                return add
            a, b, *c = s

            def mul(r: list[Any]) -> None:
                x = v(r[a]) * v(r[b])
                if high:
                    x >>= w
                r[d] = x + (r[c[0]] if c else 0) & wide

            return mul
        table: dict[str, Callable[..., int]] = {
            "shr": lambda x, n: v(x) >> min(n, w - 1),
            "min": lambda x, y: min(v(x), v(y)),
            "max": lambda x, y: max(v(x), v(y)),
            "neg": lambda x: -x,
            "abs": lambda x: abs(v(x)),
            "div": lambda x, y: _divide(v(x), v(y))[0],
            "rem": lambda x, y: _divide(v(x), v(y))[1],
            "popc": lambda x: bin(x & keep).count("1"),
            "clz": lambda x: w - (x & keep).bit_length(),
            "brev": lambda x: int(f"{x & keep:0{w}b}"[::-1], 2),
            "cnot": lambda x: int(x & keep == 0),
            "sad": lambda x, y, z: abs(v(x) - v(y)) + z,
            "mul24": lambda x, y: (v(x) << 8) * (v(y) << 8) >> 16,
            "bfe": lambda x, at, n: _bfe(v(x), at & 255, n & 255, w, is_signed),
            "bfi": lambda x, y, at, n: _bfi(x & keep, y & keep, at & 255, n & 255),
            "bfind": lambda x: (x & keep).bit_length() - 1,
            "lop3": lambda x, y, z, t: _lop3(x, y, z, t),
            "dp4a": lambda x, y, z: _dp4a(x, y, z, ins.opcode[-2], ins.opcode[-1]),
            "shf": lambda x, y, n: _shf(x, y, n, ins.opcode[1] == "l", ins.opcode[2] == "clamp"),
        }
        f = table[name]

        def integer(r: list[Any]) -> None:
            values = [r[i] for i in s]
            for x in values:
                if type(x) is not int:
                    raise TypeError(type(x).__name__)
            r[d] = f(*values) & keep

        return integer

    def logic(self, ins: Instruction) -> Step:
        """Bits, among them the signs of numbers."""
        name, ty = ins.opcode[0], ins.type
        w = 1 if ty == "pred" else 8 * SIZES[ty]
        keep = (1 << w) - 1
        d, a = self.s(ins.operands[0]), self.s(ins.operands[1])
        if name == "not":

            def invert(r: list[Any]) -> None:
                r[d] = r[a] ^ keep

            return invert
        b = self.s(ins.operands[2])
        op: Callable[[int, int], int] = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}[name]
        slow = self.signs(ins, name, w)

        def logic(r: list[Any]) -> None:
            x, y = r[a], r[b]
            if type(x) is int and type(y) is int:
                r[d] = op(x, y) & keep
            elif x is None or y is None:
                raise TypeError("NoneType")
            else:
                r[d] = slow(x, y) if type(y) is int else slow(y, x)


        return logic

    def signs(self, ins: Instruction, name: str, w: int) -> Callable[[Any, Any], Any]:
        d, launch, line = self.domain, self.launch, ins.line

        def of_parts(x: Any, mask: Any) -> Any:
            if type(mask) is not int:
                return overlaid(x, mask, w, name)
            out, at = [], 0
            for width, v in x.parts if type(x) is Pieces else [(w, x)]:
                m = mask >> at & ((1 << width) - 1)
                out.append((width, one(v, m, width)))
                at += width
            return join(out)

        def one(x: Any, m: int, width: int) -> Any:
            full, top = (1 << width) - 1, 1 << (width - 1)
            if type(x) is int:
                return {"and": x & m, "or": x | m, "xor": x ^ m}[name]
            if (name, m) in (("and", full), ("or", 0), ("xor", 0)):
                return x
            if name == "and" and m == 0:
                return 0
            if (name, m, width) == ("and", 0xFFFF0000, 32):
                return join([(16, 0), (16, Half(x, "bf16"))])
            v = x.v if type(x) is Half else x
            wrap = (lambda n: Half(n, x.kind)) if type(x) is Half else (lambda n: n)
            if (name, m) == ("xor", top):
                return wrap(d.neg(v))
            if (name, m) in (("and", top - 1), ("or", top), ("and", top)):
                negative = d.order(v, d.number(0)) == -1
                launch.test(line, int(negative))
                if (name, m) == ("and", top):
                    return top if negative else 0
                return wrap(d.neg(v) if negative == (name == "and") else v)
            raise Cannot(f"bits of a number that data decide are asked for by {name} with {m:#x}")

        return of_parts

    # Instructions that say where a thread goes on.

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
        if count is not None and operands[0].kind == "int":
            self.launch.counted.add(operands[0].value)

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


def overlaid(x: Any, y: Any, w: int, name: str) -> Any:
    """`or` of two values each of whose pieces meets zeros of the other."""
    if name not in ("or", "xor"):
        raise Cannot(f"{name} of two numbers that data decide")
    edges = {0, w}
    for value in (x, y):
        at = 0
        for width, _ in value.parts if type(value) is Pieces else [(w, value)]:
            edges.add(at)
            at += width
    places = sorted(edges)
    out = []
    for low, high in zip(places, places[1:]):
        a, b = (extract(v, w, low, high - low) for v in (x, y))
        if a == 0 or b == 0:
            out.append((high - low, b if a == 0 else a))
        elif type(a) is int and type(b) is int:
            out.append((high - low, a | b if name == "or" else a ^ b))
        else:
            raise Cannot(f"{name} of numbers that data decide")
    return join(out)


def _divide(x: int, y: int) -> tuple[int, int]:
    if y == 0:
        raise Cannot("an integer is divided by zero")
    q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return q, x - q * y


def _bfe(x: int, at: int, n: int, w: int, is_signed: bool) -> int:
    if n == 0:
        return 0
    bits = (x >> at) & ((1 << n) - 1)
    if is_signed and (x >> min(at + n - 1, w - 1)) & 1:
        bits |= -1 << min(n, max(w - at, 0))
    return bits


def _bfi(x: int, y: int, at: int, n: int) -> int:
    mask = ((1 << n) - 1) << at
    return y & ~mask | x << at & mask


def _lop3(x: int, y: int, z: int, t: int) -> int:
    out = 0
    for i in range(8):
        if t >> i & 1:
            out |= (x if i & 4 else ~x) & (y if i & 2 else ~y) & (z if i & 1 else ~z)
    return out


def _dp4a(x: int, y: int, z: int, tx: str, ty: str) -> int:
    def byte(v: int, i: int, t: str) -> int:
        b = v >> 8 * i & 255
        return signed(b, 8) if t[0] == "s" else b

    return z + sum(byte(x, i, tx) * byte(y, i, ty) for i in range(4))


def _shf(x: int, y: int, n: int, left: bool, clamp: bool) -> int:
    n = min(n, 32) if clamp else n & 31
    both = y << 32 | x
    return both << n >> 32 if left else both >> n


