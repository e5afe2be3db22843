"""`volta.judge`: a task and a candidate in KernelBench's form, judged without a GPU.

A task defines `Model`, `get_inputs` and `get_init_inputs`; a candidate defines `ModelNew`, with CUDA inside (`load_inline`). Both
run in confined workers, never in the same one: the reference is traced to a formula, the candidate's launches are recorded. At the
declared shapes a launch must be one that the runtime takes; at smaller shapes (`shrink`) the launches are proved to compute the
formula, free of races and memory errors, for every input.

Not claimed: that host code does on a GPU what it did while it was recorded. Code that tells the recorder from a GPU can show
it other launches; what is proved is what it launched here. What a candidate makes itself under the same seed must be what the
reference makes, else its outputs are another function's.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .. import api
from ..arg import Array
from ..errors import InputError
from ..kernels import Formula
from ..results import Category, Result, Verdict
from . import compiler, sequence, shrink, worker

Json = dict[str, Any]
Grade = Literal["whole", "main", "epilogue"]
Place = tuple[str, int]

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

    `fallback` says what was left to torch: everything (`whole`), a product or convolution (`main`), something after the
    launches (`epilogue`), or nothing (None). `seconds` are those of the stages.
    """

    fallback: Grade | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    launches: int = 0

    @property
    def reward(self) -> float | None:
        """1.0 proved, 0.0 refuted, None not known."""
        if self.category in ("unknown", "limit", "unsupported", "thin-coverage"):
            return None
        return 1.0 if self.category == "proved" else 0.0

    @property
    def hint(self) -> str:
        """One sentence for whoever wrote the candidate."""
        if self.category == "fallback":
            return f"The {self.fallback} computation is torch's own: nothing of it was written."
        if self.category == "thin-coverage":
            return "Proved, at sizes where a loop ran at most once or a guard went one way."
        return super().hint


class _Ends(Exception):
    """The judgement is made."""

    def __init__(self, category: Category, message: str, kind: str = "", verdict: Verdict = "unknown") -> None:
        super().__init__(message)
        self.category, self.kind, self.verdict = category, kind or category, verdict


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
    except sequence.Malformed as e:
        return _made(run, _Ends("unknown", f"the recording is malformed: {e}", "limit"))


def _text(value: str | Path) -> str:
    if isinstance(value, Path) or ("\n" not in value and value.endswith(".py")):
        try:
            return Path(value).read_text()
        except (OSError, UnicodeDecodeError) as e:
            raise InputError(f"cannot read {value}: {e}") from e
    return value


def _made(run: _Run, e: _Ends) -> Judgement:
    entry = {"kernel": "optimized", "kind": e.kind, "message": str(e), "count": 1, "sites": []}
    listed = {"unknown": [entry], "defects": []} if e.verdict == "unknown" else {"unknown": [], "defects": [entry]}
    report = {"verdict": e.verdict, "warnings": [], **listed}
    return Judgement(
        e.verdict,
        report,
        f"{e.category}: {e}",
        category_=e.category,
        fallback=run.fallback,
        seconds=run.seconds,
        launches=run.launches,
    )


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
    texts = [shrink.shrink(run.task, p) for p in shrink.PLANS] if sizes == "shrunk" else list(sizes)
    best: Judgement | None = None
    uncovered: set[Place] | None = None
    for text in dict.fromkeys(texts):
        try:
            found, thin = _proved(run, text, declared)
        except _Ends:
            if best is None:
                raise
            break  # What another size adds is coverage.
        if found.category != "proved":
            if best is None:
                return found
            continue
        uncovered = thin if uncovered is None else uncovered & thin
        best = found if best is None else best
        if not uncovered:
            return replace(found, seconds=run.seconds)
    if best is None:
        raise _Ends("unknown", "there are no sizes to prove", "nothing-to-compare")
    return replace(best, category_="thin-coverage")


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
    if not run.launches:
        run.fallback = "whole"
        raise _Ends("fallback", "the candidate launches no kernel of its own", verdict="defective")
    if any(e["event"] == "library" for e in events) or any(o.startswith(_MAIN) for o in operations):
        run.fallback = "main"
        raise _Ends("fallback", "a product or convolution is a library's", verdict="defective")
    if operations:
        run.fallback = "epilogue"


def _kernels(recorded: Json) -> set[tuple[str, tuple[int, ...]]]:
    return {(e["kernel"], tuple(e["block"])) for e in recorded["events"] if e["event"] == "launch"}


def _thin(result: Result, alike: bool) -> set[Place]:
    """The places that these sizes leave uncovered; where other kernels run than at the declared sizes, nothing is covered."""
    places = {(s.file, s.line) for w in result.warnings if w.kind == "thin-coverage" for s in w.sites}
    return places if alike else {*places, ("", 0)}


def _proved(run: _Run, task: str, declared: Json) -> tuple[Judgement, set[Place]]:
    """The proof at one choice of sizes, and what it left uncovered."""
    recorded, talk = run.record("record", task, "ModelNew", real=True)
    if recorded.get("stopped") == "raised":
        raise _Ends("unknown", f"at the shrunk shapes the host code raised {recorded['message']}, at the declared ones it did not")
    _stopped(recorded, "at the shrunk shapes")
    reference = _outputs_alike(run, recorded, task)
    made = reference["formula"]
    inputs = _inputs(recorded, reference)
    outputs = _outputs(recorded, reference)
    try:
        built = sequence.Builder(recorded, talk.built, inputs, outputs).build()
    except sequence.Unclear as e:
        raise _Ends("unknown", str(e), e.kind) from e
    except sequence.Wrong as e:
        raise _Ends(e.category, str(e), "out-of-bounds" if e.category == "memory" else e.category, "defective") from e
    started = time.monotonic()
    if not built.launches:
        raise _Ends("unknown", "at the shrunk shapes nothing is launched")
    if "text" in made:
        result = api.check(Formula(made["text"]), built.launches, timeout=run.timeout)
    else:
        result = api.race(built.launches, timeout=run.timeout)
    run.seconds["proof"] = run.seconds.get("proof", 0.0) + time.monotonic() - started
    category = result.category
    if "text" not in made and result.ok:
        raise _Ends("unknown", f"the reference has no formula: {made.get('missing')}", "unsupported-instruction")
    made_of = Judgement(result.verdict, result.report, result.text, result.names, category, run.fallback, run.seconds, run.launches)
    return made_of, _thin(result, _kernels(recorded) == _kernels(declared))


def _array(view: Json, role: str, name: str) -> Array:
    shape = sequence.dense(view)
    if shape is None:
        raise _Ends("unknown", f"`{name}` is a view that is not dense", "unspecified-layout")
    return Array(str(view["type"]), shape, role, name=name)


def _inputs(recorded: Json, reference: Json) -> dict[int, Array]:
    """The storages of inputs and of parameters, under the reference's names."""
    out: dict[int, Array] = {}
    for i, (mine, theirs) in enumerate(zip(recorded["inputs"], reference["inputs"])):
        if isinstance(mine, Mapping) and "tensor" in mine:
            if {k: v for k, v in mine["tensor"].items() if k != "storage"} != {
                k: v for k, v in theirs["tensor"].items() if k != "storage"
            }:
                raise _Ends("unknown", f"input {i} is not the reference's", "missing-binding")
            out[int(mine["tensor"]["storage"])] = _array(mine["tensor"], "in", f"x{i}")
    theirs_by_name = {p["name"]: p for p in reference["parameters"]}
    left = dict(theirs_by_name)
    unmatched = []
    for p in recorded["parameters"]:
        same = left.get(p["name"])
        if same is not None and same["digest"] == p["digest"]:
            del left[p["name"]]
            out[int(p["tensor"]["storage"])] = _array(p["tensor"], "in", p["name"])
        else:
            unmatched.append(p)
    for p in unmatched:
        alike = [n for n, q in left.items() if q["digest"] == p["digest"]]
        if alike:
            del left[alike[0]]
            out[int(p["tensor"]["storage"])] = _array(p["tensor"], "in", alike[0])
    return out


def _outputs(recorded: Json, reference: Json) -> dict[int, Array]:
    names = ["y"] if len(recorded["outputs"]) == 1 else [f"y{i}" for i in range(len(recorded["outputs"]))]
    out: dict[int, Array] = {}
    for name, view in zip(names, recorded["outputs"]):
        number = int(view["storage"])
        if number in out:
            raise _Ends("unknown", "two outputs are one storage", "unspecified-layout")
        if view.get("host"):
            raise _Ends("wrong-values", f"the output {name} is on the host", verdict="defective", kind="out-of-bounds")
        out[number] = _array(view, "out", name)
    return out


__all__ = ["Judgement", "compiler", "judge"]
