"""Collectives of a warp: the rows of a template are the lanes of one warp."""
import random

import model as m
from tables import Section, file, values
import tables

file("warp", "Collectives of a warp: PTX ISA 9.0, sections 9.7.9.6, 9.7.13.9 to 9.7.13.12 and 9.7.13.14. Each template is run once, its rows are the 32 lanes.")

LANES = range(32)
RNG = random.Random(5)


def warp(text, outs, ins, columns, fn, target="sm_90a"):
    """`columns`: for each input the values of the lanes; `fn` gives for each output those of the lanes."""
    columns = [[c] * 32 if isinstance(c, int) else list(c) for c in columns]
    found = fn(*columns)
    rows = [(tuple(c[i] for c in columns), tuple(c[i] for c in found), "") for i in LANES]
    tables.SECTIONS.append(Section(text, outs, ins, rows, target=target, judged=False, flags="warp"))


def shfl(mode, values_, bs, cs):
    out, ok = [], []
    for lane in LANES:
        b, c, segment = bs[lane] & 31, cs[lane] & 31, cs[lane] >> 8 & 31
        most, least = lane & segment | c & ~segment & 31, lane & segment
        if mode == "up":
            j = lane - b
            p = j >= most
        elif mode == "down":
            j = lane + b
            p = j <= most
        elif mode == "bfly":
            j = lane ^ b
            p = j <= most
        else:
            j = least | b & ~segment & 31
            p = j <= most
        out.append(values_[j if p else lane])
        ok.append(int(p))
    return out, ok


column = [0x1000 + 3 * i for i in LANES]
clamps = {"up": [0, 0x1c00, 0x1000, 0x1800, 0x0004], "down": [31, 0x1c1f, 0x101f, 0x181f, 0x000f], "bfly": [31, 0x1c1f, 0x101f, 0x0007],
          "idx": [31, 0x1c1f, 0x101f, 0x1803, 0x000f]}
for mode, cs in clamps.items():
    for c in cs:
        for b in (0, 1, 5, 16, 31, 33, 0xffffffff):
            warp(f"shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, %r3, 0xffffffff;", "%r0 %p0", "%r1 %r2 %r3", [column, b, c],
                 lambda a, bs, cs, mode=mode: shfl(mode, a, bs, cs))
    warp(f"shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, %r3, 0xffffffff;", "%r0 %p0", "%r1 %r2 %r3",
         [column, [RNG.randrange(64) for _ in LANES], [RNG.choice(cs) for _ in LANES]], lambda a, bs, cs, mode=mode: shfl(mode, a, bs, cs))
for name, column in (("none", [0] * 32), ("all", [1] * 32), ("one", [int(i == 31) for i in LANES]), ("mixed", [i * i // 3 & 1 for i in LANES])):
    ballot = sum(p << i for i, p in enumerate(column))
    for neg in ("", "!"):
        full = 0xffffffff
        b = ballot if not neg else ballot ^ full
        warp(f"vote.sync.ballot.b32 %r0, {neg}%p1, 0xffffffff;", "%r0", "%p1", [column], lambda c, b=b: [[b] * 32])
        for mode, value in (("all", b == full), ("any", b != 0), ("uni", b in (0, full))):
            warp(f"vote.sync.{mode}.pred %p0, {neg}%p1, 0xffffffff;", "%p0", "%p1", [column], lambda c, v=int(value): [[v] * 32])
for w, r in ((32, "r"), (64, "l")):
    for column in ([7] * 32, [i % 5 for i in LANES], list(range(32)), [m.low(-1, w) if i < 16 else 1 << (w - 1) for i in LANES]):
        warp(f"match.sync.any.b{w} %r0, %{r}1, 0xffffffff;".replace("match.sync.any", "match.any.sync"), "%r0", f"%{r}1", [column],
             lambda c: [[sum((x == y) << j for j, y in enumerate(c)) for x in c]])
        warp(f"match.all.sync.b{w} %r0|%p0, %{r}1, 0xffffffff;", "%r0 %p0", f"%{r}1", [column],
             lambda c: [[0xffffffff if len(set(c)) == 1 else 0] * 32, [int(len(set(c)) == 1)] * 32])
mixes = [[0] * 32, [m.low(i - 16, 32) for i in LANES], [RNG.randrange(1 << 32) for _ in LANES], [0xffffffff] * 32, [1 << i for i in LANES],
         [0x80000000 if i & 1 else 0x7fffffff for i in LANES]]
for column in mixes:
    def fold(fn):
        def go(c):
            out = c[0]
            for x in c[1:]:
                out = fn(out, x)
            return [[m.low(out, 32)] * 32]
        return go
    for t in ("u32", "s32"):
        for op, fn in (("add", lambda a, b: m.low(a + b, 32)), ("min", lambda a, b, t=t: min(a, b, key=lambda x: m.num(x, t))),
                       ("max", lambda a, b, t=t: max(a, b, key=lambda x: m.num(x, t)))):
            warp(f"redux.sync.{op}.{t} %r0, %r1, 0xffffffff;", "%r0", "%r1", [column], fold(fn))
    for op, fn in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
        warp(f"redux.sync.{op}.b32 %r0, %r1, 0xffffffff;", "%r0", "%r1", [column], fold(fn))
# The elected lane is open in PTX; volta takes the lowest one of the mask and says so.
for column in ([0xffffffff] * 32, [0xffff if i < 16 else 0xffff0000 for i in LANES], [0x55555555 << (i & 1) for i in LANES], [1 << i for i in LANES]):
    first = [(c & -c).bit_length() - 1 for c in column]
    warp("elect.sync %r0|%p0, %r1;", "%r0 %p0", "%r1", [column], lambda c, first=first: [first, [int(f == i) for i, f in enumerate(first)]])
# Which lanes are active is open; what is known is what holds of every mask.
warp("activemask.b32 %r0; and.b32 %r0, %r0, %r1;", "%r0", "%r1", [0], lambda c: [[0] * 32])
warp("activemask.b32 %r0; or.b32 %r0, %r0, %r1;", "%r0", "%r1", [0xffffffff], lambda c: [[0xffffffff] * 32])
warp("activemask.b32 %r0; xor.b32 %r0, %r0, %r0; add.u32 %r0, %r0, %r1;", "%r0", "%r1", [list(LANES)], lambda c: [c])
