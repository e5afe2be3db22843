"""What can be compared: PTX, CUDA, Triton, formulas and functions, each as one class."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import arg
from .errors import InputError
from .files import text_of
from .foreign import name as name_of

Grid = int | Sequence[int]
#: A grid, or a function of sizes, or of what Triton binds.
SizedGrid = Grid | Callable[..., Grid]

#: What was looked ahead for is not tried again at fewer spaces.
_ENTRY = re.compile(r"\.entry(?=(\s+))\1([\w$]+)\s*(\()?")
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
    #: What a compiler knows of the use of each array, by position: `in`, `out` or `inout`.
    uses: Mapping[int, str] = field(default_factory=dict)
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


def coerce(value: object, **launch: Any) -> Reference:
    """A kernel, formula or function from whatever stands for one."""
    if isinstance(value, (Kernel, Formula, Function)):
        return value
    if isinstance(value, Path):
        if value.suffix in (".cu", ".cuh"):
            from .nvcc import cuda

            return cuda(value, timeout=launch.get("compile_timeout", 120))
        return ptx(value)
    if isinstance(value, str):
        if is_ptx(value):
            return ptx(value)
        if "__global__" in value:
            from .nvcc import cuda

            return cuda(value, timeout=launch.get("compile_timeout", 120))
        if "\n" not in value and value.endswith((".ptx", ".cu")):
            return coerce(Path(value), **launch)
        raise InputError("a text is PTX, CUDA with a __global__ function, or a path; a formula is volta.formula(text)")
    if is_jit(value):
        from .triton_kernels import triton

        args, grid = launch.get("args"), launch.get("grid")
        names = None if not isinstance(args, Mapping) else args
        given: list[Any] = list(names.values() if names is not None else args or [])
        return triton(value, *given, grid=(1,) if grid is None else grid)
    if callable(value):
        return Function(value)
    raise InputError(f"{name_of(repr(value))} is no kernel, formula or function")


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
