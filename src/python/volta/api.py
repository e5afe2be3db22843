"""The questions: each takes a kernel and its launch, asks the program, and returns the answer as a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import arg, awkward, kernels, lints, sequences, server
from .answers import Classes, Lifted, Rows, Slack
from .calls import Json, Size, SizedArgs, at_size, each, limits, result_of
from .errors import InputError, NotProved, ServerError
from .kernels import Grid, Kernel, Keyed, Plain, SizedGrid, Wrapper
from .keywords import CheckOptions, ClassesOptions, Options, RaceOptions, RowsOptions, SlackOptions, options_of
from .launches import Launch, asked
from .prepared import Prepared
from .results import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .recording import Recording


@overload
def check(
    reference: object, optimized: Plain | Sequence[Kernel] | Recording, *given: object, **options: Unpack[CheckOptions]
) -> Result: ...
@overload
def check(reference: object, optimized: Keyed, *given: object, **keywords: Any) -> Result: ...
@overload
def check(reference: Wrapper, optimized: object, *given: object, **keywords: Any) -> Result: ...
def check(
    reference: object,
    optimized: object,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    sizes: Sequence[Size] | Literal["awkward"] | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Result:
    """Whether an optimized kernel computes what the reference computes, for every input.

    `reference` is a kernel, a formula, a function of arrays (NumPy or torch) or a module of torch. `args` are the arguments of
    both kernels, by position or as a dict that names them; a kernel made by `volta.triton` brings its own. `grid` and `block`
    as in a launch. A side may be a list of launches, one after the other (`volta.sequences`), or what `volta.record` wrote down.
    The grid of a Triton function may be a function of its arguments, as in a launch: `lambda meta: (cdiv(n, meta["BLOCK"]),)`.
    With `sizes` (a list of dicts) `args` and `grid` may be functions of the sizes' names: one check for each, and the worst
    result, whose `instances` has all of them. `sizes="awkward"` takes sizes that no block divides, and as many as it takes until
    each guard of the kernel went both ways.

    `timeout` is in seconds, `budget` in units of work, which every machine counts alike; after either the answer is `unknown`
    (`limit`), and `result.work` says what was used.

    Options: `bits=True` compares the bits that a machine writes (kernels only); `rounding=True` (or a number of samples)
    measures errors (`result.rounding`); `assume=["n <= 3*block.x", "i in 0..8", "no-overflow"]` are facts, with the names of the
    arguments; `strict`, `deny=[KIND]`, `only=["y[0..2]"]`, `exact_constants`, `warp_sync`, `arch` and others as the command has
    them.

    Raises `InputError` where the call makes no sense, `CompileError` where a compiler rejects a kernel, `ServerError` where
    the program cannot be found or ends.
    """
    launch, own = asked(
        (reference, optimized), given, Launch(args, grid, block, dynamic_shared), options, CheckOptions.__optional_keys__
    )

    def one(launched: Launch) -> Result:
        return _checked(reference, optimized, launched, own, limits(timeout, budget))

    return _each(launch, sizes, one)


def _checked(reference: object, optimized: object, launch: Launch, options: Mapping[str, Any], limit: Json) -> Result:
    """One check."""
    if sequences.is_sequence(reference) or sequences.is_sequence(optimized):
        if launch.says_something:
            raise InputError("each launch of a sequence has its own arguments: say kernel.launch(x, y, grid=..., block=...)")
        sides = {"reference": reference, "optimized": optimized}
        request, arrays = sequences.request("check", sides, options_of(options), limit)
        return result_of(server.ask(request), arrays, sequences.lints_of(sides), options.get("deny"))
    return Prepared(launch.kernel(reference), launch, options).once(optimized, limit)


def _each(launch: Launch, sizes: Sequence[Size] | str | None, one: Callable[[Launch], Result]) -> Result:
    """A question of a launch; with `sizes` at each of them, or at awkward ones of the names that its parts are functions of."""
    if sizes is None:
        launch.fixed()
        return one(launch)
    if not isinstance(sizes, str):
        return each(sizes, lambda size: one(launch.at(size)))
    if sizes != "awkward":
        raise InputError(f'`sizes` is a list of dicts, or "awkward", not {sizes!r}')
    return awkward.check(awkward.names_of(*launch.functions()), lambda size: one(launch.at(size)))


class Question:
    """A question about one kernel: its launch, and how it is asked."""

    def __init__(self, kernel: object, launch: Launch, options: Mapping[str, Any]) -> None:
        subject = launch.kernel(kernel)
        if not isinstance(subject, Kernel):
            raise InputError("this is asked of a kernel: not of a formula, and not of a function")
        self.kernel = subject
        self.deny = options.get("deny")
        self.call = launch.call(subject)
        self.call.fits(subject, bool(options.get("any")))
        self.launch: Json = {
            "names": self.call.numbered(subject),
            **self.call.options(subject, options_of(options)),
            **self.call.buffers(subject),
            "kernel": self.call.side(subject),
        }

    def subject(self) -> Json:
        """The kernel and its launch as a request has them."""
        return {"kernel": self.kernel.request(), "launch": self.launch}

    def ask(self, op: str, limit: Json, **more: Any) -> Result:
        """The answer."""
        request: Json = {"op": op, **self.subject(), "formats": ["human"], **limit, **more}
        return result_of(server.ask(request), self.arrays(), *self.lints())

    def lints(self) -> tuple[list[Json], Any]:
        """What is suspect of the kernel's source, and the kinds of warnings that are denied."""
        return lints.of_sides({"kernel": [self.kernel]}), self.deny

    def arrays(self) -> dict[str, arg.Array]:
        """The arrays that a report names."""
        return self.call.arrays(self.kernel)


@overload
def race(kernel: Plain | Sequence[Kernel] | Recording, *given: object, **options: Unpack[RaceOptions]) -> Result: ...
@overload
def race(kernel: Keyed, *given: object, **keywords: Any) -> Result: ...
def race(
    kernel: object,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    sizes: Sequence[Size] | Literal["awkward"] | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Result:
    """Whether a kernel, or a list of launches, is free of races, deadlocks and memory errors. Arguments as those of `check`.

    `any=True` asks about every launch: block, grid and integers that are not given take every value that `assume` allows;
    `result.launches` is that scope. `deterministic=True` asks whether every schedule gives the same bits
    (`result.deterministic`).
    """
    launch, own = asked([kernel], given, Launch(args, grid, block, dynamic_shared), options, RaceOptions.__optional_keys__)
    limit = limits(timeout, budget)

    def one(launched: Launch) -> Result:
        if sequences.is_sequence(kernel):
            sides = {"kernel": kernel}
            request, arrays = sequences.request("race", sides, options_of(own), limit)
            return result_of(server.ask(request), arrays, sequences.lints_of(sides), own.get("deny"))
        return Question(kernel, launched, own).ask("race", limit)

    return _each(launch, sizes, one)


@overload
def slack(kernel: Plain, *given: object, **options: Unpack[SlackOptions]) -> Slack: ...
@overload
def slack(kernel: Keyed, *given: object, **keywords: Any) -> Slack: ...
def slack(
    kernel: object,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Slack:
    """Which barriers, waits and fences a launch needs: `result.sync` has each with its state, `result.together` those that can
    go at once. Arguments as those of `race`; `result.verdict` is that of the kernel as it is."""
    launch, own = asked([kernel], given, Launch(args, grid, block, dynamic_shared), options, SlackOptions.__optional_keys__)
    launch.fixed()
    return Slack.of(Question(kernel, launch, own).ask("slack", limits(timeout, budget)))


@overload
def lift(kernel: Plain, *given: object, **options: Unpack[Options]) -> Lifted: ...
@overload
def lift(kernel: Keyed, *given: object, **keywords: Any) -> Lifted: ...
def lift(
    kernel: object,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Lifted:
    """What a kernel computes: `result.formulas` by the names of the outputs, each proved. Arguments as those of `race`."""
    launch, own = asked([kernel], given, Launch(args, grid, block, dynamic_shared), options, Options.__optional_keys__)
    launch.fixed()
    return Lifted.of(Question(kernel, launch, own).ask("lift", limits(timeout, budget)))


@overload
def rows(kernel: Plain | Sequence[Kernel] | Recording, pattern: str, *given: object, **options: Unpack[RowsOptions]) -> Rows: ...
@overload
def rows(kernel: Keyed, pattern: str, *given: object, **keywords: Any) -> Rows: ...
def rows(
    kernel: object,
    pattern: str,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    sizes: Sequence[Size] | None = None,
    values: bool = False,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Rows:
    """Whether each row of an output is the same function of its row of the inputs, bit for bit, in every batch.

    `pattern` is `"y[i,*] of x[i,*], r[i]"`; with `values=True` rows are compared over the reals. With `sizes` the launch of the
    smallest one is what all are compared with; `args` and `grid` may be functions of the sizes' names, and so may `kernel`: a
    wrapper that is called with them and launches Triton kernels, one or several one after the other, whose heuristics are so
    seen. A list of launches is asked as one too. Arguments as those of `check`; `result.example` is the row that depends on its
    batch.

    Raises `InputError` where the pattern names no array or no dimension.
    """
    launch, own = asked([kernel], given, Launch(args, grid, block, dynamic_shared), options, RowsOptions.__optional_keys__)
    own = {**own, "rows": pattern, "values": values}
    every = list(sizes) if sizes is not None else [{}]
    if not every:
        raise InputError("`sizes` is empty: nothing would be checked")
    if sizes is None:
        launch.fixed()

    def request(size: Size) -> tuple[Json, dict[str, arg.Array], list[Json]]:
        launched = _launched(kernel, size)
        if sequences.is_sequence(launched):
            sides = {"kernel": launched}
            made, arrays = sequences.request("rows", sides, options_of(own), limits(timeout, budget))
            return made, arrays, sequences.lints_of(sides)
        question = Question(launched, launch.at(size), own)
        made = {"op": "rows", **question.subject(), "formats": ["human"], **limits(timeout, budget)}
        return made, question.arrays(), question.lints()[0]

    smallest, _, _ = request(min(every, key=lambda size: sum(size.values())))
    subject = {key: smallest[key] for key in ("kernel", "launch")}

    def one(size: Size) -> Rows:
        made, arrays, found = request(size)
        return Rows.of(result_of(server.ask({**made, "smallest": subject}), arrays, found, own.get("deny")))

    return one(every[0]) if sizes is None else each(every, one)


def _launched(kernel: object, size: Size) -> object:
    """A kernel, or what a wrapper launches at a size: a kernel too where it is one."""
    if not callable(kernel) or kernels.is_triton(kernel) or isinstance(kernel, Kernel):
        return kernel
    from .recording import record

    with record() as calls:
        at_size(kernel, size)
    return calls if len(calls) > 1 else calls.only()


@overload
def classes(kernel: Sequence[Plain], *given: object, **options: Unpack[ClassesOptions]) -> Classes: ...
@overload
def classes(kernel: Keyed | Sequence[Keyed], *given: object, **keywords: Any) -> Classes: ...
def classes(
    kernel: object,
    *given: object,
    configs: Sequence[Any] | str = "all",
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Classes:
    """Which of several kernels give the same bits: `result.classes`, each with its members and what shows that it differs.

    `kernel` is a list of kernels, or a Triton function whose configurations are compared: `configs` are all of its
    autotuner's, or a list of `triton.Config`. Constants of the function that no configuration gives stand in `args`, a dict
    then.

    Raises `InputError` for fewer than two kernels, `CompileError` where a compiler rejects one.
    """
    subjects = kernel if isinstance(kernel, (list, tuple)) else [kernel]
    launch, own = asked(subjects, given, Launch(args, grid, block, dynamic_shared), options, ClassesOptions.__optional_keys__)
    launch.fixed()
    labels, members = _members(subjects, configs, launch)
    call = launch.call(*members)
    first = members[0]
    listed = [{**k.request(), **call.side(k)} for k in members]
    request: Json = {
        "op": "classes",
        "kernels": listed,
        "launch": {**call.options(first, options_of(own)), "names": call.numbered(first)},
        "formats": ["human"],
        **limits(timeout, budget),
    }
    found = lints.of_sides({label: [member] for label, member in zip(labels, members)})
    return Classes.of(result_of(server.ask(request), call.arrays(first), found, own.get("deny")), labels)


def _members(subjects: Sequence[object], configs: Any, launch: Launch) -> tuple[list[str], list[Kernel]]:
    if len(subjects) == 1 and kernels.is_triton(subjects[0]):
        from .triton_kernels import configurations

        chosen = configurations(subjects[0]) if configs == "all" else list(configs)
        each_config = [replace(launch, keywords={**launch.keywords, "config": 0 if c is None else c}) for c in chosen]
        labels, found = [str(c) for c in chosen], [one.kernel(subjects[0]) for one in each_config]
    else:
        found = [launch.kernel(k) for k in subjects]
        labels = [k.entry or k.name for k in found if isinstance(k, Kernel)]
    members = [k for k in found if isinstance(k, Kernel)]
    if len(members) < 2 or len(members) != len(found):
        raise InputError("classes are of a list of two kernels or more, or of the configurations of a Triton function")
    return labels, members


@overload
def run(kernel: str | Path, *given: object, **options: Unpack[Options]) -> Any: ...
@overload
def run(kernel: Kernel | Keyed, *given: object, **keywords: Any) -> Any: ...
def run(
    kernel: object,
    *given: object,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    timeout: float | None = None,
    budget: int | None = None,
    **options: Any,
) -> Any:
    """Executes a kernel on numbers, without a GPU: its outputs as NumPy arrays, one alone or a tuple in order.

    NumPy arrays among the arguments are inputs with their contents; outputs are `volta.arg.output(...)`. A kernel that brings
    its arguments takes the contents of what it reads, in order or by name: `volta.run(volta.triton(...), x=array)`.
    Raises `NotProved` with the report where the run has a race or a memory error, or is not possible.
    """
    if isinstance(kernel, Kernel) and kernel.args:
        names = [n for n in kernel.names if n in options]
        subject: object = kernel.with_contents(given, {n: options.pop(n) for n in names})
        given = ()
    else:
        subject = kernel
        given = tuple(arg.known(a) if isinstance(a, np.ndarray) else a for a in given)
        options = {k: arg.known(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    launch, own = asked([subject], given, Launch(None, grid, block, dynamic_shared), options, Options.__optional_keys__)
    out = tuple(outputs(Question(subject, launch, own).ask("run", limits(timeout, budget))).values())
    return out[0] if len(out) == 1 else out


def outputs(result: Result) -> dict[str, Any]:
    """What a run wrote, by name."""
    if result.verdict != "ran":
        raise NotProved(str(result))
    return {o["name"]: _array(o) for o in result.report["outputs"]}


def _array(output: Json) -> Any:
    kind = arg.numpy_type(arg.type_name(output["type"]))
    convert = float if np.dtype(kind).kind == "f" else int
    return np.array([convert(v) for v in output["values"]], dtype=kind).reshape(output["shape"])


def explain(kind: str) -> str:
    """What a kind of defect, warning, unknown or assumption means, with an example. Raises `InputError` for a word that is none."""
    if kind in lints.KINDS:
        return lints.KINDS[kind]
    result = server.ask({"op": "explain", "kind": kind}).get("result")
    if not isinstance(result, dict):
        raise ServerError("the program answers with something else than an explanation")
    return str(result.get("text", ""))
