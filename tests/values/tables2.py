"""Comparisons, moves, conversions and floats."""
import itertools
from fractions import Fraction

import model as m
from tables import ALL, Open, add, file, reg, values

ICMP = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
BOOL = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
FCMP = list(ICMP) + ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]

F16 = [0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 1, 0x8001, 0x03ff, 0x0400]
BF16 = [0, 0x8000, 0x3f80, 0xbf80, 0x4000, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 1, 0x8001, 0x007f, 0x0080]
F32 = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 1, 0x80000001, 0x7fffff,
       0x800000, 0x4b000001]
F64 = [0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x400921fb54442d18, 0x7fefffffffffffff, 0x7ff0000000000000,
       0xfff0000000000000, 0x7ff8000000000000, 1, (1 << 63) + 1, 0x000fffffffffffff, 0x0010000000000000]
FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


def finite(f, w=None):
    return [x for x in FLOATS[f] if m.decode(x, f) not in (m.NAN, m.INF, m.NINF)]


def mask(f):
    """`~` where an operand is NaN: volta need not say what becomes of it."""
    return lambda *xs: any(m.decode(x, f) == m.NAN for x in xs)


file("compare", "Comparison and selection: PTX ISA 9.0, sections 9.7.6 and 9.7.7.")
for t in ALL + ["b16", "b32", "b64"]:
    w, r = m.bits(t), reg(m.bits(t))
    names = ["eq", "ne"] if t[0] == "b" else list(ICMP) + (list(UNSIGNED) if t[0] == "u" else [])
    for cmp in names:
        fn = ICMP[UNSIGNED.get(cmp, cmp)]
        kind = t.replace("b", "u")
        add(f"setp.{cmp}.{t} %p0|%p1, %{r}1, %{r}2;", "%p0 %p1", f"%{r}1 %{r}2", [values(w)[:5]] * 2,
            lambda a, b, fn=fn, t=kind: (int(fn(m.num(a, t), m.num(b, t))), int(not fn(m.num(a, t), m.num(b, t)))), most=16)
for op, fn in BOOL.items():
    for neg in ("", "!"):
        def both(a, b, c, fn=fn, neg=neg):
            t, c = int(m.signed(a, 32) < m.signed(b, 32)), c ^ (neg == "!")
            return fn(t, c), fn(1 - t, c)
        add(f"setp.lt.{op}.s32 %p0|%p1, %r1, %r2, {neg}%p2;", "%p0 %p1", "%r1 %r2 %p2", [[0, 5, 0xffffffff], [0, 5], [0, 1]], both)
    for d, yes in (("u32", 0xffffffff), ("s32", 0xffffffff), ("f32", 0x3f800000)):
        add(f"set.ge.{op}.{d}.s32 %r0, %r1, %r2, %p2;", "%r0", "%r1 %r2 %p2", [[0, 5, 0xffffffff], [0, 5], [0, 1]],
            lambda a, b, c, fn=fn, yes=yes: yes * fn(int(m.signed(a, 32) >= m.signed(b, 32)), c))
for t in ALL + ["b32"]:
    w, r = m.bits(t), reg(m.bits(t))
    for cmp in ["eq", "ne"] if t[0] == "b" else ["lt", "ge"]:
        add(f"set.{cmp}.u32.{t} %r0, %{r}1, %{r}2;", "%r0", f"%{r}1 %{r}2", [values(w)[:5]] * 2,
            lambda a, b, fn=ICMP[cmp], t=t.replace("b", "u"): 0xffffffff * fn(m.num(a, t), m.num(b, t)), most=12)
for f, list_ in FLOATS.items():
    w, r = m.fwidth(f), reg(m.fwidth(f))
    for cmp in FCMP:
        def both(a, b, f=f, cmp=cmp):
            t = int(m.compare(cmp, m.decode(a, f), m.decode(b, f)))
            return t, 1 - t
        # Two destinations are for 32 and 64 bits only, as ptxas has it.
        if w == 16:
            add(f"setp.{cmp}.{f} %p0, %h1, %h2;", "%p0", "%h1 %h2", [list_] * 2, lambda a, b, g=both: g(a, b)[0], most=28)
        else:
            add(f"setp.{cmp}.{f} %p0|%p1, %{r}1, %{r}2;", "%p0 %p1", f"%{r}1 %{r}2", [list_] * 2, both, most=28)
    for d, yes in (("u32", 0xffffffff), ("f32", 0x3f800000)) if f in ("f32", "f64") else ():
        for cmp in ("lt", "geu"):
            add(f"set.{cmp}.{d}.{f} %r0, %{r}1, %{r}2;", "%r0", f"%{r}1 %{r}2", [list_] * 2,
                lambda a, b, f=f, cmp=cmp, yes=yes: yes * m.compare(cmp, m.decode(a, f), m.decode(b, f)), most=16)
for f in ("f16", "bf16"):
    one = 0x3c00 if f == "f16" else 0x3f80
    pairs = [a << 16 | b for a, b in zip(FLOATS[f], FLOATS[f][3:] + FLOATS[f][:3])]
    for cmp in ("lt", "ge", "ne", "gtu"):
        def halves(a, b, f=f, cmp=cmp):
            return [int(m.compare(cmp, m.decode(a >> s & 0xffff, f), m.decode(b >> s & 0xffff, f))) for s in (0, 16)]
        add(f"setp.{cmp}.{f}x2 %p0|%p1, %r1, %r2;", "%p0 %p1", "%r1 %r2", [pairs] * 2, lambda a, b, g=halves: tuple(g(a, b)), most=24)
        add(f"set.{cmp}.{f}x2.{f}x2 %r0, %r1, %r2;", "%r0", "%r1 %r2", [pairs] * 2,
            lambda a, b, g=halves, one=one: g(a, b)[1] * one << 16 | g(a, b)[0] * one, most=16)
        add(f"set.{cmp}.u32.{f}x2 %r0, %r1, %r2;", "%r0", "%r1 %r2", [pairs] * 2,
            lambda a, b, g=halves: g(a, b)[1] * 0xffff << 16 | g(a, b)[0] * 0xffff, most=16)
    def flagged(a, b, c, f=f):
        t = [int(m.compare("lt", m.decode(a >> s & 0xffff, f), m.decode(b >> s & 0xffff, f))) for s in (0, 16)]
        return t[0] & c, t[1] & c
    add(f"setp.lt.and.{f}x2 %p0|%p1, %r1, %r2, %p2;", "%p0 %p1", "%r1 %r2 %p2", [pairs[:5], pairs[:5], [0, 1]], flagged, most=16)
    for d, yes in (("u16", 0xffff), ("s16", 0xffff), (f, one)):
        add(f"set.le.{d}.{f} %h0, %h1, %h2;", "%h0", "%h1 %h2", [FLOATS[f]] * 2,
            lambda a, b, f=f, yes=yes: yes * m.compare("le", m.decode(a, f), m.decode(b, f)), most=16)
for w in (16, 32, 64):
    r = reg(w)
    for t in ("b", "u", "s") + (("f",) if w > 16 else ()):
        add(f"selp.{t}{w} %{r}0, %{r}1, %{r}2, %p1;", f"%{r}0", f"%{r}1 %{r}2 %p1", [values(w)[4:], values(w)[:2], [0, 1]],
            lambda a, b, p: a if p else b, most=8)
        add(f"slct.{t}{w}.s32 %{r}0, %{r}1, %{r}2, %r3;", f"%{r}0", f"%{r}1 %{r}2 %r3", [values(w)[5:], values(w)[1:3], values(32)],
            lambda a, b, c: a if m.signed(c, 32) >= 0 else b, most=12)
        add(f"slct.{t}{w}.f32 %{r}0, %{r}1, %{r}2, %r3;", f"%{r}0", f"%{r}1 %{r}2 %r3", [values(w)[5:], values(w)[1:3], F32],
            lambda a, b, c: a if m.decode(c, "f32") != m.NAN and m.compare("ge", m.decode(c, "f32"), Fraction(0)) else b, most=28)
TESTS = {
    "finite": lambda x, f: m.decode(x, f) not in (m.NAN, m.INF, m.NINF), "infinite": lambda x, f: m.decode(x, f) in (m.INF, m.NINF),
    "number": lambda x, f: m.decode(x, f) != m.NAN, "notanumber": lambda x, f: m.decode(x, f) == m.NAN,
}
for f in ("f32", "f64"):
    r = reg(m.fwidth(f))
    least = m.decode(FLOATS[f][12], f)
    for name, fn in TESTS.items():
        add(f"testp.{name}.{f} %p0, %{r}1;", "%p0", f"%{r}1", [FLOATS[f]], lambda a, fn=fn, f=f: int(fn(a, f)))
    kind = lambda a, f: None if m.decode(a, f) in (m.NAN, m.INF, m.NINF) else abs(m.decode(a, f))
    add(f"testp.subnormal.{f} %p0, %{r}1;", "%p0", f"%{r}1", [FLOATS[f]],
        lambda a, f=f, least=least: int(kind(a, f) is not None and 0 < kind(a, f) < least))
    add(f"testp.normal.{f} %p0, %{r}1;", "%p0", f"%{r}1", [FLOATS[f]],
        lambda a, f=f, least=least: int(kind(a, f) is not None and (kind(a, f) >= least or kind(a, f) == 0)))

file("move", "Moves, packing and unpacking, loads and stores of parts: PTX ISA 9.0, sections 9.7.9.3, 9.7.9.4, 9.7.9.8 and 9.7.9.11.")
for w in (16, 32, 64):
    r = reg(w)
    add(f"mov.b{w} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [values(w)], lambda a: a)
add("mov.pred %p0, %p1;", "%p0", "%p1", [[0, 1]], lambda a: a)
add("mov.b32 %r0, {%h1, %h2};", "%r0", "%h1 %h2", [values(16)] * 2, lambda a, b: b << 16 | a, most=12)
add("mov.b64 %l0, {%r1, %r2};", "%l0", "%r1 %r2", [values(32)] * 2, lambda a, b: b << 32 | a, most=12)
add("mov.b64 %l0, {%h1, %h2, %h3, %h4};", "%l0", "%h1 %h2 %h3 %h4", [values(16)] * 4,
    lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a, most=12)
add("mov.b32 {%h0, %h1}, %r1;", "%h0 %h1", "%r1", [values(32)], lambda a: (a & 0xffff, a >> 16))
add("mov.b64 {%r0, %r1}, %l1;", "%r0 %r1", "%l1", [values(64)], lambda a: (m.low(a, 32), a >> 32))
add("mov.b64 {_, %r1}, %l1;", "%r1", "%l1", [values(64)], lambda a: a >> 32)
add("mov.b64 {%h0, %h1, %h2, %h3}, %l1;", "%h0 %h1 %h2 %h3", "%l1", [values(64)], lambda a: tuple(a >> s & 0xffff for s in (0, 16, 32, 48)))
for size in (8, 16, 32):
    for s in "bus":
        for w in (16, 32, 64):
            if w < size:
                continue
            r = reg(w)
            add(f"st.global.b64 [%l10], %l1; ld.global.{s}{size} %{r}0, [%l10+1];" if size == 8 else
                f"st.global.b64 [%l10], %l1; ld.global.{s}{size} %{r}0, [%l10+{size // 8}];", f"%{r}0", "%l1", [values(64)],
                lambda a, s=s, size=size, w=w: m.low(m.signed(a >> size, size) if s == "s" else m.low(a >> size, size), w),
                judged=False)
for size in (8, 16, 32):
    for w in (16, 32, 64):
        if w >= size:
            r = reg(w)
            add(f"st.global.b64 [%l10], %l1; st.global.b{size} [%l10+{size // 8}], %{r}2; ld.global.b64 %l0, [%l10];", "%l0", f"%l1 %{r}2",
                [values(64), values(w)], lambda a, b, size=size: a & ~(((1 << size) - 1) << size) | m.low(b, size) << size, most=12, judged=False)
add("st.global.v4.b16 [%l10], {%h1, %h2, %h1, %h2}; ld.global.v2.b32 {%r0, %r1}, [%l10];", "%r0 %r1", "%h1 %h2", [values(16)] * 2,
    lambda a, b: (b << 16 | a, b << 16 | a), most=8, judged=False)

file("convert", "Conversions: PTX ISA 9.0, sections 9.7.9.21 and 9.7.9.22.")
INTS = ["u8", "s8"] + ALL
# Registers of 16 bits hold 8 bits too; every destination is extended to its register.
for source, target in itertools.product(INTS, INTS):
    sw, tw = max(16, m.bits(source)), max(16, m.bits(target))
    s, t = reg(sw), reg(tw)
    ends = values(sw) + [0x7f, 0x80, 0xff, 0x100, m.low(-0x80, sw), m.low(-0x81, sw), 0x7fff]
    if sw > 16:
        ends += [0x8000, 0xffff, 0x10000, m.low(-0x8001, sw)]
    if sw > 32:
        ends += [0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, m.low(-0x80000001, sw)]
    plain = lambda a, source=source, target=target, tw=tw: m.low(m.num(m.num(a, source), target), tw)
    add(f"cvt.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [ends], plain, most=30)
    within = lambda t: (m.clamp(-(1 << 99), t), m.clamp(1 << 99, t))
    if within(target)[0] > within(source)[0] or within(target)[1] < within(source)[1]:
        add(f"cvt.sat.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [ends],
            lambda a, source=source, target=target, tw=tw: m.low(m.clamp(m.num(a, source), target), tw), most=30)
# Wider registers: the source is truncated, the result extended.
for source, target in (("u8", "u32"), ("s8", "s32"), ("s8", "u32"), ("u16", "s64"), ("s16", "u64")):
    t = reg(m.bits(target))
    add(f"cvt.{target}.{source} %{t}0, %l1;", f"%{t}0", "%l1", [values(64) + [0x80, 0x8000]],
        lambda a, source=source, target=target: m.low(m.num(a, source), m.bits(target)))
for target in ("u8", "s8", "u16", "s16"):
    add(f"cvt.{target}.u32 %r0, %r1;", "%r0", "%r1", [values(32) + [0x80, 0x18000, 0x1ff]],
        lambda a, target=target: m.low(m.num(a, target), 32))
    add(f"cvt.{target}.s32 %l0, %r1;", "%l0", "%r1", [values(32) + [0x80, 0x18000, 0x1ff]],
        lambda a, target=target: m.low(m.num(a, target), 64))


def scaled(f, xs):
    return [m.encode(Fraction(x), f)[0] for x in xs]


NEAR = [0, Fraction(1, 2), Fraction(3, 2), Fraction(5, 2), -Fraction(1, 2), -Fraction(3, 2), Fraction(7, 4), -Fraction(7, 4), Fraction(5, 4),
        127, 128, Fraction(511, 2), 256, -128, -129, -Fraction(257, 2), 32767, 32768, -32768, 65535, 65536, 1 << 31, (1 << 31) - 128, -(1 << 31),
        1 << 32, 1 << 63, -(1 << 63), 1 << 64, (1 << 64) - (1 << 40)]
for f in ("f16", "f32", "f64", "bf16"):
    r = reg(m.fwidth(f))
    inputs = list(dict.fromkeys(FLOATS[f] + scaled(f, NEAR)))
    for mode, target in itertools.product(("rni", "rzi", "rmi", "rpi"), INTS):
        if f == "bf16" and target in ("u8", "s8"):
            continue
        tw = max(16, m.bits(target))
        t = reg(tw)
        add(f"cvt.{mode}.{target}.{f} %{t}0, %{r}1;", f"%{t}0", f"%{r}1", [inputs],
            lambda a, f=f, mode=mode, target=target, tw=tw: m.low(m.num(m.float_to_int(m.decode(a, f), mode[:2], target, f), target), tw),
            most=28)
    for mode in ("rni", "rzi", "rmi", "rpi"):
        def integral(a, f=f, mode=mode):
            v = m.decode(a, f)
            if v == m.NAN:
                return Open(None)
            if v in (m.INF, m.NINF):
                return a
            return m.encode(Fraction(m.round_int(v, mode[:2])), f, zero_negative=m.negative(a, f))[0]
        add(f"cvt.{mode}.{f}.{f} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [inputs], integral, most=40)
    for mode, source in itertools.product(("rn", "rz", "rm", "rp"), INTS[2:] if f == "bf16" else INTS):
        sw = max(16, m.bits(source))
        s = reg(sw)
        ends = values(sw) + [3, 0x7f, 0x80, 0x81, 0x7ff, 0x801, 0x1001 & m.low(-1, sw)] + ([0x1000001, 0x1000003] if sw > 16 else [])

        def to_float(a, f=f, mode=mode, source=source):
            got, exact = m.encode(Fraction(m.num(a, source)), f, mode)
            return got if exact else Open(got)
        add(f"cvt.{mode}.{f}.{source} %{r}0, %{s}1;", f"%{r}0", f"%{s}1", [ends], to_float, most=20)


def narrow(source, target, mode, finite=False, relu=False, sat=False):
    def convert(a):
        v = m.decode(a, source)
        zero = m.negative(a, source)
        if v == m.NAN:
            return Open(None)
        if relu and (v == m.NINF or v not in (m.INF,) and (v < 0 or v == 0)):
            v, zero = Fraction(0), False
        if sat:
            v = Fraction(1) if v == m.INF or v != m.NINF and v > 1 else Fraction(0) if v == m.NINF or v <= 0 else v
            zero = False
        got, exact = m.encode(v, target, mode, zero_negative=zero, finite=finite)
        return got if exact else Open(got)
    return convert


PLACES = [1, Fraction(1, 3), 1 + Fraction(1, 1 << 10), 1 + Fraction(1, 1 << 11), 1 + Fraction(3, 1 << 11), 1 + Fraction(1, 1 << 8), 1 + Fraction(3, 1 << 8),
          65504, 65519, 65520, 65536, Fraction(1, 1 << 24), Fraction(1, 1 << 25), Fraction(1, 1 << 14), 448, 464, 480, 57344, 6, 7, 28, 30,
          Fraction(15, 2), 8, -1, -3, -65504, -70000, Fraction(5, 4), Fraction(1, 1 << 9), Fraction(1, 1 << 10), Fraction(1, 1 << 16)]
for source, target in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32"), ("f64", "f16")):
    s, t = reg(m.fwidth(source)), reg(m.fwidth(target))
    inputs = list(dict.fromkeys(FLOATS[source] + scaled(source, PLACES)))
    for mode in ("rn", "rz", "rm", "rp") if target != "bf16" else ("rn", "rz"):
        add(f"cvt.{mode}.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [inputs], narrow(source, target, mode), most=50)
    if source == "f32":
        for mods in ("relu", "satfinite", "relu.satfinite"):
            add(f"cvt.rn.{mods}.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [inputs],
                narrow(source, target, "rn", "satfinite" in mods, "relu" in mods), most=50)
    if target != "bf16":
        add(f"cvt.rn.sat.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [inputs], narrow(source, target, "rn", sat=True), most=50)
for source, target in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("f32", "f32"), ("f16", "f16"), ("f64", "f64")):
    s, t = reg(m.fwidth(source)), reg(m.fwidth(target))
    inputs = list(dict.fromkeys(FLOATS[source] + scaled(source, PLACES)))
    add(f"cvt.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [inputs], narrow(source, target, "rn"), most=50)
    if source != "bf16":
        add(f"cvt.sat.{target}.{source} %{t}0, %{s}1;", f"%{t}0", f"%{s}1", [inputs], narrow(source, target, "rn", sat=True), most=50)
for target in ("f16", "bf16"):
    inputs = list(dict.fromkeys(finite("f32") + scaled("f32", PLACES)))
    for mods in ("rn", "rz", "rn.relu"):
        def pair(a, b, target=target, mods=mods):
            f = narrow("f32", target, mods[:2], relu="relu" in mods)
            hi, lo = f(a), f(b)
            value = lambda x: x.value if isinstance(x, Open) else x
            both = None if None in (value(hi), value(lo)) else value(hi) << 16 | value(lo)
            return Open(both) if isinstance(hi, Open) or isinstance(lo, Open) else both
        add(f"cvt.{mods}.{target}x2.f32 %r0, %r1, %r2;", "%r0", "%r1 %r2", [inputs] * 2, pair, most=40)
# All codes of the narrow formats, two at a time.
codes = [(0xff - i) << 8 | i for i in range(256)]
for f in ("e4m3", "e5m2"):
    for relu in ("", ".relu"):
        def wide(a, f=f, relu=relu):
            out, is_open = 0, False
            for s in (8, 0):
                v = m.decode(a >> s & 0xff, f)
                if v == m.NAN:
                    is_open = True
                    v = Fraction(0)
                zero = m.negative(a >> s & 0xff, f) and not relu
                if relu and (v == m.NINF or v != m.INF and v < 0):
                    v = Fraction(0)
                out = out << 16 | m.encode(v, "f16", zero_negative=zero)[0]
            return Open(None) if is_open else out
        add(f"cvt.rn{relu}.f16x2.{f}x2 %r0, %h1;", "%r0", "%h1", [codes], wide, most=256)
for f in ("e2m3", "e3m2"):
    def wide(a, f=f):
        out = 0
        for s in (8, 0):
            c = a >> s & 0x3f
            out = out << 16 | m.encode(m.decode(c, f), "f16", zero_negative=m.negative(c, f))[0]
        return out
    add(f"cvt.rn.f16x2.{f}x2 %r0, %h1;", "%r0", "%h1", [[(0x3f - i) << 8 | i for i in range(64)]], wide, most=64, target="sm_100a")


def wide4(a):
    out = 0
    for s in (4, 0):
        c = a >> s & 15
        out = out << 16 | m.encode(m.decode(c, "e2m1"), "f16", zero_negative=m.negative(c, "e2m1"))[0]
    return out


add("{ .reg .b8 t, u; mov.b16 {t, u}, %h1; cvt.rn.f16x2.e2m1x2 %r0, t; }", "%r0", "%h1", [list(range(256))[::3] + [15, 240]], wide4, most=90, target="sm_100a")
add("cvt.rn.bf16x2.ue8m0x2 %r0, %h1;", "%r0", "%h1", [[(0xfe - i) << 8 | i for i in range(0, 255, 5)]],
    lambda a: m.encode(m.decode(a >> 8, "ue8m0"), "bf16")[0] << 16 | m.encode(m.decode(a & 0xff, "ue8m0"), "bf16")[0], most=60, target="sm_100a")
for f in ("e4m3", "e5m2", "e2m3", "e3m2"):
    inputs = list(dict.fromkeys(finite("f32") + [0x7f800000, 0xff800000] + scaled("f32", PLACES)))
    for relu in ("", ".relu"):
        def pair8(a, b, f=f, relu=relu):
            g = narrow("f32", f, "rn", finite=True, relu=bool(relu))
            hi, lo = g(a), g(b)
            value = lambda x: x.value if isinstance(x, Open) else x
            both = value(hi) << 8 | value(lo)
            return Open(both) if isinstance(hi, Open) or isinstance(lo, Open) else both
        add(f"cvt.rn.satfinite{relu}.{f}x2.f32 %h0, %r1, %r2;", "%h0", "%r1 %r2", [inputs] * 2, pair8, most=50,
            target="sm_100a" if "e2m3" in f or "e3m2" in f else "sm_90a")
# Four at a time, and two with random bits: a number of the format stays what it is, whatever the bits.
for f, many in [("f16", 2), ("bf16", 2)] + [(f, 4) for f in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")]:
    step = {"f16": 16, "bf16": 16, "e2m1": 4}.get(f, 8)
    inputs = list(dict.fromkeys([m.encode(Fraction(x), "f32")[0] for x in (0, 1, -1, Fraction(3, 2), 2, -4, Fraction(1, 2), 6)] + finite("f32")[:4]))
    for mods in ("satfinite", "relu.satfinite") + (("relu", "") if many == 2 else ()):
        def stochastic(*xs, f=f, mods=mods, step=step):
            got = [narrow("f32", f, "rz", finite="satfinite" in mods, relu="relu" in mods)(x) for x in xs[:-1]]
            # The sign of a zero is open, and half a byte is no number of its own.
            if any(isinstance(g, Open) for g in got) or f == "e2m1" and any(g & 7 == 0 for g in got):
                return Open(None)
            return sum(g << step * (len(got) - 1 - i) for i, g in enumerate(got))
        operands = [f"%r{i + 1}" for i in range(many)]
        d = "%h0" if f == "e2m1" else "%r0"
        shown = ", ".join(operands) if many == 2 else "{" + ", ".join(operands) + "}"
        add(f"cvt.rs{'.' * bool(mods)}{mods}.{f}x{many}.f32 {d}, {shown}, %r5;", d, " ".join(operands) + " %r5",
            [inputs] * many + [[0, 0xffffffff, 0x12345678]], stochastic, most=40, target="sm_100a")
# Pairs of bytes: the power of two at or next to a number; those are what they are.
for source in ("f32", "bf16"):
    for mode in ("rz", "rp"):
        for mods in ("", ".satfinite"):
            codes = [m.encode(Fraction(2) ** e, source)[0] for e in (0, 1, -1, 10, -100, 127, -126)]
            def scale(hi, lo, source=source):
                # The exponents of a power of two have the same bias.
                return sum((x >> (23 if source == "f32" else 7)) << s for x, s in ((hi, 8), (lo, 0)))
            if source == "f32":
                add(f"cvt.{mode}{mods}.ue8m0x2.f32 %h0, %r1, %r2;", "%h0", "%r1 %r2", [codes] * 2, scale, most=20, target="sm_100a")
            else:
                add(f"cvt.{mode}{mods}.ue8m0x2.bf16x2 %h0, %r1;", "%h0", "%r1", [[a << 16 | b for a in codes for b in codes[::-1]]],
                    lambda x: scale(x >> 16, x & 0xffff, "bf16"), most=20, target="sm_100a")
for f in ("e4m3", "e5m2"):
    for relu in ("", ".relu"):
        halves = [m.encode(Fraction(x), "f16")[0] for x in (0, 1, -1, Fraction(3, 2), 448, -448, Fraction(1, 64), 65504, Fraction(1, 3))]
        def narrower(x, f=f, relu=relu):
            got = [narrow("f16", f, "rn", finite=True, relu=bool(relu))(x >> s & 0xffff) for s in (16, 0)]
            if any(isinstance(g, Open) for g in got):
                return Open(None)
            return got[0] << 8 | got[1]
        add(f"cvt.rn.satfinite{relu}.{f}x2.f16x2 %h0, %r1;", "%h0", "%r1", [[a << 16 | b for a in halves for b in halves]], narrower, most=40)
for relu in ("", ".relu"):
    def pair4(a, b, relu=relu):
        got = [narrow("f32", "e2m1", "rn", finite=True, relu=bool(relu))(x) for x in (a, b)]
        if any(isinstance(g, Open) or g & 7 == 0 for g in got):
            return Open(None)
        return got[0] << 4 | got[1]
    inputs = [m.encode(Fraction(x), "f32")[0] for x in (0, 1, -1, Fraction(3, 2), 2, -4, Fraction(1, 2), 6, -6, 3, 100, Fraction(1, 3))]
    add(f"{{ .reg .b8 t, u; mov.b16 {{t, u}}, 0; cvt.rn.satfinite{relu}.e2m1x2.f32 t, %r1, %r2; mov.b16 %h0, {{t, u}}; }}", "%h0", "%r1 %r2",
        [inputs] * 2, pair4, most=40, target="sm_100a")
for target in ("u16", "s16"):
    w = 16
    ends = [0, 1, 0xffffffff, 0x7fff, 0x8000, 0xffff, 0x10000, 0xffff8000, 0xffff7fff, 0x7fffffff, 0x80000000]
    add(f"cvt.pack.sat.{target}.s32 %r0, %r1, %r2;", "%r0", "%r1 %r2", [ends] * 2,
        lambda a, b, t=target: m.low(m.clamp(m.signed(a, 32), t), 16) << 16 | m.low(m.clamp(m.signed(b, 32), t), 16), most=40)
for target in ("u8", "s8", "u4", "s4", "u2", "s2"):
    w = int(target[1:])
    ends = [0, 1, 2, 3, 0xffffffff, 0xfffffffe, 7, 8, 15, 16, 0x7f, 0x80, 0xff, 0x100, 0xffffff80, 0xffffff7f, 0x7fffffff, 0x80000000]
    add(f"cvt.pack.sat.{target}.s32.b32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [ends, ends, [0x12345678, 0xffffffff]],
        lambda a, b, c, t=target, w=w: m.low(c << (2 * w) | m.low(m.clamp(m.signed(a, 32), t), w) << w | m.low(m.clamp(m.signed(b, 32), t), w), 32),
        most=40)
