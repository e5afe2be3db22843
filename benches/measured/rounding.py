"""Bounds of `check --rounding` beside small random kernels, which are evaluated here exactly and as a machine would.

Usage: rounding.py VOLTA [--seed S] [--count N] [--inputs I]

Each kernel is a straight line of operations on f32, f16 and bf16, with conversions to e4m3 and e5m2 and to integers, every
rounding, `.ftz`, `.sat`, approximations, maxima and choices. It is checked against itself in a random range of its inputs. Its
real value is evaluated with fractions (functions with 240 bits), the machine's by rounding each operation by its definition;
approximations are off by anything that the PTX manual allows. An error above a bound, and an infinity or NaN where a bound
holds, is reported with the kernel and the input, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import mpmath

mpmath.mp.prec = 240

# Bits of the significand, exponent of the last place of the least numbers, largest number.
FORMATS = {
    "f32": (24, -149, (2 - Fraction(1, 2**23)) * 2**127),
    "f16": (11, -24, Fraction(65504)),
    "bf16": (8, -133, (2 - Fraction(1, 2**7)) * 2**127),
    "e4m3": (4, -9, Fraction(448)),
    "e5m2": (3, -16, Fraction(57344)),
}


class NotFinite(Exception):
    """An infinity or NaN of the machine, or nothing over the reals."""


def to_integer(x: Fraction, mode: str) -> int:
    """An integer beside a number."""
    below = x.numerator // x.denominator
    if mode in ("rm", "rmi"):
        return below
    if mode in ("rp", "rpi"):
        return -(-x.numerator // x.denominator)
    if mode in ("rz", "rzi"):
        return below if x >= 0 else -(-x.numerator // x.denominator)
    rest = x - below
    half = Fraction(1, 2)
    return below + (rest > half or (rest == half and below % 2 == 1))


def exponent(x: Fraction) -> int:
    """The power of two at or below a magnitude."""
    n, d = abs(x.numerator), x.denominator
    e = n.bit_length() - d.bit_length()
    return e if n * 2 ** max(-e, 0) >= d * 2 ** max(e, 0) else e - 1


def nearest(x: Fraction, fmt: str, mode: str = "rn", satfinite: bool = False) -> Fraction:
    """A number rounded to a format."""
    precision, least, largest = FORMATS[fmt]
    if x == 0:
        return x
    place = max(exponent(x) - precision + 1, least)
    unit = Fraction(2) ** place
    y = to_integer(x / unit, mode) * unit
    if abs(y) > largest:
        if satfinite or mode == "rz" or (mode == "rm" and y > 0) or (mode == "rp" and y < 0):
            return largest if y > 0 else -largest
        raise NotFinite
    return y


def flush(x: Fraction, fmt: str, ftz: bool) -> Fraction:
    precision, least, _ = FORMATS[fmt]
    return Fraction(0) if ftz and abs(x) < Fraction(2) ** (least + precision - 1) else x


def fraction(x: mpmath.mpf) -> Fraction:
    if not mpmath.isfinite(x):
        raise NotFinite
    m = x.man_exp
    sign = -1 if x < 0 else 1
    return sign * Fraction(int(abs(m[0]))) * Fraction(2) ** int(m[1])


def of_mpmath(f: Callable[[mpmath.mpf], mpmath.mpf]) -> Callable[[Fraction], Fraction]:
    def apply(x: Fraction) -> Fraction:
        return fraction(f(mpmath.mpf(x.numerator) / x.denominator))

    return apply


def positive(x: Fraction) -> Fraction:
    if x <= 0:
        raise NotFinite
    return x


def ex2(x: Fraction) -> Fraction:
    if abs(x) > 5000:
        raise NotFinite
    return of_mpmath(lambda y: mpmath.power(2, y))(x)


def root(x: Fraction) -> Fraction:
    if x < 0:
        raise NotFinite
    return of_mpmath(mpmath.sqrt)(x)


def inverse(x: Fraction) -> Fraction:
    if x == 0:
        raise NotFinite
    return 1 / x


EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "div": lambda a, b: a * inverse(b),
    "rcp": inverse,
    "sqrt": root,
    "rsqrt": lambda a: inverse(root(positive(a))),
    "ex2": ex2,
    "lg2": lambda a: of_mpmath(lambda y: mpmath.log(y, 2))(positive(a)),
    "tanh": lambda a: of_mpmath(mpmath.tanh)(max(min(a, Fraction(200)), Fraction(-200))),
    "neg": lambda a: -a,
    "abs": abs,
    "min": min,
    "max": max,
}
ARITY = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "min": 2, "max": 2}

# The relative and the absolute error of approximations in f32, as the manual states them.
ALLOWED: dict[str, tuple[Fraction, Fraction]] = {
    "rcp": (Fraction(1, 2**23), Fraction(0)),
    "div": (Fraction(1, 2**22), Fraction(0)),
    "sqrt": (Fraction(1, 2**23), Fraction(0)),
    "rsqrt": (Fraction(1, 2**23), Fraction(0)),
    "ex2": (Fraction(1, 2**22), Fraction(0)),
    "lg2": (Fraction(0), Fraction(1, 2**22)),
    "tanh": (Fraction(1, 2**11), Fraction(0)),
}


@dataclass(frozen=True)
class Op:
    """An operation: its name, formats, modifiers, and the numbers of its operands among the values."""

    name: str
    fmt: str
    args: tuple[int, ...] = ()
    source: str = ""
    mode: str = "rn"
    ftz: bool = False
    sat: bool = False
    approx: bool = False
    value: Fraction = Fraction(0)


@dataclass
class Value:
    """A value: over the reals, of the machine (`None` past an infinity), and the sum of the magnitudes of its terms."""

    real: Fraction
    machine: Fraction | None
    size: Fraction | None
    known: bool
    #: The first value that is the same.
    origin: int


def approximated(name: str, exact: Fraction, fmt: str, rng: random.Random) -> Fraction:
    """A number that the manual allows for an exact result."""
    best = nearest(exact, fmt)
    part, flat = ALLOWED[name]
    room = part * abs(exact) + flat
    tried = nearest(exact + room * Fraction(rng.randrange(-1000, 1001), 1000), fmt)
    return tried if abs(tried - exact) <= room else best


def clamp(x: Fraction, low: Fraction, high: Fraction) -> Fraction:
    return min(max(x, low), high)


def deciding(op: Op, all_values: Sequence[Value]) -> tuple[int, ...]:
    """The operands that matter: a choice between one and the same is no choice."""
    is_choice = op.name == "select" and all_values[op.args[2]].origin != all_values[op.args[3]].origin
    return op.args if op.name != "select" or is_choice else op.args[2:]


def machine(op: Op, all_values: Sequence[Value], rng: random.Random) -> Fraction:
    """What the machine makes of an operation."""
    args: list[Fraction] = []
    chosen = deciding(op, all_values)
    for i in chosen:
        x = all_values[i].machine
        if x is None:
            raise NotFinite
        args.append(x)
    if op.name == "cvt":
        x = flush(args[0], op.source, op.ftz and op.source == "f32")
        if op.mode.endswith("i"):
            x = Fraction(to_integer(x, op.mode))
        else:
            x = nearest(x, op.fmt, op.mode, op.sat and op.fmt.startswith("e"))
        x = flush(x, op.fmt, op.ftz and op.fmt == "f32")
        return clamp(x, Fraction(0), Fraction(1)) if op.sat and not op.fmt.startswith("e") else x
    if op.name == "int":
        x = clamp(Fraction(to_integer(flush(args[0], "f32", op.ftz), op.mode)), Fraction(-(2**31)), Fraction(2**31 - 1))
        return nearest(x, "f32")
    if len(chosen) < len(op.args):
        return args[0]
    if op.name == "select":
        a, b, x, y = (flush(v, op.fmt, op.ftz) if k < 2 else v for k, v in enumerate(args))
        return x if a > b else y
    exact = EXACT[op.name](*(flush(x, op.fmt, op.ftz) for x in args))
    if op.name in ("neg", "abs", "min", "max"):
        return exact
    x = approximated(op.name, exact, op.fmt, rng) if op.approx else nearest(exact, op.fmt, op.mode)
    x = flush(x, op.fmt, op.ftz)
    return clamp(x, Fraction(0), Fraction(1)) if op.sat else x


def real(op: Op, all_values: Sequence[Value]) -> Fraction:
    """What it is over the reals."""
    args = [all_values[i].real for i in op.args]
    if op.name == "cvt":
        x = Fraction(to_integer(args[0], op.mode)) if op.mode.endswith("i") else args[0]
        if op.sat:
            largest = FORMATS[op.fmt][2]
            narrow = op.fmt.startswith("e")
            return clamp(x, -largest, largest) if narrow else clamp(x, Fraction(0), Fraction(1))
        return x
    if op.name == "int":
        return clamp(Fraction(to_integer(args[0], op.mode)), Fraction(-(2**31)), Fraction(2**31 - 1))
    if op.name == "select":
        return args[2] if args[0] > args[1] else args[3]
    x = EXACT[op.name](*args)
    return clamp(x, Fraction(0), Fraction(1)) if op.sat else x


def size(op: Op, all_values: Sequence[Value], value: Fraction) -> Fraction | None:
    """The sum of the magnitudes of the terms, of what sums, differences and products make."""
    sizes = [all_values[i].size for i in op.args]
    known = [s for s in sizes if s is not None]
    if len(deciding(op, all_values)) < len(op.args):
        return sizes[2]
    if len(known) == len(sizes):
        if op.name in ("add", "sub"):
            return known[0] + known[1]
        if op.name == "mul":
            return known[0] * known[1]
        if op.name == "fma":
            return known[0] * known[1] + known[2]
        if op.name == "cvt" and op.mode.endswith("i"):
            return abs(value)
        if op.name in ("neg", "cvt"):
            return known[0]
    # What is made of constants alone is one.
    return abs(value) if all(all_values[i].known for i in op.args) else None


def evaluate(ops: Sequence[Op], inputs: Sequence[Fraction], rng: random.Random) -> list[Value]:
    """All values; the last one is the output. Raises where there is no real value."""
    out: list[Value] = []
    for op in ops:
        if op.name == "input":
            x = inputs[int(op.value)]
            out.append(Value(x, x, abs(x), False, len(out)))
            continue
        if op.name == "const":
            out.append(Value(op.value, op.value, abs(op.value), True, len(out)))
            continue
        value = real(op, out)
        on_machine: Fraction | None
        try:
            on_machine = machine(op, out, rng)
        except NotFinite:
            on_machine = None
        chosen = deciding(op, out)
        known = all(out[i].known for i in chosen)
        origin = len(out) if len(chosen) == len(op.args) else out[chosen[0]].origin
        out.append(Value(value, on_machine, size(op, out, value), known, origin))
    return out


def bits(x: Fraction, fmt: str) -> int:
    """The encoding of a number of a format."""
    precision, least, _ = FORMATS[fmt]
    sign = 1 if x < 0 else 0
    width = {"f32": 32}.get(fmt, 16)
    if x == 0:
        return 0
    place = max(exponent(x) - precision + 1, least)
    mantissa = abs(x) / Fraction(2) ** place
    assert mantissa.denominator == 1
    m = mantissa.numerator
    hidden = 1 << (precision - 1)
    biased = place - least + 1 if m >= hidden else 0
    return sign << (width - 1) | biased << (precision - 1) | (m & (hidden - 1))


def literal(x: Fraction, fmt: str) -> str:
    """A constant as PTX has it."""
    return f"0f{bits(x, fmt):08X}" if fmt == "f32" else f"0x{bits(x, fmt):04X}"


class Writer:
    """The text of a kernel."""

    def __init__(self, element: str, count: int) -> None:
        self.element, self.count = element, count
        self.lines: list[str] = []
        self.names: list[str] = []
        self.fresh = 0

    def register(self, fmt: str) -> str:
        self.fresh += 1
        return f"%{'f' if fmt == 'f32' else 'h'}{self.fresh}"

    def write(self, op: Op) -> None:
        dst = self.register(op.fmt if op.name != "cvt" or not op.fmt.startswith("e") else "f16")
        args = [self.names[i] for i in op.args]
        ftz = ".ftz" if op.ftz else ""
        sat = ".sat" if op.sat else ""
        if op.name == "input":
            width = "f32" if op.fmt == "f32" else "b16"
            step = 4 if op.fmt == "f32" else 2
            self.lines.append(f"ld.global.{width} {dst}, [%rd1+{step * int(op.value)}];")
        elif op.name == "const":
            width = "f32" if op.fmt == "f32" else "b16"
            self.lines.append(f"mov.{width} {dst}, {literal(op.value, op.fmt)};")
        elif op.name == "cvt" and op.fmt.startswith("e"):
            n = self.fresh
            if op.source == "f32":
                self.lines.append(f"cvt.rn.satfinite.{op.fmt}x2.f32 %s{n}, %zero, {args[0]};")
            else:
                self.lines.append(f"mov.b32 %q{n}, {{{args[0]}, %none}};")
                self.lines.append(f"cvt.rn.satfinite.{op.fmt}x2.f16x2 %s{n}, %q{n};")
            self.lines.append(f"cvt.rn.f16x2.{op.fmt}x2 %r{n}, %s{n};")
            self.lines.append(f"mov.b32 {{{dst}, %t{n}}}, %r{n};")
        elif op.name == "cvt":
            narrow = FORMATS[op.fmt][0] < FORMATS[op.source][0] or op.mode.endswith("i")
            mode = f".{op.mode}" if narrow else ""
            ftz = ftz if "f32" in (op.fmt, op.source) else ""
            self.lines.append(f"cvt{mode}{ftz}{sat}.{op.fmt}.{op.source} {dst}, {args[0]};")
        elif op.name == "int":
            self.lines.append(f"cvt.{op.mode}{ftz}.s32.f32 %r{self.fresh}, {args[0]};")
            self.lines.append(f"cvt.rn.f32.s32 {dst}, %r{self.fresh};")
        elif op.name == "select":
            self.lines.append(f"setp.gt{ftz}.{op.fmt} %p{self.fresh}, {args[0]}, {args[1]};")
            width = "f32" if op.fmt == "f32" else "b16"
            self.lines.append(f"selp.{width} {dst}, {args[2]}, {args[3]}, %p{self.fresh};")
        else:
            how = ""
            if op.approx:
                how = ".approx"
            elif op.name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt"):
                how = f".{op.mode}"
            self.lines.append(f"{op.name}{how}{ftz}{sat}.{op.fmt} {dst}, {', '.join(args)};")
        self.names.append(dst)

    def text(self, output: Op) -> str:
        store = "f32" if output.fmt == "f32" else "b16"
        body = "\n    ".join([*self.lines, f"st.global.{store} [%rd2], {self.names[-1]};"])
        n = self.fresh + 1
        return f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
    .reg .b64 %rd<3>; .reg .f32 %f<{n}>; .reg .f32 %zero; .reg .b16 %h<{n}>; .reg .b16 %none; .reg .b16 %s<{n}>; .reg .b16 %t<{n}>;
    .reg .b32 %r<{n}>; .reg .b32 %q<{n}>; .reg .pred %p<{n}>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.f32 %zero, 0f00000000;
    mov.b16 %none, 0;
    {body}
    ret;
}}
"""


RANGES = [
    ("-1", "1"),
    ("1", "2"),
    ("0.1", "10"),
    ("-100", "100"),
    ("0.000001", "0.001"),
    ("-0.0009", "0.0009"),
    ("1e-42", "1e-38"),
    ("-1e-37", "1e-37"),
    ("1000", "100000"),
    ("-5", "5"),
    ("1.6666660", "1.6666668"),
    ("0.011811020", "0.011811026"),
    ("0.4999", "0.5001"),
    ("-3e9", "3e9"),
    ("1e18", "1e20"),
    ("0", "1000"),
]
CONSTANTS = ["0.5", "3", "-1.25", "0.1", "127", "0.007874016", "1e-3", "-2", "1", "0", "1e4", "-5e4", "1e-20", "1e-38", "1e-40"]
CONSTANTS += ["448", "2048", "0.3333333", "-7", "1e20", "1e-5"]


def generate(rng: random.Random) -> tuple[str, tuple[str, str], list[Op]]:
    """An element type, a range, and the operations."""
    element = rng.choice(["f32"] * 6 + ["f16", "f16", "bf16"])
    count = rng.randint(1, 4)
    ops = [Op("input", element, value=Fraction(i)) for i in range(count)]
    formats = [element] * count
    fast = rng.random() < 0.25

    def add(op: Op) -> int:
        ops.append(op)
        formats.append("f16" if op.fmt.startswith("e") else op.fmt)
        return len(ops) - 1

    def constant(fmt: str) -> int:
        while True:
            try:
                return add(Op("const", fmt, value=nearest(Fraction(rng.choice(CONSTANTS)), fmt)))
            except NotFinite:
                continue

    def pick(fmt: str, fresh: bool = True) -> int:
        """A value of a format: a late one most often, or a constant."""
        own = [i for i, f in enumerate(formats) if f == fmt]
        if own and (not fresh or rng.random() < 0.75):
            return own[-1] if rng.random() < 0.6 else rng.choice(own)
        return constant(fmt) if not own or rng.random() < 0.8 else rng.choice(own)

    for _ in range(rng.randint(1, 7)):
        last = len(ops) - 1
        fmt = formats[last]
        ftz = fast and fmt == "f32"
        mode = rng.choice(["rn"] * 5 + ["rz", "rm", "rp"]) if fmt == "f32" else "rn"
        kind = rng.choice(["sum", "sum", "sum", "product", "product", "convert", "convert", "whole", "function", "choice"])
        if kind in ("sum", "product"):
            name = rng.choice(["add", "sub", "fma"] if kind == "sum" else ["mul", "mul", "fma"])
            args = [last, *(pick(fmt) for _ in range(ARITY[name] - 1))]
            rng.shuffle(args)
            sat = fmt != "bf16" and rng.random() < 0.08
            half_ftz = fmt == "f16" and rng.random() < 0.1
            add(Op(name, fmt, tuple(args), mode=mode, ftz=ftz or half_ftz, sat=sat))
        elif kind == "convert":
            if fmt == "f32":
                to = rng.choice(["f16", "f16", "bf16", "e4m3", "e5m2"])
                rounding = rng.choice(["rn", "rn", "rz"]) if not to.startswith("e") else "rn"
                add(Op("cvt", to, (last,), source=fmt, mode=rounding, sat=to.startswith("e")))
            elif fmt == "f16" and rng.random() < 0.4:
                add(Op("cvt", rng.choice(["e4m3", "e5m2"]), (last,), source=fmt, sat=True))
            else:
                add(Op("cvt", "f32", (last,), source=fmt))
        elif kind == "whole":
            rounding = rng.choice(["rni", "rzi", "rmi", "rpi"])
            if fmt == "f32" and rng.random() < 0.3:
                add(Op("int", fmt, (last,), mode=rounding, ftz=ftz))
            elif fmt != "bf16":
                add(Op("cvt", fmt, (last,), source=fmt, mode=rounding, ftz=ftz))
        elif kind == "function" and fmt == "f32":
            name = rng.choice(["rcp", "sqrt", "div", "ex2", "lg2", "tanh", "rsqrt", "neg", "abs"])
            args = [last, *([pick(fmt)] if name == "div" else [])]
            approx = name in ("ex2", "lg2", "tanh", "rsqrt") or (name in ("rcp", "sqrt", "div") and rng.random() < 0.5)
            exact = name in ("neg", "abs")
            own_mode = "rn" if approx or exact else mode
            add(Op(name, fmt, tuple(args), mode=own_mode, ftz=ftz and name != "tanh", approx=approx))
        elif kind == "choice":
            if rng.random() < 0.6:
                add(Op(rng.choice(["min", "max"]), fmt, (last, pick(fmt)), ftz=ftz))
            else:
                other, x, y = pick(fmt), pick(fmt, False), pick(fmt)
                if rng.random() < 0.5:
                    x, y = last, other
                add(Op("select", fmt, (last, other, x, y), ftz=ftz))
    if ops[-1].name in ("input", "const"):
        add(Op("mul", formats[-1], (len(ops) - 1, 0 if formats[-1] == element else constant(formats[-1]))))
    if formats[-1] != "f32" and (formats[-1] != "f16" or rng.random() < 0.7):
        add(Op("cvt", "f32", (len(ops) - 1,), source=formats[-1]))
    # Where an `e` format comes last, its f16 is the output.
    return element, rng.choice(RANGES), ops


def random_input(rng: random.Random, fmt: str, low: Fraction, high: Fraction) -> Fraction:
    """A number of a format in a range."""
    for _ in range(100):
        how = rng.randrange(4)
        if how == 0:
            x = rng.choice([low, high])
        elif how == 1 and low * high > 0:
            steps = exponent(high) - exponent(low)
            x = low * Fraction(2) ** rng.randint(0, max(steps, 0)) * Fraction(rng.randrange(1000, 2000), 1000)
        else:
            x = low + (high - low) * Fraction(rng.randrange(0, 2**32), 2**32)
        x = nearest(x, fmt, rng.choice(["rz", "rn"]))
        if low <= x <= high:
            return x
    raise NotFinite


def ends(fmt: str, span: tuple[str, str]) -> tuple[Fraction, Fraction]:
    """The numbers of a format that lie in a range, at its ends."""
    low, high = (Fraction(x) for x in span)
    return nearest(low, fmt, "rp"), nearest(high, fmt, "rm")


def ask(volta: str, text: str, element: str, span: tuple[str, str], count: int, output: str, folder: Path) -> dict[str, object]:
    """The report."""
    path = folder / "k.ptx"
    path.write_text(text)
    command = [volta, "check", str(path), str(path), "--threads", "1", "--arg", f"x=in:{element}[{count}]"]
    command += ["--arg", f"y=out:{output}[1]", "--assume", f"x in {span[0]}..{span[1]}", "--rounding=9", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if not done.stdout:
        return {"error": f"exit {done.returncode}: {done.stderr}"}
    out: dict[str, object] = json.loads(done.stdout)
    return out


def judge(bound: dict[str, float | None], ops: Sequence[Op], inputs: Sequence[Fraction], assumed: bool, rng: random.Random) -> str:
    """What is wrong with a bound at an input, or nothing."""
    try:
        value = evaluate(ops, inputs, rng)[-1]
    except NotFinite:
        return ""
    absolute, share, rest, within = (bound.get(k) for k in ("absolute", "of_terms", "rest", "within"))
    claims: list[tuple[str, Fraction]] = []
    if assumed and absolute is not None:
        claims.append(("absolute", Fraction(absolute)))
    if share is not None and (within is None or all(abs(x) <= Fraction(within) for x in inputs)):
        if value.size is None:
            return "a part of the terms of what is no sum of products"
        claims.append(("of_terms", Fraction(share) * value.size + Fraction(rest or 0)))
    for name, most in claims:
        if value.machine is None:
            return f"{name}: the machine has no number"
        error = abs(value.machine - value.real)
        if error > most:
            return f"{name}: off by {float(error)!r}, at most {float(most)!r}: {float(value.machine)!r} for {float(value.real)!r}"
    return ""


def one(volta: str, rng: random.Random, inputs: int, folder: Path, found: Counter[str]) -> str:
    """Tries a kernel; what is wrong, with the kernel, or nothing."""
    element, span, ops = generate(rng)
    low, high = ends(element, span) if FORMATS[element][2] > 1e30 else ends(element, ("-4", "4"))
    span = span if FORMATS[element][2] > 1e30 else ("-4", "4")
    if low > high:
        low, high, span = Fraction(0), Fraction(1), ("0", "1")
    count = sum(op.name == "input" for op in ops)
    writer = Writer(element, count)
    for op in ops:
        writer.write(op)
    text = writer.text(ops[-1])
    output = ops[-1].fmt if not ops[-1].fmt.startswith("e") else "f16"
    report = ask(volta, text, element, span, count, output, folder)
    rounding = report.get("rounding")
    if not isinstance(rounding, dict):
        found["error" if "error" in report else "not measured"] += 1
        return json.dumps(report["error"]) + "\n" + text if "error" in report else ""
    if not rounding["outputs"]:
        found["no output"] += 1
        return ""
    spread = rounding["outputs"][0]["errors"]["optimized"]
    bound = spread["bound"]
    if bound is None:
        found["no bound"] += 1
        return ""
    found["absolute" if bound["absolute"] is not None else "no absolute"] += 1
    found["of_terms" if bound["of_terms"] is not None else "no of_terms"] += 1
    if bound["absolute"] is not None and (spread["absolute"] > bound["absolute"] or spread["nans"] or spread["overflows"]):
        return f"its own samples are off by {spread['absolute']} {spread['nans']} {spread['overflows']}: {bound}\n{text}"
    everywhere = Fraction(bound["within"]) if bound.get("within") is not None else FORMATS[element][2]
    for k in range(inputs):
        assumed = k % 2 == 0 or bound["of_terms"] is None
        try:
            own = [random_input(rng, element, low, high) for _ in range(count)]
            if not assumed:
                # Of every size up to the largest.
                scale = everywhere * Fraction(2) ** -rng.choice([0, 0, 1, 8, 20, 60, 126, 140, 149])
                own = [nearest(scale * Fraction(rng.randrange(-1000, 1001), 1000), element) for _ in range(count)]
        except NotFinite:
            continue
        wrong = judge(bound, ops, own, assumed, rng)
        if wrong:
            shown = ", ".join(repr(float(x)) for x in own)
            return f"{wrong}\nx = [{shown}] in {span[0]}..{span[1]}, bound {bound}\n{text}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volta")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--inputs", type=int, default=24)
    args = parser.parse_args()
    found: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(args.count):
            text = one(args.volta, random.Random(f"{args.seed}/{k}"), args.inputs, Path(folder), found)
            if text:
                wrong += 1
                print(f"kernel {args.seed}/{k}: {text}", flush=True)
    print(f"{args.count} kernels, {wrong} wrong;", ", ".join(f"{k}: {n}" for k, n in sorted(found.items())))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
