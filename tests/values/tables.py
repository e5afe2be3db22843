"""The templates of the tables and the operands that each is asked about."""
import itertools
import random

import model as m

FILES, HEADS = {}, {}


class Section:
    """A template with its registers; `fn` gives one result or a tuple of the operands' bits."""

    def __init__(self, text, outs, ins, rows, target="sm_90a", judged=True, flags=""):
        self.text, self.outs, self.ins = text, outs.split(), ins.split()
        self.rows, self.target, self.judged, self.flags = rows, target, judged, flags


def values(w):
    """Corner cases of a width."""
    top = 1 << (w - 1)
    pattern = 0x123456789abcdef0 if w == 64 else 0x12345678 if w == 32 else 0x1234
    return [0, 1, m.low(-1, w), top, top - 1, pattern, m.low(0xdeadbeefcafebabe, w)]


def sample(lists, most, seed):
    """All combinations, or a fixed choice of them in which every value of each list occurs."""
    total = 1
    for one in lists:
        total *= len(one)
    if total <= most:
        return list(itertools.product(*lists))
    rng = random.Random(seed)
    out = []
    for i in range(max(map(len, lists))):
        out.append(tuple(one[i % len(one)] for one in lists))
    while len(out) < most:
        row = tuple(rng.choice(one) for one in lists)
        if row not in out:
            out.append(row)
    return list(dict.fromkeys(out))


SECTIONS = None


def file(name, head):
    global SECTIONS
    SECTIONS = FILES[name] = []
    HEADS[name] = head


def add(text, outs, ins, lists, fn, most=24, **more):
    rows = []
    for row in sample(lists, most, text):
        got = fn(*row)
        mark = ""
        if isinstance(got, Open):
            got, mark = got.value, "~"
        got = got if isinstance(got, tuple) else (got,)
        if all(g is None for g in got) and not mark:
            continue
        rows.append((row, got, mark))
    SECTIONS.append(Section(text, outs, ins, rows, **more))


class Open:
    """A result that volta may leave open: it depends on rounding, or is NaN."""

    def __init__(self, value):
        self.value = value


def reg(w):
    return {1: "p", 16: "h", 32: "r", 64: "l"}[w]


ALL = ["u16", "s16", "u32", "s32", "u64", "s64"]
WORDS = ALL[2:]


def two(text, t, fn, **more):
    """`text` of two operands of type `t`; `fn` takes numbers and gives a number."""
    w = m.bits(t)
    r = reg(w)
    add(f"{text}.{t} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [values(w)] * 2,
        lambda a, b: m.low(fn(m.num(a, t), m.num(b, t)), w), **more)


def packed(text, t, fn, **more):
    half = t[0] + "16"

    def both(a, b):
        lanes = [m.low(fn(m.num(a >> s, half), m.num(b >> s, half)), 16) for s in (0, 16)]
        return lanes[1] << 16 | lanes[0]
    lists = [[0, 0x0001ffff, 0xffff0001, 0x80007fff, 0x7fff8000, 0x12348765, 0x0000ffff]] * 2
    add(f"{text}.{t}x2 %r0, %r1, %r2;".replace("u16x2", "u16x2"), "%r0", "%r1 %r2", lists, both, **more)


file("integer", "Integer arithmetic: PTX ISA 9.0, section 9.7.1.")
for t in ALL:
    two("add", t, lambda a, b: a + b)
    two("sub", t, lambda a, b: a - b)
    two("mul.lo", t, lambda a, b: a * b)
    two("mul.hi", t, lambda a, b, t=t: a * b >> m.bits(t))
    two("min", t, min)
    two("max", t, max)
    w, r = m.bits(t), reg(m.bits(t))
    pairs = [(a, b) for a in values(w) for b in values(w) if b]
    for op, fn in (("div", m.div), ("rem", m.rem)):
        add(f"{op}.{t} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [values(w) + [m.low(-7, w), 7], values(w)[1:] + [2, m.low(-2, w)]],
            lambda a, b, fn=fn, t=t: fn(a, b, t))
    three = [values(w)] * 3
    for op, fn in (("mad.lo", lambda a, b, c: a * b + c), ("mad.hi", lambda a, b, c, w=w: (a * b >> w) + c),
                   ("sad", lambda a, b, c: c + abs(a - b))):
        add(f"{op}.{t} %{r}0, %{r}1, %{r}2, %{r}3;", f"%{r}0", f"%{r}1 %{r}2 %{r}3", three,
            lambda a, b, c, fn=fn, t=t, w=w: m.low(fn(m.num(a, t), m.num(b, t), m.num(c, t)), w))
    if t[0] == "s":
        for op, fn in (("abs", abs), ("neg", lambda a: -a)):
            add(f"{op}.{t} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [values(w)], lambda a, fn=fn, t=t, w=w: m.low(fn(m.num(a, t)), w))
    if w < 64:
        d = reg(2 * w)
        add(f"mul.wide.{t} %{d}0, %{r}1, %{r}2;", f"%{d}0", f"%{r}1 %{r}2", [values(w)] * 2,
            lambda a, b, t=t, w=w: m.low(m.num(a, t) * m.num(b, t), 2 * w))
        add(f"mad.wide.{t} %{d}0, %{r}1, %{r}2, %{d}3;", f"%{d}0", f"%{r}1 %{r}2 %{d}3", [values(w)] * 2 + [values(2 * w)],
            lambda a, b, c, t=t, w=w: m.low(m.num(a, t) * m.num(b, t) + c, 2 * w))
for op, fn in (("add.sat", lambda a, b: a + b), ("sub.sat", lambda a, b: a - b)):
    two(op, "s32", lambda a, b, fn=fn: m.clamp(fn(a, b), "s32"), most=49)
for t in ("u16", "s16"):
    packed("add", t, lambda a, b: a + b)
    packed("min", t, min)
    packed("max", t, max)
for op, fn in (("min", min), ("max", max)):
    packed(f"{op}.relu", "s16", lambda a, b, fn=fn: max(0, fn(a, b)))
    two(f"{op}.relu", "s32", lambda a, b, fn=fn: max(0, fn(a, b)))
for t in ("u32", "s32"):
    v24 = [0, 1, 0xffffff, 0x800000, 0x7fffff, 0xff800000, 0x123456, 0xffffffff, 0xab000003]
    part = lambda x, t=t: m.num(x & 0xffffff, t[0] + "24")
    for half, fn in (("lo", lambda p: p), ("hi", lambda p: p >> 16)):
        add(f"mul24.{half}.{t} %r0, %r1, %r2;", "%r0", "%r1 %r2", [v24] * 2,
            lambda a, b, fn=fn, part=part: m.low(fn(part(a) * part(b)), 32))
        add(f"mad24.{half}.{t} %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [v24] * 2 + [values(32)],
            lambda a, b, c, fn=fn, part=part: m.low(m.low(fn(part(a) * part(b)), 32) + c, 32))
add("mad.hi.sat.s32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [values(32)] * 3,
    lambda a, b, c: m.low(m.clamp((m.signed(a, 32) * m.signed(b, 32) >> 32) + m.signed(c, 32), "s32"), 32), most=48)
add("mad24.hi.sat.s32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [v24, v24, values(32)],
    lambda a, b, c: m.low(m.clamp(m.signed(m.signed(a, 24) * m.signed(b, 24) >> 16, 32) + m.signed(c, 32), "s32"), 32), most=48)
for w in (32, 64):
    r = reg(w)
    v = values(w) + [2, 1 << (w - 2), m.low(0xff00ff00ff00ff00, w)]
    add(f"popc.b{w} %r0, %{r}1;", "%r0", f"%{r}1", [v], lambda a: bin(a).count("1"))
    add(f"clz.b{w} %r0, %{r}1;", "%r0", f"%{r}1", [v], lambda a, w=w: w - a.bit_length())
    add(f"brev.b{w} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [v], lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
    # ptxas does not take the low byte of positions in 64 bits, which the manual asks for: those are left out.
    places = [0, 1, 7, 31, 32, 33, w - 1, w, 100, 255] + ([256, 258, 0xffffffff] if w == 32 else [])
    add(f"bfi.b{w} %{r}0, %{r}1, %{r}2, %r3, %r4;", f"%{r}0", f"%{r}1 %{r}2 %r3 %r4", [values(w), values(w), places, places],
        lambda a, b, p, n, w=w: m.bfi(a, b, p, n, w), most=60)
    for s in "us":
        t = f"{s}{w}"
        add(f"bfind.{t} %r0, %{r}1;", "%r0", f"%{r}1", [v], lambda a, t=t: m.bfind(a, t, False))
        add(f"bfind.shiftamt.{t} %r0, %{r}1;", "%r0", f"%{r}1", [v], lambda a, t=t: m.bfind(a, t, True))
        add(f"bfe.{t} %{r}0, %{r}1, %r2, %r3;", f"%{r}0", f"%{r}1 %r2 %r3", [values(w), places, places],
            lambda a, p, n, t=t: m.bfe(a, p, n, t), most=60)
add("fns.b32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3",
    [[0, 1, 0x80000000, 0xaaaaaaaa, 0x12345678, 0xffffffff], [0, 1, 3, 16, 30, 31],
     [0, 1, 2, 3, 32, 33] + [m.low(-i, 32) for i in (1, 2, 3, 32, 33)] + [0x7fffffff]], m.fns, most=80)
for mode in ("clamp", "wrap"):
    for t in ("s32", "u32"):
        add(f"szext.{mode}.{t} %r0, %r1, %r2;", "%r0", "%r1 %r2", [values(32) + [0x80, 0x7f], [0, 1, 7, 8, 31, 32, 33, 40, 64, 0xffffffff]],
            lambda a, n, mode=mode, t=t: m.szext(a, n, mode, t), most=48)
    ends = [0, 1, 5, 31, 32, 33, 63, 64, 0x80000000, 0xffffffff]
    add(f"bmsk.{mode}.b32 %r0, %r1, %r2;", "%r0", "%r1 %r2", [ends, ends], lambda p, n, mode=mode: m.bmsk(p, n, mode), most=60)
dots = [0, 0x01010101, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x80ff7f01, 0x12345678, 0x8000ffff]
for ta, tb in itertools.product(("u32", "s32"), repeat=2):
    add(f"dp4a.{ta}.{tb} %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [dots, dots, values(32)],
        lambda a, b, c, ta=ta, tb=tb: m.dp4a(a, b, c, ta, tb))
    for half in ("lo", "hi"):
        add(f"dp2a.{half}.{ta}.{tb} %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [dots, dots, values(32)],
            lambda a, b, c, ta=ta, tb=tb, half=half: m.dp2a(a, b, c, ta, tb, half == "hi"))

file("carry", "Extended precision: PTX ISA 9.0, section 9.7.2. The first instruction makes the carry, a later one shows it.")
for w in (32, 64):
    r = reg(w)
    big = 1 << w
    u = [f"{s}{w}" for s in "us"]
    for t in u:
        four = [values(w)[:5]] * 4
        regs = f"%{r}1 %{r}2 %{r}3 %{r}4"
        add(f"add.cc.{t} %{r}0, %{r}1, %{r}2; addc.{t} %{r}5, %{r}3, %{r}4;", f"%{r}0 %{r}5", regs, four,
            lambda a, b, c, d, w=w, big=big: (m.low(a + b, w), m.low(c + d + (a + b >= big), w)), most=40)
        add(f"sub.cc.{t} %{r}0, %{r}1, %{r}2; subc.{t} %{r}5, %{r}3, %{r}4;", f"%{r}0 %{r}5", regs, four,
            lambda a, b, c, d, w=w: (m.low(a - b, w), m.low(c - d - (a < b), w)), most=40)

        def chain(a, b, c, d, w=w, big=big):
            one = a + b
            two_ = c + d + (one >= big)
            return m.low(one, w), m.low(two_, w), int(two_ >= big)
        add(f"add.cc.{t} %{r}0, %{r}1, %{r}2; addc.cc.{t} %{r}5, %{r}3, %{r}4; addc.{t} %{r}6, 0, 0;", f"%{r}0 %{r}5 %{r}6", regs,
            four, chain, most=40)

        def borrow(a, b, c, d, w=w):
            take = d + (a < b)
            return m.low(a - b, w), m.low(c - take, w), m.low(-(c < take), w)
        add(f"sub.cc.{t} %{r}0, %{r}1, %{r}2; subc.cc.{t} %{r}5, %{r}3, %{r}4; subc.{t} %{r}6, 0, 0;", f"%{r}0 %{r}5 %{r}6", regs,
            four, borrow, most=40)
        for half in ("lo", "hi"):
            def part(a, b, t=t, w=w, half=half):
                p = m.num(a, t) * m.num(b, t)
                return m.low(p if half == "lo" else p >> w, w)

            def mad(a, b, c, part=part, w=w, big=big):
                s = part(a, b) + c
                return m.low(s, w), int(s >= big)
            add(f"mad.{half}.cc.{t} %{r}0, %{r}1, %{r}2, %{r}3; addc.{t} %{r}5, 0, 0;", f"%{r}0 %{r}5",
                f"%{r}1 %{r}2 %{r}3", [values(w)] * 3, mad, most=32)

            def madc(a, b, c, d, part=part, w=w, big=big):
                first = (a + d) >= big
                s = part(b, c) + d + first
                return m.low(s, w), int(s >= big)
            add(f"add.cc.{t} %{r}9, %{r}1, %{r}4; madc.{half}.cc.{t} %{r}0, %{r}2, %{r}3, %{r}4; addc.{t} %{r}5, 0, 0;",
                f"%{r}0 %{r}5", regs, [values(w)] * 4, madc, most=32)
            add(f"add.cc.{t} %{r}9, %{r}1, %{r}4; madc.{half}.{t} %{r}0, %{r}2, %{r}3, %{r}4;",
                f"%{r}0", regs, [values(w)] * 4, lambda a, b, c, d, f=madc: f(a, b, c, d)[0])

file("logic", "Logic, shifts and permutations: PTX ISA 9.0, sections 9.7.8 and 9.7.9.7.")
for w in (16, 32, 64):
    r = reg(w)
    for op, fn in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        add(f"{op}.b{w} %{r}0, %{r}1, %{r}2;", f"%{r}0", f"%{r}1 %{r}2", [values(w)] * 2, fn)
    add(f"not.b{w} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [values(w)], lambda a, w=w: m.low(~a, w))
    add(f"cnot.b{w} %{r}0, %{r}1;", f"%{r}0", f"%{r}1", [values(w)], lambda a: int(a == 0))
    amounts = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xffffffff]
    add(f"shl.b{w} %{r}0, %{r}1, %r2;", f"%{r}0", f"%{r}1 %r2", [values(w), amounts], lambda a, n, w=w: m.shl(a, n, w), most=48)
    for s in "bus":
        t = f"{s}{w}"
        add(f"shr.{t} %{r}0, %{r}1, %r2;", f"%{r}0", f"%{r}1 %r2", [values(w), amounts], lambda a, n, t=t: m.shr(a, n, t), most=48)
for op, fn in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
    add(f"{op}.pred %p0, %p1, %p2;", "%p0", "%p1 %p2", [[0, 1]] * 2, fn)
add("not.pred %p0, %p1;", "%p0", "%p1", [[0, 1]], lambda a: 1 - a)
for table in (0, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0x1b, 0x3c, 0xff, 0x01, 0x6a):
    add(f"lop3.b32 %r0, %r1, %r2, %r3, 0x{table:x};", "%r0", "%r1 %r2 %r3",
        [[0xf0f0aa55, 0xffffffff, 0, 0x12345678], [0xcccc3333, 0, 0xffffffff, 0x9abcdef0], [0xaaaa00ff, 0xffffffff, 0, 0x0f1e2d3c]],
        lambda a, b, c, table=table: m.lop3(a, b, c, table), most=8)
for op, fn in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b)):
    def both(a, b, c, q, fn=fn):
        d = m.lop3(a, b, c, 0x80)
        return d, fn(int(d != 0), q)
    add(f"lop3.{op}.b32 %r0|%p0, %r1, %r2, %r3, 0x80, %p1;", "%r0 %p0", "%r1 %r2 %r3 %p1",
        [[0, 0xffffffff, 0x10], [0xffffffff, 0xffffffef], [0xffffffff, 0x10], [0, 1]], both)
for left, mode in itertools.product((True, False), ("clamp", "wrap")):
    add(f"shf.{'l' if left else 'r'}.{mode}.b32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3",
        [values(32), values(32), [0, 1, 8, 31, 32, 33, 63, 64, 255, 0xffffffff]],
        lambda a, b, n, left=left, mode=mode: m.shf(a, b, n, left, mode), most=48)
selectors = [0x3210, 0x7654, 0x0123, 0x4567, 0xba98, 0xfedc, 0x8888, 0xffff, 0x1064, 0x0, 0xabcd7777, 0xffff0f3c]
add("prmt.b32 %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [[0x03020100, 0x80ff7f00, 0xdeadbeef], [0x07060504, 0x007f80ff, 0xcafebabe], selectors],
    lambda a, b, c: m.prmt(a, b, c, None), most=36)
for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
    add(f"prmt.b32.{mode} %r0, %r1, %r2, %r3;", "%r0", "%r1 %r2 %r3", [[0x03020100, 0x83828180], [0x07060504], [0, 1, 2, 3, 4, 7, 0xffffffff]],
        lambda a, b, c, mode=mode: m.prmt(a, b, c, mode))
