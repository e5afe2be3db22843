#!/usr/bin/env python3
"""Makes the tables of this folder: concrete values of every opcode, worked out by `model.py`.

    tests/values/make.py --ptxas PATH --nvdisasm PATH

Each template is also compiled with its operands as constants, and where ptxas folds it, what it stores is
compared with the model: a row that starts with `*` was confirmed so. A difference is printed and nothing is written.
"""
import argparse
import concurrent.futures
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import tables
import tables2  # noqa: F401
import tables3  # noqa: F401
import tables4  # noqa: F401
import tables5  # noqa: F401

WIDTH = {"p": 1, "h": 16, "r": 32, "l": 64}
HEAD = ".version 9.0\n.target {target}\n.address_size 64\n"
REGS = ".reg .pred %p<12>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 %l<12>;\n"


def load(reg, value):
    """PTX that gives a register a constant."""
    if reg[1] == "p":
        return f"setp.eq.u32 {reg}, {value}, 1;"
    return f"mov.b{WIDTH[reg[1]]} {reg}, 0x{value:x};"


def store(reg, at):
    if reg[1] == "p":
        return f"selp.b32 %r11, 1, 0, {reg}; st.global.b32 [%l11+{at}], %r11;"
    return f"st.global.b{WIDTH[reg[1]]} [%l11+{at}], {reg};"


def listing(section, rows):
    """An entry that stores what the template gives for constant operands, 8 bytes for each result."""
    text = f".visible .entry k(.param .b64 out, .param .b64 scratch) {{\n{REGS}"
    text += "ld.param.b64 %l11, [out];\nld.param.b64 %l10, [scratch];\n"
    for i, (ins, _, _) in enumerate(rows):
        text += "{ " + " ".join(load(r, v) for r, v in zip(section.ins, ins)) + " " + section.text
        for k, reg in enumerate(section.outs):
            text += " " + store(reg, 8 * (i * len(section.outs) + k))
        text += " }\n"
    return text + "ret;\n}\n"


def half(text):
    """Bits of a half as nvdisasm prints it; the bits of a NaN it does not tell."""
    if "NAN" in text:
        return None
    x = {"+INF": float("inf"), "-INF": float("-inf")}.get(text)
    return struct.unpack("<H", struct.pack("<e", float(text) if x is None else x))[0]


def stored(sass, base):
    """Offset to bytes of what is stored as a constant. Knows moves of constants; all else is not known."""
    regs, uniform, found = {}, {}, {}

    def value(word):
        word = word.replace(".reuse", "")
        if word in ("RZ", "URZ", "SRZ"):
            return 0
        if re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", word):
            return int(word, 0) & 0xffffffff
        return (uniform if word.startswith("UR") else regs).get(word)

    for line in sass.splitlines():
        m = re.match(r"\s*/\*[0-9a-f]+\*/\s+(@!?U?P\w+ )?\s*(\S+)\s*(.*?)\s*;", line)
        if not m:
            continue
        guard, op, rest = m.groups()
        args = [a.strip() for a in rest.split(",")]
        if op.startswith("STG"):
            m = re.search(rf"\[{base}(?:\.64)?(?:\+(0x[0-9a-f]+))?\]", rest)
            size = {"8": 1, "16": 2, "64": 8, "128": 16}.get(next((w for w in ("U8", "U16", "64", "128")
                                                                  if f".{w}" in op), "").lstrip("U"), 4)
            at = int(m[1], 16) if m and m[1] else 0
            reg = args[-1]
            for word in range(0, size, 4):
                name = reg if reg == "RZ" or word == 0 else f"R{int(reg[1:]) + word // 4}"
                v = value(name)
                if m and v is not None and guard is None:
                    for i in range(min(4, size - word)):
                        found[at + word + i] = v >> (8 * i) & 0xff
            continue
        while len(args) > 1 and re.fullmatch(r"U?P(\d+|T)", args[0]):
            args = args[1:]
        dst = args[0]
        if not re.fullmatch(r"U?R\d+", dst):
            continue
        if dst == base and not op.startswith("LDC"):
            break
        table = uniform if dst.startswith("UR") else regs
        kind, number = dst.rstrip("0123456789"), int(re.search(r"\d+$", dst)[0])
        result = None
        if guard is None:
            if op in ("MOV", "UMOV", "IMAD.MOV.U32", "IMAD.MOV"):
                result = value(args[-1])
            elif op in ("HFMA2.MMA", "HFMA2") and args[1:3] == ["-RZ", "RZ"]:
                parts = half(args[3]), half(args[4])
                result = None if None in parts else parts[0] << 16 | parts[1]
            elif op.startswith("CS2R") and args[-1] == "SRZ":
                table[f"{kind}{number + 1}"] = 0
                table[dst] = 0
                continue
        wide = op in ("MOV", "UMOV") or op.startswith(("IMAD.MOV", "HFMA2")) and result is not None
        for i in range(1 if wide else 4):
            table[f"{kind}{number + i}"] = None
        table[dst] = result
    return found


def folded(args, sections):
    """For each row of each section what ptxas stores, None where it is not a constant; the sections have one target."""
    target = sections[0].target
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = f"{folder}/a.ptx", f"{folder}/a.cubin"
        entries = [listing(s, s.rows).replace("entry k(", f"entry k{i}(", 1) for i, s in enumerate(sections)]
        pathlib.Path(ptx).write_text(HEAD.format(target=target) + "".join(entries))
        done = subprocess.run([args.ptxas, "-O3", f"-arch={target}", ptx, "-o", cubin], capture_output=True, text=True)
        if done.returncode and len(sections) > 1:
            return [rows for s in sections for rows in folded(args, [s])]
        if done.returncode:
            print(f"{sections[0].text}: {(done.stderr or done.stdout).splitlines()[0]}", file=sys.stderr)
            return [None]
        sass = subprocess.run([args.nvdisasm, "-c", cubin], capture_output=True, text=True, check=True).stdout
    out = []
    for i, section in enumerate(sections):
        part = sass.split(f".text.k{i}:", 1)[1].split(".section", 1)[0]
        # The base address is loaded first, from the first parameter.
        base = re.search(r"LDC\.64 (R\d+), c\[0x0\]\[0x(?:210|380)\]", part)
        at = stored(part, base[1]) if base else {}
        rows = []
        for n in range(len(section.rows)):
            words = []
            for k, reg in enumerate(section.outs):
                place = 8 * (n * len(section.outs) + k)
                size = max(WIDTH[reg[1]], 32 if reg[1] == "p" else 0) // 8
                got = [at.get(place + b) for b in range(size)]
                words.append(None if None in got else int.from_bytes(bytes(got), "little"))
            rows.append(words)
        out.append(rows)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--nvdisasm", required=True)
    parser.add_argument("--only", help="sections whose text holds this; nothing is written")
    args = parser.parse_args()
    here = pathlib.Path(__file__).parent
    wrong = rows = confirmed = excused = 0
    every = [s for sections in tables.FILES.values() for s in sections
             if s.judged and (not args.only or args.only in s.text)]
    every.sort(key=lambda s: s.target)
    batches = [list(group)[i:i + 25] for _, group in ((t, [s for s in every if s.target == t]) for t in
                                                      sorted({s.target for s in every})) for i in range(0, len(group), 25)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = [rows for batch in pool.map(lambda batch: folded(args, batch), batches) for rows in batch]
    judged = dict(zip((id(s) for batch in batches for s in batch), said))
    for name, sections in tables.FILES.items():
        text = f"# {tables.HEADS[name]}\n# Made by `make.py`; see `README.md` for the format.\n"
        for section in sections:
            if args.only and args.only not in section.text:
                continue
            said = [[None] * len(section.outs)] * len(section.rows)
            if section.judged:
                said, wrong = (said, wrong + 1) if judged[id(section)] is None else (judged[id(section)], wrong)
            text += f"\n: {section.text}\n{' '.join(section.outs)} <- {' '.join(section.ins)}"
            text += f" : {section.flags}\n" if section.flags else "\n"
            for (ins, outs, mark), words in zip(section.rows, said):
                rows += 1
                agree = all(w is not None for w, o in zip(words, outs) if o is not None) and any(o is not None for o in outs)
                differ = [k for k, (w, o) in enumerate(zip(words, outs)) if None not in (w, o) and w != o]
                if differ and section.text.startswith("slct.s32.s32") and ins[2] in (0x80000000, 0x7fffffff):
                    # ptxas 13.0 folds these two selectors, and no others, to the wrong operand.
                    excused += 1
                elif differ:
                    wrong += 1
                    print(f"{section.text} of {[hex(v) for v in ins]}: model {[o if o is None else hex(o) for o in outs]}, "
                          f"ptxas {[w if w is None else hex(w) for w in words]}", file=sys.stderr)
                confirmed += agree and not differ
                show = lambda regs, values: " ".join("?" if v is None else f"{v:0{max(1, WIDTH[r[1]] // 4)}x}"
                                                     for r, v in zip(regs, values))
                star = "*" if agree and not differ else " "
                text += f"{star}{mark or ' '} {show(section.outs, outs)} <- {show(section.ins, ins)}\n"
        if not args.only and not wrong:
            (here / f"{name}.txt").write_text(text)
    print(f"{rows} rows, {confirmed} confirmed by ptxas, {wrong} different, {excused} that ptxas folds wrongly")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
