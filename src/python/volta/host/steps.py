"""What the host does to memory between launches, as launches of kernels of our own.

A fill and a copy of bytes are small kernels in PTX; an operation of torch is the formula that its trace gives, compiled to
CUDA with one thread for each element, or it is `Unclear`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arg import Arg, Array, View
from ..kernels import Kernel

if TYPE_CHECKING:
    from .sequence import Builder

Json = dict[str, Any]
_BLOCK = 128

_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
_FILL = """
.visible .entry volta_fill(.param .u64 to, .param .u32 count)
{{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<4>;
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
    st.global.b{bits} [%a1], %{register}4;
    ret;
}}
"""
_COPY = """
.visible .entry volta_copy(.param .u64 to, .param .u64 source, .param .u32 count)
{{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<6>; .reg .b16 %h<2>;
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
    ld.global.b{bits} {register}, [%a3];
    st.global.b{bits} [%a1], {register};
    ret;
}}
"""


def _unit(array: Array, *offsets: int) -> int:
    """Bytes that are moved at once: an element where all offsets are whole elements."""
    width = {"8": 1, "16": 2, "32": 4, "64": 8}.get(array.type.lstrip("usfb"), 1)
    return width if all(o % width == 0 for o in offsets) else 1


def _grid(count: int) -> int:
    return max(1, -(-count // _BLOCK))


def fill(to: Array, offset: int, size: int, value: int) -> Kernel:
    """`cudaMemset` of a part of an array."""
    width = _unit(to, offset, size)
    count = size // width
    repeated = int.from_bytes(bytes([value]) * min(width, 8), "little")
    if width in (1, 2):
        text = _FILL.replace(".reg .b32", ".reg .b16 %h<5>; .reg .b32").format(
            block=_BLOCK, width=width, bits=16, register="h", value=repeated
        )
        text = text.replace("st.global.b16", f"st.global.b{8 * width}")
    else:
        text = _FILL.format(block=_BLOCK, width=width, bits=8 * width, register="r" if width == 4 else "a", value=repeated)
        text = text.replace("%a<4>", "%a<5>")
    args: dict[int, Arg] = {0: View(to, offset), 1: count}
    return Kernel(_HEAD + text, "fill.ptx", "volta_fill", (), args, _grid(count), _BLOCK)


def copy(to: Array, at: int, source: Array, start: int, size: int) -> Kernel:
    """`cudaMemcpy` between two places on the device."""
    width = min(_unit(to, at, size), _unit(source, start, size))
    count = size // width
    register = {1: "%h1", 2: "%h1", 4: "%r4", 8: "%a4"}[width]
    text = _COPY.format(block=_BLOCK, width=width, bits=8 * width, register=register)
    args: dict[int, Arg] = {0: View(to, at), 1: View(source, start), 2: count}
    return Kernel(_HEAD + text, "copy.ptx", "volta_copy", (), args, _grid(count), _BLOCK)


def operation(event: Json, builder: Builder) -> list[Kernel]:
    """An operation of torch as launches."""
    from .sequence import Unclear

    raise Unclear("unsupported-instruction", f"line {event['line']}: {event['op']} between launches")
