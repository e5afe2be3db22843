"""A reader of PTX, as much of it as the interpreter executes: module variables, one entry, its instructions."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from .values import Cannot

SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
    "f16x2": 4, "bf16x2": 4, "tf32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8, "b128": 16, "e4m3": 1, "e5m2": 1,
}  # fmt: skip


@dataclass
class Variable:
    name: str
    space: str
    bytes: int
    align: int
    init: list[int] | None = None
    """Bytes, for those that an initialiser gives."""


@dataclass
class Operand:
    kind: str
    """reg, int, float, vector, address, name, pair, or sink."""
    text: str = ""
    value: int = 0
    items: list[Operand] = field(default_factory=list)
    negated: bool = False


@dataclass
class Instruction:
    line: int
    text: str
    opcode: list[str]
    guard: Operand | None
    operands: list[Operand]

    @property
    def type(self) -> str:
        return self.opcode[-1]


@dataclass
class Entry:
    name: str
    params: list[Variable]
    shared: list[Variable] = field(default_factory=list)
    local: list[Variable] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Module:
    variables: list[Variable]
    entry: Entry
    constants: set[tuple[str, int]]
    """Floats that the text writes, as format and bits."""


def _clean(text: str) -> str:
    """The text without comments, every line where it was."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


_VARIABLE = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(global|const|shared|local)\s+((?:\.\w+(?:\s+\d+)?\s+)*?)\.(\w+)\s+"
    r"([\w$%]+)\s*((?:\[[^\]]*\])*)\s*(?:=\s*(.*))?$",
    re.S,
)


def _numbers(text: str, size: int, type: str) -> list[int]:
    out: list[int] = []
    for token in re.findall(r"[^\s{},]+", text):
        if not re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]+|\d+|0[fFdD][0-9a-fA-F]+)U?", token):
            raise Cannot(f"the initialiser {token[:20]!r}")
        bits = int(token[2:], 16) if token[:2].lower() in ("0f", "0d") else int(token.rstrip("U"), 0)
        out.extend((bits & (1 << 8 * size) - 1).to_bytes(size, "little"))
    return out


def _variable(text: str) -> Variable:
    m = _VARIABLE.match(text.strip())
    if not m:
        raise Cannot(f"the declaration {' '.join(text.split())[:60]!r}")
    space, extra, type, name, dims, init = m.groups()
    size = SIZES.get(type)
    if size is None:
        raise Cannot(f"a variable of type {type}")
    align = re.search(r"\.align\s+(\d+)", extra)
    count = 1
    for d in re.findall(r"\[([^\]]*)\]", dims):
        count *= int(d, 0) if d.strip() else 0
    values = _numbers(init, size, type) if init else None
    return Variable(name, space, size * count, int(align.group(1)) if align else size, values)


def _params(text: str) -> list[Variable]:
    out = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        part = re.sub(r"\.ptr(\s*\.(global|shared|const|local|generic))?", "", part)
        align = re.search(r"\.align\s+(\d+)", part)
        part = re.sub(r"\.align\s+\d+", "", part)
        m = re.search(r"\.(\w+)\s+([\w$%]+)\s*(?:\[\s*(\d+)\s*\])?\s*$", part)
        if not m or m.group(1) not in SIZES:
            raise Cannot(f"the parameter {part[:60]!r}")
        size = SIZES[m.group(1)]
        align_to = int(align.group(1)) if align and m.group(3) else size
        out.append(Variable(m.group(2), "param", size * int(m.group(3) or 1), align_to))
    return out


def _split(text: str) -> list[str]:
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "[{(":
            depth += 1
        elif c in "]})":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*out, last] if last or out else []


_INT = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_FLOAT = re.compile(r"-?0([fFdD])([0-9a-fA-F]+)$")


def operand(text: str) -> Operand:
    text = text.strip()
    if text.startswith("{"):
        return Operand("vector", text, items=[operand(t) for t in _split(text[1:-1])])
    if text.startswith("["):
        inner = _split(text[1:-1])
        m = re.match(r"([^+\-\s]+)\s*(?:([+\-])\s*([-\w]+))?$", inner[0])
        if not m or len(inner) > 1:
            return Operand("other", text)
        base, sign, offset = m.groups()
        value = int(offset, 0) * (-1 if sign == "-" else 1) if offset else 0
        return Operand("address", text, value, [operand(base)])
    if "|" in text:
        return Operand("pair", text, items=[operand(t) for t in text.split("|")])
    if text == "_":
        return Operand("sink", text)
    negated = text.startswith("!")
    if negated:
        text = text[1:].strip()
    if m := _FLOAT.match(text):
        bits = int(m.group(2), 16)
        width = 32 if m.group(1) in "fF" else 64
        if text.startswith("-"):
            bits ^= 1 << (width - 1)
        return Operand("float", text, bits, negated=width == 64)
    if _INT.match(text):
        digits = text.rstrip("U")
        octal = re.match(r"-?0[0-7]+$", digits)
        return Operand("int", text, int(digits, 8) if octal else int(digits, 0))
    if re.fullmatch(r"-?\d+\.\d*(?:[eE][+-]?\d+)?", text):
        return Operand("decimal", text)
    if m := re.match(r"([\w$%.]+)\s*([+-])\s*(\w+)$", text):
        offset = int(m.group(3), 0)
        return Operand("name", m.group(1), -offset if m.group(2) == "-" else offset)
    if not re.match(r"[\w$%.]+$", text):
        return Operand("other", text)
    return Operand("name", text, negated=negated)


def _decimal(o: Operand, type: str) -> Operand:
    """A decimal literal is a double, or the float of 32 bits that is nearest to it where the instruction is one of those."""
    o.items = [_decimal(p, type) for p in o.items]
    if o.kind != "decimal":
        return o
    wide = type == "f64"
    bits = struct.unpack("<Q" if wide else "<I", struct.pack("<d" if wide else "<f", float(o.text)))[0]
    return Operand("float", o.text, bits, negated=wide)


def _statement(entry: Entry, text: str, line: int, constants: set[tuple[str, int]]) -> None:
    guard = None
    m = re.match(r"@(!?)\s*([\w$%]+)\s+", text)
    rest = text
    if m:
        guard = Operand("name", m.group(2), negated=bool(m.group(1)))
        rest = text[m.end() :]
    head = re.match(r"([a-z][\w:.]*)\s*", rest)
    if not head:
        raise Cannot(f"line {line}: {text[:40]!r} is no instruction")
    opcode = head.group(1).replace("::", "__").split(".")
    operands = [_decimal(operand(t), opcode[-1]) for t in _split(rest[head.end() :])]
    for o in operands:
        for p in [o, *o.items]:
            if p.kind == "float":
                constants.add(("f64" if p.negated else "f32", p.value))
    if opcode[0] in ("mov", "add", "sub", "mul", "fma") or opcode[-1] in ("b32", "u32", "s32"):
        constants.update(("f32", o.value & 0xFFFFFFFF) for o in operands if o.kind == "int" and abs(o.value) > 1 << 20)
    entry.code.append(Instruction(line, " ".join(text.split()), opcode, guard, operands))


def _body(entry: Entry, text: str, line: int, constants: set[tuple[str, int]]) -> None:
    """Statements of a body: a register means the same in all blocks, since each is written before it is read."""
    at, i, depth = 0, 0, 0
    while i < len(text):
        c = text[i]
        if c == "\n":
            line += 1
        inside = depth > 0
        before = text[at:i]
        if c in "[(" or (c == "{" and before.strip()):
            depth += 1
        elif c in "])" or (c == "}" and inside):
            depth -= 1
        elif c in "{}" and not inside:
            at = i + 1
        elif c == ":" and not inside and re.fullmatch(r"\s*[\w$%]+\s*", before) and text[i + 1 : i + 2] != ":":
            name = before.strip()
            if name in entry.labels:
                raise Cannot(f"the label {name} stands twice")
            entry.labels[name] = len(entry.code)
            at = i + 1
        elif c == "\n" and re.match(r"\s*\.(loc|file|pragma)\b", before) and not before.strip().startswith(".pragma"):
            at = i + 1
        elif c == ";" and not inside:
            statement = before.strip()
            at = i + 1
            if statement:
                _one(entry, statement, line - statement.count("\n"), constants)
        i += 1


def _one(entry: Entry, statement: str, line: int, constants: set[tuple[str, int]]) -> None:
    if re.match(r"\.(reg|pragma|alias)\b", statement):
        return
    if re.match(r"\.branchtargets\b", statement):
        name = next(k for k, v in entry.labels.items() if v == len(entry.code) and k not in entry.targets)
        entry.targets[name] = [t.strip() for t in statement.split(None, 1)[1].split(",")]
    elif re.match(r"(\.\w+\s+)*\.(shared|local)\b", statement):
        v = _variable(statement)
        (entry.shared if v.space == "shared" else entry.local).append(v)
    elif statement.startswith("."):
        raise Cannot(f"line {line}: the directive {statement.split()[0]}")
    else:
        _statement(entry, statement, line, constants)


def read(text: str, name: str) -> Module:
    """The module with one entry of it."""
    clean = _clean(text)
    m = re.search(r"\.entry\s+" + re.escape(name) + r"\s*(?:\(([^)]*)\))?([^{]*)\{", clean)
    if not m:
        raise Cannot(f"there is no entry {name}")
    end, depth = m.end(), 1
    while depth and end < len(clean):
        depth += {"{": 1, "}": -1}.get(clean[end], 0)
        end += 1
    constants: set[tuple[str, int]] = set()
    entry = Entry(name, _params(m.group(1) or ""))
    _body(entry, clean[m.end() : end - 1], clean.count("\n", 0, m.end()) + 1, constants)
    return Module(_module_variables(clean), entry, constants)


def _module_variables(clean: str) -> list[Variable]:
    """Variables outside of all functions."""
    out, depth, statement = [], 0, ""
    for c in clean:
        if c == "{" and "=" not in statement:
            depth += 1
            statement = ""
        elif c == "}" and depth:
            depth -= 1
            statement = ""
        elif c == ";" and not depth:
            if re.match(r"\s*(\.(visible|extern|weak|common)\s+)*\.(global|const|shared)\b", statement):
                out.append(_variable(statement))
            statement = ""
        elif not depth:
            statement += c
            if c == "\n" and re.match(r"\s*\.(version|target|address_size|file|loc)\b", statement):
                statement = ""
    return out
