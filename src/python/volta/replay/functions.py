"""What instructions compute: one table, `FUNCTIONS`, from names to functions of the values of their operands.

A function that asks for the bits of a float raises TypeError. Over numbers that data decide rounding is the identity. One
idiom is the exception: a sum with a constant so large that the format keeps integers only is rounded as the machine does, and
its bits are known. That is how compilers round the argument of an exponential.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .machine import Launch
from .ptx import Instruction
from .values import FORMATS, SIZES, Beyond, Cannot, Mixed, Num, Opaque, Part, exact, parts_of, take, whole, widened

Function = Callable[..., Any]

ROUNDINGS: dict[str, Callable[[Fraction], int]] = {"n": round, "m": math.floor, "p": math.ceil, "z": math.trunc}

LARGE = {"f32": (149, 153, 23, "<f", "<I"), "f64": (1074, 1077, 52, "<d", "<Q")}
"""Exponents of constants that make a sum an integer, the bits of the fraction, and how floats are packed."""

EXPONENTIAL = ("f32", 0x3BBB989D)
"""The constant by which the compilers' exponential of f32 is known; it limits its argument."""


def signed(x: int, w: int) -> int:
    return x - (1 << w) if x >> (w - 1) & 1 else x


# Integers and bits.


def integer(launch: Launch, ins: Instruction) -> Function:
    if ins.one_of("sat", "relu", "f16", "bf16"):
        raise ins.foreign()
    w, is_signed, is_left, clamps = 8 * SIZES[ins.type], ins.type[0] == "s", "l" in ins.opcode, "clamp" in ins.opcode
    keep = (1 << (2 * w if "wide" in ins.opcode else w)) - 1
    high = w if "hi" in ins.opcode else 0
    narrow = (1 << w) - 1

    def v(x: int) -> int:
        x &= narrow
        return x - (1 << w) if is_signed and x >> (w - 1) else x

    def moved(x: Any, n: int) -> Any:
        """The bytes of a float, shifted by whole bytes to the left."""
        if n % 8 or (n < 0 and is_signed):
            raise TypeError("bits of a float")
        return whole([*[0] * (n // 8), *parts_of(x, w // 8 - n // 8)]) if n > 0 else take(x, -n // 8, w // 8 + n // 8)

    def shl(x: Any, n: int) -> Any:
        return 0 if n >= w else x << n & keep if type(x) is int else moved(x, n)

    def shr(x: Any, n: int) -> Any:
        return v(x) >> min(n, w) & keep if type(x) is int else moved(x, -n) if n < w else 0

    def quotient(x: int, y: int) -> int:
        if y == 0:
            raise Cannot("an integer is divided by zero")
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    def bfind(x: int) -> int:
        at = (x if x >= 0 else ~x).bit_length() - 1
        return (w - 1 - at if "shiftamt" in ins.opcode and at >= 0 else at) & 0xFFFFFFFF

    def field(x: int, n: int) -> int:
        return signed(x & (1 << n) - 1, n) if is_signed and n else x & (1 << n) - 1

    def shf(x: int, y: int, n: int) -> int:
        n = min(n, 32) if clamps else n & 31
        return (y << 32 | x) << n >> 32 if is_left else (y << 32 | x) >> n

    def bytes_of(x: int, kind: str) -> list[int]:
        return [signed(b, 8) if kind[0] == "s" else b for b in (x & narrow).to_bytes(4, "little")]

    table: dict[str, Function] = {
        "add": lambda x, y: x + y & keep,
        "sub": lambda x, y: x - y & keep,
        "mul": lambda x, y: v(x) * v(y) >> high & keep,
        "mad": lambda x, y, z: (v(x) * v(y) >> high) + z & keep,
        "mul24": lambda x, y: (v(x) << 8) * (v(y) << 8) >> 16 & keep,
        "shl": shl,
        "shr": shr,
        "min": lambda x, y: min(v(x), v(y)) & keep,
        "max": lambda x, y: max(v(x), v(y)) & keep,
        "neg": lambda x: -x & keep,
        "abs": lambda x: abs(v(x)) & keep,
        "div": lambda x, y: quotient(v(x), v(y)) & keep,
        "rem": lambda x, y: v(x) - v(y) * quotient(v(x), v(y)) & keep,
        "sad": lambda x, y, z: abs(v(x) - v(y)) + z & keep,
        "popc": lambda x: bin(x & keep).count("1"),
        "clz": lambda x: w - (x & keep).bit_length(),
        "brev": lambda x: int(f"{x & keep:0{w}b}"[::-1], 2),
        "cnot": lambda x: int(x & keep == 0),
        "bfind": lambda x: bfind(v(x)),
        "bfe": lambda x, at, n: field(v(x) >> (at & 255), n & 255) & keep,
        "bfi": lambda x, y, at, n: (y & ~((1 << (n & 255)) - 1 << (at & 255)) | (x & (1 << (n & 255)) - 1) << (at & 255)) & keep,
        "lop3": lambda x, y, z, t: sum((t >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | z >> i & 1) & 1) << i for i in range(w)),
        "dp4a": lambda x, y, z: sum(map(operator.mul, bytes_of(x, ins.opcode[-2]), bytes_of(y, ins.type))) + z & keep,
        "shf": lambda x, y, n: shf(x, y, n) & keep,
    }
    return table[ins.name]


def logic(launch: Launch, ins: Instruction) -> Function:
    """Bits, among them the signs of floats, and bytes of floats that meet bytes of zeros or ones."""
    name, n = ins.name, SIZES[ins.type]
    op: Callable[..., int] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert}[name]  # type: ignore[assignment]
    keep = 1 if ins.type == "pred" else (1 << 8 * n) - 1
    neutral = 0xFF if name == "and" else 0

    def byte(p: int | Part, q: int | Part) -> int | Part:
        if type(p) is int and type(q) is int:
            return int(op(p, q))
        p, q = (q, p) if type(p) is int else (p, q)
        if q == neutral:
            return p
        if name == "and" and q == 0:
            return 0
        raise TypeError("bits of a float")

    def pieces(*values: Any) -> Any:
        if name == "not":
            raise TypeError("bits of a float")
        x, y = (parts_of(v, n) for v in values)
        for a, b in ((x, y), (y, x)):
            for i, (p, q) in enumerate(zip(a, b)):
                if (
                    type(p) is not Part
                    or type(q) is not int
                    or p.at != SIZES[p.num.fmt] - 1
                    or q not in (0x80, neutral >> 1 or 0x80)
                ):
                    continue
                if name == "and" and q == 0x80:
                    a[i], b[i] = 0x80 if is_negative(launch, ins, p.num.v) else 0, 0xFF
                elif a[i - p.at : i + 1] == [(p.num, k) for k in range(p.at + 1)]:
                    flips = name == "xor" or is_negative(launch, ins, p.num.v) == (name == "and")
                    new = Num(launch.domain.neg(p.num.v), p.num.fmt, p.num.known) if flips else p.num
                    a[i - p.at : i + 1], b[i] = [Part(new, k) for k in range(p.at + 1)], neutral
        return whole([byte(p, q) for p, q in zip(x, y)])

    def f(*values: Any) -> Any:
        if all(type(v) is int for v in values):
            return op(*values) & keep
        return pieces(*values)

    return f


def is_negative(launch: Launch, ins: Instruction, v: Any) -> bool:
    negative = bool(launch.domain.order(v, launch.domain.number(0)) == -1)
    launch.test(ins.line, int(negative))
    if launch.margins is not None:
        launch.watch(ins.line, v, int(negative), "choice")
    return negative


def move(launch: Launch, ins: Instruction) -> Function:
    n = SIZES[ins.type]
    keep, each = 1 if ins.type == "pred" else (1 << 8 * n) - 1, n // max(len(ins.operands[1].items), 1)
    if ins.operands[1].kind == "vector":
        return lambda *all: whole([p for x in all for p in parts_of(x, each)])
    return lambda x: x & keep if type(x) is int else x


def convert_address(launch: Launch, ins: Instruction) -> Function:
    window = {"shared": 1, "local": 2, "param": 3}.get(ins.one_of("shared", "local", "param"), 0)
    bits = window << 60
    if ins.name == "isspacep":
        return lambda x: int(x >> 60 == window)
    return (lambda x: x & ~bits) if "to" in ins.opcode else (lambda x: x | bits)


def select(launch: Launch, ins: Instruction) -> Function:
    return lambda x, y, p: None if p is None else x if p else y


def permute(launch: Launch, ins: Instruction) -> Function:
    if len(ins.opcode) != 2:
        raise ins.foreign()

    def prmt(x: Any, y: Any, control: int) -> Any:
        all: list[Any] = parts_of(x, 4) + parts_of(y, 4)
        chosen = [(all[control >> 4 * i & 7], control >> 4 * i & 8) for i in range(4)]
        return whole([(0xFF if p & 0x80 else 0) if is_sign else p for p, is_sign in chosen])

    return prmt


# Floats.


class Floats:
    """What instructions of floats have in common, for one of them."""

    def __init__(self, launch: Launch, ins: Instruction) -> None:
        self.launch, self.ins, self.domain = launch, ins, launch.domain
        self.zero, self.one = launch.domain.number(0), launch.domain.number(1)

    def number(self, fmt: str) -> Callable[[Any], Num]:
        """A value of a register as a float, by its format."""
        constant, size = self.launch.constant, SIZES[fmt]
        kinds = {2: (fmt, "b16"), 4: ("f32", "tf32"), 8: ("f64",)}.get(size, ())

        def number(x: Any) -> Num:
            if type(x) is Num and x.fmt in kinds:
                return x
            if type(x) is int:
                return constant(x & (1 << 8 * size) - 1, fmt)
            if x is None or type(x) is Opaque:
                raise TypeError("never written, or bits that are not known")
            wide = widened(x)
            if type(wide) is Num and wide.fmt in kinds:
                return wide
            raise Cannot(f"{'pieces' if type(x) is Mixed else 'a ' + x.fmt} are read as {fmt}")

        return number

    def lifted(self, f: Callable[..., Any], fmt: str, source: str = "") -> Function:
        """A function of numbers as one of values, which remembers what is made of constants alone."""
        number, ends = self.number(source or fmt), self.ends()

        def of_values(*values: Any) -> Num:
            numbers = [number(x) for x in values]
            return Num(ends(f(*[n.v for n in numbers])), fmt, all(n.known for n in numbers))

        return of_values

    def ends(self) -> Callable[[Any], Any]:
        """What `.sat` and `.relu` make of a result."""
        order, launch, line, zero, one = self.domain.order, self.launch, self.ins.line, self.zero, self.one
        # The compilers' exponential of f32 limits its argument so that its bits stay those of a number.
        limits_range = EXPONENTIAL in launch.module.constants

        def sat(v: Any) -> Any:
            low, high = order(v, zero), order(v, one)
            if limits_range and (low == -1 or high == 1):
                raise Beyond("the exponential of f32 leaves its range")
            launch.test(line, int(low == -1 or low is None))
            launch.test(line, 2 if high == 1 else 3)
            if launch.margins is not None:
                launch.watch(line, v, int(low == -1 or low is None), "choice")
            return zero if low is None or low < 0 else one if high == 1 else v

        def relu(v: Any) -> Any:
            return zero if is_negative(launch, self.ins, v) else v

        return sat if "sat" in self.ins.opcode else relu if "relu" in self.ins.opcode else lambda v: v

    def magnitude(self, v: Any) -> Any:
        negative = self.domain.order(v, self.zero) == -1
        self.launch.outcomes.append(int(negative))
        return self.domain.neg(v) if negative else v

    def best(self, *all: Any) -> Any:
        """The least or the greatest of numbers."""
        ins, wanted = self.ins, -1 if self.ins.name == "min" else 1
        v = all[0]
        for w in all[1:]:
            order = self.domain.order(v, w)
            if order is None:
                v = v if (v != v) == ("NaN" in ins.opcode) else w
                continue
            self.launch.test(ins.line, int(order == -1))
            if self.launch.margins is not None:
                self.launch.watch(ins.line, v - w, int(order == -1), "choice")
            v = w if order == -wanted else v
        return self.magnitude(v) if "abs" in ins.opcode[1:] else v

    def copysign(self, of: Any, v: Any) -> Any:
        order = self.domain.order(of, self.zero)
        if not order:
            raise Cannot("the sign of a zero or of what is no number")
        self.launch.test(self.ins.line, int(order == -1))
        is_below = self.domain.order(v, self.zero) == -1
        self.launch.test(self.ins.line, 2 + int(is_below))
        return self.domain.neg(v) if is_below == (order == 1) else v

    def summing(self, fmt: str) -> Callable[[Any, Any], Any]:
        """The sum of a float and a value of a register, which may be a constant that makes it an integer."""
        lifted, number, launch = self.lifted(self.domain.add, fmt), self.number(fmt), self.launch
        large = LARGE.get(fmt)
        mode = self.ins.one_of("rm", "rp", "rz")[1:] or "n"

        def add(x: Any, y: Any) -> Any:
            x, y = (y, x) if type(x) is int else (x, y)
            if large is None or type(y) is not int or not large[0] <= y >> large[2] & (1 << FORMATS[fmt][0]) - 1 < large[1]:
                return lifted(x, y)
            q, c = self.domain.fraction(number(x).v), exact(y & (1 << 8 * SIZES[fmt]) - 1, fmt)
            if q is None or isinstance(c, str) or abs(q + c) < 1 << (large[2] - 1):
                return lifted(x, y)
            unit = Fraction(2) ** (int(abs(q + c)).bit_length() - 1 - large[2])
            rounded = float(ROUNDINGS[mode]((q + c) / unit) * unit)
            bits = int(struct.unpack(large[4], struct.pack(large[3], rounded))[0])
            launch.outcomes.append(bits)
            return bits

        return add

    def arithmetic(self, fmt: str) -> Function:
        """The operation as a function of values of registers."""
        name, d = self.ins.name, self.domain
        sign, number = 1 << (8 * SIZES[fmt] - 1), self.number(fmt)
        if name in ("add", "sub", "fma", "mad"):
            add = self.summing(fmt)

            def negated(x: Any) -> Any:
                return x ^ sign if type(x) is int else Num(d.neg(number(x).v), fmt, number(x).known)

            def fma(x: Any, y: Any, z: Any) -> Any:
                a, b = number(x), number(y)
                return add(Num(d.mul(a.v, b.v), fmt, a.known and b.known), z)

            return {"add": add, "sub": lambda x, y: add(x, negated(y))}.get(name, fma)
        simple = {"mul": d.mul, "div": self.divided, "neg": d.neg, "abs": self.magnitude, "copysign": self.copysign}
        functions = {"min": self.best, "max": self.best, **simple}
        return self.lifted(functions.get(name, self.of_one), fmt)

    def of_one(self, x: Any) -> Any:
        if self.launch.margins is not None and self.ins.name in ("rcp", "rsqrt", "lg2"):
            self.launch.watch(self.ins.line, x, 0, "pole")
        return self.domain.function(self.ins.name, x)

    def divided(self, x: Any, y: Any) -> Any:
        if self.launch.margins is not None:
            self.launch.watch(self.ins.line, y, 0, "pole")
        return self.domain.div(x, y)


def floating(launch: Launch, ins: Instruction) -> Function:
    floats, fmt = Floats(launch, ins), ins.type
    if not fmt.endswith("x2"):
        return floats.arithmetic(fmt)
    if ins.name not in ("add", "sub", "mul", "fma", "neg", "abs", "min", "max"):
        raise ins.foreign()
    one, n = floats.arithmetic(fmt[:-2]), SIZES[fmt] // 2

    def packed(*values: Any) -> Any:
        return whole([p for low in (0, n) for p in parts_of(one(*[take(x, low, n) for x in values]), n)])

    return packed


def test_property(launch: Launch, ins: Instruction) -> Function:
    number, which = Floats(launch, ins).number(ins.type), ins.opcode[1]

    def testp(x: Any) -> int:
        v = number(x).v
        nan, finite = v != v, v - v == 0
        answers = {"finite": finite, "infinite": not (nan or finite), "number": not nan, "notanumber": nan}
        outcome = int({**answers, "normal": finite and v != 0, "subnormal": False}[which])
        launch.test(ins.line, outcome)
        return outcome

    return testp


COMPARES = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
"""Which orders make a comparison true; one of unsigned integers or of floats without order has the same with another name."""
OF_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def float_test(launch: Launch, ins: Instruction, compare: str) -> Callable[[Any, Any], bool]:
    fmt, number, d = ins.type, Floats(launch, ins).number(ins.type), launch.domain
    if_unordered = compare == "nan" or compare.endswith("u")
    wanted = {"num": (-1, 0, 1), "nan": ()}[compare] if compare in ("num", "nan") else COMPARES[compare.rstrip("u")]

    def order_of(x: Any, y: Any) -> int | None:
        if type(x) is int and type(y) is int:
            p, q = (float(n) if isinstance(n, str) else n for n in (exact(v & (1 << 8 * SIZES[fmt]) - 1, fmt) for v in (x, y)))
            return None if p != p or q != q else (p > q) - (p < q)
        a, b = number(x), number(y)
        if a.known and b.known and not abs(a.v - b.v) * 1000 >= abs(a.v) + abs(b.v) < d.number("inf"):
            raise Cannot("rounding may decide a test of known numbers")
        if compare in ("num", "nan"):
            return None if a.v != a.v or b.v != b.v else 0
        order: int | None = d.order(a.v, b.v)
        return order

    def test(x: Any, y: Any) -> bool:
        order = order_of(x, y)
        outcome = if_unordered if order is None else order in wanted
        if type(x) is not int or type(y) is not int:
            launch.test(ins.line, int(outcome))
            if launch.margins is not None:
                a, b = number(x).v, number(y).v
                launch.watch(ins.line, a - b, int(outcome), "test", sides=(a, b))
        return outcome

    return test


def place_of_bits(launch: Launch, x: Any, is_signed: bool) -> tuple[int, bool, Any]:
    """Where the bits of a float lie among those of all: they are in the order of their numbers, but for the sign."""
    if type(x) is Num and x.fmt == "f32":
        is_nan = x.v != x.v
        below, number = (False, Decimal(0x7FFFFFFF)) if is_nan else (x.v < 0, abs(x.v))
    elif type(x) is int:
        bits = x & 0x7FFFFFFF
        below, is_nan = bool(x >> 31 & 1), bits > 0x7F800000
        number = Decimal(bits) if is_nan else launch.domain.number(exact(bits, "f32"))
    else:
        raise TypeError("bits of a float")
    return (-1 if is_signed else 1) * below, is_nan, number


def integer_test(launch: Launch, ins: Instruction, compare: str) -> Callable[[Any, Any], bool]:
    w, is_signed, wanted = 8 * SIZES[ins.type], ins.type[0] == "s", COMPARES[OF_UNSIGNED.get(compare, compare)]
    keep, top = (1 << w) - 1, (1 << w - 1) if is_signed else 0

    def test(x: Any, y: Any) -> bool:
        if launch.trees is not None and w == 32 and Num in (type(x), type(y)):
            p, q = (place_of_bits(launch, v, is_signed) for v in (x, y))
            return (p > q) - (p < q) in wanted
        x, y = x & keep ^ top, y & keep ^ top
        outcome = (x > y) - (x < y) in wanted
        if launch.margins is not None:
            launch.watch(ins.line, x - y, int(outcome), "test", w)
        return outcome

    return test


# Conversions.


def convert(launch: Launch, ins: Instruction) -> Function:
    to, source = ins.opcode[-2:]
    floats, mode = Floats(launch, ins), ROUNDINGS.get((ins.one_of("rni", "rzi", "rmi", "rpi") or "r?")[1])
    is_float = to in FORMATS, source in FORMATS
    if to in ("f16x2", "bf16x2") and source == "f32":
        half = floats.lifted(lambda v: v, to[:-2], "f32")
        return lambda high, low: whole(parts_of(half(low), 2) + parts_of(half(high), 2))
    if "x2" in to + source or "e4m3" in (to, source) or "e5m2" in (to, source):
        raise ins.foreign()
    if all(is_float):

        def of_float(v: Any) -> Any:
            q = launch.domain.fraction(v) if mode else None
            if mode is None or q is None:
                return v
            launch.outcomes.append(mode(q))
            return launch.domain.number(mode(q))

        return floats.lifted(of_float, to, source)
    if to in FORMATS and source[0] in "us":
        w, ends = 8 * SIZES[source], floats.ends()

        def of_integer(x: int) -> Num:
            x &= (1 << w) - 1
            return Num(ends(launch.domain.number(signed(x, w) if source[0] == "s" else x)), to)

        return of_integer
    if source in FORMATS and to[0] in "us" and mode:
        number = floats.number(source)
        low, high = _range(to)

        def to_integer(x: Any) -> int:
            v = number(x).v
            q = launch.domain.fraction(v)
            n = min(max(mode(q), low), high) if q is not None else 0 if v != v else high if v > 0 else low
            launch.outcomes.append(n)
            return n & (1 << 8 * SIZES[to]) - 1

        return to_integer
    if any(is_float) or "rn" in ins.opcode:
        raise ins.foreign()
    return _resized(to, source, "sat" in ins.opcode)


def _range(type: str) -> tuple[int, int]:
    w = 8 * SIZES[type]
    return (-(1 << (w - 1)), (1 << (w - 1)) - 1) if type[0] == "s" else (0, (1 << w) - 1)


def _resized(to: str, source: str, saturates: bool) -> Callable[[Any], Any]:
    n, m, (low, high) = SIZES[to], SIZES[source], _range(to)
    # A narrow signed result fills a register of 32 bits by its sign.
    keep = (1 << 8 * (max(n, 4) if to[0] == "s" else n)) - 1

    def resize(x: Any) -> Any:
        if type(x) is not int:
            if (source[0] == "s" and m < n) or saturates:
                raise TypeError("a sign")
            return whole(parts_of(whole(parts_of(x, m)), n))
        x &= (1 << 8 * m) - 1
        x = signed(x, 8 * m) if source[0] == "s" else x
        return (min(max(x, low), high) if saturates else x) & keep

    return resize


Maker = Callable[[Launch, Instruction], Function]


def arithmetic(launch: Launch, ins: Instruction) -> Function:
    is_float = ins.type in FORMATS or ins.type in ("f16x2", "bf16x2", "f32x2")
    return floating(launch, ins) if is_float else integer(launch, ins)


def named(maker: Any, names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), maker)


FUNCTIONS: dict[str, Maker] = {
    **named(arithmetic, "add sub mul mad fma div neg abs min max"),
    **named(integer, "rem sad popc clz brev cnot bfind bfe bfi lop3 dp4a shf shl shr mul24"),
    **named(floating, "sqrt rsqrt rcp ex2 lg2 sin cos tanh copysign"),
    **named(logic, "and or xor not"),
    **named(convert_address, "cvta isspacep"),
    "mov": move,
    "selp": select,
    "prmt": permute,
    "cvt": convert,
    "testp": test_property,
}
