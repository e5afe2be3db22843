"""`@volta.verify`: what a kernel must compute, written beside it; pytest checks it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import api, awkward
from .calls import Args, at_size
from .errors import InputError
from .kernels import Kernel, is_triton
from .keywords import Limits, PairFacts
from .launches import Launch, asked
from .results import Result
from .triton_kernels import configurations, triton

if TYPE_CHECKING:
    from typing_extensions import Required, Unpack

K = TypeVar("K")


@dataclass(frozen=True)
class Case:
    """One size and one configuration of a kernel."""

    #: `None` stands for sizes that make every guard go both ways.
    size: Mapping[str, int] | None
    config: int

    @property
    def id(self) -> str:
        """A name for it."""
        if self.size is None:
            return f"awkward-config{self.config}" if self.config else "awkward"
        size = "-".join(f"{k}={v}" for k, v in self.size.items())
        return "-".join(p for p in (size, f"config{self.config}" if self.config else "") if p) or "launch"


@dataclass
class Verification:
    """What `verify` was told about a kernel."""

    kernel: Any
    reference: Any
    args: Callable[..., Args]
    grid: Any
    block: Any
    sizes: Sequence[Mapping[str, int]] | Literal["awkward"]
    configs: Literal["all", "first"]
    timeout: float | None
    budget: int | None
    allow_unknown: bool
    arch: int
    options: dict[str, Any]
    name: str
    constexprs: Callable[..., Mapping[str, Any]] | Mapping[str, Any] = field(default_factory=dict)
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def cases(self) -> Iterator[Case]:
        """Every size with every configuration."""
        count = len(configurations(self.kernel)) if self.is_triton else 1
        for size in [None] if self.sizes == "awkward" else self.sizes:
            for config in range(count if self.configs == "all" else 1):
                yield Case(size, config)

    @property
    def is_triton(self) -> bool:
        """Whether the kernel is a Triton function."""
        return is_triton(self.kernel)

    def check(self, case: Case, timeout: float | None = None, budget: int | None = None) -> Result:
        """Checks one case; limits that are given here come before the kernel's own."""
        if case.size is None:
            names = awkward.names_of(self.args, self.grid)
            return awkward.check(names, lambda size: self.check(Case(size, case.config), timeout, budget))
        args = self.args(**case.size)
        options = {
            **self.options,
            "timeout": timeout if timeout is not None else self.timeout,
            "budget": budget if budget is not None else self.budget,
        }
        grid = at_size(self.grid, case.size)
        if not self.is_triton:
            return api.check(self.reference, self.kernel, args=args, grid=grid, block=self.block, **options)
        values = list(args.values()) if isinstance(args, Mapping) else list(args)
        given = self.constexprs(**case.size) if callable(self.constexprs) else self.constexprs
        kernel: Kernel = triton(
            self.kernel, *values, grid=grid, arch=self.arch, config=case.config, **{**self.keywords, **dict(given)}
        )
        return api.check(self.reference, kernel, args=args, **options)


class VerifyOptions(Limits, PairFacts, total=False):
    """Keywords of `verify`, beside those of the launch of a Triton function."""

    args: Required[Callable[..., Args]]
    grid: Any
    block: Any
    sizes: Sequence[Mapping[str, int]] | Literal["awkward"]
    configs: Literal["all", "first"]
    constexprs: Callable[..., Mapping[str, Any]] | Mapping[str, Any] | None
    allow_unknown: bool
    arch: int


#: Everything that was decorated in this process, by the module that did it.
registry: dict[str, list[Verification]] = {}


@overload
def verify(reference: Any, **options: Unpack[VerifyOptions]) -> Callable[[K], K]: ...
@overload
def verify(reference: Any, *, args: Callable[..., Args], **keywords: Any) -> Callable[[K], K]: ...
def verify(
    reference: Any,
    *,
    args: Callable[..., Args],
    grid: Any = (1,),
    block: Any = None,
    sizes: Sequence[Mapping[str, int]] | Literal["awkward"] = ({},),
    configs: Literal["all", "first"] = "all",
    constexprs: Callable[..., Mapping[str, Any]] | Mapping[str, Any] | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    allow_unknown: bool = False,
    arch: int = 80,
    **keywords: Any,
) -> Callable[[K], K]:
    """Says what a kernel must compute; the kernel is returned unchanged.

    Keywords are parameters and launch options of a Triton function (`B=128`, `num_warps=4`), or options of `check`;
    `constexprs` may be a function of the sizes' names.
    `args` and `grid` are functions of the names in `sizes`; `grid` may take `meta` as well, the bound arguments. pytest runs one
    test for each size and autotune configuration. `sizes="awkward"` is one test, at sizes that no block divides, and at as many
    as it takes until each guard of the kernel went both ways.
    """
    if not sizes:
        raise InputError("`sizes` is empty: nothing would be checked")

    module = str(sys._getframe(1).f_globals.get("__name__", ""))

    def decorate(kernel: K) -> K:
        inner: Any = kernel
        name = getattr(inner, "__name__", None) or getattr(getattr(inner, "base_fn", None), "__name__", None)
        if isinstance(kernel, Kernel):
            name = kernel.entry or kernel.name
        launch, options = asked([kernel], (), Launch(), keywords, PairFacts.__optional_keys__)
        registry.setdefault(module, []).append(
            Verification(
                kernel=kernel,
                reference=reference,
                args=args,
                grid=grid,
                block=block,
                sizes=sizes,
                configs=configs,
                timeout=timeout,
                budget=budget,
                allow_unknown=allow_unknown,
                arch=arch,
                options=options,
                name=str(name or type(inner).__name__),
                constexprs=constexprs or {},
                keywords=launch.keywords,
            )
        )
        return kernel

    return decorate
