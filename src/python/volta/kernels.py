"""What can be compared: PTX, CUDA, Triton, formulas and functions, each as one class."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import arg
from .errors import InputError
from .files import text_of
from .foreign import name as name_of

Grid = int | Sequence[int]
#: A grid, or a function of sizes, or of what Triton binds.
SizedGrid = Grid | Callable[..., Grid]

#: What was looked ahead for is not tried again at fewer spaces.
_ENTRY = re.compile(r"\.entry(?=(\s+))\1([\w$]+)\s*(\()?")
#: A declaration of an entry: up to the end of its parameters, its name.
_DECLARED = re.compile(r"(\.visible\s+\.entry\s+([\w$]+)\s*\(([^)]*)\))")
#: A variable of a module: its name stands before the extents, the initial value or the end.
_VARIABLE = re.compile(
    r"^[ \t]*(?:\.(?:visible|extern|weak|common)[ \t]+)?\.(?:global|const)[ \t]"
    r"(?:[ \t]*\.\w+(?:[ \t]+\d+)?)*[ \t]+([\w$]+)[ \t]*[\[=;]",
    re.M,
)
_WORD = re.compile(r"[\w$]+")


@dataclass(frozen=True)
class Kernel:
    """A kernel as PTX, with what is known of its launch.

    `names` are the parameters' names in order, for reports and formulas. `args`, by position, and `grid` are bound by
    whatever made the kernel; parameters that a compiler added are among them.
    """

    ptx: str
    name: str
    entry: str | None = None
    names: tuple[str, ...] = ()
    args: Mapping[int, arg.Arg] = field(default_factory=dict)
    grid: Grid | None = None
    block: Grid | None = None
    dynamic_shared: int | None = None
    #: Whether it runs at all: on an empty grid it does not.
    is_launched: bool = True
    #: What a compiler knows of the use of each array, by position: `in`, `out` or `inout`.
    uses: Mapping[int, str] = field(default_factory=dict)
    #: What is suspect of its source, in the form of a report's warnings.
    lints: tuple[dict[str, Any], ...] = ()
    #: Fields of parameters that are passed by value, by `POSITION+BYTES`.
    fields: Mapping[str, arg.View | str] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """It as a request has it."""
        return {"text": self.ptx, "name": self.name}

    def entries(self) -> list[tuple[str, str]]:
        """The entries that it may mean, each with the text of its parameters."""
        text = re.sub(r"//[^\n]*", "", self.ptx)
        entries: list[tuple[str, str]] = []
        at, last = 0, text.rfind(")")
        while found := _ENTRY.search(text, at):
            at, parameters = found.end(), ""
            if found[3] and at <= last:
                close = text.index(")", at)
                at, parameters = close + 1, text[at:close]
            entries.append((found[2], parameters))
        if self.entry is not None:
            named = [e for e in entries if e[0] == self.entry]
            entries = named or [e for e in entries if self.entry in e[0]]
        return entries

    def parameters(self) -> list[str]:
        """The names that PTX gives the parameters of the entry."""
        entries = self.entries()
        declared = entries[0][1].split(",") if entries else []
        # The name is the last word before the extent; a search from the front would take the square of a hostile text's length.
        ends = (d.rstrip().removesuffix("]").rpartition("[")[0] if d.rstrip().endswith("]") else d for d in declared)
        found = (_WORD.match(end.rstrip()[::-1]) for end in ends if ".param" in end)
        return [word[0][::-1] for word in found if word]

    @functools.cached_property
    def variables(self) -> frozenset[str]:
        """The names of the module's variables in global and constant memory."""
        return frozenset(_VARIABLE.findall(self.ptx))

    def launch(
        self, *args: object, grid: Grid | None = None, block: Grid | None = None, dynamic_shared: int | None = None
    ) -> Kernel:
        """It with the arguments and the extents of a launch, for a list of launches."""
        return replace(
            self,
            args={i: arg.coerce(v) for i, v in enumerate(args)} or self.args,
            grid=self.grid if grid is None else grid,
            block=self.block if block is None else block,
            dynamic_shared=self.dynamic_shared if dynamic_shared is None else dynamic_shared,
        )

    def with_contents(self, given: Sequence[object], named: Mapping[str, object]) -> Kernel:
        """It with the contents of the arrays that it was bound to and that have none: in order, or by name.

        Raises `InputError` where an array has another shape, or there is none for it."""
        open_ = {
            n: (i, a)
            for i, n in enumerate(self.names)
            if isinstance(a := self.args.get(i), arg.Array) and a.contents is None and a.role in (None, "in", "inout")
        }
        if len(given) > len(open_):
            raise InputError(f"{self!r} reads {', '.join(open_) or 'no array'}, and {len(given)} arrays are given")
        values = dict(zip(open_, given)) | dict(named)
        bound = dict(self.args)
        for name, value in values.items():
            if name not in open_:
                raise InputError(f"{self!r} takes no contents for `{name}`: it reads {', '.join(open_) or 'no array'}")
            at, array = open_[name]
            data = np.asarray(value)
            if data.shape != array.shape:
                raise InputError(f"`{name}` has the shape {array.shape}, and the array that is given {data.shape}")
            bound[at] = replace(array, contents=arg.contents_of(data.astype(arg.numpy_type(array.type))))
        missing = [n for n, (i, a) in open_.items() if bound[i] is a and a.role is not None]
        if missing:
            raise InputError(f"{self!r} reads `{missing[0]}`, which has no contents: say {missing[0]}=array")
        return replace(self, args=bound)

    def __getitem__(self, extents: Any) -> Kernel:
        """It on a grid, or with a grid and a block: `kernel[grid]`, `kernel[grid, block]`."""
        given = extents if isinstance(extents, tuple) else (extents,)
        if not 1 <= len(given) <= 2:
            raise InputError(f"a launch is kernel[grid] or kernel[grid, block], each a number or (x, y, z), not {extents!r}")
        return replace(self, grid=given[0], block=self.block if len(given) == 1 else given[1])

    #: Extents are no elements.
    __iter__ = None

    def __repr__(self) -> str:
        return f"<volta.Kernel {name_of(self.name)}{'' if self.entry is None else ': ' + name_of(self.entry)}>"


@dataclass(frozen=True)
class Formula:
    """A formula, such as `y[i,j] = sum(k: a[i,k]*b[k,j])`; of a traced function `inputs` and `outputs` are its arrays by name."""

    text: str
    inputs: Mapping[str, arg.Array] = field(default_factory=dict)
    outputs: Mapping[str, arg.Array] = field(default_factory=dict)
    #: Shapes of its helpers, which stand after `where`.
    helpers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        """It as a request has it."""
        return {"formula": self.text}


@dataclass(frozen=True)
class Function:
    """A plain function of arrays: it takes the inputs, then the numbers that its signature names, and returns the outputs."""

    function: Callable[..., Any]


Reference = Kernel | Formula | Function


class Wrapper(Protocol):
    """A Triton function, an autotuner or heuristics: what wraps a Python function."""

    fn: Any


#: A kernel whose parameters are no keywords of a question, so that its keywords are known to type checkers; and any other.
Plain = Kernel | str | Path
Keyed = Callable[..., Any] | Wrapper


def ptx(source: str | Path, entry: str | None = None, name: str | None = None) -> Kernel:
    """A kernel from PTX: a path, or the text itself. `entry` is needed where it holds several.

    Raises `InputError` where the file cannot be read; that a text does not parse is said where a question is asked.
    """
    if isinstance(source, Path) or ("\n" not in source and ".entry" not in source):
        path = Path(source)
        return Kernel(text_of(path), name or str(path), entry)
    return Kernel(source, name or "kernel.ptx", entry)


def formula(text: str) -> Formula:
    """A formula; its arrays are named as the arguments are."""
    return Formula(text)


def is_ptx(text: str) -> bool:
    """Whether a text is PTX, by its first directive."""
    return re.search(r"^[ \t]*\.version[ \t]+\d", text, re.M) is not None


def coerce(value: object, compile_timeout: float | None = None) -> Reference:
    """A kernel, formula or function from whatever stands for one, but for Triton functions, which need their launch.

    `compile_timeout` is in seconds, `None` for what compilers have."""
    if isinstance(value, (Kernel, Formula, Function)):
        return value
    if is_triton(value):
        name = name_of(getattr(value, "__name__", value))
        raise InputError(f"{name} is a Triton function: say how it is launched, volta.triton({name}, x, y, grid=...)")
    timeout: dict[str, Any] = {} if compile_timeout is None else {"timeout": compile_timeout}
    if isinstance(value, Path):
        if value.suffix in (".cu", ".cuh"):
            from .nvcc import cuda

            return cuda(value, **timeout)
        return ptx(value)
    if isinstance(value, str):
        if is_ptx(value):
            return ptx(value)
        if "__global__" in value:
            from .nvcc import cuda

            return cuda(value, **timeout)
        if "\n" not in value and value.endswith((".ptx", ".cu")):
            return coerce(Path(value), compile_timeout)
        raise InputError(
            "a text is PTX, CUDA with a __global__ function, or a path; a formula is volta.formula(text)", {"kind": "syntax"}
        )
    if callable(value):
        return Function(value)
    raise InputError(f"{name_of(repr(value))} is no kernel, formula or function", {"kind": "syntax"})


def is_jit(value: object) -> bool:
    """Whether a value is a Triton function, wrapped or not."""
    seen = 0
    while seen < 16:
        if type(value).__module__.startswith("triton.runtime"):
            return True
        if not hasattr(value, "fn"):
            return False
        value, seen = value.fn, seen + 1
    return False


def shape_of(value: object) -> tuple[Any, Any] | None:
    """The Triton function and the grid of `function[grid]`; `None` for anything else."""
    if isinstance(value, functools.partial) and "grid" in value.keywords:
        owner = getattr(value.func, "__self__", None)
        return (owner, value.keywords["grid"]) if owner is not None and is_jit(owner) else None
    code, cells = getattr(value, "__code__", None), getattr(value, "__closure__", None)
    if code is None or not cells or getattr(value, "__name__", "") != "<lambda>":
        return None
    held = dict(zip(code.co_freevars, cells))
    if not {"self", "grid"} <= held.keys():
        return None
    owner = held["self"].cell_contents
    return (owner, held["grid"].cell_contents) if is_jit(owner) else None


def is_triton(value: object) -> bool:
    """Whether a value is a Triton function, with or without its grid."""
    return is_jit(value) or shape_of(value) is not None


def unlaunched(kernel: Kernel) -> Kernel:
    """What a launch of Triton on a grid without CTAs does: nothing. A kernel of one thread that ends at once stands for it.

    The parameters stay, so that what its arrays held before the launch is what they hold after it."""
    head, _, _ = next(m for m in _DECLARED.findall(kernel.ptx) if kernel.entry in (None, m[1]))
    lines = [line for line in kernel.ptx.splitlines() if line.startswith((".version", ".target", ".address_size"))]
    text = "\n".join([*lines, f"{head}\n.reqntid 1\n{{\n\tret;\n}}\n"])
    hidden = dict.fromkeys(range(len(kernel.args), len(kernel.parameters())), 0)
    return replace(
        kernel,
        ptx=text,
        name=f"{kernel.name} on an empty grid: nothing is launched",
        args={**kernel.args, **hidden},
        grid=1,
        is_launched=False,
    )


def grid_of(grid: Grid) -> list[int]:
    """A grid or block as a list."""
    try:
        out = [operator.index(n) for n in (grid if isinstance(grid, Iterable) else (grid,))]
    except TypeError:
        out = []
    if not 1 <= len(out) <= 3 or any(n < 1 for n in out):
        raise InputError(f"a grid or block is one to three positive numbers, not {grid!r}")
    return out


def count(grid: Grid) -> int:
    """Number of CTAs of a grid, or of threads of a block."""
    return math.prod(grid_of(grid))
