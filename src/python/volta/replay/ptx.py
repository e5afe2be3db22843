"""A reader of PTX, as much of it as the interpreter executes: module variables, one entry, its instructions."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from math import prod

from .values import SIZES, Cannot, Refuted

Word = tuple[str, int]
"""A word of the text and its line."""

WORD = re.compile(r'"[^"]*"|\d+\.\d*(?:[eE][+-]?\d+)?(?![\w.])|[\w$%.]+(?:::[\w.]+)*|\S')
REMARK = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*\.(?:loc|file|version|target|address_size)\b[^\n]*", re.S | re.M)
NUMBER = re.compile(r"(?P<float>0[fFdD][0-9a-fA-F]+)|(?P<int>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?|(?P<decimal>\d+\.\d*(?:[eE].*)?)")


@dataclass
class Variable:
    name: str
    space: str
    size: int
    align: int
    init: bytes | None = None
    """Its bytes, where an initialiser gives them."""


@dataclass
class Operand:
    kind: str
    """name (with an offset in `value`), bits, vector, address (of the one item, with an offset), pair, sink or other."""
    text: str = ""
    value: int = 0
    items: list[Operand] = field(default_factory=list)
    negated: bool = False

    def each(self) -> list[Operand]:
        return self.items if self.kind in ("vector", "pair") else [self]


@dataclass
class Instruction:
    line: int
    text: str
    opcode: list[str]
    guard: Operand | None
    operands: list[Operand]

    @property
    def name(self) -> str:
        return self.opcode[0]

    @property
    def type(self) -> str:
        return self.opcode[-1]

    def one_of(self, *modifiers: str) -> str:
        """The modifier that stands in the opcode, or nothing."""
        return next((m for m in modifiers if m in self.opcode), "")

    def foreign(self) -> Cannot:
        return Cannot(f"the instruction {self.text[:60]!r}")


@dataclass
class Module:
    variables: list[Variable]
    params: list[Variable] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    """Lists of labels, for branches by an index."""
    constants: set[tuple[str, int]] = field(default_factory=set)
    """Floats that the text may write, as format and bits."""
    words: set[int] = field(default_factory=set)
    """Integers that instructions of the text name."""
    block: list[int] | None = None
    """The block that `.reqntid` asks for."""
    most_threads: int | None = None
    """The threads that `.maxntid` allows."""


def words(text: str) -> list[Word]:
    text = REMARK.sub(lambda m: "\n" * m.group().count("\n"), text)
    out, line, at = [], 1, 0
    for m in WORD.finditer(text):
        line += text.count("\n", at, m.start())
        at = m.start()
        out.append((m.group(), line))
    return out


def matching(text: list[Word], at: int) -> int:
    """Where the brace that opens at a word is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i][0], 0)
        if depth == 0:
            return i
    raise Cannot("a brace that nothing closes")


def split(text: list[str]) -> list[list[str]]:
    """The parts between commas outside of brackets."""
    out: list[list[str]] = [[]]
    depth = 0
    for w in text:
        depth += (w in "[{(") - (w in "]})")
        if w == "," and depth == 0:
            out.append([])
        else:
            out[-1].append(w)
    return [p for p in out if p]


def number(text: list[str], type: str) -> int | None:
    """The bits of a literal; a decimal is a double, or the nearest float of 32 bits where the instruction is one of those."""
    sign, m = -1 if text[0] == "-" else 1, NUMBER.fullmatch(text[-1])
    if m is None or len(text) > 2 or (len(text) == 2 and text[0] != "-"):
        return None
    if digits := m.group("float"):
        return int(digits[2:], 16) ^ ((sign < 0) << (63 if digits[1] in "dD" else 31))
    if digits := m.group("int"):
        return sign * (int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0))
    code, back = ("<d", "<Q") if type == "f64" else ("<f", "<I")
    return int(struct.unpack(back, struct.pack(code, sign * float(text[-1])))[0])


def operand(text: list[str], type: str) -> Operand:
    spelled = " ".join(text)
    if text[0] == "{":
        return Operand("vector", spelled, items=[operand(t, type) for t in split(text[1:-1])])
    if text[0] == "[":
        inner = split(text[1:-1])
        base = operand(inner[0], type) if len(inner) == 1 else Operand("other")
        if base.kind not in ("name", "bits"):
            return Operand("other", spelled)
        offset, base.value = (base.value, 0) if base.kind == "name" else (0, base.value)
        return Operand("address", spelled, offset, [base])
    if "|" in text:
        at = text.index("|")
        return Operand("pair", spelled, items=[operand(text[:at], type), operand(text[at + 1 :], type)])
    if text == ["_"]:
        return Operand("sink")
    if (bits := number(text, type)) is not None:
        return Operand("bits", spelled, bits)
    if text[0] == "!":
        return Operand("name", text[1], negated=True)
    away = number([w for w in text[1:] if w != "+"], type) if len(text) > 1 else 0
    if away is None or not re.fullmatch(r"[\w$%.]+", text[0]):
        return Operand("other", spelled)
    return Operand("name", text[0], away)


def variable(text: list[str], space: str) -> Variable:
    """A declaration: `.global .align 4 .b8 name[16] = {...}` or `.param .u64 .ptr .align 16 name`."""
    type = next((w[1:] for w in text if w[1:] in SIZES and w[0] == "."), "")
    head = text[: text.index("=")] if "=" in text else text
    dims = [head[i + 1] for i, w in enumerate(head) if w == "["]
    end = head.index("[") if dims else len(head)
    if not type or ".v2" in text or ".v4" in text or head[end - 1].startswith("."):
        raise Cannot(f"the declaration {' '.join(text)[:60]!r}")
    size, count = SIZES[type], 1
    for d in dims:
        count *= int(d, 0) if d != "]" else 0
    given = ".align" in head and (space != "param" or bool(dims))
    align = int(head[head.index(".align") + 1]) if given else size
    init = None
    if "=" in text:
        values = [number(t, type) for t in split([w for w in text[text.index("=") + 1 :] if w not in "{}"])]
        init = b"".join((_known(v) & (1 << 8 * size) - 1).to_bytes(size, "little") for v in values).ljust(size * count, b"\0")
    return Variable(head[end - 1], space, size * count, align, init)


def _known(value: int | None) -> int:
    if value is None:
        raise Cannot("an initialiser that is no number")
    return value


def instruction(module: Module, text: list[str], line: int) -> Instruction:
    at, guard = 0, None
    if text[0] == "@":
        at = 3 if text[1] == "!" else 2
        guard = operand(text[1:at], "pred")
    opcode = text[at].split(".")
    operands = [operand(t, opcode[-1]) for t in split(text[at + 1 :])]
    for o in [p for given in operands for p in (given, *given.items)]:
        if o.kind == "bits" and opcode[-1][:1] in "bus":
            module.words.add(o.value)
        if o.kind == "bits" and abs(o.value) > 1 << 20:
            wide = opcode[-1] == "f64" or o.value >> 32 > 0
            module.constants.add(("f64", o.value) if wide else ("f32", o.value & 0xFFFFFFFF))
    return Instruction(line, " ".join(text), opcode, guard, operands)


def body(module: Module, text: list[Word]) -> None:
    """Statements of an entry: a register means the same in all blocks, since each is written before it is read."""
    held: list[str] = []
    for word, line in text:
        if word in "{}" and not held:
            continue
        if word == ":" and len(held) == 1:
            if held[0] in module.labels:
                raise Cannot(f"the label {held[0]} stands twice")
            module.labels[held.pop()] = len(module.code)
        elif word != ";":
            held.append(word)
        else:
            statement(module, held, line)
            held = []


def statement(module: Module, text: list[str], line: int) -> None:
    space = next((w[1:] for w in text if w in (".shared", ".local")), "")
    if not text or text[0] in (".reg", ".pragma"):
        return
    if text[0] == ".branchtargets":
        name = next(k for k, v in module.labels.items() if v == len(module.code) and k not in module.targets)
        module.targets[name] = [t for part in split(text[1:]) for t in part]
    elif text[0].startswith(".") and space:
        module.variables.append(variable(text, space))
    elif text[0].startswith("."):
        raise Cannot(f"line {line}: the directive {text[0]}")
    else:
        module.code.append(instruction(module, text, line))


def numbers_after(head: list[str], directive: str) -> list[int] | None:
    """The three numbers of a directive of an entry, of which the last ones may be left out."""
    if directive not in head:
        return None
    numbers: list[int] = []
    for word in head[head.index(directive) + 1 :]:
        if word.isdigit():
            numbers.append(int(word))
        elif word != ",":
            break
    return [*numbers, 1, 1, 1][:3]


def read(text: str, name: str) -> Module:
    """The module with one entry of it."""
    all, module, held, found = words(text), Module([]), list[str](), False
    i = 0
    while i < len(all):
        word = all[i][0]
        if word == "{" and "=" not in held:
            end = matching(all, i)
            if ".entry" in held and held[held.index(".entry") + 1] == name:
                found = True
                if "(" in held:
                    inside = held[held.index("(") + 1 : held.index(")")]
                    module.params = [variable(p, "param") for p in split(inside)]
                module.block = numbers_after(held, ".reqntid")
                if most := numbers_after(held, ".maxntid"):
                    module.most_threads = prod(most)
                body(module, all[i + 1 : end])
            i, held = end, []
        elif word == ";":
            space = next((w[1:] for w in held if w in (".global", ".const", ".shared")), "")
            if space and ".func" not in held:
                module.variables.append(variable(held, space))
            held = []
        else:
            held.append(word)
        i += 1
    if not found:
        raise Refuted(f"the text has no entry {name}")
    return module
