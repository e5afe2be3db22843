"""What the host does to memory between launches, as launches of kernels of our own.

A fill and a copy of bytes are small kernels in PTX. An operation of torch is the formula that its trace gives: each definition of
it becomes a kernel of CUDA with one thread for each element, which reads its operands by their strides. So the sequence that is
proved holds the operation itself and not an assumption about it; what the formula or this translation does not cover is `Unclear`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import nvcc
from ..arg import Arg, Array, View
from ..errors import CompileError
from ..kernels import Kernel

if TYPE_CHECKING:
    from .sequence import Builder

Json = dict[str, Any]
_BLOCK = 128

_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
_FILL = """
.visible .entry volta_fill(.param .u64 to, .param .u32 count)
{{
    .reg .pred %p; .reg .b16 %h<5>; .reg .b32 %r<6>; .reg .b64 %a<5>;
    ld.param.u64 %a1, [to];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r2, %r2, {block}, %r3;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %a2, %r2, {width};
    add.s64 %a1, %a1, %a2;
    mov.b{bits} %{register}4, {value};
    st.global.b{stored} [%a1], %{register}4;
    ret;
}}
"""
_COPY = """
.visible .entry volta_copy(.param .u64 to, .param .u64 source, .param .u32 count)
{{
    .reg .pred %p; .reg .b16 %h<5>; .reg .b32 %r<6>; .reg .b64 %a<6>;
    ld.param.u64 %a1, [to];
    ld.param.u64 %a3, [source];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r2, %r2, {block}, %r3;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %a2, %r2, {width};
    add.s64 %a1, %a1, %a2;
    add.s64 %a3, %a3, %a2;
    ld.global.b{stored} %{register}4, [%a3];
    st.global.b{stored} [%a1], %{register}4;
    ret;
}}
"""
#: For each number of bytes: the register, and its width.
_REGISTERS = {1: ("h", 16), 2: ("h", 16), 4: ("r", 32), 8: ("a", 64)}


def _unit(array: Array, *offsets: int) -> int:
    """Bytes that are moved at once: an element where all offsets are whole elements."""
    width = {"8": 1, "16": 2, "32": 4, "64": 8}.get(array.type.lstrip("usbf"), 1)
    return width if all(o % width == 0 for o in offsets) else 1


def _grid(count: int) -> int:
    return max(1, -(-count // _BLOCK))


def fill(to: Array, offset: int, size: int, value: int) -> Kernel:
    """`cudaMemset` of a part of an array."""
    width = _unit(to, offset, size)
    register, bits = _REGISTERS[width]
    repeated = int.from_bytes(bytes([value]) * width, "little")
    text = _FILL.format(block=_BLOCK, width=width, bits=bits, stored=8 * width, register=register, value=repeated)
    args: dict[int, Arg] = {0: View(to, offset), 1: size // width}
    return Kernel(_HEAD + text, "fill.ptx", "volta_fill", (), args, _grid(size // width), _BLOCK)


def copy(to: Array, at: int, source: Array, start: int, size: int) -> Kernel:
    """`cudaMemcpy` between two places on the device."""
    width = min(_unit(to, at, size), _unit(source, start, size))
    register, _ = _REGISTERS[width]
    text = _COPY.format(block=_BLOCK, width=width, stored=8 * width, register=register)
    args: dict[int, Arg] = {0: View(to, at), 1: View(source, start), 2: size // width}
    return Kernel(_HEAD + text, "copy.ptx", "volta_copy", (), args, _grid(size // width), _BLOCK)


# Formulas as CUDA.

_C = {
    **{"f32": "float", "f64": "double", "s8": "signed char", "u8": "unsigned char", "s16": "short", "u16": "unsigned short"},
    **{"s32": "int", "u32": "unsigned", "s64": "long long", "u64": "unsigned long long", "f16": "__half", "bf16": "__nv_bfloat16"},
}
_FUNCTIONS = {
    **{f: f"{f}f" for f in ("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "floor", "ceil", "trunc", "rint")},
    **{"abs": "fabsf", "max": "fmaxf", "min": "fminf"},
}
_TOKEN = re.compile(r"\s*(`[^`]+`|\d+\.\d+(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)?|[A-Za-z_]\w*|\.\.|[<>!]=|[-+*/%^()\[\],:;=<>])")


@dataclass(frozen=True)
class Memory:
    """Where an array of a formula lies: its buffer, and how an index becomes an offset, in elements."""

    array: Array
    type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


class _Text:
    """A formula read from left to right, and the CUDA that it becomes."""

    def __init__(self, text: str, memories: Mapping[str, Memory]) -> None:
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            raise _uncovered("a formula holds a sign that is not known here")
        self.at = 0
        self.memories = memories
        self.used: list[str] = []

    def peek(self) -> str:
        """The next token."""
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        """The next token, which is the wanted one."""
        token = self.peek()
        if not token or (wanted is not None and token != wanted):
            raise _uncovered(f"a formula has {token or 'an end'} where {wanted or 'more'} is expected")
        self.at += 1
        return token

    def skip(self, token: str) -> bool:
        """Takes a token if it is next."""
        found = self.peek() == token
        self.at += found
        return found

    def value(self) -> str:
        """An expression as a float."""
        if self.skip("if"):
            condition = self.condition(("then",))
            self.take("then")
            yes = self.value()
            self.take("else")
            return f"({condition} ? {yes} : {self.value()})"
        out = self.product()
        while self.peek() in ("+", "-"):
            out = f"({out} {self.take()} {self.product()})"
        return out

    def product(self) -> str:
        """A product or quotient."""
        out = self.signed()
        while self.peek() in ("*", "/"):
            out = f"({out} {self.take()} {self.signed()})"
        return out

    def signed(self) -> str:
        """A value with its sign, and a power."""
        if self.skip("-"):
            return f"(-{self.signed()})"
        out = self.atom()
        if self.skip("^"):
            sign = self.skip("-")
            power = int(self.take())
            whole = "(" + " * ".join([out] * power) + ")" if power else "1.0f"
            out = f"(1.0f / {whole})" if sign else whole
        return out

    def atom(self) -> str:
        """A number, an element, an index, a function, a reduction, something in brackets."""
        token = self.take()
        if token == "(":
            out = self.value()
            self.take(")")
            return out
        if token[0].isdigit():
            return f"{float(token)!r}f"
        if token in ("inf", "pi"):
            return "__int_as_float(0x7f800000)" if token == "inf" else f"{math.pi!r}f"
        if self.peek() == "[":
            return self.element(token)
        if self.peek() == "(":
            return self.called(token)
        return f"(float){token}"

    def element(self, name: str) -> str:
        """An element of an array."""
        memory = self.memories.get(name.strip("`"))
        if memory is None:
            raise _uncovered(f"a formula reads {name}, which is no array here")
        self.take("[")
        index = []
        while self.peek() != "]":
            index.append(self.integer((",", "]")))
            self.skip(",")
        self.take("]")
        name = name.strip("`")
        if name not in self.used:
            self.used.append(name)
        return f"(float)({_place(f'v{self.used.index(name)}', memory, index)})"

    def integer(self, ends: tuple[str, ...]) -> str:
        """An integer expression, up to one of some tokens: CUDA has the same signs."""
        out, depth = [], 0
        while depth or self.peek() not in ends:
            token = self.take()
            depth += (token == "(") - (token == ")")
            if token in ("[", "if", "^"):
                raise _uncovered("an index that data choose")
            out.append(token)
        return " ".join(out)

    def called(self, name: str) -> str:
        """A function of values, or a reduction."""
        start = self.at
        self.take("(")
        if name in ("sum", "prod", "max", "min", "mean") and self._is_reduction():
            return self.reduction(name)
        self.at = start
        self.take("(")
        arguments = [self.value()]
        while self.skip(","):
            arguments.append(self.value())
        self.take(")")
        if name == "relu":
            return f"fmaxf({arguments[0]}, 0.0f)"
        if name == "sigmoid":
            return f"(1.0f / (1.0f + expf(-{arguments[0]})))"
        if name not in _FUNCTIONS:
            raise _uncovered(f"the function {name}")
        out = arguments[0]
        if len(arguments) == 1:
            return f"{_FUNCTIONS[name]}({out})"
        for a in arguments[1:]:
            out = f"{_FUNCTIONS[name]}({out}, {a})"
        return out

    def _is_reduction(self) -> bool:
        depth, at = 1, self.at
        while depth and at < len(self.tokens):
            token = self.tokens[at]
            depth += (token in "([") - (token in ")]")
            if token == ":" and depth == 1:
                return True
            at += 1
        return False

    def reduction(self, name: str) -> str:
        """A reduction as a loop."""
        loops, count = [], []
        while True:
            variable = self.take()
            self.take("in")
            low = self.integer(("..",))
            self.take("..")
            high = self.integer((",", "if", ":"))
            loops.append(f"for (int {variable} = {low}; {variable} < {high}; ++{variable}) ")
            count.append(f"(({high}) - ({low}))")
            if not self.skip(","):
                break
        condition = f"if ({self.condition((':',))}) " if self.skip("if") else ""
        if condition and name == "mean":
            raise _uncovered("a mean under a condition")
        self.take(":")
        body = self.value()
        self.take(")")
        start = {
            "sum": "0.0f",
            "mean": "0.0f",
            "prod": "1.0f",
            "max": "-__int_as_float(0x7f800000)",
            "min": "__int_as_float(0x7f800000)",
        }[name]
        step = {"sum": "s += e;", "mean": "s += e;", "prod": "s *= e;", "max": "s = fmaxf(s, e);", "min": "s = fminf(s, e);"}[name]
        end = f"s / (float)({' * '.join(count)})" if name == "mean" else "s"
        return f"[&] {{ float s = {start}; {''.join(loops)}{condition}{{ float e = {body}; {step} }} return {end}; }}()"

    def condition(self, ends: tuple[str, ...]) -> str:
        """A condition: comparisons, also chained, with and, or, not."""
        out = ""
        while self.peek() not in ends:
            if self.peek() in ("and", "or"):
                out += {"and": " && ", "or": " || "}[self.take()]
            elif self.skip("not"):
                out += "!"
            else:
                out += self.comparison()
        return f"({out})"

    def comparison(self) -> str:
        """One comparison or chain."""
        sides, signs = [self.value()], []
        while self.peek() in ("<", "<=", ">", ">=", "=", "!="):
            token = self.take()
            signs.append("==" if token == "=" else token)
            sides.append(self.value())
        if not signs:
            return sides[0]
        return "(" + " && ".join(f"{a} {s} {b}" for a, s, b in zip(sides, signs, sides[1:])) + ")"


def _uncovered(what: str) -> Exception:
    from .sequence import Unclear

    return Unclear("unsupported-instruction", f"{what}, in an operation of torch between launches")


def _place(pointer: str, memory: Memory, index: Sequence[str]) -> str:
    if len(index) != len(memory.shape):
        raise _uncovered("an index of another rank")
    terms = [f"({i}) * {s}LL" for i, s in zip(index, memory.strides) if s]
    return f"{pointer}[{' + '.join(terms) or '0'}]"


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense array."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def operation(event: Json, builder: Builder) -> list[Kernel]:
    """An operation of torch as launches."""
    made = event.get("formula")
    if not isinstance(made, dict) or "text" not in made:
        why = f": {made['missing']}" if isinstance(made, dict) and "missing" in made else ""
        raise _uncovered(f"line {event['line']}: {event['op']}{why}")
    memories = {name: _memory(view, builder) for name, view in made["inputs"].items()}
    outputs = {name: _memory(view, builder) for name, view in made["outputs"].items()}
    kernels: list[Kernel] = []
    last: list[Kernel] = []
    number = len(builder.out.launches)
    for definition in re.split(r";", str(made["text"])):
        target, *helpers = re.split(r"\bwhere\b", definition)
        for helper in helpers:
            name, shape = _head(helper, made)
            if name not in memories:
                scratch = Array("f32", (max(1, math.prod(shape)),), "scratch", name=f"step{number}_{name}")
                memories[name] = Memory(scratch, "f32", shape, dense(shape))
                kernels.append(_kernel(helper, memories[name], memories))
        name = _name(target)
        # An operand that is written in place is read before: the result goes by a memory of its own.
        out = outputs[name]
        if any(m.array is out.array for m in memories.values()):
            via = Memory(
                Array(out.type, (max(1, math.prod(out.shape)),), "scratch", name=f"step{number}_{name}"),
                out.type,
                out.shape,
                dense(out.shape),
            )
            kernels.append(_kernel(target, via, memories))
            index = ", ".join(f"i{k}" for k in range(len(out.shape)))
            last.append(_kernel(f"{name}[{index}] = via[{index}]", out, {"via": via}))
        else:
            last.append(_kernel(target, out, memories))
    return kernels + last


def _memory(view: Json, builder: Builder) -> Memory:
    array = builder.array(int(view["storage"]))
    return Memory(array, str(view["type"]), tuple(view["shape"]), tuple(view["strides"]), int(view["offset"]))


def _name(definition: str) -> str:
    return definition.split("[")[0].strip().strip("`")


def _head(definition: str, made: Json) -> tuple[str, tuple[int, ...]]:
    name = _name(definition)
    shape = made["helpers"].get(name)
    if shape is None:
        raise _uncovered("a helper without a shape")
    return name, tuple(int(n) for n in shape)


def _kernel(definition: str, out: Memory, memories: Mapping[str, Memory]) -> Kernel:
    head, body = definition.split("=", 1)
    names = [n.strip() for n in head[head.index("[") + 1 : head.rindex("]")].split(",") if n.strip()]
    text = _Text(body.strip(), memories)
    value = text.value()
    if text.peek():
        raise _uncovered(f"a formula goes on with {text.peek()}")
    count = math.prod(out.shape)
    index, rest = [], 1
    for n, size in reversed(list(zip(names, out.shape))):
        index.append(f"int {n} = i / {rest} % {size};")
        rest *= size
    pointers = [memories[n] for n in text.used]
    parameters = ", ".join([f"{_C[out.type]}* out", *(f"const {_C[m.type]}* v{k}" for k, m in enumerate(pointers))])
    stored = f"({_C[out.type]})({value})" if out.type != "u8" else f"(unsigned char)(({value}) != 0.0f ? 1 : 0)"
    heads = "".join(
        f"#include <cuda_{n}.h>\n" for n, t in (("fp16", "f16"), ("bf16", "bf16")) if t in {out.type, *(m.type for m in pointers)}
    )
    source = (
        f'{heads}extern "C" __global__ void volta_step({parameters}) {{\n    int i = blockIdx.x * {_BLOCK} + threadIdx.x;\n'
        f"    if (i >= {count}) return;\n    {' '.join(index)}\n    {_place('out', out, names)} = {stored};\n}}\n"
    )
    key = hashlib.sha256(source.encode()).hexdigest()[:12]
    try:
        compiled = nvcc.cuda(source, "volta_step", name=f"step_{key}.cu", options=["-fmad=false"])
    except CompileError as e:
        raise _uncovered(f"a step that does not compile ({str(e)[:200]})") from e
    args: dict[int, Arg] = {k: View(m.array, m.offset * _WIDTHS[m.type]) for k, m in enumerate([out, *pointers])}
    return Kernel(compiled.ptx, compiled.name, "volta_step", (), args, _grid(count), _BLOCK)


_WIDTHS = {t: {"8": 1, "16": 2, "32": 4, "64": 8}[t.lstrip("usbf")] for t in _C}
