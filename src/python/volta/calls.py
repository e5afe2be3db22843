"""The arguments and the launch of a call, and what a request says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from . import arg, kernels
from .errors import InputError
from .kernels import Formula, Function, Grid, Kernel, Reference
from .results import Result

Json = dict[str, Any]
Args = Sequence[object] | Mapping[str, object]
Size = Mapping[str, int]

#: Keys of a manifest that a call may give as keywords.
OPTIONS = frozenset(
    (
        *("strict", "warp_sync", "exact_constants", "probabilistic", "precision", "wmma_layout", "memory_limit"),
        *("alias", "map", "assume", "only", "deny", "buffers", "cluster", "masks_are_infinite", "rounding", "arch", "bits"),
        *("any", "cta", "deterministic", "seed", "names", "rows", "values"),
    )
)


def options_of(options: Mapping[str, Any]) -> Json:
    """Keywords of a call as keys of a launch."""
    strange = sorted(set(options) - OPTIONS)
    if strange:
        raise TypeError(f"unknown keyword {strange[0]!r}; it is none of {', '.join(sorted(OPTIONS))}")
    return {k.replace("_", "-"): v for k, v in options.items() if v is not None}


def positional(args: Args | None) -> tuple[list[arg.Arg], list[str | None]]:
    """Arguments by position, and their names as far as they have any."""
    if args is None:
        return [], []
    if isinstance(args, Mapping):
        return [arg.coerce(v) for v in args.values()], list(args)
    values = [arg.coerce(v) for v in args]
    return values, [v.name if isinstance(v, arg.Array) else None for v in values]


class Call:
    """The arguments and the launch of a call, for kernels that bring none of their own."""

    def __init__(self, args: Args | None, grid: Grid | None, block: Grid | None, dynamic_shared: int | None) -> None:
        self.args, self.names = positional(args)
        self.grid, self.block, self.dynamic_shared = grid, block, dynamic_shared

    def side(self, kernel: Kernel) -> Json:
        """The keys of one kernel."""
        bound: dict[int, arg.Arg] = dict(kernel.args) or dict(enumerate(self.args))
        out: Json = {"args": {str(k): arg.text(v) for k, v in bound.items()}}
        grid = kernel.grid if kernel.grid is not None else self.grid
        # A compiler that bound the arguments wrote the block into the kernel.
        block = self.block if kernel.block is None and not kernel.args else kernel.block
        shared = kernel.dynamic_shared if kernel.dynamic_shared is not None else self.dynamic_shared
        if grid is not None:
            out["grid"] = kernels.grid_of(grid)
        if block is not None:
            out["block"] = kernels.grid_of(block)
        if shared is not None:
            out["dynamic-shared"] = shared
        if kernel.entry is not None:
            out["entry"] = kernel.entry
        return out

    def parameter_names(self, kernel: Kernel) -> list[str]:
        """The names of a kernel's parameters for people, as far as they are known."""
        parameters = kernel.parameters()
        named: list[str | None] = list(kernel.names) or list(self.names)
        named += [None] * (len(parameters) - len(named))
        return [n or p for n, p in zip(named, parameters)]

    def numbered(self, kernel: Kernel) -> dict[str, str]:
        """The names of a kernel's parameters by position, as a request has them: facts and reports use them."""
        return {str(i): n for i, n in enumerate(self.parameter_names(kernel))}

    def arrays(self, kernel: Kernel) -> dict[str, arg.Array]:
        """The arrays of a kernel by the names of its parameters."""
        names = self.parameter_names(kernel)
        bound: dict[int, arg.Arg] = dict(kernel.args) or dict(enumerate(self.args))
        return {names[k]: v for k, v in bound.items() if isinstance(v, arg.Array) and k < len(names)}


def pairs(reference: Kernel, optimized: Kernel) -> dict[str, str]:
    """Pairs of parameters by name, where both kernels name theirs and differ; arrays that are left, in order."""
    if not reference.names or not optimized.names or reference.names == optimized.names:
        return {}
    places = {n: i for i, n in enumerate(optimized.names)}
    pairs = {i: places[n] for i, n in enumerate(reference.names) if n in places}

    def left(kernel: Kernel, paired: set[int]) -> list[int]:
        bound = kernel.args.get
        return [i for i in range(len(kernel.names)) if i not in paired and isinstance(bound(i), arg.Array)]

    rest = left(reference, set(pairs)), left(optimized, set(pairs.values()))
    if len(rest[0]) == len(rest[1]):
        pairs |= dict(zip(*rest))
    return {str(k): str(v) for k, v in pairs.items()}


def resolve(reference: Reference, optimized: Kernel, call: Call) -> Kernel | Formula:
    """A reference that can be asked about: of a function, its formula for the arguments of a kernel."""
    if not isinstance(reference, Function):
        return reference
    from .trace import function_of_call

    bound = dict(optimized.args) or dict(enumerate(call.args))
    names = call.parameter_names(optimized)
    return function_of_call(reference.function, [(names[k], v) for k, v in sorted(bound.items())])


def result_of(answer: Json, arrays: Mapping[str, arg.Array]) -> Result:
    """An answer of the program as a result."""
    report = answer["result"]
    text = answer.get("texts", {}).get("human", "")
    return Result(report["verdict"], report, text, arrays)


#: The worse answer comes first.
RANK = {"defective": 0, "not-equivalent": 1, "unknown": 3, "equivalent": 4, "clean": 4, "ran": 4, "lifted": 4}


def at_size(value: Any, size: Size) -> Any:
    """An argument that may depend on a size: a function of the names in it is called."""
    if not callable(value) or hasattr(value, "shape") or kernels.is_jit(value):
        return value
    code = getattr(value, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else tuple(size)
    return value(**{k: v for k, v in size.items() if k in names})


R = TypeVar("R", bound=Result)


def each(sizes: Sequence[Size], one: Callable[[Size], R]) -> R:
    """A question at several sizes: the worst answer, with all of them among its instances."""
    if not sizes:
        raise InputError("`sizes` is empty: nothing would be checked")
    results = [(size, one(size)) for size in sizes]
    size, worst = min(results, key=lambda r: 2 if r[1].denied else RANK[r[1].verdict])
    instances = [{"for": dict(size), "result": r.report} for size, r in results]
    where = ", ".join(f"{k} = {v}" for k, v in size.items())
    text = worst.text if len(results) == 1 else f"for {where}:\n{worst.text}"
    return replace(worst, report={**worst.report, "instances": instances}, text=text)
