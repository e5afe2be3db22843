"""The arguments and the launch of a call, and what a request says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from . import arg, kernels, lints, waits
from .errors import InputError, ServerError
from .foreign import name as name_of
from .kernels import Formula, Function, Grid, Kernel, Reference, SizedGrid
from .keywords import spoken
from .results import Result, Verdict

Json = dict[str, Any]
Args = Sequence[object] | Mapping[str, object]
SizedArgs = Args | Callable[..., Args]
Size = Mapping[str, int]

#: Kernels of a text that are named where one has to be chosen.
MOST_NAMED = 32


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

    def __init__(self, args: Args | None, grid: SizedGrid | None, block: Grid | None, dynamic_shared: int | None) -> None:
        self.args, self.names = positional(args)
        self.grid, self.block, self.dynamic_shared = grid, block, dynamic_shared

    def fits(self, kernel: Kernel, is_any: bool = False) -> None:
        """Says which arguments a kernel lacks or has too many of; of any launch numbers may be missing."""
        found = kernel.entries()
        if len(found) > 1:
            listed = ", ".join(name_of(n) for n, _ in found[:MOST_NAMED]) + (", ..." if len(found) > MOST_NAMED else "")
            raise InputError(f"{name_of(kernel.name)} holds several kernels, {listed}: say which with entry=")
        positions = self.positions(kernel)
        if not found or not found[0][1].strip() or kernel.args or not positions:
            return  # The program says that there is no such entry, that it has no parameters, or which arguments are missing.
        parameters, count = self.parameter_names(kernel), len(positions)
        listed = f"{len(parameters)} parameters ({', '.join(parameters)})"
        if count > len(parameters):
            raise InputError(f"`{found[0][0]}` has {listed}, and args gives {count}")
        if count < len(parameters) and not is_any:
            missing = ", ".join(f"`{n}`" for n in parameters[count:])
            raise InputError(f"`{found[0][0]}` has {listed}, and args gives {count}: there is none for {missing}")

    def side(self, kernel: Kernel) -> Json:
        """The keys of one kernel."""
        bound = self.by_position(kernel)
        out: Json = {"args": {str(k): v.text(k) if isinstance(v, arg.Pointers) else arg.text(v) for k, v in bound.items()}}
        out["args"] |= {n: arg.text(v) for n, v in self.variables(kernel).items()}
        grid = kernel.grid if kernel.grid is not None else self.grid
        if callable(grid):
            raise InputError("a grid is a function where `sizes` are given, or of a Triton function: say how many CTAs there are")
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

    def variables(self, kernel: Kernel) -> dict[str, arg.Arg]:
        """The arguments whose name is that of a variable of the module."""
        return {n: a for n, a in zip(self.names, self.args) if n is not None and n in kernel.variables}

    def positions(self, kernel: Kernel) -> list[int]:
        """The arguments that are bound to parameters, in order."""
        return [i for i, n in enumerate(self.names) if n is None or n not in kernel.variables]

    def by_position(self, kernel: Kernel) -> dict[int, arg.Arg]:
        """What the parameters of a kernel are bound to."""
        return dict(kernel.args) or {at: self.args[i] for at, i in enumerate(self.positions(kernel))}

    def parameter_names(self, kernel: Kernel) -> list[str]:
        """The names of a kernel's parameters for people, as far as they are known."""
        parameters, positions = kernel.parameters(), self.positions(kernel)
        named: list[str | None] = list(kernel.names) or [self.names[i] for i in positions]
        # A text without the entry has no names: the program says so.
        parameters = parameters or [f"arg{i}" for i in range(len(positions))]
        named += [None] * (len(parameters) - len(named))
        return [n or p for n, p in zip(named, parameters)]

    def numbered(self, kernel: Kernel) -> dict[str, str]:
        """The names of a kernel's parameters by position, as a request has them: facts and reports use them."""
        return {str(i): n for i, n in enumerate(self.parameter_names(kernel))}

    def arrays(self, kernel: Kernel) -> dict[str, arg.Array]:
        """The arrays of a kernel by the names of its parameters."""
        names = self.parameter_names(kernel)
        bound = self.by_position(kernel)
        own = {names[k]: v for k, v in bound.items() if isinstance(v, arg.Array) and k < len(names)}
        own |= {n: v for n, v in self.variables(kernel).items() if isinstance(v, arg.Array)}
        return own | targets(bound)

    def options(self, kernel: Kernel, options: Json) -> Json:
        """Keywords of a call, with what the types of its arrays say of their elements."""
        return with_facts(options, self.arrays(kernel))

    def bound(self, kernel: Kernel) -> list[tuple[str, arg.Arg]]:
        """The arguments of a kernel in order, with the names of its parameters."""
        names = self.parameter_names(kernel)
        return [(names[k], v) for k, v in sorted(self.by_position(kernel).items())]

    def buffers(self, *kernels_: Kernel) -> Json:
        """The targets of arrays of pointers as a request declares them, if there are any."""
        found = {n: a for k in kernels_ for n, a in targets(self.by_position(k)).items()}
        return {"buffers": {n: a.text() for n, a in found.items()}} if found else {}


def with_facts(options: Json, arrays: Mapping[str, arg.Array]) -> Json:
    """Keywords with the fact that truth values are 0 or 1, for arrays by name that hold some before the launch."""
    facts = [f"{n} in 0..2" for n, a in arrays.items() if a.is_bool and a.role in (None, "in", "inout") and a.contents is None]
    return {**options, "assume": [*(options.get("assume") or []), *facts]} if facts else options


def targets(bound: Mapping[int, arg.Arg]) -> dict[str, arg.Array]:
    """What arrays of pointers among arguments point to, by name."""
    return {n: a for k, v in bound.items() if isinstance(v, arg.Pointers) for n, a in v.targets(k).items()}


def limits(timeout: float | None, budget: int | None = None) -> Json:
    """The limits of a request: seconds, and units of work, which are the same on every machine."""
    out: Json = {}
    if timeout is not None:
        out["timeout"] = waits.seconds(timeout)
    if budget is not None:
        if isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget < 2**64:
            raise InputError(f"a budget is a whole number of units of work, not {budget!r}")
        out["budget"] = budget
    return out


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

    listed: list[tuple[str, arg.Arg]] = []
    for position, (name, v) in enumerate(call.bound(optimized)):
        listed += v.targets(position).items() if isinstance(v, arg.Pointers) else [(name, v)]
    return function_of_call(reference.function, listed)


def result_of(
    answer: Json, arrays: Mapping[str, arg.Array], found: Sequence[Json] = (), deny: Iterable[str] | None = None
) -> Result:
    """An answer of the program as a result, with the lints that were `found` of its kernels.

    Raises `ServerError` where it has another form than a report."""
    report, texts = answer.get("result"), answer.get("texts")
    text = texts.get("human") if isinstance(texts, dict) else ""
    verdict = report.get("verdict") if isinstance(report, dict) else None
    if not isinstance(report, dict) or not isinstance(verdict, str) or verdict not in RANK or not isinstance(text, str):
        raise ServerError(f"the program answers with something else than a report: {name_of(answer)}")
    out = Result(cast(Verdict, verdict), report, spoken(text), arrays)
    try:
        # What cannot be read is said here, and not where somebody looks at it.
        _ = out.defects, out.warnings, out.unknown, out.denied, out.category
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise ServerError(f"the program answers with a report of another form: {type(e).__name__}: {e}") from e
    return lints.with_lints(out, found, deny)


#: The worse answer comes first.
RANK = {"defective": 0, "not-equivalent": 1, "unknown": 3, "equivalent": 4, "clean": 4, "ran": 4, "lifted": 4}

#: The parameter of a function for a grid that Triton's bound arguments are given to.
META = "meta"


def at_size(value: Any, size: Size) -> Any:
    """An argument that may depend on a size: a function of the names in it is called."""
    if not callable(value) or hasattr(value, "shape") or kernels.is_triton(value):
        return value
    code = getattr(value, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else tuple(size)
    if META in names:
        # What Triton binds is known when a function of it is compiled.
        return lambda meta: value(**{k: v for k, v in size.items() if k in names}, meta=meta)
    needed = names[: len(names) - len(getattr(value, "__defaults__", None) or ())]
    missing = [n for n in needed if n not in size]
    if missing:
        raise InputError(f"`{missing[0]}` is no name of a size: there are {', '.join(size) or 'none'}")
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
