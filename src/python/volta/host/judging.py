"""`volta.judge`: a task and a candidate in KernelBench's form, judged without a GPU.

A task defines `Model`, `get_inputs` and `get_init_inputs`; a candidate defines `ModelNew`, with CUDA inside (`load_inline`). Both
run in confined workers, never in the same one: the reference is traced to a formula, the candidate's launches are recorded. At the
declared shapes a launch must be one that the runtime takes; at smaller shapes (`shrink`) the launches are proved to compute the
formula, free of races and memory errors, for every input.

Not claimed: that host code does on a GPU what it did while it was recorded. Code that tells the recorder from a GPU can show it
other launches; what is proved is what it launched here. Code that could reach into the recorder is not believed (`honesty`). What a
candidate makes itself under the same seed must be what the reference makes, else its outputs are another function's.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .. import api, waits
from ..errors import InputError
from ..files import text_of
from ..foreign import indented
from ..foreign import name as name_of
from ..kernels import Formula, Kernel
from ..results import Category, Result, Verdict
from . import bindings, calls, corners, coverage, honesty, sequence, shrink, worker
from .compiler import Built

Json = dict[str, Any]
Grade = Literal["whole", "main", "epilogue"]

_MAIN = (
    "aten.mm.",
    "aten.bmm.",
    "aten.addmm.",
    "aten.baddbmm.",
    "aten.convolution.",
    "aten.mv.",
    "aten.dot.",
    "aten._scaled_dot_product",
    "aten.addmv.",
)


@dataclass(frozen=True, repr=False)
class Judgement(Result):
    """A result as from `check`, with what became of the candidate on the way.

    `fallback` says what was left to torch: everything (`whole`), a product or convolution (`main`), something between or after
    the launches (`epilogue`, judged as the rest), or nothing (None). `seconds` are those of the stages, `recorded` is the number of
    launches at the declared shapes, `any` the verdict of `race --any` on its kernels where it was asked for. `open` says what the
    smaller sizes leave open at the declared ones: where something is, the category of a proof is `thin-coverage`.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    recorded: int = 0
    any: str | None = None
    open: tuple[str, ...] = ()

    def _hint(self) -> str:
        if self.category == "thin-coverage":
            return f"Proved, at sizes that leave open what the declared ones do: {'; '.join(self.open[:3])}."
        return super()._hint()


class _Ends(Exception):
    """The judgement is made."""

    def __init__(self, category: Category, message: str, kind: str = "", verdict: Verdict = "unknown") -> None:
        super().__init__(message)
        self.category, self.kind, self.verdict = category, kind or category, verdict


class _TooSmall(Exception):
    """The task itself does not run at some sizes."""


@dataclass
class _Run:
    """One judgement under way."""

    task: str
    candidate: str
    timeout: float
    unconfined: bool
    budget: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    launches: int = 0
    fallback: Grade | None = None
    any_launch: bool = False
    any_verdict: str | None = None

    def limits(self, most: float | None = None) -> dict[str, Any]:
        """What bounds a question: work where a budget is given, else seconds, and no more than `most` of them."""
        if self.budget is not None:
            return {"budget": self.budget}
        return {"timeout": self.timeout if most is None else min(self.timeout, most)}

    def judgement(self, result: Result, category: Category) -> Judgement:
        """A result with what this judgement knows."""
        return Judgement(
            result.verdict,
            result.report,
            result.text,
            result.arrays,
            category,
            self.fallback,
            seconds=self.seconds,
            recorded=self.launches,
            any=self.any_verdict,
        )

    def record(self, what: str, task: str, model: str, *, real: bool, formula: bool = False) -> tuple[Json, worker.Talk]:
        """One recording."""
        started = time.monotonic()
        job = {"kind": "model", "model": model, "real": real, "formula": formula}
        files = {"task.py": task} | ({"candidate.py": self.candidate} if model == "ModelNew" else {})
        found, talk = worker.record(job, files, seconds=self.timeout, allow_unconfined=self.unconfined)
        self.seconds["compile"] = self.seconds.get("compile", 0.0) + talk.compiling
        self.seconds[what] = self.seconds.get(what, 0.0) + time.monotonic() - started - talk.compiling
        return found, talk


def judge(
    task: str | Path,
    candidate: str | Path,
    *,
    sizes: Literal["shrunk"] | Sequence[str] = "shrunk",
    timeout: float = 60,
    budget: int | None = None,
    any_launch: bool = False,
    allow_unconfined: bool = False,
) -> Judgement:
    """Whether a candidate computes what its task's `Model` computes; files or texts in KernelBench's form.

    `sizes` are `"shrunk"`, or texts of the task at the sizes to prove. `timeout` bounds each recording and each proof, in seconds;
    `budget` bounds the proofs instead, in units of work, so that the reward is the same on every machine. `any_launch` asks
    `race --any` too, for each kernel, which changes no verdict. Where the kernel cannot confine foreign code the verdict is
    `unknown`, unless `allow_unconfined` says to run it all the same.

    Raises `InputError` where the task cannot be read, `Error` where the process that records cannot be started (torch is not
    installed); what is wrong with the candidate is a judgement.
    """
    run = _Run(_text(task), "", waits.seconds(timeout), allow_unconfined, budget, any_launch=any_launch)
    try:
        run.candidate = _text(candidate)
    except InputError as e:
        return _made(run, _Ends("syntax", str(e)))
    try:
        return _judged(run, sizes)
    except worker.Unconfined as e:
        return _made(run, _Ends("unknown", str(e), "unsupported-instruction"))
    except _Ends as e:
        return _made(run, e)
    except (sequence.Malformed, KeyError, IndexError, TypeError, ValueError, AttributeError) as e:
        # A job's messages are foreign: one that has another form than a recording decides nothing.
        return _made(run, _Ends("unknown", f"the recording is malformed: {type(e).__name__}: {e}", "limit"))
    except sequence.Unclear as e:
        return _made(run, _Ends("unknown", str(e), e.kind))
    except sequence.Wrong as e:
        return _made(run, _Ends(e.category, str(e), "out-of-bounds" if e.category == "memory" else e.category, "defective"))


def _text(value: str | Path) -> str:
    if not isinstance(value, (str, Path)):
        raise InputError(f"a file or its text is needed, not {name_of(type(value).__name__)}")
    if isinstance(value, Path) or ("\n" not in value and value.endswith(".py")):
        return text_of(value)
    return value


def _made(run: _Run, e: _Ends) -> Judgement:
    entry = {"kernel": "optimized", "kind": e.kind, "message": str(e), "count": 1, "sites": []}
    refuted = e.verdict in ("defective", "not-equivalent")
    report = {"verdict": e.verdict, "warnings": [], "unknown": [] if refuted else [entry], "defects": [entry] if refuted else []}
    return run.judgement(Result(e.verdict, report, indented(f"{e.category}: {e}")), e.category)


def _judged(run: _Run, sizes: Literal["shrunk"] | Sequence[str]) -> Judgement:
    declared, talk = run.record("record", run.task, "ModelNew", real=False)
    _stopped(declared, "at the declared shapes")
    _outputs_alike(run, declared, run.task)
    run.launches = sum(1 for e in declared["events"] if e["event"] == "launch")
    for e in declared["events"]:
        if e["event"] == "refused":
            raise _Ends(
                "launch",
                f"line {e['line']}: at the declared shapes the launch of {e['kernel']} is refused: {e['why']}",
                verdict="defective",
                kind="launch",
            )
    _graded(run, declared)
    seen = coverage.Seen(declared, declared["events"], talk.built)
    # What fails at sizes that divide otherwise than the declared ones says nothing of those.
    given = [(t, False) for t in sizes]
    if sizes == "shrunk":
        given = [(shrink.shrink(run.task, p), p.awkward) for p in shrink.PLANS]
        given += [(shrink.shrink(run.task, p, tied=True), p.awkward) for p in shrink.PLANS[:2]]
    plans = list(dict(given).items())
    covered = coverage.Coverage(seen, least=min(2, len(plans)), one_way=_in_bounds(run, seen))
    best: Judgement | None = None
    left: list[str] = []
    proved: list[str] = []
    too_small = ""
    while plans:
        text, awkward = plans.pop(0)
        try:
            found = _proved(run, text, covered)
        except _TooSmall as e:
            too_small = str(e)
            continue
        except (_Ends, sequence.Unclear, sequence.Wrong):
            if not awkward and best is None:
                raise
            continue
        if found.category != "proved":
            if not awkward and (found.verdict != "unknown" or best is None):
                return found
            continue
        _honest(run.candidate, talk.built)
        best = found if best is None else best
        left = covered.gaps()
        if not left:
            return replace(found, seconds=run.seconds)
        proved.append(text)
        if len(proved) == 2 and sizes == "shrunk":
            plans = [(t, False) for t in covered.larger(run.task, proved)] + plans
    if best is None:
        raise _Ends("unknown", f"the task runs at none of the smaller sizes: {too_small}", "nothing-to-compare")
    return replace(best, category_="thin-coverage", open=tuple(left))


def _in_bounds(run: _Run, declared: coverage.Seen) -> frozenset[coverage.Place]:
    """The first, middle and last CTAs of the declared launches stay in their arrays; the places at which all of them go one way."""
    started = time.monotonic()
    found = corners.corners(declared, run.limits(10))
    if run.any_launch:
        run.any_verdict = corners.every_launch(declared, run.limits(5))
    run.seconds["declared"] = time.monotonic() - started
    if found.error is not None:
        raise _Ends("memory", found.error, "out-of-bounds", "defective")
    return found.one_way


def _honest(candidate: str, built: Sequence[Built]) -> None:
    """A candidate that could have reached what records it could have told it anything, so that what it proved counts as nothing."""
    found = honesty.reaches(candidate, [s for b in built for s in b.symbols])
    if found:
        raise _Ends("unknown", f"the candidate could reach for what records it ({found})", "unsupported-instruction")


def _stopped(recorded: Json, where: str) -> None:
    """Ends the judgement where a recording came to no end."""
    if recorded.get("gaps"):
        raise _Ends("unsupported", f"{where}: the stand-in of the CUDA runtime lacks {recorded['gaps'][0]}")
    refused = [e for e in recorded.get("events", []) if e.get("event") == "refused"]
    if refused and "stopped" in recorded:
        e = refused[0]
        raise _Ends("launch", f"line {e['line']}: {where} the launch of {e['kernel']} is refused: {e['why']}", verdict="defective")
    how = recorded.get("stopped")
    if how is None and recorded.get("caught"):
        raise _Ends("unknown", f"{where}: {recorded['caught'][0]}: on a GPU it may not be raised", "undecided")
    if how is None:
        return
    message = f"{where}: {recorded['message']}" + (f" ({recorded['trace']})" if recorded.get("trace") else "")
    if how in ("compile", "syntax", "unsupported", "limit"):
        raise _Ends(how, message)
    if how == "host-read":
        raise _Ends("unknown", message, "data-dependent-branch")
    if how == "raised":
        raise _Ends("launch", f"the host code raised {message}", verdict="defective")
    if how == "died":
        raise _Ends("launch", message, verdict="defective")
    raise _Ends("unknown", message)


@functools.lru_cache(maxsize=256)
def _reference(task: str, real: bool, timeout: float, unconfined: bool) -> Json:
    job = {"kind": "model", "model": "Model", "real": real, "formula": real, "file": "task.py"}
    found, _ = worker.record(job, {"task.py": task}, seconds=timeout, allow_unconfined=unconfined)
    if "stopped" in found and real:
        raise _TooSmall(str(found["message"]))
    if "stopped" in found:
        raise InputError(f"the task itself does not run: {found['message']}")
    return found


def _outputs_alike(run: _Run, recorded: Json, task: str) -> Json:
    """The reference at the same shapes; outputs of other shapes or types are a refutation."""
    started = time.monotonic()
    reference = _reference(task, task is not run.task, run.timeout, run.unconfined)
    run.seconds["reference"] = run.seconds.get("reference", 0.0) + time.monotonic() - started
    wanted = [(v["type"], v["shape"]) for v in reference["outputs"]]
    given = [(v["type"], v["shape"]) for v in recorded["outputs"]]
    if wanted != given:
        raise _Ends(
            "wrong-values",
            f"the outputs are {_shapes(given)}, and the reference's are {_shapes(wanted)}",
            "out-of-bounds",
            "defective",
        )
    return reference


def _shapes(listed: Sequence[tuple[str, Sequence[int]]]) -> str:
    return ", ".join(f"{kind}{list(shape)}" for kind, shape in listed) or "none"


def _graded(run: _Run, recorded: Json) -> None:
    """What was left to torch."""
    events = recorded["events"]
    operations = [str(e["op"]) for e in events if e["event"] == "op"]
    if any(e["event"] == "library" for e in events) or (run.launches and any(o.startswith(_MAIN) for o in operations)):
        run.fallback = "main"
        raise _Ends("fallback", "a product or convolution is a library's", verdict="defective")
    if not run.launches:
        run.fallback = "whole"
        why = f": its extension does not compile: {recorded['rejected'][0]}" if recorded.get("rejected") else ""
        raise _Ends("fallback", f"the candidate launches no kernel of its own{why}", verdict="defective")
    if operations:
        run.fallback = "epilogue"


def _proved(run: _Run, task: str, covered: coverage.Coverage) -> Judgement:
    """The proof at one choice of sizes; what it shows of the declared ones is added to what is covered."""
    recorded, talk = run.record("record", task, "ModelNew", real=True)
    if recorded.get("stopped") == "raised":
        raise _Ends("unknown", f"at the shrunk shapes the host code raised {recorded['message']}, at the declared ones it did not")
    _stopped(recorded, "at the shrunk shapes")
    reference = _outputs_alike(run, recorded, task)
    made = reference["formula"]
    bound = bindings.bind(recorded, reference)
    second = recorded["events"][int((recorded.get("first") or {"events": 0})["events"]) :]
    recorded["events"] = calls.to_judge(recorded, talk.built)
    built = sequence.Builder(recorded, talk.built, bound.inputs, bound.outputs).build()
    if not built.launches:
        raise _Ends("unknown", "at the shrunk shapes nothing is launched")
    started = time.monotonic()
    # An output that no launch touches is an array of the sequence all the same, without contents.
    untouched = [bindings.named(a) for n, a in bound.outputs.items() if n not in built.arrays]
    launches = [*bound.before, *untouched, *built.launches]
    if "text" in made:
        result = api.check(Formula(bound.formula), launches, **run.limits(), assume=bound.facts)
    else:
        result = api.race(launches, **run.limits())
    run.seconds["proof"] = run.seconds.get("proof", 0.0) + time.monotonic() - started
    shown = result.counterexample
    if result.verdict == "not-equivalent" and shown is not None and shown.output not in {a.name for a in bound.outputs.values()}:
        # An input, a parameter, or a variable of the device: nobody's output.
        raise _Ends("unknown", f"{shown.output} is written, which is no output", "undecided")
    if "text" not in made and result.ok:
        raise _Ends("unknown", f"the reference has no formula: {made.get('missing')}", "unsupported-instruction")
    if result.ok and (bound.seeded or built.seeded):
        raise _Ends(
            "unknown",
            "what was made at random is another than the reference's, and was judged for one seed only",
            "nondeterministic-value",
        )
    if result.ok:
        covered.add(coverage.Seen(recorded, second, talk.built), result, launches)
        _walked(run, bound, launches, covered)
    return run.judgement(result, result.category)


def _walked(run: _Run, bound: bindings.Bound, launches: Sequence[Kernel], covered: coverage.Coverage) -> None:
    """Kernels that walk over the grid are proved with smaller grids too, so that each walk takes steps."""
    smaller = None if covered.strided else coverage.with_smaller_grids(launches)
    if smaller is None:
        return
    started = time.monotonic()
    result = api.check(Formula(bound.formula), smaller, **run.limits(), assume=bound.facts)
    run.seconds["proof"] += time.monotonic() - started
    if result.ok:
        covered.add_strided(result, smaller)


__all__ = ["Judgement", "judge"]
