"""Which storages of a candidate are which arrays of the reference's formula, and what is known of them.

Inputs are the task's, by position. Parameters are the reference's where the candidate made the same values under the same seed,
by name first; then they are arrays of any values, alike on both sides. A parameter that is another than each of the reference's has
the values that it was made with, and so have the reference's that are left: a difference is then a real one. Where they were drawn,
a proof speaks of one seed only, so that it counts as none; ones and zeros are what they are under every seed.

What every drawing of the inputs has in common is a fact about them: a triangle of zeros, values that are always the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..arg import Array, View
from ..kernels import Kernel
from . import sequence, steps
from .sequence import Unclear

Json = dict[str, Any]


@dataclass
class Bound:
    """The arrays of a candidate by storage, the formula in their names, and what goes along."""

    formula: str = ""
    inputs: dict[int, Array] = field(default_factory=dict)
    outputs: dict[int, Array] = field(default_factory=dict)
    before: list[Kernel] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    seeded: bool = False


def clean(name: str) -> str:
    """A name as buffers have them."""
    return re.sub(r"\W", "_", name)


def bind(recorded: Json, reference: Json) -> Bound:
    """Everything of one pair of recordings at the same sizes."""
    out = Bound(_formula(reference))
    random = {int(s["number"]) for s in recorded["storages"] if s.get("origin") == "random"}
    read = {int(p[1]) for e in recorded["events"] if e["event"] == "launch" for v in e["parameters"] for p in v["pointers"]}
    out.seeded = bool(random & read)
    for i, (mine, theirs) in enumerate(zip(recorded["inputs"], reference["inputs"])):
        if isinstance(mine, Mapping) and "tensor" in mine:
            _input(out, f"x{i}", mine, theirs)
        elif mine != theirs:
            raise Unclear("missing-binding", f"input {i} is not the reference's")
    for i, value in enumerate(recorded.get("first", {}).get("inputs", [])):
        out.inputs[int(value["tensor"]["storage"])] = _array(value["tensor"], "in", f"first_x{i}")
    _parameters(out, recorded, reference)
    names = ["y"] if len(recorded["outputs"]) == 1 else [f"y{i}" for i in range(len(recorded["outputs"]))]
    for name, view in zip(names, recorded["outputs"]):
        number = int(view["storage"])
        if number in out.outputs:
            raise Unclear("unspecified-layout", "two outputs are one storage")
        if number in out.inputs:
            raise Unclear("unspecified-layout", f"the output is the storage of `{out.inputs[number].name}`")
        if view.get("host"):
            raise sequence.Wrong("wrong-values", f"the output {name} is on the host")
        out.outputs[number] = _array(view, "out", name)
    return out


def _formula(reference: Json) -> str:
    made = reference["formula"]
    text = str(made.get("text", ""))
    for name in made.get("inputs", {}):
        text = text.replace(f"`{name}`", clean(name))
    return text


def _array(view: Json, role: str, name: str) -> Array:
    shape = sequence.dense(view)
    if shape is None:
        raise Unclear("unspecified-layout", f"`{name}` is a view that is not dense")
    return Array(str(view["type"]), shape, role, name=clean(name))


def _input(out: Bound, name: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    given, wanted = dict(mine["tensor"]), dict(theirs["tensor"])
    number = int(given.pop("storage"))
    wanted.pop("storage")
    if given != wanted:
        raise Unclear("missing-binding", f"input `{name}` is not the reference's")
    array = _array(mine["tensor"], "in", name)
    known = theirs.get("known") or {}
    if "fill" in known or "bytes" in known:
        text = sequence.known_contents({"contents": known, "size": 0}, array.type, array.elements)
        array = replace(array, contents=text)
    elif "triangle" in known and len(array.shape) == 2:
        array = _triangle(out, array, str(known["triangle"]))
    elif "range" in known:
        low, high = known["range"]
        out.facts.append(f"{array.name} in {int(low)}..{int(high)}")
    out.inputs[number] = array


def _triangle(out: Bound, array: Array, which: str) -> Array:
    """An input of which a triangle is zero: made from one of any values, on both sides."""
    raw = replace(array, name=f"{array.name}_any")
    inside = replace(array, role="scratch")
    compare = "le" if which == "lower" else "ge"
    rows, columns = array.shape
    text = _KEEP.format(block=128, columns=columns, compare=compare)
    if array.type != "f32":
        raise Unclear("missing-binding", "a triangle of another type than f32")
    count = rows * columns
    out.before.append(
        Kernel(text, "triangle.ptx", "volta_triangle", (), {0: View(raw), 1: View(inside), 2: count}, -(-count // 128), 128)
    )
    sign = "<=" if which == "lower" else ">="
    half = f"{array.name}_half"
    out.formula = re.sub(rf"\b{array.name}\[", f"{half}[", out.formula)
    out.formula = "; ".join(f"{d} where {half}[r, c] = if c {sign} r then {raw.name}[r, c] else 0" for d in out.formula.split(";"))
    return inside


_NOTHING = """.version 8.0
.target sm_80
.address_size 64
.visible .entry volta_nothing(.param .u64 array)
{
    ret;
}
"""
_KEEP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry volta_triangle(.param .u64 raw, .param .u64 kept, .param .u32 count)
{{
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %a<5>; .reg .f32 %f<3>;
    ld.param.u64 %a1, [raw];
    ld.param.u64 %a2, [kept];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r2, %r2, {block}, %r3;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    div.u32 %r4, %r2, {columns};
    rem.u32 %r5, %r2, {columns};
    mul.wide.u32 %a3, %r2, 4;
    add.s64 %a1, %a1, %a3;
    add.s64 %a2, %a2, %a3;
    mov.f32 %f1, 0f00000000;
    setp.{compare}.u32 %p2, %r5, %r4;
    @%p2 ld.global.f32 %f1, [%a1];
    st.global.f32 [%a2], %f1;
    ret;
}}
"""


def _parameters(out: Bound, recorded: Json, reference: Json) -> None:
    mine, theirs = {int(s["number"]): s for s in recorded["storages"]}, {int(s["number"]): s for s in reference["storages"]}
    left = {str(p["name"]): p for p in reference["parameters"]}
    others = []
    for p in recorded["parameters"]:
        same = left.get(p["name"])
        if same is not None and same["digest"] == p["digest"]:
            _alike(out, p, str(left.pop(p["name"])["name"]))
        elif math.prod(p["tensor"]["shape"]):
            others.append(p)
    own = False
    for p in others:
        alike = next((n for n, q in left.items() if q["digest"] == p["digest"]), None)
        if alike is not None:
            _alike(out, p, str(left.pop(alike)["name"]))
        else:
            own = True
            # Ones and zeros are what they are under every seed.
            out.seeded = out.seeded or p.get("made") != "known"
            storage = mine[int(p["tensor"]["storage"])]
            array = _array(p["tensor"], "in", f"own_{p['name']}")
            out.inputs[int(p["tensor"]["storage"])] = replace(
                array, contents=sequence.known_contents(storage, array.type, array.elements)
            )
    used = reference["formula"].get("inputs", {})
    for name, p in left.items():
        if name not in used:
            continue
        array = _array(p["tensor"], "in", name)
        if own:
            array = replace(
                array, contents=sequence.known_contents(theirs[int(p["tensor"]["storage"])], array.type, array.elements)
            )
        # A launch that does nothing makes it an array of the sequence.
        out.before.append(named(array))


def named(array: Array) -> Kernel:
    """A launch that does nothing, and makes an array one of the sequence."""
    return Kernel(_NOTHING, "nothing.ptx", "volta_nothing", (), {0: View(array)}, 1, 1)


def _alike(out: Bound, p: Json, name: str) -> None:
    number = int(p["tensor"]["storage"])
    if number not in out.inputs:
        array = _array(p["tensor"], "in", name)
        out.inputs[number] = _kept(out, array) if p.get("buffer") and array.elements else array


def _kept(out: Bound, array: Array) -> Array:
    """A buffer that a model may move from call to call, as running means are: its own memory, with the reference's contents."""
    own = replace(array, role="scratch", name=f"{array.name}_own")
    out.before.append(steps.copy(own, 0, array, 0, array.elements * sequence.width(array.type)))
    return own
