"""What instructions of bits do: known bits as the machine has them, and of numbers that data decide their signs alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .floats import Base, Step, signed
from .ptx import SIZES, Instruction
from .values import Cannot, Half, Pieces, extract, join


class Integers(Base):
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

    def integer_conversion(self, ins: Instruction) -> Step:
        to, source = ins.opcode[-2:]
        if source[0] not in "usb" or to[0] not in "usb" or "bf16" in to + source:
            raise Cannot(f"the instruction {ins.text!r}")
        places = [self.s(o) for o in ins.operands]
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
    for low, high in pairwise(places):
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
