"""Launches as Python writes them: `kernel[grid]` of Triton, `kernel[grid, block]` of others, and the keywords that follow.

    volta.check(reference, kernel[grid], x, y, n, B=128, num_warps=4)

What Triton gives for `kernel[grid]` is a function that launches; it holds its kernel and its grid, and is not called here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, cast

from . import kernels
from .calls import Args, Call, Size, at_size
from .errors import InputError, KeywordError
from .foreign import name as name_of
from .kernels import Grid, Kernel, Reference, SizedGrid

#: What Triton takes of a launch beside the parameters of a function.
TRITON = frozenset(("num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "config"))


def called(function: object) -> str:
    """The name of a Triton function."""
    from .triton_kernels import unwrap

    return name_of(unwrap(function)[0].__name__)


def parameters_of(value: object) -> list[str] | None:
    """The names of a Triton function's parameters, with or without its grid; `None` for anything else."""
    if not kernels.is_triton(value):
        return None
    from .triton_kernels import unwrap

    return [p.name for p in unwrap(value)[0].params]


@dataclass(frozen=True)
class Launch:
    """What a question says of the launch of its kernels: the arguments by position or name, the extents, and keywords."""

    args: Args | Callable[..., Args] | None = None
    grid: SizedGrid | None = None
    block: Grid | None = None
    dynamic_shared: int | None = None
    #: Keywords of Triton functions: their parameters, and what a launch of theirs takes.
    keywords: Mapping[str, Any] = field(default_factory=dict)
    #: The architecture that Triton functions are compiled for, 80 for sm_80.
    arch: int = 80
    #: The arguments stand after the kernel, as in a launch.
    is_call: bool = False

    @property
    def says_something(self) -> bool:
        """Whether anything of it was given."""
        return any(v is not None for v in (self.args, self.grid, self.block, self.dynamic_shared)) or bool(self.keywords)

    def _given(self) -> list[object]:
        """The arguments one by one where they stand after the kernel, else as a whole."""
        return list(self.args) if self.is_call and isinstance(self.args, Sequence) else [self.args]

    def functions(self) -> list[Any]:
        """Its parts that are functions of sizes."""
        parts = [*self._given(), self.grid, *self.keywords.values()]
        return [p for p in parts if isinstance(p, FunctionType)]

    def fixed(self) -> None:
        """Raises `InputError` where its arguments are a function of sizes."""
        if any(isinstance(p, FunctionType) for p in self._given()):
            raise InputError("an argument is a function only where `sizes` are given")

    def at(self, size: Size) -> Launch:
        """It at a size, where its parts are functions of one."""
        keywords = {k: at_size(v, size) for k, v in self.keywords.items()}
        given = [at_size(a, size) for a in self._given()]
        return replace(self, args=given if self.is_call else given[0], grid=at_size(self.grid, size), keywords=keywords)

    @property
    def bound(self) -> Args | None:
        """The arguments, at a size."""
        self.fixed()
        return cast(Args | None, self.args)

    def kernel(self, value: object, compile_timeout: float | None = None) -> Reference:
        """A kernel, formula or function from whatever stands for one, launched so.

        Raises `CompileError` where a compiler rejects it, `InputError` where the launch does not fit."""
        shape = kernels.shape_of(value)
        function, grid = (value, self.grid) if shape is None else shape
        if not kernels.is_jit(function):
            return kernels.coerce(value, compile_timeout)
        from .triton_kernels import triton

        names = parameters_of(function) or []
        given = self.bound or []
        named: dict[str, Any] = {}
        values: Sequence[object]
        if isinstance(given, Mapping):
            # Keys that are no parameters are names for reports, in order.
            named, values = (dict(given), ()) if set(given) <= set(names) else ({}, list(given.values()))
        else:
            values = list(given)
        if grid is None and self.is_call:
            raise KeywordError(f"{called(function)} is launched on a grid: say {called(function)}[grid], or grid=(n,)")
        named |= {k: v for k, v in self.keywords.items() if k in names or k in TRITON}
        return triton(function, *values, grid=(1,) if grid is None else grid, arch=self.arch, **named)

    def call(self, *subjects: Reference) -> Call:
        """The arguments and the extents for kernels that bring none of their own."""
        known = [k for k in subjects if isinstance(k, Kernel)]
        args = self.bound
        if known and all(k.args for k in known):
            variables = frozenset[str]().union(*(k.variables for k in known))
            args = {n: a for n, a in args.items() if n in variables} if isinstance(args, Mapping) else None
        return Call(args, self.grid, self.block, self.dynamic_shared)


def asked(
    subjects: Sequence[object],
    given: Sequence[object],
    launch: Launch,
    keywords: Mapping[str, Any],
    takes: frozenset[str],
    *,
    is_open: bool = False,
) -> tuple[Launch, dict[str, Any]]:
    """The launch of a question with what stands after its kernels, and the question's options.

    A keyword that a Triton function among `subjects` has as a parameter, and that no argument gave yet, is that parameter; of
    the others those that `takes` lists are options. With `is_open` kernels come later that may take what is left, unless it is
    all but the name of an option.

    Raises `KeywordError` for a keyword that nothing takes.
    """
    if given and launch.args is not None:
        raise InputError("the arguments stand after the kernel, as in a launch, or in args=: not in both")
    functions = [names for s in subjects if (names := parameters_of(s)) is not None]
    left = {n for names in functions for n in names[len(given) :]}
    own = {k: v for k, v in keywords.items() if k in left or (k in TRITON and functions)}
    options = {k: v for k, v in keywords.items() if k not in own and k in takes}
    rest = {k: v for k, v in keywords.items() if k not in own and k not in options}
    refused = [k for k in rest if functions or not is_open or difflib.get_close_matches(k, takes, cutoff=0.85)]
    if refused:
        names = sorted({n for names in functions for n in names})
        raise KeywordError(_unknown(min(refused), names, len(given), takes))
    arch = options.get("arch")
    target = launch.arch if arch is None else _capability(arch)
    if arch is not None:
        options["arch"] = f"sm_{target}" if isinstance(arch, int) else arch
    full = replace(launch, keywords={**launch.keywords, **own, **rest}, arch=target)
    return (replace(full, args=list(given), is_call=True) if given else full), options


def _capability(arch: object) -> int:
    """90 of 90, `"sm_90"` or `"sm_90a"`."""
    digits = str(arch).removeprefix("sm_").rstrip("af")
    if not digits.isdigit():
        raise InputError(f'arch is a number such as 90, or a text such as "sm_90", not {arch!r}')
    return int(digits)


def _unknown(keyword: str, names: Sequence[str], given: int, options: Collection[str]) -> str:
    """Why a keyword is refused, and what there is."""
    if keyword in names:
        return f"{keyword!r} is given twice: the {given} arguments after the kernel reach it already"
    close = difflib.get_close_matches(keyword, [*names, *sorted(options), *(sorted(TRITON) if names else [])], n=1)
    meant = f"did you mean {close[0]}=? " if close else ""
    parameters = f"the kernel's parameters are {', '.join(names)}; " if names else ""
    if keyword in TRITON:
        parameters = "it is of launches of Triton functions, and there is none here; "
    return f"unknown keyword {keyword!r}; {meant}{parameters}the options are {', '.join(sorted(options))}"
