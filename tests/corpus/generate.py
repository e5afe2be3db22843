#!/usr/bin/env python3
"""Candidate lines for `lines.txt`: instructions made from the forms of `src/ptx/ptx/table` and broken ones.

    tests/corpus/generate.py > candidates.txt
    tests/corpus/judge.py --ptxas .../ptxas candidates.txt > lines.txt

For each form, words are drawn for its groups and operands of several register classes for its slots;
what ptxas thinks of a line is not known here. `judge.py` asks it, and keeps of each form some lines that
are accepted. These are then broken one place at a time (`mutants`), and judged again. The draws are
seeded, so that the files can be made again.
"""
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What stands before each line; `judge.py` and `tests/text/lines.rs` use the same text.
PROLOGUE = (pathlib.Path(__file__).parent / "prologue.txt").read_text()

REGS = {"p": "%p", "h": "%h", "r": "%r", "l": "%l", "q": "%q", "f": "%f", "d": "%d"}
SIZE = {"pred": "p", "b8": "h", "u8": "h", "s8": "h", "u16": "h", "s16": "h", "b16": "h", "f16": "h", "bf16": "h",
        "u32": "r", "s32": "r", "b32": "r", "f16x2": "r", "bf16x2": "r", "u16x2": "r", "s16x2": "r", "tf32": "r",
        "u64": "l", "s64": "l", "b64": "l", "f32x2": "l", "f32": "f", "f64": "d", "b128": "q",
        "e4m3x2": "h", "e5m2x2": "h", "e2m3x2": "h", "e3m2x2": "h", "ue8m0x2": "h", "e2m1x2": "h",
        "e4m3x4": "r", "e5m2x4": "r", "e2m3x4": "r", "e3m2x4": "r", "e2m1x4": "h", "b1024": "l",
        "e4m3": "h", "e5m2": "h"}
TYPES = set(SIZE) | {"s4", "u4", "s2", "u2", "b1", "e2m1", "e2m3", "e3m2", "ue8m0", "ue4m3", "b8x16", "b6x16_p32",
                     "b4x16_p64", "texref", "samplerref", "surfref"}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
        "e4m3": 8, "e5m2": 8, "e2m3": 8, "e3m2": 8, "e2m1": 8}


def table():
    """Opcode texts and their forms: `{op: [(groups, slots)]}`."""
    texts = dict(re.findall(r'(\w+) = "([^"]+)"\s+"9\.', (ROOT / "src/ptx/ptx/opcode.rs").read_text()))
    source = (ROOT / "src/ptx/ptx/table/mod.rs").read_text()
    sets_text = source[source.index("const SETS"):source.index("/// Words of which")]
    sets_text = re.sub(r"\\\n\s*", "", sets_text)
    sets = dict(re.findall(r'\(\s*"(\w+)",\s*"([^"]+)",?\s*\)', sets_text))
    rows = {}
    for name in ["arith", "data", "sync", "matrix"]:
        text = re.sub(r"//.*", "", (ROOT / f"src/ptx/ptx/table/{name}.rs").read_text())
        text = re.sub(r"\\\n\s*", "", text)
        consts = {n: re.findall(r'"([^"]*)"', b) for n, b in
                  re.findall(r"const (\w+): &\[&str\] = &\[(.*?)\];", text, re.S)}
        for op, body, const in re.findall(r"\(\s*Op::(\w+),\s*(?:&\[(.*?)\]|(\w+)),?\s*\)", text, re.S):
            forms = consts[const] if const else re.findall(r'"([^"]*)"', body)
            rows[texts[op]] = [form(text, sets) for text in forms]
    return texts.values(), rows


def form(text, sets):
    words, slots = text.rsplit(": ", 1) if ": " in text else text.rsplit(":", 1)
    groups = []
    for word in words.split():
        optional = word.endswith("?")
        choices = []
        for choice in word.rstrip("?").split("|"):
            choices += sets[choice[1:]].split("|") if choice.startswith("$") else [choice]
        groups.append((choices, optional))
    return groups, [slot.strip() for slot in slots.split(",") if slot.strip()]


def reg(cls, rng, shift=0):
    return f"{REGS[cls]}{1 + (rng.randrange(4) + shift) % 8}"


def vector(cls, count, start=0):
    return "{" + ", ".join(f"{REGS[cls]}{start + i}" for i in range(count)) + "}"


def matrix_operands(op, words, slots, rng):
    """Operands of mma, wmma and wgmma, whose vectors follow from the shape; None for other opcodes."""
    shape = next((re.fullmatch(r"m(\d+)n(\d+)k(\d+)", w) for w in words if re.fullmatch(r"m\d+n\d+k\d+", w)), None)
    types = [w for w in words if w in TYPES]
    if not shape:
        return None
    m, n, k = map(int, shape.groups())

    def acc(ty, count):
        if ty == "f16":
            return vector("r", max(1, count // 64), rng.randrange(3))
        cls = {"f32": "f", "s32": "r", "f64": "d"}.get(ty, "r")
        return vector(cls, max(1, count // 32), rng.randrange(3))

    def frag(ty, count):
        if ty == "f64":
            return vector("d", max(1, count // 32))
        return vector("f" if ty == "f32" else "r", max(1, count * BITS.get(ty, 8) // 1024))

    if op.startswith("mma"):
        sparse = 2 if op != "mma" else 1
        d, a, b, c = types[:4]
        if (m, n, k) == (8, 8, 4) and a == "f16":
            pick = lambda t: vector("r", 4) if t == "f16" else vector("f", 8)
            return [[pick(d), vector("r", 2), vector("r", 2), pick(c)]]
        out = [acc(d, m * n), frag(a, m * k // sparse), frag(b, k * n), acc(c, m * n)]
        if "e2m1" in (a, b) and any(w.startswith("kind::mxf4") for w in words):
            out[1], out[2] = vector("r", 4), vector("r", 2 * sparse)
        if op != "mma":
            out += ["%r9", rng.choice(["0x0", "0x0", "0x1"])]
        if "block_scale" in words:
            out += ["%r10", "{0, 0}", "%r11", "{0, 0}"]
        return [out]
    if op == "wgmma.mma_async" or op == "wgmma.mma_async.sp":
        d, a = types[0], types[1]
        out = [vector("r" if d in ("f16", "s32") else "f", m * n // (256 if d == "f16" else 128))]
        bs = [["%l1", "%l2"], [vector("r", 4), "%l2"]]
        tail = ["%p1", "1", "1", "0", "0"] if a in ("f16", "bf16") else ["%p1", "1", "1"] if d != "s32" else ["%p1"]
        extra = ["%r40", "0"] if op.endswith("sp") else []
        full = [out + b + extra + tail for b in bs]
        full[1] = full[1][:-1] if a in ("f16", "bf16") else full[1]
        return full
    if op.startswith("wmma"):
        def count(which, ty):
            if which in "cd":
                return acc(ty, m * n)
            if ty in ("f16",):
                return vector("r", 8)
            if ty == "bf16":
                return vector("r", {(16, 16): 4}.get((m, n), 2 if (which == "a") == (m == 8) else 8))
            if ty in ("s8", "u8"):
                return vector("r", {(16, 16): 2}.get((m, n), 1 if (which == "a") == (m == 8) else 4))
            if ty in ("s4", "u4", "b1"):
                return vector("r", 1)
            return vector("r", 4) if ty == "tf32" else vector("d", 1)
        if op == "wmma.mma":
            if len(types) == 2:
                return [[acc(types[0], 256), vector("r", 8), vector("r", 8), acc(types[1], 256)]]
            d, a, b, c = types[:4]
            return [[count("d", d), count("a", a), count("b", b), count("c", c)]]
        which = words[0]
        frag_text = count(which, types[0])
        where = "[%l1]" if "shared" not in words else "[sh]"
        out = [where, frag_text] if op == "wmma.store" else [frag_text, where]
        return [out, out + ["%r9"]]
    return None


def operand_choices(op, words, slot, rng):
    """Texts worth trying for a slot."""
    types = [w for w in words if w in TYPES]
    classes = list(dict.fromkeys(SIZE[t] for t in types if t in SIZE)) or ["r"]
    kind = {"i": "r", "R": "r", "Q": "q", "D": "d", "u": "r", "U": "r", "a": "r", "y": "x", "z": "x", "t": "m"}.get(slot[0], slot[0])
    if slot[0] in "uU":
        return ["%r3", "%r4", "%r5.h1" if slot[0] == "u" else "%r6", "7", "2.5"]
    fixed = re.fullmatch(r"[a-zRQD](?:(n|\d*)@(\d)|n?(1|16|32|64|128))\??", slot)
    exact = None
    if fixed:
        place = fixed.group(2)
        exact = SIZE.get(types[int(place) - 1]) if place and int(place) <= len(types) else None
        exact = exact or {"1": "p", "16": "h", "32": "r", "64": "l", "128": "q"}.get(fixed.group(3))
        if exact:
            classes = [exact]
    vec = next((int(w[1:]) for w in words if re.fullmatch(r"v[248]", w)), None)
    times = next((int(w[1:]) for w in words if re.fullmatch(r"x\d+", w)), None)
    if kind == "m":
        if any(w.startswith("shared") for w in words) and "global" not in words:
            return ["[%r7]", "[sh]", "[%r7]", "[%l1]"]
        if "global" in words:
            return ["[%l1]", "[%l1+16]", "[sh]", "[%r7]"]
        if any(w.startswith("param") for w in words):
            return ["[pa]", "[%l1]"]
        if "const" in words:
            return ["[cn]", "[%l1]"]
        if "local" in words:
            return ["[lo]", "[%l1]"]
        return ["[%l1]", "[sh]", "[%r7]", "[tx, {%r1}]", "[tx, {%f1, %f2}]", "[tx, {%f1, %f2, %f3, %f4}]", "[tx, %r1]", "[su, {%r1}]",
                "[su, {%r1, %r2}]", "[su, {%r1, %r2, %r3, %r4}]", "[tx]", "[su]", "[%l1, {%r1, %r2}]", "[%l1, {%r1}]",
                "[%l1, {%r1, %r2, %r3}]", "[%l1, {%r1, %r2, %r3, %r4}]", "[%l1, {%r1, %r2, %r3, %r4, %r5}]"]
    if kind in "dq":
        out = [reg(c, rng) for c in classes + ["p", "r", "h"]]
        if kind == "q":
            out += ["%p1|%p2", "%r1|%p1"]
        return list(dict.fromkeys(out))
    if kind in "r":
        out = [reg(c, rng, 2) for c in reversed(classes)] + ["1", "%r5", "%l5", "0", "2.0", "16", "pa", "%h3", "%p3"]
        return list(dict.fromkeys(out))
    if kind == "p":
        return ["%p4", "!%p5", "%p6"]
    if kind in "vw":
        out = []
        if op.startswith(("tcgen05.ld", "tcgen05.st")):
            base = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}
            shape = next(w for w in words if w in base)
            return [vector("r", times * base[shape])]
        if op in ("ldmatrix", "stmatrix"):
            scale = 2 if "m16n16" in words else 1
            return [vector("r", times * scale)]
        sizes = [vec] if vec else [4, 2]
        for cls in classes + ["r", "h"]:
            if (kind == "w" or slot[1:2] == "n") and not vec:
                out.append(reg(cls, rng, 3))
            out += [vector(cls, s, rng.randrange(4)) for s in sizes]
        return list(dict.fromkeys(out))
    if kind == "l":
        return ["L1", "tab"]
    if kind == "g":
        return ["(%r1)"]
    return ["%r1", "{0, 0}", "%r2.b0", "%l1", "0", "{%r1, %r2}", "{%f1, %f2}", "[%l1]", "{%h1, %h2}", "%h1", "%f1", "[%r7]", "tx", "[tx]", "[su]"]


def draw(op, form, rng):
    """One line of a form."""
    groups, slots = form
    words = []
    for choices, optional in groups:
        if optional and rng.random() < 0.5:
            continue
        word = rng.choice(choices)
        if word.startswith("m64k"):
            word = f"m64n{rng.choice([8, 16, 24, 32, 64, 128, 192, 256])}{word[3:]}"
        words.append(word)
    sets = matrix_operands(op, words, slots, rng)
    if sets:
        operands = rng.choice(sets)
    else:
        operands = []
        # Mostly the first choices: the classes of the types.
        plain = rng.random() < 0.5
        for slot in slots:
            if slot.endswith("?") and rng.random() < 0.5:
                break
            choices = operand_choices(op, words, slot, rng)
            first = plain or rng.random() < 0.5
            operands.append(choices[0] if first else rng.choice(choices))
    return render(op, words, operands)


def render(op, words, operands):
    return ".".join([op, *words]) + (" " + ", ".join(operands) if operands else "") + ";"


def split(line):
    """Opcode with words, and operands, of a line."""
    head, _, tail = line.rstrip(";").partition(" ")
    operands, depth, last = [], 0, ""
    for c in tail:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            operands.append(last.strip())
            last = ""
        else:
            last += c
    if last.strip():
        operands.append(last.strip())
    return head, operands


def mutants(op, line, words_of_op, all_words, rng):
    """Lines that differ in one place, with the name of the change."""
    head, operands = split(line)
    words = head[len(op):].split(".")[1:]
    make = lambda w, o: render(op, w, o)
    if words:
        i = rng.randrange(len(words))
        yield "drop", make(words[:i] + words[i + 1:], operands)
        i = rng.randrange(len(words))
        yield "swap", make(words[:i] + [rng.choice(words_of_op)] + words[i + 1:], operands)
        i = rng.randrange(len(words))
        types = [i for i, w in enumerate(words) if w in TYPES]
        if types:
            i = rng.choice(types)
            yield "type", make(words[:i] + [rng.choice(sorted(TYPES))] + words[i + 1:], operands)
    i = rng.randrange(len(words) + 1)
    yield "add", make(words[:i] + [rng.choice(words_of_op or all_words)] + words[i:], operands)
    yield "foreign", make(words[:i] + [rng.choice(all_words)] + words[i:], operands)
    if operands:
        i = rng.randrange(len(operands))
        yield "fewer", make(words, operands[:i] + operands[i + 1:])
        i = rng.randrange(len(operands))
        pool = ["%r3", "%l3", "%f3", "%d3", "%h3", "%p3", "%q1", "7", "2.5", "[%l1]", "{%r1, %r2}", "!%p2", "sh", "%tid.x", "_"]
        yield "operand", make(words, operands[:i] + [rng.choice(pool)] + operands[i + 1:])
    yield "more", make(words, operands + [rng.choice(["%r3", "%p3", "1", "%l3"])])
