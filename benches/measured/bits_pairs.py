#!/usr/bin/env python3
"""Attacks `check --bits` with drawn pairs: straight-line kernels, and the same with some steps spelled otherwise.

    python3 benches/measured/bits_pairs.py VOLTA [--pairs 300] [--seed 1] [--only NAME] [--keep DIR]

--only takes a step, such as `sub`; --keep leaves the files, and prints pairs that are alike and stay open.

A step has one spelling in the reference and, for some steps, another in the twin: one that keeps all bits ("same") or one that does not
("other"). Both are executed by `volta run` on many inputs: numbers of many magnitudes, zeros of both signs, subnormals and the ends of
the formats in the float arrays, any bits in the array of words. An error is a pair that is `equivalent` and has other bits, one that is
`not-equivalent` without a true witness, and threads of one code with different verdicts. What is right and left `unknown` is counted
by spelling. Needs numpy.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

THREADS = 4
MANY = 256
ROUNDS = 3
#: Numbers of f32, f16, bf16 and words that a thread reads.
READ = {"f": 3, "h": 2, "g": 2, "w": 1}
BITS = {"f": 32, "h": 16, "g": 16, "r": 32, "d": 64}
PTX = {"f": "f32", "h": "f16", "g": "bf16", "d": "f64"}


class Text:
    """A kernel under construction: registers by type, and lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def new(self, kind: str) -> str:
        self.count += 1
        return f"%{'p' if kind == 'p' else 'b' + str(BITS[kind]) + '_'}{self.count}"

    def op(self, kind: str, text: str, *of: str) -> str:
        d = self.new(kind)
        self.lines.append(f"{text} {', '.join((d, *of))};")
        return d


def sign(kind: str) -> str:
    return {32: "0x80000000", 16: "0x8000"}[BITS[kind]]


def low(kind: str) -> str:
    return {32: "0x7fffffff", 16: "0x7fff"}[BITS[kind]]


def num(kind: str, x: str) -> str:
    """A constant of a format."""
    value = {"0": 0.0, "-0": -0.0, "1": 1.0, "-1": -1.0, "2": 2.0, "inf": numpy.inf, "-inf": -numpy.inf, "3": 3.0}[x]
    if kind == "f":
        return f"0f{numpy.float32(value).view('u4'):08X}"
    if kind == "d":
        return f"0d{numpy.float64(value).view('u8'):016X}"
    if kind == "h":
        return f"0x{numpy.float16(value).view('u2'):04x}"
    return f"0x{int(numpy.float32(value).view('u4')) >> 16:04x}"


def const(t: Text, kind: str, x: str) -> str:
    return t.op(kind, f"mov.b{BITS[kind]}" if kind in "hgr" else f"mov.{PTX[kind]}", num(kind, x))


def arith(op: str, mods: str = ".rn"):
    def emit(t, kind, *of):
        return t.op(kind, f"{op}{mods}.{PTX[kind]}", *of)

    return emit


def bit(op: str, mask):
    return lambda t, kind, x: t.op(kind, f"{op}.b{BITS[kind]}", x, mask(kind))


def with_const(op: str, x: str, mods: str = ".rn", first: bool = False):
    def emit(t, kind, a):
        c = const(t, kind, x)
        return t.op(kind, f"{op}{mods}.{PTX[kind]}", *((c, a) if first else (a, c)))

    return emit


def swap(op: str, mods: str = ".rn"):
    return lambda t, kind, a, b, *rest: t.op(kind, f"{op}{mods}.{PTX[kind]}", b, a, *rest)


def neg(t, kind, x):
    return t.op(kind, f"neg.{PTX[kind]}", x)


def mov(t, kind, x):
    return t.op(kind, f"mov.b{BITS[kind]}", x)


def copysign_bits(t, kind, a, b):
    w = f"b{BITS[kind]}"
    s, m = t.op(kind, f"and.{w}", a, sign(kind)), t.op(kind, f"and.{w}", b, low(kind))
    return t.op(kind, f"or.{w}", s, m)


def compare(t, a, b, how="lt"):
    return t.op("p", f"setp.{how}.f32", a, b)


def chosen(t, kind, a, b, c, d):
    return t.op(kind, f"selp.b{BITS[kind]}", c, d, compare(t, a, b))


def chosen_turned(t, kind, a, b, c, d):
    return t.op(kind, f"selp.b{BITS[kind]}", d, c, compare(t, a, b, "geu"))


def chosen_mask(t, kind, a, b, c, d):
    w = f"b{BITS[kind]}"
    m = t.op("f", "selp.b32", "-1", "0", compare(t, a, b))
    n = t.op("f", "not.b32", m)
    return t.op(kind, f"or.{w}", t.op(kind, f"and.{w}", c, m), t.op(kind, f"and.{w}", d, n))


def chosen_xor(t, kind, a, b, c, d):
    w = f"b{BITS[kind]}"
    m = t.op("f", "selp.b32", "-1", "0", compare(t, a, b))
    x = t.op(kind, f"and.{w}", t.op(kind, f"xor.{w}", c, d), m)
    return t.op(kind, f"xor.{w}", x, d)


def chosen_wrong(t, kind, a, b, c, d):
    return t.op(kind, f"selp.b{BITS[kind]}", d, c, compare(t, a, b, "ge"))


def widen_shl(t, kind, g):
    return t.op("f", "shl.b32", t.op("f", "cvt.u32.u16", g), "16")


def widen_mov(t, kind, g):
    d, z = t.new("f"), t.op("g", "mov.b16", "0")
    t.lines.append(f"mov.b32 {d}, {{{z}, {g}}};")
    return d


def widen_prmt(t, kind, g):
    return t.op("f", "prmt.b32", t.op("f", "cvt.u32.u16", g), "0", "0x1044")


def packed(t, a, b):
    d = t.new("f")
    t.lines.append(f"mov.b32 {d}, {{{a}, {b}}};")
    return d


def half(t, kind, x, i):
    ab = [t.new(kind), t.new(kind)]
    t.lines.append(f"mov.b32 {{{ab[0]}, {ab[1]}}}, {x};")
    return ab[i]


def widen_and(t, kind, g):
    return t.op("f", "and.b32", packed(t, g, g), "0xffff0000")


def x2(op: str, mods: str = ".rn"):
    """By the instruction of two halves, the operand beside itself."""

    def emit(t, kind, *of):
        both = [packed(t, a, b) for a, b in zip(of, of[1:] + of[:1])]
        return half(t, kind, t.op("f", f"{op}{mods}.{PTX[kind]}x2", *both), 0)

    return emit


def x2_bits(op: str, mask: str):
    return lambda t, kind, x: half(t, kind, t.op("f", f"{op}.b32", packed(t, x, x), mask), 1)


def twice(op: str):
    """In f32, rounded back."""

    def emit(t, kind, *of):
        wide = [t.op("f", f"cvt.f32.{PTX[kind]}", x) for x in of]
        return t.op(kind, f"cvt.rn.{PTX[kind]}.f32", t.op("f", f"{op}.rn.f32", *wide))

    return emit


def chain(*steps):
    def emit(t, kind, *of):
        for s in steps:
            of = (s(t, kind, *of),)
        return of[0]

    return emit


def larger(op, turned=neg):
    return lambda t, kind, x: t.op(kind, f"{op}.{PTX[kind]}", x, turned(t, kind, x))


def grouped(op: str, mods: str = ".rn"):
    return lambda t, kind, a, b, c: arith(op, mods)(t, kind, a, arith(op, mods)(t, kind, b, c))


def apart(t, kind, a, b, c):
    return arith("add")(t, kind, arith("mul")(t, kind, a, b), c)


def difference(t, kind, a, b):
    return arith("add")(t, kind, a, neg(t, kind, b))


def self_minus(t, kind, x):
    return arith("sub")(t, kind, x, x)


#: name: (types, operand types, reference, {twin: (label, spelling)}); `=` is the type of the result.
STEPS = {
    "neg": ("fhg", "=", neg, {
        "xor": ("same", bit("xor", sign)), "mul-1": ("same", with_const("mul", "-1")),
        "from -0": ("same", with_const("sub", "-0", first=True)), "from 0": ("other", with_const("sub", "0", first=True)),
        "fma -1": ("same", lambda t, k, x: t.op(k, f"fma.rn.{PTX[k]}", x, const(t, k, "-1"), const(t, k, "-0")))}),
    "neg16": ("hg", "=", neg, {"x2": ("same", x2("neg", "")), "xor x2": ("same", x2_bits("xor", "0x80008000"))}),
    "abs": ("fhg", "=", arith("abs", ""), {
        "and": ("same", bit("and", low)), "max": ("same", larger("max")), "abs neg": ("same", chain(neg, arith("abs", ""))),
        "neg max": ("other", larger("max", with_const("sub", "1", first=True)))}),
    "abs16": ("hg", "=", arith("abs", ""), {"x2": ("same", x2("abs", "")), "and x2": ("same", x2_bits("and", "0x7fff7fff"))}),
    "nabs": ("fhg", "=", chain(arith("abs", ""), neg), {"or": ("same", bit("or", sign)), "min": ("same", larger("min"))}),
    "copysign": ("f", "==", arith("copysign", ""), {"bits": ("same", copysign_bits), "swapped": ("other", swap("copysign", ""))}),
    "same": ("fhg", "=", mov, {
        "add -0": ("same", with_const("add", "-0")), "mul 1": ("same", with_const("mul", "1")), "sub 0": ("same", with_const("sub", "0")),
        "fma": ("same", lambda t, k, x: t.op(k, f"fma.rn.{PTX[k]}", x, const(t, k, "1"), const(t, k, "-0"))),
        "max -inf": ("finite", with_const("max", "-inf", "")), "min inf": ("finite", with_const("min", "inf", "")),
        "max.nan -inf": ("same", with_const("max", "-inf", ".NaN")), "max inf": ("other", with_const("max", "inf", "")),
        "add 0": ("other", with_const("add", "0")), "mul 0": ("other", with_const("mul", "0")),
        "xor twice": ("same", chain(bit("xor", sign), neg))}),
    "same32": ("f", "=", mov, {
        "ftz": ("other", with_const("mul", "1", ".rn.ftz")), "add.rz -0": ("same", with_const("add", "-0", ".rz")),
        "add.rm -0": ("other", with_const("add", "-0", ".rm")), "add.rm 0": ("same", with_const("add", "0", ".rm")),
        "mul.rz 1": ("same", with_const("mul", "1", ".rz")), "max.ftz": ("other", with_const("max", "-inf", ".ftz"))}),
    "zero": ("fhg", "=", lambda t, k, x: const(t, k, "0"), {
        "x-x": ("finite", self_minus), "x*0": ("other", with_const("mul", "0")),
        "x+-x": ("finite", lambda t, k, x: arith("add")(t, k, x, neg(t, k, x)))}),
    "zero32": ("f", "=", lambda t, k, x: const(t, k, "0"), {
        "rz": ("finite", lambda t, k, x: t.op(k, "sub.rz.f32", x, x)), "rm": ("other", lambda t, k, x: t.op(k, "sub.rm.f32", x, x)),
        "ftz": ("finite", lambda t, k, x: t.op(k, "sub.rn.ftz.f32", x, x))}),
    "widen": ("f", "g", lambda t, k, g: t.op("f", "cvt.f32.bf16", g), {
        "shl": ("same", widen_shl), "mov": ("same", widen_mov), "prmt": ("same", widen_prmt), "and": ("same", widen_and),
        "wrong": ("other", lambda t, k, g: t.op("f", "shl.b32", packed(t, g, g), "15"))}),
    "widen neg": ("f", "g", lambda t, k, g: neg(t, "f", t.op("f", "cvt.f32.bf16", g)), {
        "inside": ("same", lambda t, k, g: t.op("f", "cvt.f32.bf16", neg(t, "g", g))),
        "xor": ("same", lambda t, k, g: bit("xor", sign)(t, "f", widen_shl(t, k, g)))}),
    "widen neg16": ("f", "h", lambda t, k, h: neg(t, "f", t.op("f", "cvt.f32.f16", h)), {
        "inside": ("same", lambda t, k, h: t.op("f", "cvt.f32.f16", neg(t, "h", h))),
        "xor": ("same", lambda t, k, h: t.op("f", "cvt.f32.f16", bit("xor", sign)(t, "h", h)))}),
    "narrow": ("hg", "f", lambda t, k, x: t.op(k, f"cvt.rn.{PTX[k]}.f32", x), {
        "rz": ("other", lambda t, k, x: t.op(k, f"cvt.rz.{PTX[k]}.f32", x)),
        "neg": ("same", lambda t, k, x: neg(t, k, t.op(k, f"cvt.rn.{PTX[k]}.f32", neg(t, "f", x))))}),
    "add": ("fhg", "==", arith("add"), {"swap": ("same", swap("add")), "sub neg": ("same", lambda t, k, a, b: arith("sub")(t, k, a, neg(t, k, b)))}),
    "sub": ("fhg", "==", arith("sub"), {
        "add neg": ("same", difference), "fma": ("same", lambda t, k, a, b: t.op(k, f"fma.rn.{PTX[k]}", b, const(t, k, "-1"), a)), "turned": ("other", lambda t, k, a, b: neg(t, k, arith("sub")(t, k, b, a)))}),
    "mul": ("fhg", "==", arith("mul"), {
        "swap": ("same", swap("mul")), "negs": ("same", lambda t, k, a, b: arith("mul")(t, k, neg(t, k, b), neg(t, k, a))),
        "neg out": ("same", lambda t, k, a, b: neg(t, k, arith("mul")(t, k, neg(t, k, a), b))),
        "xor in": ("same", lambda t, k, a, b: neg(t, k, arith("mul")(t, k, a, bit("xor", sign)(t, k, b)))),
        "fma": ("same", lambda t, k, a, b: t.op(k, f"fma.rn.{PTX[k]}", b, a, const(t, k, "-0"))),
        "fma 0": ("other", lambda t, k, a, b: t.op(k, f"fma.rn.{PTX[k]}", b, a, const(t, k, "0")))}),
    "mul32": ("f", "==", arith("mul"), {"rz": ("other", arith("mul", ".rz")), "ftz": ("other", arith("mul", ".rn.ftz"))}),
    "half": ("hg", "==", arith("add"), {"x2": ("same", x2("add")), "twice": ("same", twice("add")), "rounded": ("other", lambda t, k, a, b: t.op(
        k, f"cvt.rz.{PTX[k]}.f32", t.op("f", "add.rn.f32", *(t.op("f", f"cvt.f32.{PTX[k]}", x) for x in (a, b)))))}),
    "sum": ("fhg", "===", lambda t, k, a, b, c: arith("add")(t, k, arith("add")(t, k, a, b), c), {"grouped": ("other", grouped("add"))}),
    "fma": ("fhg", "===", arith("fma"), {
        "swap": ("same", swap("fma")), "apart": ("other", apart), "negs": ("same", lambda t, k, a, b, c: arith("fma")(t, k, neg(t, k, b), neg(t, k, a), c)),
        "neg out": ("other", lambda t, k, a, b, c: neg(t, k, arith("fma")(t, k, neg(t, k, a), b, neg(t, k, c))))}),
    "max": ("fhg", "==", arith("max", ""), {
        "swap": ("same", swap("max", "")), "negs": ("same", lambda t, k, a, b: neg(t, k, t.op(k, f"min.{PTX[k]}", neg(t, k, a), neg(t, k, b)))),
        "nan": ("finite", arith("max", ".NaN")), "twice": ("same", lambda t, k, a, b: arith("max", "")(t, k, b, arith("max", "")(t, k, a, b))),
        "min": ("other", arith("min", ""))}),
    "max3": ("fhg", "===", lambda t, k, a, b, c: arith("max", "")(t, k, arith("max", "")(t, k, a, b), c), {"grouped": ("same", grouped("max", ""))}),
    "select": ("fhg", "ff==", chosen, {"turned": ("same", chosen_turned), "wrong": ("other", chosen_wrong)}),
    "select32": ("f", "ff==", chosen, {"mask": ("same", chosen_mask), "xor": ("same", chosen_xor)}),
    "size": ("f", "==", lambda t, k, a, b: arith("abs", "")(t, k, arith("sub")(t, k, a, b)), {
        "turned": ("same", lambda t, k, a, b: arith("abs", "")(t, k, arith("sub")(t, k, b, a)))}),
    "size0": ("f", "=", lambda t, k, a: arith("abs", "")(t, k, a), {"plus 0": ("same", chain(with_const("add", "0"), arith("abs", "")))}),
}


def draw(dice: random.Random, only: str) -> list:
    """Steps: name, type, operands as numbers of values; values are read ones first."""
    have = [k for k, n in READ.items() if k != "w" for _ in range(n)] + ["f"]
    steps = []
    for _ in range(dice.randint(1, 6)):
        name = only if only in STEPS and dice.random() < 0.5 else dice.choice(list(STEPS))
        kind = dice.choice(STEPS[name][0])
        of = [kind if k == "=" else k for k in STEPS[name][1]]
        operands = []
        for k in of:
            fitting = [i for i, h in enumerate(have) if h == k]
            operands.append(dice.choice(fitting[-4:] if dice.random() < 0.6 else fitting))
        steps.append((name, kind, operands))
        have.append(kind)
    return steps


def kernel(steps: list, twins: dict[int, str], end: str, junk: int, dice: random.Random, mirror: bool = False) -> str:
    t = Text()
    values = []
    size = {"f": 4, "h": 2, "g": 2, "w": 4}
    for i in range(junk):
        a = t.op("f", "mov.f32", f"0f{dice.getrandbits(32) & 0x7f7fffff:08X}")
        x = t.op("f", "ld.global.b32", f"[%rf+{4 * dice.randrange(3)}]")
        t.lines.append(f"st.global.b32 [%rj+{4 * i}], {t.op('f', dice.choice(('add.rn.f32', 'mul.rn.f32', 'xor.b32', 'max.f32')), x, a)};")
    for k, n in READ.items():
        for i in range(n):
            values.append(t.op("f" if k == "w" else k, f"ld.global.b{8 * size[k]}", f"[%r{k}+{size[k] * i}]"))
    for i, (name, kind, of) in enumerate(steps):
        spelling = STEPS[name][3][twins[i]][1] if i in twins else STEPS[name][2]
        values.append(spelling(t, kind, *(values[j] for j in of)))
    kind = steps[-1][1]
    out = values[-1]
    if kind in "hg":
        out = packed(t, out, out) if end == "u32" else t.op("f", f"cvt.f32.{PTX[kind]}", out)
    lines = [
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pf, .param .u64 ph, .param .u64 pg, .param .u64 pw,"
        " .param .u64 py, .param .u64 pj)\n{",
        f".reg .pred %p<{t.count + 1}>;\n.reg .b16 %b16_<{t.count + 1}>;\n.reg .b32 %b32_<{t.count + 1}>;\n.reg .b32 %t;\n.reg .b64 %a, %rf, %rh, %rg, %rw, %ry, %rj;",
        "mov.u32 %t, %tid.x;",
        *(["sub.u32 %t, 3, %t;"] if mirror else []),
    ]
    for k, stride in (*((k, size[k] * n) for k, n in READ.items()), ("y", 4), ("j", 4 * 4)):
        lines += [f"ld.param.u64 %r{k}, [p{k}];", f"mul.wide.u32 %a, %t, {stride};", f"add.u64 %r{k}, %r{k}, %a;"]
    return "\n".join((*lines, *t.lines, f"st.global.b32 [%ry], {out};", "ret;\n}\n"))


def renamed(text: str) -> str:
    """With other names of parameters."""
    return re.sub(r"\bp([fhgwyj])\b", r"p\1_of_\1", text)


def judged(volta: str, pair: list[Path], end: str, by_other_names: bool = False) -> dict:
    command = [volta, "check", "--bits", "--json", "--threads", str(THREADS), *map(str, pair)]
    for p, text in arrays(THREADS, end).items():
        command += ["--arg", f"{renamed(p) if by_other_names else p}={text}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    if "verdict" not in report:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}")
    return report


def reordered(volta: str, steps: list, twins: dict, end: str, folder: Path, dice: random.Random) -> list[str]:
    """Verdicts of the same pair, exchanged, behind other computations, with other threads, and by other names."""
    files = [folder / "c.ptx", folder / "d.ptx"]
    found = []
    for junk, mirror, turned, name in [((0, 0), 0, 1, 0), ((4, 0), 0, 0, 0), ((1, 3), 1, 0, 0), ((0, 2), 0, 1, 1)]:
        for file, how, count in zip(files, ({}, twins), junk):
            text = kernel(steps, how, end, count, dice, bool(mirror))
            file.write_text(renamed(text) if name else text)
        pair = files[::-1] if turned else files
        found.append(judged(volta, pair, end, bool(name))["verdict"])
    return found


def arrays(n: int, end: str) -> dict[str, str]:
    kinds = {"pf": "in:f32", "ph": "in:f16", "pg": "in:bf16", "pw": "in:u32"}
    found = {p: f"{k}[{READ[p[1]] * n}]" for p, k in kinds.items()}
    return found | {"py": f"out:{end}[{n}]", "pj": f"scratch:f32[{4 * n}]"}


def numbers(kind: str, count: int, seed: int, dice) -> numpy.ndarray:
    """Finite numbers; of words any bits."""
    bits = 32 if kind in "fw" else 16
    raw = dice.integers(0, 1 << bits, count, dtype="u8")
    if kind == "w":
        special = numpy.array([0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x80000000, 0, 1, 0x80000001, 0x3F800000], "u8")
        raw = numpy.where(dice.random(count) < 0.5, dice.choice(special, count), raw)
        return raw.astype("u4")
    digits = {"f": 23, "h": 10, "g": 7}[kind]
    top = (1 << (bits - 1 - digits)) - 1
    one = (top >> 1) << digits
    ends = numpy.array([0, 1, 2, 1 << digits, (top << digits) - 1, one, one + 1, one | 1 << (digits - 1)], "u8")
    ends = numpy.concatenate([ends, ends | 1 << (bits - 1)])
    near = (raw & ((1 << digits) - 1)) | (raw & 1 << (bits - 1)) | (numpy.uint64(top >> 1) + (raw >> 5 & 3)) << numpy.uint64(digits)
    small = raw & ((1 << (bits - 1)) | ((1 << digits) - 1))
    pick = dice.random(count)
    raw = numpy.where(pick < 0.3, dice.choice(ends, count), numpy.where(pick < 0.6, near, numpy.where(pick < 0.7, small, raw)))
    raw = numpy.where((raw >> digits & top) == top, ends[5], raw)
    return raw.astype(f"u{bits // 8}")


def run(volta: str, file: Path, end: str, folder: Path, given: dict[str, Path], n: int) -> numpy.ndarray | None:
    command = [volta, "run", str(file), "--threads", str(n)]
    for p, text in arrays(n, end).items():
        command += ["--arg", f"{p}={text}" + (f"=@{given[p]}" if p in given else "")]
    out = folder / "out.npy"
    done = subprocess.run([*command, "--save", f"py={out}"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout} {done.stderr}")
    return numpy.load(out)


def alike(a: numpy.ndarray, b: numpy.ndarray, end: str) -> bool:
    x, y = a.view("u4"), b.view("u4")
    same = x == y
    if end == "f32":
        same |= numpy.isnan(a.view("f4")) & numpy.isnan(b.view("f4"))
    return bool(same.all())


def witness(report: dict, n: int, folder: Path) -> dict[str, Path]:
    """The inputs of a counterexample, as files."""
    given = {}
    for p, text in arrays(n, "f32").items():
        kind, count = text.split("[")[0], int(re.search(r"\[(\d+)\]", text)[1])
        if not kind.startswith("in"):
            continue
        values = numpy.zeros(count, "u4" if kind.endswith("32") else "u2")
        for v in report["counterexample"]["inputs"].get(p, []):
            values[v["element"][0]] = v["value"]["bits"]
        given[p] = save(folder, p, values)
    return given


def save(folder: Path, p: str, values: numpy.ndarray) -> Path:
    file = folder / f"{p}.npy"
    numpy.save(file, values.view({"pf": "f4", "ph": "f2"}.get(p, values.dtype)))
    return file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("volta")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    verdicts: collections.Counter = collections.Counter()
    opened: collections.Counter = collections.Counter()
    proved: collections.Counter = collections.Counter()
    errors = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        for n in range(options.pairs):
            dice = random.Random(options.seed * 1_000_003 + n)
            steps = draw(dice, options.only)
            ways = [i for i, s in enumerate(steps) if not options.only or s[0] == options.only]
            if not ways:
                continue
            chosen_steps = dice.sample(ways, min(len(ways), dice.choice((1, 1, 2, 3))))
            twins = {i: dice.choice(list(STEPS[steps[i][0]][3])) for i in chosen_steps}
            end = dice.choice(("f32", "f32", "u32"))
            a, b = folder / f"a{n}.ptx", folder / f"b{n}.ptx"
            a.write_text(kernel(steps, {}, end, 0, dice))
            b.write_text(kernel(steps, twins, end, 0, dice))
            report = judged(options.volta, [a, b], end)
            verdict = report["verdict"]
            names = [f"{steps[i][0]}/{twins[i]} {steps[i][1]}" for i in twins]
            labels = {STEPS[steps[i][0]][3][twins[i]][0] for i in twins}
            differ = False
            numbers_dice = numpy.random.default_rng(options.seed * 7919 + n)
            for seed in range(ROUNDS):
                given = {f"p{k}": save(folder, f"p{k}", numbers(k, c * MANY, seed, numbers_dice)) for k, c in READ.items()}
                if not alike(*(run(options.volta, f, end, folder, given, MANY) for f in (a, b)), end):
                    differ = True
                    break
            wrong = ""
            if verdict == "equivalent" and differ:
                wrong = "equivalent, and other bits"
            if verdict == "not-equivalent":
                given = witness(report, THREADS, folder)
                if alike(*(run(options.volta, f, end, folder, given, THREADS) for f in (a, b)), end):
                    wrong = "the witness shows nothing"
            done_of = [(o["elements"], o["proved"]) for o in report["outputs"] if o["name"] == "py"]
            if verdict == "unknown" and any(0 < p < e for e, p in done_of):
                wrong = f"threads of one code: {done_of}"
            if n % 4 == 0 and verdict != "not-equivalent":
                others = reordered(options.volta, steps, twins, end, folder, dice)
                # A search for an input may find one where another finds none; a proof is one in every order.
                if any((v == "equivalent") != (verdict == "equivalent") for v in others):
                    wrong = f"{verdict}, and in other orders {others}"
            verdicts[verdict, "differ" if differ else "alike", "/".join(sorted(labels))] += 1
            if verdict == "unknown" and not differ:
                for name in names:
                    opened[name, end] += 1
            if verdict == "equivalent":
                for name in names:
                    proved[name, end] += 1
            if wrong:
                errors += 1
                print(f"WRONG {n}: {wrong}: {names} {end}", flush=True)
            elif options.keep and verdict == "unknown" and not differ and "other" not in labels:
                print(f"open {n}: {names} {end} {labels}", flush=True)
    for key, count in sorted(verdicts.items()):
        print(count, *key)
    print("open though alike:", ", ".join(f"{k[0]} {k[1]} {c} (proved {proved[k]})" for k, c in opened.most_common()))
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
