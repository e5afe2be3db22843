"""`check`, `race`, `prepare`: requests to the program, and its answers as results."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from . import arg, kernels, sequences, server
from .errors import CompileError, InputError, NotProved
from .kernels import Formula, Function, Grid, Kernel, Reference
from .results import Names, Result, failed

Json = dict[str, Any]
Args = Sequence[object] | Mapping[str, object]

#: Keys of a manifest that a call may give as keywords.
OPTIONS = frozenset(
    (
        *("strict", "warp_sync", "exact_constants", "probabilistic", "precision", "wmma_layout", "memory_limit"),
        *("alias", "map", "assume", "only", "deny", "buffers", "cluster", "masks_are_infinite", "rounding", "arch", "bits"),
    )
)


def _options(options: Mapping[str, Any]) -> Json:
    strange = sorted(set(options) - OPTIONS)
    if strange:
        raise TypeError(f"unknown keyword {strange[0]!r}; beside the arguments, check and race take {', '.join(sorted(OPTIONS))}")
    return {k.replace("_", "-"): v for k, v in options.items() if v is not None}


def _positional(args: Args | None) -> tuple[list[arg.Arg], list[str | None]]:
    if args is None:
        return [], []
    if isinstance(args, Mapping):
        return [arg.coerce(v) for v in args.values()], list(args)
    values = [arg.coerce(v) for v in args]
    return values, [v.name if isinstance(v, arg.Array) else None for v in values]


class Call:
    """The arguments and the launch of a call, for kernels that bring none of their own."""

    def __init__(self, args: Args | None, grid: Grid | None, block: Grid | None, dynamic_shared: int | None) -> None:
        self.args, self.names = _positional(args)
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

    def report_names(self, kernel: Kernel) -> Names:
        """How reports about a kernel are to be read."""
        parameters = kernel.parameters()
        people = self.parameter_names(kernel)
        bound: dict[int, arg.Arg] = dict(kernel.args) or dict(enumerate(self.args))
        arrays = {parameters[k]: v for k, v in bound.items() if isinstance(v, arg.Array) and k < len(parameters)}
        return Names({p: n for p, n in zip(parameters, people) if p != n}, arrays)


def _pairs(reference: Kernel, optimized: Kernel) -> dict[str, str]:
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


def _resolve(reference: Reference, optimized: Kernel, call: Call) -> Kernel | Formula:
    if not isinstance(reference, Function):
        return reference
    from .trace import function_of_call

    bound = dict(optimized.args) or dict(enumerate(call.args))
    names = call.parameter_names(optimized)
    return function_of_call(reference.function, [(names[k], v) for k, v in sorted(bound.items())])


def _result(answer: Json, names: Names) -> Result:
    report = answer["result"]
    text = answer.get("texts", {}).get("human", "")
    return Result(report["verdict"], report, text, names)


def check(
    reference: object,
    optimized: object,
    *,
    args: Args | Callable[..., Args] | None = None,
    grid: Grid | Callable[..., Grid] | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    sizes: Sequence[Mapping[str, int]] | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Result:
    """Whether an optimized kernel computes what the reference computes, for every input.

    `args` are the arguments of both kernels, by position or as a dict that names them; a kernel made by `volta.triton` brings
    its own. `grid` and `block` as in a launch. A side may be a list of launches, one after the other, as `volta.sequences` says.
    With `sizes` (a list of dicts) `args` and `grid` may be functions of the
    sizes' names: one check for each, and the worst result, whose `report["instances"]` has all of them.
    Raises `InputError` where the call makes no sense, `CompileError` where a compiler rejects a kernel.
    """
    if sizes is not None:
        return _each(
            sizes,
            lambda size: check(
                reference,
                optimized,
                args=args(**size) if callable(args) else args,
                grid=grid(**size) if callable(grid) else grid,
                block=block,
                dynamic_shared=dynamic_shared,
                timeout=timeout,
                **options,
            ),
        )
    if callable(args) or callable(grid):
        raise InputError("`args` and `grid` are functions only where `sizes` are given")
    if sequences.is_sequence(reference) or sequences.is_sequence(optimized):
        if args is not None or grid is not None or block is not None or dynamic_shared is not None:
            raise InputError("each launch of a sequence has its own arguments: say kernel.launch(x, y, grid=..., block=...)")
        sides = {"reference": reference, "optimized": optimized}
        request, names = sequences.request("check", sides, _options(options), timeout)
        return _result(server.ask(request), names)
    known = {"args": args, "grid": grid}
    prepared = Prepared(kernels.coerce(reference, **known), Call(args, grid, block, dynamic_shared), options)
    request, names = prepared.request(prepared.kernel_of(optimized), timeout)
    return _result(server.ask(request), names)


def _each(sizes: Sequence[Mapping[str, int]], one: Callable[[Mapping[str, int]], Result]) -> Result:
    if not sizes:
        raise InputError("`sizes` is empty: nothing would be checked")
    results = [(size, one(size)) for size in sizes]
    rank = {"defective": 0, "not-equivalent": 1, "unknown": 3, "equivalent": 4, "clean": 4}
    size, worst = min(results, key=lambda r: 2 if r[1].denied else rank[r[1].verdict])
    instances = [{"for": dict(size), "result": r.report} for size, r in results]
    where = ", ".join(f"{k} = {v}" for k, v in size.items())
    text = worst.text if len(results) == 1 else f"for {where}:\n{worst.text}"
    return Result(worst.verdict, {**worst.report, "instances": instances}, text, worst.names)


def race(
    kernel: object,
    *,
    args: Args | None = None,
    grid: Grid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Result:
    """Whether a kernel, or a list of launches, is free of races, deadlocks and memory errors. Arguments as those of `check`."""
    if sequences.is_sequence(kernel):
        asked, names = sequences.request("race", {"kernel": kernel}, _options(options), timeout)
        return _result(server.ask(asked), names)
    subject = kernels.coerce(kernel, args=args, grid=grid)
    if not isinstance(subject, Kernel):
        raise InputError("only a kernel can race")
    call = Call(args, grid, block, dynamic_shared)
    request: Json = {
        "op": "race",
        "kernel": subject.request(),
        "launch": {**_options(options), "kernel": call.side(subject)},
        "formats": ["human"],
    }
    if timeout is not None:
        request["timeout"] = timeout
    return _result(server.ask(request), call.report_names(subject))


def run(
    kernel: object,
    *args: object,
    grid: Grid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Any:
    """Executes a kernel on numbers, without a GPU: its outputs as NumPy arrays, one alone or a tuple in order.

    NumPy arrays among `args` are inputs with their contents; outputs are `volta.arg.output(...)`.
    Raises `NotProved` with the report where the run has a race or a memory error, or is not possible.
    """
    given = [arg.known(a) if isinstance(a, np.ndarray) else a for a in args]
    subject = kernels.coerce(kernel, args=given, grid=grid)
    if not isinstance(subject, Kernel):
        raise InputError("only a kernel can be executed")
    call = Call(given, grid, block, dynamic_shared)
    request: Json = {
        "op": "run",
        "kernel": subject.request(),
        "launch": {**_options(options), "kernel": call.side(subject)},
        "formats": ["human"],
    }
    if timeout is not None:
        request["timeout"] = timeout
    result = _result(server.ask(request), call.report_names(subject))
    if result.verdict != "ran":
        raise NotProved(str(result))
    out = tuple(_array(o) for o in result.report["outputs"])
    return out[0] if len(out) == 1 else out


def _array(output: Json) -> Any:
    kind = arg.numpy_type(arg.type_name(output["type"]))
    convert = float if np.dtype(kind).kind == "f" else int
    return np.array([convert(v) for v in output["values"]], dtype=kind).reshape(output["shape"])


class Prepared:
    """A reference that many candidates are checked against; `volta.prepare` makes it."""

    def __init__(self, reference: Reference, call: Call, options: Mapping[str, Any]) -> None:
        self.reference = reference
        self.call = call
        self.options = _options(options)
        self._handle: tuple[server.Server, str] | None = None

    def kernel_of(self, candidate: object, timeout: float | None = None) -> Kernel:
        """A candidate as a kernel, compiled if need be, within `timeout` seconds where a compiler can be ended."""
        launch: dict[str, Any] = {"args": self.call.args or None, "grid": self.call.grid}
        if timeout is not None:
            launch["compile_timeout"] = timeout
        found = kernels.coerce(candidate, **launch)
        if not isinstance(found, Kernel):
            raise InputError("the optimized side is a kernel")
        return found

    def handle(self) -> str | None:
        """The program's name for the reference, prepared now if it is not yet."""
        if not isinstance(self.reference, Kernel):
            return None
        running = server.get()
        if self._handle is None or self._handle[0] is not running:
            launch = {**self.options, "reference": self.call.side(self.reference)}
            request = {"op": "prepare", "reference": self.reference.request(), "launch": launch}
            _, future = running.submit(request)
            self._handle = (running, str(server.checked(future.result())["handle"]))
        return self._handle[1]

    def request(self, optimized: Kernel, timeout: float | None, handle: str | None = None) -> tuple[Json, Names]:
        """The request that checks a candidate, and the names for its report."""
        reference = _resolve(self.reference, optimized, self.call)
        launch: Json = {"optimized": self.call.side(optimized)}
        named = optimized
        if isinstance(reference, Kernel):
            named = reference
            launch["map"] = _pairs(reference, optimized)
        else:
            launch["names"] = {str(i): n for i, n in enumerate(self.call.parameter_names(optimized))}
        out: Json = {"op": "check", "optimized": optimized.request(), "launch": launch, "formats": ["human"]}
        if handle is not None:
            out["handle"] = handle
        else:
            out["reference"] = reference.request()
            launch.update(self.options)
            if isinstance(reference, Kernel):
                launch["reference"] = self.call.side(reference)
        if timeout is not None:
            out["timeout"] = timeout
        return out, self.call.report_names(named)

    def check(self, candidate: object, *, timeout: float | None = None) -> Result:
        """One candidate against the reference, as `volta.check`."""
        kernel = self.kernel_of(candidate, timeout)
        request, names = self.request(kernel, timeout, self.handle())
        try:
            return _result(server.ask(request), names)
        except InputError as e:
            if "prepare it again" not in str(e):
                raise
        # Other references were prepared in the meantime, and this one was dropped.
        self._handle = None
        request, names = self.request(kernel, timeout, self.handle())
        return _result(server.ask(request), names)

    def judge(self, candidate: object, *, timeout: float | None = None) -> Result:
        """One candidate, whatever is wrong with it: what does not compile or parse, or cannot be launched, is a result."""
        try:
            return self.check(candidate, timeout=timeout)
        except CompileError as e:
            return failed("compile", str(e), "compile")
        except InputError as e:
            kind = str(e.details.get("kind", ""))
            launch = kind in ("binding", "launch", "entry", "fact") or (not kind and not e.details.get("sites"))
            return failed("launch" if launch else "syntax", str(e), kind or "syntax")

    def check_many(
        self,
        candidates: Iterable[Any],
        *,
        timeout: float | None = None,
        jobs: int | None = None,
    ) -> Iterator[tuple[Any, Result]]:
        """Each candidate with its result, as they are ready: at most `jobs` of them side by side.

        One that does not compile or parse, or cannot be launched as the reference is, is a result as well.
        """
        self.handle()
        done: queue.SimpleQueue[tuple[Any, Future[Result]]] = queue.SimpleQueue()
        source = iter(candidates)
        with ThreadPoolExecutor(jobs or 4, thread_name_prefix="volta") as pool:

            def start(candidate: Any) -> None:
                future = pool.submit(self.judge, candidate, timeout=timeout)
                future.add_done_callback(lambda f: done.put((candidate, f)))

            running = 0
            try:
                for candidate in itertools.islice(source, 2 * (jobs or 4)):
                    start(candidate)
                    running += 1
                while running:
                    candidate, future = done.get()
                    running -= 1
                    for following in itertools.islice(source, 1):
                        start(following)
                        running += 1
                    yield candidate, future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def release(self) -> None:
        """Gives the reference back; it is prepared again when it is needed."""
        if self._handle is not None and self._handle[0].is_alive():
            self._handle[0].submit({"op": "release", "handle": self._handle[1]})
        self._handle = None


def prepare(
    reference: object,
    *,
    args: Args | None = None,
    grid: Grid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    **options: Any,
) -> Prepared:
    """A reference that is read once, for many candidates: `prepare(...).check_many(candidates, timeout=10)`."""
    out = Prepared(kernels.coerce(reference, args=args, grid=grid), Call(args, grid, block, dynamic_shared), options)
    out.handle()
    return out


def explain(kind: str) -> str:
    """What a kind of defect, warning or unknown means, with an example."""
    answer = server.ask({"op": "explain", "kind": kind})
    result = answer["result"]
    return result if isinstance(result, str) else str(result.get("text", result))
