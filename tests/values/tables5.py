"""Video instructions: words, half-words and bytes cut out of registers."""
import model as m
from tables import add, file, values

file("video", "Video instructions: PTX ISA 9.0, section 9.7.18.")

SCALAR = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max}
SIMD = {"vadd": SCALAR["vadd"], "vsub": SCALAR["vsub"], "vabsdiff": SCALAR["vabsdiff"], "vmin": min, "vmax": max,
        "vavrg": lambda a, b: a + b + 1 >> 1 if a + b >= 0 else a + b >> 1}
COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
           "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
SECOND = {"add": lambda t, c: t + c, "min": min, "max": max}
PARTS = {"": (0, 32), ".b0": (0, 8), ".b1": (8, 8), ".b2": (16, 8), ".b3": (24, 8), ".h0": (0, 16), ".h1": (16, 16)}
WORDS = [0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 0x8001fe7f, 0x12ff80f0, 0xdeadbeef]
THIRD = [0, 0x01020304, 0xfffffff0]


def cut(a, part, signed):
    low, width = part
    v = m.low(a >> low, width)
    return m.signed(v, width) if signed else v


def clamp(t, signed, width):
    least, most = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return max(least, min(most, t))


def merge(t, c, part):
    low, width = part
    hole = ((1 << width) - 1) << low
    return m.low(c & ~hole | m.low(t, width) << low, 32)


def scalar(op, to, ta, tb, asel="", bsel="", dsel="", sat=False, second="", mode=""):
    def fn(a, b, c=0):
        x, y = cut(a, PARTS[asel], ta == "s32"), cut(b, PARTS[bsel], tb == "s32")
        if op in COMPARE:
            t = int(COMPARE[op](x, y))
        elif op in ("vshl", "vshr"):
            n = min(y, 32) if mode == "clamp" else y & 31
            t = x << n if op == "vshl" else x >> n
        else:
            t = SCALAR[op](x, y)
        if sat:
            t = clamp(t, to == "s32", PARTS[dsel][1])
        if second:
            return m.low(SECOND[second](t, cut(c, PARTS[""], to == "s32")), 32)
        return merge(t, c, PARTS[dsel]) if dsel else m.low(t, 32)
    words = (["vset", ta, tb, op] if op in COMPARE else [op, to, ta, tb]) + ["sat"] * sat + [mode] * bool(mode) + [second] * bool(second)
    three = bool(second or dsel)
    add(f"{'.'.join(words)} %r0{dsel}, %r1{asel}, %r2{bsel}{', %r3' * three};", "%r0", "%r1 %r2" + " %r3" * three,
        [WORDS, WORDS] + [THIRD] * three, fn, most=16)


for i, op in enumerate(SCALAR):
    for to in ("u32", "s32"):
        for ta, tb in (("u32", "u32"), ("s32", "s32"), ("u32", "s32"), ("s32", "u32")):
            for sat in (False, True):
                scalar(op, to, ta, tb, sat=sat)
    scalar(op, "s32", "u32", "s32", ".b0", ".h1", sat=True)
    scalar(op, "s32", "s32", "s32", ".b3", ".b1", ".h0", sat=True)
    scalar(op, "u32", "s32", "u32", ".h1", ".b2", ".b2")
    scalar(op, "u32", "u32", "s32", ".h0", ".h1", ".b3", sat=True)
    scalar(op, "s32", "s32", "u32", "", ".h0", second="add")
    scalar(op, "s32", "s32", "s32", sat=True, second=("min", "max")[i & 1])
    scalar(op, "u32", "u32", "u32", sat=True, second=("max", "min")[i & 1])
for op in ("vshl", "vshr"):
    for mode in ("clamp", "wrap"):
        scalar(op, "u32", "u32", "u32", mode=mode)
        scalar(op, "s32", "s32", "u32", mode=mode)
        scalar(op, "s32", "s32", "u32", ".h1", ".b0", mode=mode, second="add")
        scalar(op, "u32", "u32", "u32", ".b1", ".b3", ".h1", mode=mode)
    if op == "vshr":
        scalar(op, "s32", "s32", "u32", ".h0", ".b1", sat=True, mode="clamp", second="max")
for op in COMPARE:
    scalar(op, "u32", "u32", "u32")
    scalar(op, "u32", "s32", "u32")
    scalar(op, "u32", "s32", "s32", ".h0", ".b3", second="add")
    scalar(op, "u32", "s32", "s32", ".b1", ".b3", ".b1")


def mad(ta, tb, asel="", bsel="", sat=False, scale=0, sign=None, po=False):
    signed = "s32" in (ta, tb) or sign is not None
    final = "s32" if signed else "u32"

    def fn(a, b, c):
        p = cut(a, PARTS[asel], ta == "s32") * cut(b, PARTS[bsel], tb == "s32")
        c = cut(c, PARTS[""], signed)
        t = (c - p if sign == "p" else p - c if sign == "c" else p + c) + po
        t >>= scale
        return m.low(clamp(t, signed, 32) if sat else t, 32)
    words = ["vmad", final, ta, tb] + ["po"] * po + ["sat"] * sat + [f"shr{scale}"] * bool(scale)
    a, c = ("-" if sign == "p" else ""), ("-" if sign == "c" else "")
    add(f"{'.'.join(words)} %r0, {a}%r1{asel}, %r2{bsel}, {c}%r3;", "%r0", "%r1 %r2 %r3", [WORDS, WORDS, WORDS], fn, most=16)


for ta, tb in (("u32", "u32"), ("s32", "s32"), ("u32", "s32"), ("s32", "u32")):
    mad(ta, tb)
    mad(ta, tb, sat=True)
    mad(ta, tb, ".h1", ".b2", scale=7)
    mad(ta, tb, scale=15, sat=True)
    mad(ta, tb, ".b0", ".h0", po=True, sat=True)
    mad(ta, tb, ".h0", ".h1", sign="p")
    mad(ta, tb, ".b3", ".h1", sign="c", sat=True, scale=7)


def simd(lanes, op, to, ta, tb, asel=None, bsel=None, mask=None, sat=False, adds=False):
    width, letter = 32 // lanes, "h" if lanes == 2 else "b"
    pick_a = asel or list(range(lanes))
    pick_b = bsel or list(range(lanes, 2 * lanes))
    which = list(range(lanes)) if mask is None else mask

    def fn(a, b, c):
        lane = lambda i, s: cut((a, b)[i // lanes], (i % lanes * width, width), s)
        out = c
        for i in which:
            x, y = lane(pick_a[i], ta == "s32"), lane(pick_b[i], tb == "s32")
            t = int(COMPARE[op](x, y)) if op in COMPARE else SIMD[op](x, y)
            if sat:
                t = clamp(t, to == "s32", width)
            out = m.low(out + t, 32) if adds else merge(t, out, (i * width, width))
        return out
    suffix = lambda l: "" if l is None else f".{letter}" + "".join(str(i) for i in reversed(l))
    words = ([f"vset{lanes}", ta, tb, op] if op in COMPARE else [f"{op}{lanes}", to, ta, tb]) + ["sat"] * sat + ["add"] * adds
    add(f"{'.'.join(words)} %r0{suffix(mask)}, %r1{suffix(asel)}, %r2{suffix(bsel)}, %r3;", "%r0", "%r1 %r2 %r3",
        [WORDS, WORDS, THIRD], fn, most=16)


for lanes in (2, 4):
    mixed = ([1, 2], [0, 3]) if lanes == 2 else ([7, 0, 3, 3], [1, 6, 5, 2])
    for op in list(SIMD) + list(COMPARE):
        for ta, tb in (("u32", "u32"), ("s32", "s32"), ("s32", "u32")):
            to = "s32" if ta == "s32" else "u32"
            simd(lanes, op, to, ta, tb)
            simd(lanes, op, to, ta, tb, adds=True)
            if op in SIMD:
                simd(lanes, op, to, ta, tb, sat=True)
        simd(lanes, op, "u32", "s32", "u32", *mixed, mask=[lanes - 1])
        simd(lanes, op, "s32", "u32", "u32", *mixed, mask=[0, lanes - 1], adds=True)
