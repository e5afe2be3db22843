#!/usr/bin/env python3
"""Random programs against `volta race --any`: what it calls clean is run by an interpreter that shares nothing with it.

    benches/measured/any_programs.py VOLTA FIRST LAST SECONDS

Each seed from FIRST to LAST, until SECONDS are over, is a program of nested loops around barriers of the block and of some
lanes of a warp, shuffles, conditions, breaks and returns that are uniform or not, strides of constants and of the block,
products of sizes, places that an array names, atomics, over one shared array. The interpreter runs blocks of up to 40
threads with a vector clock for each, and knows five ends: a race, an access out of bounds, threads that wait at different
barriers, a lane that a mask leaves out, or none. A program that it breaks and that is called clean is a wrong verdict,
printed whole; the exit status is 1.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

W = tempfile.mkdtemp()


class P:
    def __init__(s, seed):
        s.r = random.Random(seed)
        s.n = 0
        s.loops = []
        s.uid = 0

    def idx(s):
        r = s.r
        k = []
        base = r.choice(["t", "t", "t", "t2", "rev", "tx1", "c", "none", "rows", "cols", "lane", "data", "mod", "div"])
        if base == "t":
            e = ("tid",)
        elif base == "t2":
            e = ("mul", ("tid",), ("c", 2))
        elif base == "rev":
            e = ("sub", ("sub", ("ntid",), ("c", 1)), ("tid",))
        elif base == "tx1":
            e = ("xor", ("tid",), ("c", 1))
        elif base == "c":
            e = ("c", r.randrange(4))
        elif base == "rows":
            inner = ("v", r.choice(s.loops)) if s.loops and r.random() < 0.8 else ("c", r.randrange(3))
            e = ("add", ("mul", ("tid",), r.choice([("v", "n"), ("v", "n"), ("c", 4)])), inner)
        elif base == "cols":
            inner = ("v", r.choice(s.loops)) if s.loops and r.random() < 0.8 else ("c", r.randrange(3))
            e = ("add", ("mul", inner, r.choice([("ntid",), ("ntid",), ("c", 32)])), ("tid",))
        elif base == "lane":
            e = ("add", ("mul", ("shr", ("tid",), ("c", 5)), ("c", r.choice([32, 32, 16]))), ("xor", ("and", ("tid",), ("c", 31)), ("c", r.choice([0, 1, 2, 31]))))
        elif base == "data":
            e = ("g", r.choice([("tid",), ("tid",), ("v", "n"), ("c", 1)] + [("v", i) for i in s.loops]))
        elif base == "mod":
            e = ("rem", ("tid",), ("c", r.choice([2, 3, 32])))
        elif base == "div":
            e = ("shr", ("tid",), ("c", r.choice([1, 2, 5])))
        elif s.loops:
            e = ("v", r.choice(s.loops))
        else:
            e = ("c", 0)
        if s.loops and r.random() < 0.6:
            i = r.choice(s.loops)
            m = r.choice([1, 1, 3])
            off = ("mul", ("and", ("v", i), ("c", m)), ("c", r.choice([1024, 1024, 1, 2])))
            e = ("add", e, off)
        if r.random() < 0.35:
            e = ("add", e, ("c", r.choice([1, 1, 2, 1024])))
        return e

    def cond(s, uni):
        r = s.r
        o = [
            ("lt", ("v", "n"), ("c", r.randrange(5))),
            ("eq", ("v", "n"), ("c", r.randrange(5))),
            ("lt", ("c", r.randrange(4)), ("ntid",)),
        ]
        for i in s.loops:
            o += [
                ("eq", ("and", ("v", i), ("c", 1)), ("c", r.randrange(2))),
                ("lt", ("v", i), ("c", r.randrange(1, 4))),
                ("eq", ("v", i), ("c", r.randrange(4))),
                ("eq", ("v", i), ("v", "n")),
            ] * 2
        if not uni:
            o += [
                ("lt", ("tid",), ("c", r.randrange(1, 4))),
                ("eq", ("tid",), ("c", r.randrange(3))),
                ("lt", ("tid",), ("v", "n")),
                ("lt", ("and", ("tid",), ("c", 31)), ("c", r.choice([1, 2, 4, 16]))),
                ("lt", ("tid",), ("c", r.choice([1, 2, 4, 32]))),
                ("eq", ("shr", ("tid",), ("c", 5)), ("c", r.randrange(2))),
                ("lt", ("g", ("tid",)), ("c", 2)),
            ] * 2
            for i in s.loops:
                o.append(("eq", ("tid",), ("v", i)))
        c = r.choice(o)
        return ("not", c) if r.random() < 0.3 else c

    def mask(s):
        r = s.r
        return ("c", r.choice([0xFFFFFFFF] * 5 + [1, 3, 15, 0xFFFF]))

    def block(s, depth, inloop):
        r = s.r
        out = []
        for _ in range(r.choice([1, 2, 2, 3, 3, 4])):
            x = r.random()
            if x < 0.28:
                s.uid += 1
                out.append(("st", s.idx(), s.uid))
            elif x < 0.38:
                s.uid += 1
                out.append(("ld", s.idx(), s.uid))
            elif x < 0.40:
                s.uid += 1
                out.append(("at", s.idx(), s.uid))
            elif x < 0.52:
                out.append(("sync",))
            elif x < 0.60:
                out.append(("wsync", s.mask()))
            elif x < 0.62:
                out.append(("shfl", s.mask()))
            elif x < 0.82 and depth < 3 and len(s.loops) < 3:
                v = "i%d" % s.n
                s.n += 1
                lo = r.choice([("c", 0), ("c", 0), ("c", 1), ("v", "n"), ("tid",)] + ([("v", s.loops[-1])] if s.loops else []))
                hi = r.choice(
                    [("v", "n"), ("v", "n"), ("c", 2), ("c", 3), ("c", 1), ("ntid",)]
                    + ([("v", s.loops[-1])] if s.loops else [])
                    + ([("add", ("tid",), ("c", 1))] if r.random() < 0.1 else [])
                )
                st = r.choice([("c", 1), ("c", 1), ("c", 1), ("c", 2), ("c", 3), ("c", 8)])
                if lo == ("tid",):
                    st = r.choice([("ntid",), ("ntid",), ("ntid",), ("c", 32), ("c", 4), ("c", 1)])
                kind = r.choice(["for", "for", "do", "shr"])
                if kind == "shr":
                    lo, hi, st = r.choice([("c", 2), ("c", 4), ("ntid",)]), ("c", 0), ("c", 1)
                s.loops.append(v)
                b = s.block(depth + 1, True)
                s.loops.pop()
                out.append((kind, v, lo, hi, st, b))
            elif x < 0.93 and depth < 3:
                uni = r.random() < 0.6
                c = s.cond(uni)
                b = s.block(depth + 1, inloop)
                el = s.block(depth + 1, inloop) if r.random() < 0.2 else []
                out.append(("if", c, b, el))
            elif x < 0.98 and inloop:
                out.append(("break", s.cond(r.random() < 0.75)))
            elif r.random() < 0.5:
                out.append(("ret", s.cond(r.random() < 0.3)))
        return out

    def gen(s):
        b = s.block(0, False)
        return b


# PTX
class G:
    def __init__(g):
        g.o = []
        g.nr = 10
        g.np = 1
        g.nl = 0
        g.nd = 1
        g.vars = {}

    def reg(g):
        g.nr += 1
        return "%%r%d" % g.nr

    def pred(g):
        g.np += 1
        return "%%p%d" % g.np

    def lab(g):
        g.nl += 1
        return "L%d" % g.nl

    def e(g, x):
        k = x[0]
        if k == "tid":
            return "%r1"
        if k == "ntid":
            return "%r2"
        if k == "c":
            return str(x[1])
        if k == "v":
            return "%r3" if x[1] == "n" else g.vars[x[1]]
        if k == "g":
            a, low, d = g.e(x[1]), g.reg(), g.reg()
            g.nd += 2
            wide, at = "%%rd%d" % (g.nd - 1), "%%rd%d" % g.nd
            g.o.append("and.b32 %s, %s, 63;" % (low, a) if a[0] == "%" else "mov.u32 %s, %s;" % (low, a))
            g.o.append("mul.wide.u32 %s, %s, 4;" % (wide, low))
            g.o.append("add.s64 %s, %%rd1, %s;" % (at, wide))
            g.o.append("ld.global.u32 %s, [%s];" % (d, at))
            return d
        a = g.e(x[1])
        b = g.e(x[2])
        d = g.reg()
        op = {"add": "add.s32", "sub": "sub.s32", "mul": "mul.lo.s32", "xor": "xor.b32", "and": "and.b32", "shr": "shr.u32", "rem": "rem.u32"}[k]
        if a[0] != "%":
            t = g.reg()
            g.o.append("mov.u32 %s, %s;" % (t, a))
            a = t
        g.o.append("%s %s, %s, %s;" % (op, d, a, b))
        return d

    def c(g, x):
        if x[0] == "not":
            p, n = g.c(x[1])
            return p, not n
        a = g.e(x[1])
        b = g.e(x[2])
        p = g.pred()
        if a[0] != "%":
            t = g.reg()
            g.o.append("mov.u32 %s, %s;" % (t, a))
            a = t
        g.o.append("setp.%s.s32 %s, %s, %s;" % (x[0], p, a, b))
        return p, False

    def br(g, x, l, neg=False):
        p, n = g.c(x)
        n ^= neg
        g.o.append("@%s%s bra %s;" % ("!" if n else "", p, l))

    def blk(g, b, brk):
        for s in b:
            k = s[0]
            if k in ("st", "ld", "at"):
                a = g.e(s[1])
                d = g.reg()
                if a[0] != "%":
                    t = g.reg()
                    g.o.append("mov.u32 %s, %s;" % (t, a))
                    a = t
                g.o.append("shl.b32 %s, %s, 2;" % (d, a))
                d2 = g.reg()
                g.o.append("add.s32 %s, %%r4, %s;" % (d2, d))
                v = g.reg()
                if k == "st":
                    g.o.append("add.s32 %s, %%r5, %d;" % (v, s[2]))
                    g.o.append("st.shared.u32 [%s], %s;" % (d2, v))
                elif k == "at":
                    g.o.append("red.shared.add.u32 [%s], %d;" % (d2, s[2]))
                else:
                    g.o.append("ld.shared.u32 %s, [%s];" % (v, d2))
            elif k == "sync":
                g.o.append("bar.sync 0;")
            elif k == "wsync":
                g.o.append("bar.warp.sync %d;" % s[1][1])
            elif k == "shfl":
                g.o.append("shfl.sync.bfly.b32 %s, %%r1, 1, 31, %d;" % (g.reg(), s[1][1]))
            elif k == "if":
                l = g.lab()
                g.br(s[1], l, True)
                g.blk(s[2], brk)
                if s[3]:
                    l2 = g.lab()
                    g.o.append("bra %s;" % l2)
                    g.o.append(l + ":")
                    g.blk(s[3], brk)
                    g.o.append(l2 + ":")
                else:
                    g.o.append(l + ":")
            elif k == "break":
                g.br(s[1], brk)
            elif k == "ret":
                g.br(s[1], "END")
            elif k in ("for", "do", "shr"):
                v = g.reg()
                a = g.e(s[2])
                g.o.append("mov.u32 %s, %s;" % (v, a))
                g.vars[s[1]] = v
                h = g.lab()
                x = g.lab()
                g.o.append(h + ":")

                def test():
                    p = g.pred()
                    hi = g.e(s[3])
                    g.o.append("setp.%s.s32 %s, %s, %s;" % ("gt" if k == "shr" else "lt", p, v, hi))
                    return p

                if k != "do":
                    p = test()
                    g.o.append("@!%s bra %s;" % (p, x))
                g.blk(s[5], x)
                if k == "shr":
                    g.o.append("shr.s32 %s, %s, 1;" % (v, v))
                else:
                    g.o.append("add.s32 %s, %s, %s;" % (v, v, g.e(s[4])))
                if k == "do":
                    p = test()
                    g.o.append("@%s bra %s;" % (p, h))
                else:
                    g.o.append("bra %s;" % h)
                g.o.append(x + ":")


def ptx(b):
    g = G()
    g.blk(b, None)
    t = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n, .param .u64 data)\n{\n.reg .b64 %%rd<%d>;\n.reg .b32 %%r<%d>;\n.reg .pred %%p<%d>;\n.shared .align 4 .b8 s[40960];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ntid.x;\nld.param.u32 %%r3, [n];\nmov.u32 %%r4, s;\nmul.lo.s32 %%r5, %%r1, 1000;\nld.param.u64 %%rd1, [data];\n"
        % (g.nd + 1, g.nr + 1, g.np + 1)
    )
    return t + "\n".join(g.o) + "\nEND:\nret;\n}\n"


# interpreter: generator per thread
class Long(Exception):
    pass


def run(b, tid, ntid, n, data, budget):
    env = {"n": n}

    def E(x):
        k = x[0]
        if k == "tid":
            return tid
        if k == "ntid":
            return ntid
        if k == "c":
            return x[1]
        if k == "v":
            return env[x[1]]
        if k == "g":
            return data(E(x[1]) & 63)
        a, c = E(x[1]), E(x[2])
        return {
            "add": lambda: a + c,
            "sub": lambda: a - c,
            "mul": lambda: a * c,
            "xor": lambda: a ^ c,
            "and": lambda: a & c,
            "shr": lambda: a >> c,
            "rem": lambda: a % c,
        }[k]()

    def C(x):
        if x[0] == "not":
            return not C(x[1])
        a, c = E(x[1]), E(x[2])
        return a < c if x[0] == "lt" else a == c

    cnt = [0]

    def B(b):
        for s in b:
            cnt[0] += 1
            if cnt[0] > budget:
                raise Long()
            k = s[0]
            if k == "st":
                yield ("w", E(s[1]))
            elif k == "ld":
                yield ("r", E(s[1]))
            elif k == "at":
                yield ("a", E(s[1]))
            elif k == "sync":
                yield ("sync", id(s))
            elif k in ("wsync", "shfl"):
                yield (k, id(s), s[1][1])
            elif k == "if":
                x = yield from B(s[2] if C(s[1]) else s[3])
                if x:
                    return x
            elif k == "break":
                if C(s[1]):
                    return "break"
            elif k == "ret":
                if C(s[1]):
                    return "ret"
            else:
                v = s[1]
                env[v] = E(s[2])
                first = k == "do"
                while first or (env[v] > E(s[3]) if k == "shr" else env[v] < E(s[3])):
                    first = False
                    cnt[0] += 1
                    if cnt[0] > budget:
                        raise Long()
                    x = yield from B(s[5])
                    if x == "ret":
                        return x
                    if x == "break":
                        break
                    if k == "shr":
                        env[v] >>= 1
                    else:
                        env[v] += E(s[4])
        return None

    return B(b)


def launch(b, ntid, n, data):
    """How one launch of one block ends: None, or what breaks."""
    threads = [run(b, t, ntid, n, data, 3000) for t in range(ntid)]
    clock = [[0] * ntid for _ in range(ntid)]
    for t in range(ntid):
        clock[t][t] = 1
    live, at, seen = set(range(ntid)), {}, {}

    def join(group):
        top = [max(c) for c in zip(*(clock[t] for t in group))]
        for t in group:
            clock[t] = list(top)
            clock[t][t] += 1

    while live:
        for t in sorted(live - set(at)):
            for kind, where, *more in threads[t]:
                if kind in ("sync", "wsync", "shfl"):
                    at[t] = (kind, where, *more)
                    break
                if where < 0 or where >= 10240:
                    return ("oob", ntid, n, where)
                last = seen.setdefault(where, {})
                for (u, other), when in last.items():
                    if u != t and (kind, other) not in (("r", "r"), ("a", "a")) and clock[t][u] < when:
                        return ("race", ntid, n, where, u, t)
                last[(t, kind)] = clock[t][t]
            else:
                live.discard(t)
        moved = False
        for w in range(0, ntid, 32):
            lanes = [t for t in range(w, min(w + 32, ntid)) if t in live]
            for t in lanes:
                if t not in at or at[t][0] == "sync":
                    continue
                mask = at[t][2]
                if not mask >> (t - w) & 1:
                    return ("mask", ntid, n, t)
                group = [u for u in lanes if mask >> (u - w) & 1]
                if not all(u in at and at[u][0] == at[t][0] for u in group):
                    continue
                if any(at[u] != at[t] for u in group):
                    return ("diverge", ntid, n, t)
                if at[t][0] == "wsync":
                    join(group)
                for u in group:
                    del at[u]
                moved = True
        if live and all(t in at and at[t][0] == "sync" for t in live):
            for w in range(0, ntid, 32):
                if len({at[t] for t in live if w <= t < w + 32}) > 1:
                    return ("diverge", ntid, n)
            join(live)
            at.clear()
            moved = True
        if live and not moved:
            return ("stuck", ntid, n)
    return None


DATA = [lambda i: 0, lambda i: i, lambda i: i // 2]


def brute(b):
    reads = "('g'," in repr(b)
    for ntid in (1, 2, 3, 4, 5, 8, 33, 40):
        for n in (-1, 0, 1, 2, 3, 4, 5, 7) if ntid < 33 else (0, 2, 5, 34):
            for data in DATA if reads else DATA[:1]:
                try:
                    broken = launch(b, ntid, n, data)
                except Long:
                    continue
                if broken:
                    return broken
    return None


def show(b, i=0):
    o = ""
    for s in b:
        if s[0] in ("for", "do", "shr"):
            o += "  " * i + repr(s[:5]) + "\n" + show(s[5], i + 1)
        elif s[0] == "if":
            o += "  " * i + repr(s[:2]) + "\n" + show(s[2], i + 1) + (("  " * i + "else\n" + show(s[3], i + 1)) if s[3] else "")
        else:
            o += "  " * i + repr(s) + "\n"
    return o


def main():
    volta = sys.argv[1]
    a, z = int(sys.argv[2]), int(sys.argv[3])
    end = time.time() + float(sys.argv[4])
    st = {}
    why = {}
    wrong = 0
    for seed in range(a, z):
        if time.time() > end:
            break
        b = P(seed).gen()
        t = ptx(b)
        if "sync" not in repr(b) or "'st'" not in repr(b):
            continue
        br = brute(b)
        # most programs are wrong: judge only one in six of those
        if br and seed % 3:
            continue
        f = W + "/x%d.ptx" % os.getpid()
        open(f, "w").write(t)
        try:
            o = subprocess.run(
                [volta, "race", f, "--any", "--json", "--timeout", "8"], capture_output=True, text=True, timeout=30
            )
        except subprocess.TimeoutExpired:
            print("HANG", seed)
            continue
        try:
            j = json.loads(o.stdout)
        except Exception:
            print("ERR", seed, o.stderr[:300], o.stdout[:100])
            continue
        v = j.get("verdict") or "error"
        k = (v, "right" if br is None else br[0])
        st[k] = st.get(k, 0) + 1
        if v == "error":
            print("error", seed, o.stdout[:300])
        if v == "clean" and br:
            wrong += 1
            print("WRONG CLEAN", seed, br)
            print(show(b))
            sys.stdout.flush()
        if v == "defective" and not br:
            d = j["defects"][0]
            kk = ("def-but-right", d["kind"], d["message"][:60])
            why[kk] = why.get(kk, 0) + 1
        if v == "unknown" and br is None:
            for u in j["unknown"][:1]:
                why[u["message"][:90]] = why.get(u["message"][:90], 0) + 1
    print(st)
    for k in sorted(why, key=lambda k: -why[k])[:20]:
        print(why[k], k)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
