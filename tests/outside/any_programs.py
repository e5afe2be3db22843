#!/usr/bin/env python3
"""Random programs against `volta race --any`: what it calls clean is run by an interpreter that shares nothing with it.

    tests/outside/any_programs.py VOLTA FIRST LAST SECONDS

Each seed from FIRST to LAST, until SECONDS are over, is a program of nested loops around barriers of the block and of the
warp, with conditions, breaks and returns that are uniform or not, over one shared array. The interpreter runs blocks of up to
eight threads, one interval between barriers after the other, and knows four ends: a race, an access out of bounds, threads
that wait at different barriers, or none. A program that it breaks and that is called clean is a wrong verdict, printed
whole; the exit status is 1. A barrier of the warp is one of the block there, since a block has one warp.
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
        base = r.choice(["t", "t", "t", "t2", "rev", "tx1", "c", "none"])
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
            ] * 2
            for i in s.loops:
                o.append(("eq", ("tid",), ("v", i)))
        c = r.choice(o)
        return ("not", c) if r.random() < 0.3 else c

    def block(s, depth, inloop):
        r = s.r
        out = []
        for _ in range(r.choice([1, 2, 2, 3, 3, 4])):
            x = r.random()
            if x < 0.3:
                s.uid += 1
                out.append(("st", s.idx(), s.uid))
            elif x < 0.4:
                s.uid += 1
                out.append(("ld", s.idx(), s.uid))
            elif x < 0.56:
                out.append(("sync",))
            elif x < 0.62:
                out.append(("wsync",))
            elif x < 0.82 and depth < 3 and len(s.loops) < 3:
                v = "i%d" % s.n
                s.n += 1
                lo = r.choice([("c", 0), ("c", 0), ("c", 1), ("v", "n")] + ([("v", s.loops[-1])] if s.loops else []))
                hi = r.choice(
                    [("v", "n"), ("v", "n"), ("c", 2), ("c", 3), ("c", 1), ("ntid",)]
                    + ([("v", s.loops[-1])] if s.loops else [])
                    + ([("add", ("tid",), ("c", 1))] if r.random() < 0.1 else [])
                )
                st = r.choice([1, 1, 1, 2])
                kind = r.choice(["for", "for", "do", "shr"])
                if kind == "shr":
                    lo, hi, st = r.choice([("c", 2), ("c", 4), ("ntid",)]), ("c", 0), 1
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
        a = g.e(x[1])
        b = g.e(x[2])
        d = g.reg()
        op = {"add": "add.s32", "sub": "sub.s32", "mul": "mul.lo.s32", "xor": "xor.b32", "and": "and.b32"}[k]
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
            if k in ("st", "ld"):
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
                else:
                    g.o.append("ld.shared.u32 %s, [%s];" % (v, d2))
            elif k == "sync":
                g.o.append("bar.sync 0;")
            elif k == "wsync":
                g.o.append("bar.warp.sync -1;")
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
                    g.o.append("add.s32 %s, %s, %d;" % (v, v, s[4]))
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
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n.reg .b32 %%r<%d>;\n.reg .pred %%p<%d>;\n.shared .align 4 .b8 s[40960];\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ntid.x;\nld.param.u32 %%r3, [n];\nmov.u32 %%r4, s;\nmul.lo.s32 %%r5, %%r1, 1000;\n"
        % (g.nr + 1, g.np + 1)
    )
    return t + "\n".join(g.o) + "\nEND:\nret;\n}\n"


# interpreter: generator per thread
class Long(Exception):
    pass


def run(b, tid, ntid, n, budget):
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
        a, c = E(x[1]), E(x[2])
        return {"add": a + c, "sub": a - c, "mul": a * c, "xor": a ^ c, "and": a & c}[k]

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
                yield ("w", E(s[1]), id(s))
            elif k == "ld":
                yield ("r", E(s[1]), id(s))
            elif k in ("sync", "wsync"):
                yield ("b", 0, id(s))
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
                        env[v] += s[4]
        return None

    return B(b)


def brute(b):
    for ntid in (1, 2, 3, 4, 5, 8):
        for n in (-1, 0, 1, 2, 3, 4, 5, 7):
            th = [run(b, t, ntid, n, 4000) for t in range(ntid)]
            live = list(range(ntid))
            try:
                while live:
                    acc = {}
                    at = {}
                    nxt = []
                    for t in live:
                        for ev in th[t]:
                            if ev[0] == "b":
                                at[t] = ev[2]
                                nxt.append(t)
                                break
                            acc.setdefault(ev[1], {}).setdefault(t, set()).add(ev[0])
                    for a, m in acc.items():
                        if a < 0 or a >= 10240:
                            return ("oob", ntid, n, a)
                        w = [t for t in m if "w" in m[t]]
                        if w and len(m) > 1:
                            return ("race", ntid, n, a, sorted(m))
                    if len(set(at.values())) > 1:
                        return ("diverge", ntid, n)
                    live = nxt
            except Long:
                continue
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
        if br and seed % 4:
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
