"""`volta.judge`: a task and a candidate in KernelBench's form, judged without a GPU.

A task defines `Model`, `get_inputs` and `get_init_inputs`; a candidate defines `ModelNew`, with CUDA inside (`load_inline`). Both
run in confined workers, never in the same one: the reference is traced to a formula, the candidate's launches are recorded. At the
declared shapes a launch must be one that the runtime takes; at smaller shapes (`shrink`) the launches are proved to compute the
formula, free of races and memory errors, for every input.

Not claimed: that host code does on a GPU what it did while it was recorded. Code that tells the recorder from a GPU can show
it other launches, and so can code that reaches into the recorder, for which its text is searched; what is proved is what it
launched here. What a candidate makes itself under the same seed must be what the
reference makes, else its outputs are another function's.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .. import api
from ..errors import InputError
from ..kernels import Formula, Kernel
from ..results import Category, Result, Verdict
from . import bindings, calls, sequence, shrink, worker

Json = dict[str, Any]
Grade = Literal["whole", "main", "epilogue"]
#: A file, a line, and which way was not seen there.
Place = tuple[str, int, str]

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


@dataclass(frozen=True)
class Judgement(Result):
    """A result as from `check`, with what became of the candidate on the way.

    `fallback` says what was left to torch: everything (`whole`), a product or convolution (`main`), something between or after
    the launches (`epilogue`, judged as the rest), or nothing (None). `seconds` are those of the stages, `recorded` is the number of
    launches at the declared shapes.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    recorded: int = 0

    @property
    def hint(self) -> str:
        """One sentence for whoever wrote the candidate."""
        if self.category == "thin-coverage":
            return "Proved, at sizes where a loop ran at most once or a guard went one way."
        return super().hint


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
    seconds: dict[str, float] = field(default_factory=dict)
    launches: int = 0
    fallback: Grade | None = None

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
    allow_unconfined: bool = False,
) -> Judgement:
    """Whether a candidate computes what its task's `Model` computes; files or texts in KernelBench's form.

    `sizes` are `"shrunk"`, or texts of the task at the sizes to prove. `timeout` bounds each recording and each proof, in seconds.
    Where the kernel cannot confine foreign code the verdict is `unknown`, unless `allow_unconfined` says to run it all the same.
    """
    run = _Run(_text(task), _text(candidate), timeout, allow_unconfined)
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
    if isinstance(value, Path) or ("\n" not in value and value.endswith(".py")):
        try:
            return Path(value).read_text()
        except (OSError, UnicodeDecodeError) as e:
            raise InputError(f"cannot read {value}: {e}") from e
    return value


def _made(run: _Run, e: _Ends) -> Judgement:
    entry = {"kernel": "optimized", "kind": e.kind, "message": str(e), "count": 1, "sites": []}
    refuted = e.verdict in ("defective", "not-equivalent")
    report = {"verdict": e.verdict, "warnings": [], "unknown": [] if refuted else [entry], "defects": [entry] if refuted else []}
    return run.judgement(Result(e.verdict, report, f"{e.category}: {e}"), e.category)


def _judged(run: _Run, sizes: Literal["shrunk"] | Sequence[str]) -> Judgement:
    declared, _ = run.record("record", run.task, "ModelNew", real=False)
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
    # What fails at sizes that divide otherwise than the declared ones says nothing of those.
    plans = {shrink.shrink(run.task, p): p.awkward for p in shrink.PLANS} if sizes == "shrunk" else dict.fromkeys(sizes, False)
    best: Judgement | None = None
    uncovered: dict[Place, bool] | None = None
    proofs = 0
    too_small = ""
    for text, awkward in plans.items():
        try:
            found, thin = _proved(run, text, declared)
        except _TooSmall as e:
            too_small = str(e)
            continue
        except (_Ends, sequence.Unclear, sequence.Wrong):
            if not awkward:
                raise
            continue
        if found.category != "proved":
            if not awkward and (found.verdict != "unknown" or best is None):
                return found
            continue
        _honest(run.candidate)
        uncovered = thin if uncovered is None else {p: hard or thin[p] for p, hard in uncovered.items() if p in thin}
        best = found if best is None else best
        proofs += 1
        if not uncovered or (proofs > 1 and not any(uncovered.values())):
            return replace(found, seconds=run.seconds)
    if best is None:
        raise _Ends("unknown", f"the task runs at none of the smaller sizes: {too_small}", "nothing-to-compare")
    return replace(best, category_="thin-coverage")


#: Words by which a candidate could reach the recorder that runs in its process.
_REACHES = re.compile(
    r"\bvolta\b|\b_getframe\b|\bimport gc\b|\bctypes\b|\binspect\b|sys\.modules|__subclasses__"
    r"|\bdl(?:open|sym)\b|\bPy(?:Import|Run|Eval)_|/proc/"
)


def _honest(candidate: str) -> None:
    """A candidate that reaches for the recorder could have told it anything, so that what it proved counts as nothing."""
    found = _REACHES.search(candidate)
    if found:
        raise _Ends("unknown", f"the candidate reaches for what records it (`{found[0]}`)", "unsupported-instruction")


def _stopped(recorded: Json, where: str) -> None:
    """Ends the judgement where a recording came to no end."""
    if recorded.get("gaps"):
        raise _Ends("unsupported", f"{where}: the stand-in of the CUDA runtime lacks {recorded['gaps'][0]}")
    refused = [e for e in recorded.get("events", []) if e.get("event") == "refused"]
    if refused and "stopped" in recorded:
        e = refused[0]
        raise _Ends("launch", f"line {e['line']}: {where} the launch of {e['kernel']} is refused: {e['why']}", verdict="defective")
    how = recorded.get("stopped")
    if how is None:
        return
    message = f"{where}: {recorded['message']}" + (f" ({recorded['trace']})" if recorded.get("trace") else "")
    if how in ("compile", "syntax", "unsupported", "limit"):
        raise _Ends(how, message)
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
        raise _Ends("fallback", "the candidate launches no kernel of its own", verdict="defective")
    if operations:
        run.fallback = "epilogue"


def _kernels(recorded: Json) -> set[tuple[str, tuple[int, ...]]]:
    return {(e["kernel"], tuple(e["block"])) for e in recorded["events"] if e["event"] == "launch"}


def _thin(result: Result, launches: Sequence[Kernel], alike: bool) -> dict[Place, bool]:
    """The places that these sizes leave uncovered, and whether larger sizes could be another matter.

    They could at a loop that ran at most once, and at a comparison with a number above what these sizes reach. Any other comparison
    that goes one way at sizes that divide as the declared ones and at awkward ones goes that way because the sizes are large, as
    the declared ones are. Where other kernels run than at the declared sizes, nothing is covered.
    """
    places: dict[Place, bool] = {} if alike else {("", 0, ""): True}
    reach = 2 * max((v for k in launches for v in k.args.values() if isinstance(v, int)), default=0) + 1
    for w in result.report.get("warnings", []):
        # What the host does between launches is judged at these sizes by kernels of our own.
        sites = [s for s in w["sites"] if str(s["file"]).startswith("volta_")] if w["kind"] == "thin-coverage" else []
        message = str(w["message"])
        beyond = any(int(n) > reach for n in re.findall(r"(?<![\w$])\d+", message.partition("try ")[2]))
        for s in sites:
            limits = [int(n) for n in re.findall(r"(?<![\w%$])\d+", str(s["text"]).partition(" ")[2])]
            hard = "comparison" not in message or beyond or any(n > reach for n in limits)
            places[(str(s["file"]), int(s["line"]), _way(message))] = hard
    return places


def _way(message: str) -> str:
    """What was never seen: sizes of which one shows each way cover both."""
    found = re.search(r"never (true|false)", message)
    return found[1] if found else "again"


def _names(bound: bindings.Bound, built: sequence.Sequence_) -> set[str | None]:
    return {a.name for a in (*bound.inputs.values(), *bound.outputs.values(), *built.arrays.values())}


def _proved(run: _Run, task: str, declared: Json) -> tuple[Judgement, dict[Place, bool]]:
    """The proof at one choice of sizes, and what it left uncovered."""
    recorded, talk = run.record("record", task, "ModelNew", real=True)
    if recorded.get("stopped") == "raised":
        raise _Ends("unknown", f"at the shrunk shapes the host code raised {recorded['message']}, at the declared ones it did not")
    _stopped(recorded, "at the shrunk shapes")
    reference = _outputs_alike(run, recorded, task)
    made = reference["formula"]
    bound = bindings.bind(recorded, reference)
    recorded["events"] = calls.to_judge(recorded, talk.built)
    built = sequence.Builder(recorded, talk.built, bound.inputs, bound.outputs).build()
    if not built.launches:
        raise _Ends("unknown", "at the shrunk shapes nothing is launched")
    started = time.monotonic()
    # An output that no launch touches is an array of the sequence all the same, without contents.
    untouched = [bindings.named(a) for n, a in bound.outputs.items() if n not in built.arrays]
    launches = [*bound.before, *untouched, *built.launches]
    if "text" in made:
        result = api.check(Formula(bound.formula), launches, timeout=run.timeout, assume=bound.facts)
    else:
        result = api.race(launches, timeout=run.timeout)
    run.seconds["proof"] = run.seconds.get("proof", 0.0) + time.monotonic() - started
    shown = result.counterexample
    if result.verdict == "not-equivalent" and shown is not None and shown.output not in _names(bound, built):
        # What a launch leaves in a variable of the device is nobody's output.
        raise _Ends("unknown", f"the launches write the variable {shown.output} of the device", "undecided")
    if "text" not in made and result.ok:
        raise _Ends("unknown", f"the reference has no formula: {made.get('missing')}", "unsupported-instruction")
    if result.ok and (bound.seeded or built.seeded):
        raise _Ends(
            "unknown",
            "what was made at random is another than the reference's, and was judged for one seed only",
            "nondeterministic-value",
        )
    return run.judgement(result, result.category), _thin(result, launches, _kernels(recorded) == _kernels(declared))


__all__ = ["Judgement", "judge"]
