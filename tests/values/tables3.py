"""Floats where results are exact, atomics, collectives of a warp."""
import itertools
from fractions import Fraction

import model as m
from tables import Open, add, file, reg, values
from tables2 import FLOATS

file("float", "Floats: PTX ISA 9.0, sections 9.7.3 to 9.7.5. Rows whose result is rounded or NaN may stay open.")


def result(v, f, mode="rn", zero=False):
    """What a register gets; `zero`: a zero is negative. Open where it is NaN or rounded."""
    if v is None or v == m.NAN:
        return Open(None)
    got, exact = m.encode(v, f, mode, zero_negative=zero)
    return got if exact else Open(got)


def lift(fn):
    """Infinities for an operation on Fractions, by the limits of IEEE 754; fn may raise ArithmeticError."""
    def go(*xs):
        if m.NAN in xs:
            return m.NAN
        return fn(*xs)
    return go


def sum_of(a, b):
    if a in (m.INF, m.NINF):
        return m.NAN if b in (m.INF, m.NINF) and a != b else a
    return b if b in (m.INF, m.NINF) else a + b


def sign(x):
    return {m.INF: 1, m.NINF: -1}.get(x, 0) or (x > 0) - (x < 0)


def product(a, b):
    if m.INF in (a, b) or m.NINF in (a, b):
        s = sign(a) * sign(b)
        return m.NAN if s == 0 else m.INF if s > 0 else m.NINF
    return a * b


def minus(a):
    return {m.INF: m.NINF, m.NINF: m.INF, m.NAN: m.NAN}.get(a) or -a


def key(a):
    return {m.INF: (1, 0), m.NINF: (-1, 0)}.get(a) or (0, a)


def extreme(a, b, largest):
    if a == m.NAN or b == m.NAN:
        return b if a == m.NAN else a
    return (max if largest else min)(a, b, key=key)


def quotient(a, b):
    if b in (m.INF, m.NINF):
        return m.NAN if a in (m.INF, m.NINF) else Fraction(0)
    if b == 0:
        return m.NAN if a == 0 or a == m.NAN else None
    return a * 1 if False else ((m.INF if sign(a) * sign(b) > 0 else m.NINF) if a in (m.INF, m.NINF) else a / b)


def numbers(f):
    exact = [Fraction(3, 2), Fraction(-5, 4), 3, -7, Fraction(1, 8), 16, 100, Fraction(-1, 2), 4, 9, Fraction(1, 4), 64]
    return FLOATS[f][:9] + [m.encode(Fraction(x), f)[0] for x in exact]


for f in ("f32", "f64", "f16", "bf16"):
    r = reg(m.fwidth(f))
    xs = numbers(f)
    modes = ("rn", "rz", "rm", "rp") if f in ("f32", "f64") else ("rn",)
    d = lambda x, f=f: m.decode(x, f)
    neg = lambda x, f=f: m.negative(x, f)

    def sum_zero(a, b, mode):
        """Of an exact zero sum."""
        return neg(a) and neg(b) if neg(a) == neg(b) else mode == "rm"
    for mode in modes:
        rows = [xs] * 2
        add(f"add.{mode}.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", rows,
            lambda a, b, f=f, mode=mode, d=d, neg=neg: result(lift(sum_of)(d(a), d(b)), f, mode,
                                                              neg(a) if neg(a) == neg(b) else mode == "rm"), most=60)
        add(f"sub.{mode}.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", rows,
            lambda a, b, f=f, mode=mode, d=d, neg=neg: result(lift(lambda x, y: sum_of(x, minus(y)))(d(a), d(b)), f, mode,
                                                              neg(a) if neg(a) != neg(b) else mode == "rm"), most=60)
        add(f"mul.{mode}.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", rows,
            lambda a, b, f=f, mode=mode, d=d, neg=neg: result(lift(product)(d(a), d(b)), f, mode, neg(a) != neg(b)), most=60)

        def fused(a, b, c, f=f, mode=mode, d=d, neg=neg):
            v = lift(lambda x, y, z: m.NAN if product(x, y) == m.NAN else sum_of(product(x, y), z))(d(a), d(b), d(c))
            left = neg(a) != neg(b)
            return result(v, f, mode, left if left == neg(c) else mode == "rm")
        add(f"fma.{mode}.{f} %{r}0, %{r}1, %{r}2, %{r}3;", f"%{r}0", f"%{r}1 %{r}2 %{r}3", [xs] * 3, fused, most=60)
        if f in ("f32", "f64"):
            def ratio(a, b, f=f, mode=mode, d=d, neg=neg):
                x, y = d(a), d(b)
                if m.NAN not in (x, y) and y == 0:
                    return Open(None)
                return result(lift(quotient)(x, y), f, mode, neg(a) != neg(b))
            add(f"div.{mode}.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", rows, ratio, most=60)

            def root(a, f=f, mode=mode, d=d, neg=neg):
                v = d(a)
                if v in (m.NAN, m.NINF) or v != m.INF and v < 0:
                    return Open(None)
                if v == m.INF:
                    return a
                import math
                n, k = math.isqrt(v.numerator), math.isqrt(v.denominator)
                if n * n != v.numerator or k * k != v.denominator:
                    return Open(None)
                return result(Fraction(n, k), f, mode, neg(a))
            add(f"sqrt.{mode}.{f} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [xs], root, most=40)
            add(f"rcp.{mode}.{f} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [xs],
                lambda a, f=f, mode=mode, d=d, neg=neg: Open(None) if d(a) == 0 or d(a) == m.NAN
                else result(quotient(Fraction(1), d(a)), f, mode, neg(a)), most=40)
    top = 1 << (m.fwidth(f) - 1)
    add(f"neg.{f} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [xs], lambda a, top=top, d=d: Open(None) if d(a) == m.NAN else a ^ top, most=40)
    add(f"abs.{f} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [xs], lambda a, top=top, d=d: Open(None) if d(a) == m.NAN else a & ~top, most=40)
    for op, largest in (("min", False), ("max", True)):
        def pick(a, b, nan, f=f, d=d, neg=neg, largest=largest):
            x, y = d(a), d(b)
            if m.NAN in (x, y) and (nan or x == y):
                return Open(None)
            v = extreme(x, y, largest)
            # Section 9.7.3.11: -0 is below +0.
            zero = (neg(a) and neg(b) if largest else neg(a) or neg(b)) if x == y == 0 else (neg(a) if v == x else neg(b))
            return result(v, f, "rn", zero)
        add(f"{op}.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [xs] * 2, lambda a, b, g=pick: g(a, b, False), most=60)
        if f != "f64":
            add(f"{op}.NaN.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [xs] * 2, lambda a, b, g=pick: g(a, b, True), most=60)
            def xorsign(a, b, g=pick, top=top, d=d):
                if m.NAN in (d(a), d(b)):
                    return Open(None)
                got = g(a & ~top, b & ~top, False)
                return got if isinstance(got, Open) else got | (a ^ b) & top
            add(f"{op}.xorsign.abs.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [xs] * 2, xorsign, most=40)
    if f in ("f32", "f64"):
        add(f"copysign.{f} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [xs] * 2,
            lambda a, b, top=top, d=d: Open(None) if m.NAN in (d(a), d(b)) else b & ~top | a & top, most=60)
    if f == "f32":
        powers = [m.encode(Fraction(n), f)[0] for n in (0, 1, 2, 10, -1, -5, -126, 127)] + [0x7f800000, 0xff800000]
        add("ex2.approx.f32 %r0, %r1;", "%r0", "%r1", [powers],
            lambda a, d=d: result(m.INF if d(a) == m.INF else Fraction(0) if d(a) == m.NINF else Fraction(2) ** int(d(a)), "f32"), judged=False)
        # The points where the approximations are exact; what lies between is not in a table.
        zeros = [0, 0x80000000]
        add("sin.approx.f32 %r0, %r1;", "%r0", "%r1", [zeros], lambda a: a, judged=False)
        add("cos.approx.f32 %r0, %r1;", "%r0", "%r1", [zeros], lambda a: 0x3f800000, judged=False)
        add("tanh.approx.f32 %r0, %r1;", "%r0", "%r1", [zeros + [0x7f800000, 0xff800000]],
            lambda a: 0x3f800000 | a & 0x80000000 if a << 1 & 0xffffffff else a, judged=False)
        def log(a, d=d):
            v = d(a)
            if v == m.NAN or v != m.INF and v < 0:
                return Open(None)
            if v == m.INF:
                return a
            if v == 0:
                return 0xff800000
            n = v.numerator.bit_length() - v.denominator.bit_length()
            return m.encode(Fraction(n), "f32")[0] if Fraction(2) ** n == v else Open(None)
        add("lg2.approx.f32 %r0, %r1;", "%r0", "%r1", [[0x3f800000, 0x40000000, 0x3e800000, 0x43800000, 0, 0x7f800000, 0x40400000, 0xbf800000]], log, judged=False)
        add("rsqrt.approx.f32 %r0, %r1;", "%r0", "%r1", [[m.encode(Fraction(x), f)[0] for x in (1, 4, 16, Fraction(1, 4), Fraction(9, 1))]],
            lambda a, d=d: {1: 0x3f800000, 4: 0x3f000000, 16: 0x3e800000, Fraction(1, 4): 0x40000000}.get(d(a), Open(None)), judged=False)
        for op, fn in (("add", sum_of), ("mul", product)):
            def saturated(a, b, fn=fn, d=d, neg=neg):
                v = lift(fn)(d(a), d(b))
                if v == m.NAN:
                    return Open(None)
                rounded = v not in (m.INF, m.NINF) and not m.encode(v, "f32")[1]
                v = Fraction(1) if v == m.INF or v != m.NINF and v > 1 else Fraction(0) if v == m.NINF or v <= 0 else v
                # What is rounded before it is clamped may stay open as well.
                got = result(v, "f32")
                return Open(got) if rounded and not isinstance(got, Open) else got
            add(f"{op}.sat.f32 %r0, %r1, %r2;", "%r0", "%r1 %r2", [xs] * 2, saturated, most=60)
for f in ("f16", "bf16"):
    xs = [a << 16 | b for a, b in zip(numbers(f), numbers(f)[5:] + numbers(f)[:5])]
    d = lambda x, f=f: m.decode(x, f)

    def halves(fn, *ops):
        got = [fn(*[x >> s & 0xffff for x in ops]) for s in (16, 0)]
        if any(isinstance(g, Open) for g in got):
            return Open(None if any(isinstance(g, Open) and g.value is None for g in got)
                        else (getattr(got[0], "value", got[0])) << 16 | getattr(got[1], "value", got[1]))
        return got[0] << 16 | got[1]
    neg = lambda x, f=f: m.negative(x, f)
    one = {
        "add": lambda a, b, f=f, d=d, neg=neg: result(lift(sum_of)(d(a), d(b)), f, "rn", neg(a) and neg(b)),
        "mul": lambda a, b, f=f, d=d, neg=neg: result(lift(product)(d(a), d(b)), f, "rn", neg(a) != neg(b)),
        "max": lambda a, b, f=f, d=d, neg=neg: Open(None) if m.NAN in (d(a), d(b)) else result(extreme(d(a), d(b), True), f, "rn", neg(a) and neg(b)),
        "min": lambda a, b, f=f, d=d, neg=neg: Open(None) if m.NAN in (d(a), d(b)) else result(extreme(d(a), d(b), False), f, "rn", neg(a) or neg(b)),
    }
    for op, fn in one.items():
        add(f"{op}.{f}x2 %r0, %r1, %r2;", "%r0", "%r1 %r2", [xs] * 2, lambda a, b, fn=fn, h=halves: h(fn, a, b), most=40)
    for mods in ("", ".relu"):
        def fused(a, b, c, f=f, d=d, neg=neg, relu=bool(mods)):
            v = lift(lambda x, y, z: m.NAN if product(x, y) == m.NAN else sum_of(product(x, y), z))(d(a), d(b), d(c))
            if v == m.NAN:
                return Open(None)
            if relu and (v == m.NINF or v != m.INF and v <= 0):
                return 0
            left = neg(a) != neg(b)
            return result(v, f, "rn", left and neg(c))
        add(f"fma.rn{mods}.{f}x2 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [xs] * 3, lambda a, b, c, fn=fused, h=halves: h(fn, a, b, c), most=40)
    add(f"neg.{f}x2 %r0, %r1;", "%r0", "%r1", [xs], lambda a, d=d: Open(None) if m.NAN in (d(a >> 16), d(a & 0xffff)) else a ^ 0x80008000, most=40)
    add(f"abs.{f}x2 %r0, %r1;", "%r0", "%r1", [xs], lambda a, d=d: Open(None) if m.NAN in (d(a >> 16), d(a & 0xffff)) else a & 0x7fff7fff, most=40)
    for op in ("add", "sub"):
        add(f"{op}.rn.f32.{f} %r0, %h1, %r2;", "%r0", "%h1 %r2", [numbers(f), numbers("f32")],
            lambda a, b, op=op, f=f: result(lift(sum_of)(m.decode(a, f), minus(m.decode(b, "f32")) if op == "sub" else m.decode(b, "f32")), "f32", "rn",
                                            m.negative(a, f) and (m.negative(b, "f32") != (op == "sub"))), most=40, target="sm_100a")

xs = numbers("f32")
pairs = [a << 32 | b for a, b in zip(xs, xs[7:] + xs[:7])]
D = lambda x: m.decode(x, "f32")
N = lambda x: m.negative(x, "f32")


def words(fn, *ops):
    """Of both halves of 64 bits."""
    got = [fn(*[x >> s & 0xffffffff for x in ops]) for s in (32, 0)]
    parts = [g.value if isinstance(g, Open) else g for g in got]
    both = None if None in parts else parts[0] << 32 | parts[1]
    return Open(both) if any(isinstance(g, Open) for g in got) else both


PAIR = {
    "add.rn": (2, lambda a, b: result(lift(sum_of)(D(a), D(b)), "f32", "rn", N(a) and N(b))),
    "sub.rn": (2, lambda a, b: result(lift(lambda x, y: sum_of(x, minus(y)))(D(a), D(b)), "f32", "rn", N(a) and not N(b))),
    "mul.rn": (2, lambda a, b: result(lift(product)(D(a), D(b)), "f32", "rn", N(a) != N(b))),
    "fma.rn": (3, lambda a, b, c: result(lift(lambda x, y, z: m.NAN if product(x, y) == m.NAN else sum_of(product(x, y), z))(D(a), D(b), D(c)),
                                         "f32", "rn", (N(a) != N(b)) and N(c))),
}
for op, (n, fn) in PAIR.items():
    add(f"{op}.f32x2 %l0, {', '.join(f'%l{i + 1}' for i in range(n))};", "%l0", " ".join(f"%l{i + 1}" for i in range(n)), [pairs] * n,
        lambda *ops, fn=fn: words(fn, *ops), most=40, target="sm_100a")
plain = [x for x in xs if D(x) != m.NAN and not (D(x) == 0 and N(x))]
for op, largest in (("min", False), ("max", True)):
    add(f"{op}.f32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [plain] * 3,
        lambda a, b, c, largest=largest: result(extreme(extreme(D(a), D(b), largest), D(c), largest), "f32"), most=40, target="sm_100a")
    add(f"{op}.abs.f32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [plain] * 3,
        lambda a, b, c, largest=largest: result(extreme(extreme(D(a & 0x7fffffff), D(b & 0x7fffffff), largest), D(c & 0x7fffffff), largest), "f32"),
        most=40, target="sm_100a")
for f in ("f16", "bf16"):
    def mixed(a, b, c, f=f):
        x, y, z = m.decode(a, f), m.decode(b, f), D(c)
        v = lift(lambda x, y, z: m.NAN if product(x, y) == m.NAN else sum_of(product(x, y), z))(x, y, z)
        return result(v, "f32", "rn", (m.negative(a, f) != m.negative(b, f)) and N(c))
    add(f"fma.rn.f32.{f} %r0, %h1, %h2, %r3;", "%r0", "%h1 %h2 %r3", [numbers(f), numbers(f), xs], mixed, most=40, target="sm_100a")

file("atomic", "Atomics and reductions on memory: PTX ISA 9.0, sections 9.7.13.5 and 9.7.13.6; the old value and what stays.")
INT = {
    "and": (lambda a, b, w: a & b, ("b32", "b64")), "or": (lambda a, b, w: a | b, ("b32", "b64")), "xor": (lambda a, b, w: a ^ b, ("b32", "b64")),
    "exch": (lambda a, b, w: b, ("b32", "b64")), "add": (lambda a, b, w: m.low(a + b, w), ("u32", "s32", "u64")),
    "inc": (lambda a, b, w: 0 if a >= b else a + 1, ("u32",)), "dec": (lambda a, b, w: b if a == 0 or a > b else a - 1, ("u32",)),
}
for space, base in (("global", "%l10"), ("shared", "sh")):
    decl = "" if space == "global" else ".shared .align 8 .b64 sh; "
    if space == "shared":
        continue
    for op, (fn, ts) in INT.items():
        for t in ts:
            w, r = m.bits(t), reg(m.bits(t))
            add(f"st.{space}.b{w} [{base}], %{r}1; atom.{space}.{op}.{t} %{r}0, [{base}], %{r}2; ld.{space}.b{w} %{r}3, [{base}];",
                f"%{r}0 %{r}3", f"%{r}1 %{r}2", [values(w)] * 2, lambda a, b, fn=fn, w=w: (a, fn(a, b, w)), judged=False)
            if op != "exch":
                add(f"st.{space}.b{w} [{base}], %{r}1; red.{space}.{op}.{t} [{base}], %{r}2; ld.{space}.b{w} %{r}3, [{base}];",
                    f"%{r}3", f"%{r}1 %{r}2", [values(w)] * 2, lambda a, b, fn=fn, w=w: fn(a, b, w), judged=False)
    for op, fn in (("min", min), ("max", max)):
        for t in ("u32", "s32", "u64", "s64"):
            w, r = m.bits(t), reg(m.bits(t))
            add(f"st.{space}.b{w} [{base}], %{r}1; atom.{space}.{op}.{t} %{r}0, [{base}], %{r}2; ld.{space}.b{w} %{r}3, [{base}];",
                f"%{r}0 %{r}3", f"%{r}1 %{r}2", [values(w)] * 2,
                lambda a, b, fn=fn, w=w, t=t: (a, m.low(fn(m.num(a, t), m.num(b, t)), w)), judged=False)
    for w in (16, 32, 64):
        r = reg(w)
        add(f"st.{space}.b{w} [{base}], %{r}1; atom.{space}.cas.b{w} %{r}0, [{base}], %{r}2, %{r}4; ld.{space}.b{w} %{r}3, [{base}];",
            f"%{r}0 %{r}3", f"%{r}1 %{r}2 %{r}4", [values(w)[:3], values(w)[:3], values(w)[3:6]], lambda a, b, c: (a, c if a == b else a), judged=False)
    for f in ("f32", "f64"):
        w, r = m.fwidth(f), reg(m.fwidth(f))
        xs = [m.encode(Fraction(x), f)[0] for x in (0, 1, -2, Fraction(3, 2), 100)]
        add(f"st.{space}.b{w} [{base}], %{r}1; atom.{space}.add.{f} %{r}0, [{base}], %{r}2; ld.{space}.b{w} %{r}3, [{base}];",
            f"%{r}0 %{r}3", f"%{r}1 %{r}2", [xs] * 2, lambda a, b, f=f: (a, result(m.decode(a, f) + m.decode(b, f), f)), judged=False)
    for f in ("f16", "bf16"):
        xs = [m.encode(Fraction(x), f)[0] for x in (0, 1, -2, Fraction(3, 2), 100)]
        add(f"st.{space}.b16 [{base}], %h1; atom.{space}.add.noftz.{f} %h0, [{base}], %h2; ld.{space}.b16 %h3, [{base}];",
            "%h0 %h3", "%h1 %h2", [xs] * 2, lambda a, b, f=f: (a, result(m.decode(a, f) + m.decode(b, f), f)), judged=False)
        ys = [a << 16 | b for a, b in zip(xs, xs[2:] + xs[:2])]
        add(f"st.{space}.b32 [{base}], %r1; atom.{space}.add.noftz.{f}x2 %r0, [{base}], %r2; ld.{space}.b32 %r3, [{base}];",
            "%r0 %r3", "%r1 %r2", [ys] * 2,
            lambda a, b, f=f: (a, sum(result(m.decode(a >> s & 0xffff, f) + m.decode(b >> s & 0xffff, f), f) << s for s in (0, 16))), judged=False)
