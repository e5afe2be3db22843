"""Functions of the CUDA library in the code of a kernel, taken for the functions of the reals where a certificate says so.

The problem: `logf` is a cut of bits, a polynomial and a table of exceptions; interpreted over the reals it is a number that
agrees with the logarithm in some digits, or asks for bits that a real has not. The way: `library.ptx` holds what nvcc makes of
each function alone (of `library.cu`, beside it). Every value is kept with the tree of operations that made it; where an
operation looks like one that a function does with its argument, the code of the function is run on that very argument, and
the tree of its result is noted. Where the kernel makes a value of that tree, the value is that of the function. Trees do not
know the order of instructions, nor which registers hold them, and both run through the same tests, since the argument is known.

Only functions that an assumption of the certificate names are looked for. That the code in `library.ptx` computes the
functions is tested by running it on the machine's numbers beside mpmath.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]

from . import ptx
from .machine import Cta, Launch, Step
from .memory import Memory, Races, Space, Write
from .ptx import Instruction
from .values import DIGITS, SIZES, Beyond, Cannot, Num, Opaque, Stop, exact

TEXT = Path(__file__).parent / "library.ptx"

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "logf": (mpmath.log,),
    "log2f": (lambda x: mpmath.log(x) / mpmath.log(2),),
    "log10f": (lambda x: mpmath.log(x) / mpmath.log(10),),
    "log1pf": (mpmath.log1p,),
    "expm1f": (mpmath.expm1,),
    "exp10f": (lambda x: mpmath.power(10, x),),
    "tanhf": (mpmath.tanh,),
    "sinhf": (mpmath.sinh,),
    "coshf": (mpmath.cosh,),
    "asinhf": (mpmath.asinh,),
    "acoshf": (mpmath.acosh,),
    "atanhf": (mpmath.atanh,),
    "sinf": (mpmath.sin,),
    "cosf": (mpmath.cos,),
    "sincosf": (mpmath.sin, mpmath.cos),
    "erff": (mpmath.erf,),
    "erfcf": (mpmath.erfc,),
    "normcdff": (mpmath.ncdf,),
    "cbrtf": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),),
}
"""The functions of `library.ptx`, over the reals; one has two results."""

SAID = re.compile(r"the code of `(\w+)` of the CUDA library computes that function of the reals")

ARGUMENTS = ("0.3", "1.7", "-0.8", "5.5", "30")
"""Arguments on which what a function does with its argument is learned."""

UNTOLD = {"rn", "ftz", "approx", "full", "global"}
"""Modifiers that change nothing over the reals."""

Token = int | tuple[int]
"""A value in a tree: the number of its tree, or a known word."""

StepOf = Callable[[Launch, Instruction], Step]

FRESH = itertools.count()


class Trees:
    """The trees of the values of one run of both kernels, by number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.meanings: dict[int, Num] = {}
        """What values of some trees are."""
        self.tried: set[tuple[str, int]] = set()

    def token(self, v: Any) -> Token:
        if type(v) is int:
            return (v,)
        if type(v) is Num or type(v) is Opaque:
            if v.tree is None:
                v.tree = next(FRESH)
            return v.tree
        return next(FRESH)

    def node(self, key: Any) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = next(FRESH)
        return number


def key_of(opcode: tuple[str, ...], tokens: list[Any]) -> Any:
    """An operation on values, in one spelling."""
    name = opcode[0]
    if name in ("fma", "mad") and tokens[2] in ((0,), (1 << 31,)):
        opcode, tokens = ("mul", *opcode[1:]), tokens[:2]
    if opcode[0] in ("mul", "add", "fma", "mad"):
        tokens = [*sorted(tokens[:2], key=repr), *tokens[2:]]
    return opcode, *tokens


class Function:
    """The code of one function, ready to run on an argument."""

    def __init__(self, name: str, text: str, domain: Any, step_of: StepOf) -> None:
        self.name, self.meanings, module = name, FUNCTIONS[name], ptx.read(text, f"of_{name}")
        self.x, self.y = Memory("x", 1 << 40, 4), Memory("y", 2 << 40, 4 * len(self.meanings))
        params = Memory("parameters", 0, 16)
        space, races = Space(random.Random(0)), Races(domain, {}, False)
        space.at = {1: self.x, 2: self.y}
        names: dict[str, int] = {}
        for i, v in enumerate(module.variables):
            if v.space in ("global", "const") and v.init is not None:
                space.at[i + 3] = Memory(v.name, i + 3 << 40, v.size, functools.partial(word, v.init))
                names[v.name] = i + 3 << 40
        params.put(Write(0, 8, self.x.base))
        params.put(Write(8, 8, self.y.base))
        side = {"block": [1, 1, 1], "grid": [1, 1, 1], "ctas": None, "dynamic_shared": None}

        def constant(bits: int, fmt: str) -> Num:
            return Num(domain.number(exact(bits, fmt)), fmt, known=True)

        self.launch = Launch(module, side, names, races, domain, space, params, constant)
        self.launch.trees = Trees()
        self.launch.code = [*(step_of(self.launch, ins) for ins in module.code), lambda r: -1]

    def values(self, x: Decimal) -> list[Decimal]:
        """The function over the reals."""
        numbers = [f(mpmath.mpf(str(x))) for f in self.meanings]
        return [Decimal("nan") if isinstance(y, mpmath.mpc) else Decimal(mpmath.nstr(y, DIGITS + 5)) + 0 for y in numbers]

    def run(self, trees: Trees, argument: Num) -> list[Any]:
        """What the code makes of an argument; None where it cannot be followed."""
        self.x.bytes.clear()
        self.y.bytes.clear()
        self.x.put(Write(0, 4, argument))
        self.launch.trees, self.launch.steps = trees, 0
        try:
            Cta(self.launch, 0).run()
            return [self.y.read(4 * i, 4, "f32") for i in range(len(self.meanings))]
        except (Stop, TypeError):
            return [None] * len(self.meanings)


def word(init: bytes, off: int, n: int, type: str) -> int:
    return int.from_bytes(init[off : off + n], "little")


class Library:
    """The functions that a certificate names."""

    def __init__(self, assumptions: list[dict[str, Any]], domain: Any, step_of: StepOf) -> None:
        said = [m[1] for a in assumptions if a["kind"] == "library-function" and (m := SAID.fullmatch(a["message"]))]
        names = sorted({n for n in said if n in FUNCTIONS})
        self.domain, text = domain, TEXT.read_text() if names else ""
        self.functions = [Function(n, text, domain, step_of) for n in names]
        self.marks: dict[Any, list[Function]] = {}
        """By what a function does with its argument, which stands as `x`."""
        for f in self.functions:
            for argument in ARGUMENTS:
                trees, x = Trees(), Num(Decimal(argument), "f32")
                token = trees.token(x)
                f.run(trees, x)
                for key in trees.numbers:
                    own = self.marks.setdefault(marked(key, token), [])
                    if token in key and f not in own:
                        own.append(f)

    def look(self, trees: Trees, key: Any, values: list[Any], tokens: list[Any]) -> None:
        """Where an operation is one that a function does with its argument, what the function would make of it is noted."""
        for v, token in zip(values, tokens):
            if type(v) is not Num or v.fmt != "f32":
                continue
            for f in self.marks.get(marked(key, token), ()):
                if (f.name, token) in trees.tried:
                    continue
                trees.tried.add((f.name, token))
                for made, value in zip(f.run(trees, v), f.values(v.v)):
                    if made is None:
                        raise Beyond(f"the code of {f.name} cannot be followed there")
                    if type(made) is int and not self.domain.equal(self.domain.number(exact(made, "f32")), value):
                        raise Beyond(f"the code of {f.name} gives a constant there")
                    if type(made) in (Num, Opaque) and made.tree is not None and made.tree != token:
                        trees.meanings[made.tree] = Num(value, "f32")


def marked(key: Any, token: Any) -> Any:
    """An operation with `x` for one of its values."""
    return key[0], *sorted(repr("x" if t == token else t) for t in key[1:])


def traced(launch: Launch, ins: Instruction, f: Callable[..., Any], d: int, sources: list[int]) -> Callable[[list[Any]], None]:
    """An instruction that keeps trees. What it cannot compute is opaque, until it is known as a part of a function."""
    size = SIZES[ins.type]
    opcode = (ins.name, *(part for part in ins.opcode[1:] if part not in UNTOLD))

    def step(r: list[Any]) -> None:
        values, trees = [r[s] for s in sources], launch.trees
        if ins.name != "selp" and any(v is None for v in values):
            r[d] = None
            return
        assert trees is not None
        tokens = [trees.token(v) for v in values]
        try:
            result = f(*values)
        except (TypeError, Cannot):
            result = Opaque(size)
        if type(result) is int:
            r[d] = result
            return
        key = key_of(opcode, tokens)
        if type(result) in (Num, Opaque) and result.tree is None:
            result.tree = trees.node(key)
        if launch.library is not None:
            launch.library.look(trees, key, values, tokens)
            result = trees.meanings.get(result.tree, result) if type(result) in (Num, Opaque) else result
        r[d] = result

    return step
