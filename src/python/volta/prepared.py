"""References that many candidates are checked against."""

from __future__ import annotations

import copy
import itertools
import queue
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from . import apart, arg, kernels, lints, server, waits
from .calls import Call, Json, SizedArgs, limits, pairs, resolve, result_of
from .errors import CompileError, Error, InputError, ServerError
from .kernels import Formula, Grid, Kernel, Reference, SizedGrid
from .keywords import PairOptions, options_of
from .launches import Launch, asked
from .results import Replay, Result, failed

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Seconds that a proof has at least, whatever its compiler took.
_LEAST = 0.1
#: Seconds that a compiler has where the proof is bounded by work alone.
_COMPILER = 120.0


@dataclass(frozen=True)
class Replayed:
    """The kernels of an answer with their launch, to be executed on inputs by name; it can be pickled, as the answer can."""

    reference: Kernel | None
    optimized: Kernel
    args: tuple[arg.Arg, ...]
    names: tuple[str | None, ...]
    grid: Grid | None
    block: Grid | None
    arrays: Mapping[str, arg.Array]
    dynamic_shared: int | None = None

    def __call__(self, inputs: Mapping[str, Any]) -> Replay:
        """Both kernels on inputs; arrays that have none keep the contents that they were bound to."""
        reference = None if self.reference is None else self._side(self.reference, inputs)
        return Replay(reference, self._side(self.optimized, inputs))

    def _side(self, kernel: Kernel, inputs: Mapping[str, Any]) -> dict[str, Any]:
        from .api import Question, outputs

        known = {
            name: replace(a, contents=arg.contents_of(inputs[name])) if name in inputs and a.contents is None else a
            for name, a in self.arrays.items()
        }
        call = Call(None, self.grid, self.block, self.dynamic_shared)
        call.args, call.names = list(self.args), list(self.names)
        bound = call.by_position(kernel)
        names = call.parameter_names(kernel)
        values = {i: known.get(names[i], v) if isinstance(v, arg.Array) else v for i, v in bound.items()}
        for i, v in bound.items():
            if isinstance(v, arg.Pointers):
                values[i] = arg.Pointers(tuple(known.get(n, a).named(n) for n, a in v.targets(i).items()))
        block = kernel.block if kernel.args else kernel.block or self.block
        launched = replace(kernel, args=values, block=block, names=tuple(names))
        variables = {n: known.get(n, v) for n, v in call.variables(kernel).items()}
        launch = Launch(variables, self.grid, self.block, self.dynamic_shared)
        return outputs(Question(launched, launch, {}).ask("run", {}))


def _said(e: BaseException) -> str:
    """An exception of others in words, whatever its own text does."""
    return "".join(traceback.format_exception_only(e)).strip()


class Prepared:
    """A reference that many candidates are checked against; `volta.prepare` makes it."""

    def __init__(self, reference: Reference, launch: Launch, options: Mapping[str, Any]) -> None:
        self.reference = reference
        self.launch = launch
        self.options = options_of(options)
        self.deny = options.get("deny")
        self._handle: tuple[server.Server, str] | None = None
        #: A function of arrays is one formula for all candidates that name their arguments alike.
        self._formulas: dict[tuple[tuple[str, arg.Arg], ...], Kernel | Formula] = {}

    def kernel_of(self, candidate: object, timeout: float | None = None) -> Kernel:
        """A candidate as a kernel, compiled if need be, within `timeout` seconds.

        Raises `CompileError` where a compiler rejects it, `InputError` where it is no kernel, or its own code raises."""
        try:
            if timeout is not None and kernels.is_triton(candidate):
                # Triton compiles inside of this process: a child of it can be ended.
                from .triton_kernels import LOCK

                found = apart.call(lambda: self.launch.kernel(candidate), timeout, "Triton", LOCK)
            else:
                found = self.launch.kernel(candidate, timeout)
        except Error:
            raise
        except (Exception, SystemExit) as e:
            # Its attributes, its text and a function for its grid are code of the candidate.
            raise InputError(f"the candidate raises {_said(e)}", {"kind": "launch"}) from e
        if not isinstance(found, Kernel):
            raise InputError("the optimized side is a kernel, not a formula or a Python function", {"kind": "syntax"})
        return found

    def handle(self) -> str | None:
        """The program's name for the reference, prepared now if it is not yet."""
        if not isinstance(self.reference, Kernel):
            return None
        running = server.get()
        if self._handle is None or self._handle[0] is not running:
            call = self.launch.call(self.reference)
            call.fits(self.reference)
            options = call.options(self.reference, self.options)
            launch = {**options, **call.buffers(self.reference), "reference": call.side(self.reference)}
            request = {"op": "prepare", "reference": self.reference.request(), "launch": launch}
            self._handle = (running, str(server.get_answer(running, request).get("handle")))
        return self._handle[1]

    def request(self, optimized: Kernel, limit: Json, handle: str | None = None) -> tuple[Json, dict[str, arg.Array]]:
        """The request that checks a candidate, and the arrays that its report names."""
        call = self.launch.call(self.reference, optimized)
        call.fits(optimized)
        reference = self._resolved(optimized, call)
        sides = [k for k in (reference, optimized) if isinstance(k, Kernel)]
        if isinstance(reference, Kernel):
            call.fits(reference)
        launch: Json = {"optimized": call.side(optimized), **call.buffers(*sides)}
        named = optimized
        if isinstance(reference, Kernel):
            named = reference
            launch["map"] = pairs(reference, optimized)
        launch["names"] = call.numbered(named)
        out: Json = {"op": "check", "optimized": optimized.request(), "launch": launch, "formats": ["human"], **limit}
        if handle is not None:
            out["handle"] = handle
        else:
            out["reference"] = reference.request()
            launch.update(call.options(named, self.options))
            if isinstance(reference, Kernel):
                launch["reference"] = call.side(reference)
        return out, call.arrays(named)

    def _resolved(self, optimized: Kernel, call: Call) -> Kernel | Formula:
        if isinstance(self.reference, Kernel):
            return self.reference
        key = tuple(call.bound(optimized))
        if key not in self._formulas:
            self._formulas[key] = resolve(self.reference, optimized, call)
        return self._formulas[key]

    def once(self, candidate: object, limit: Json) -> Result:
        """One candidate, for a reference that is asked about once."""
        kernel = self.kernel_of(candidate)
        request, arrays = self.request(kernel, limit)
        return self._judged(request, arrays, kernel)

    def _judged(self, request: Json, arrays: Mapping[str, arg.Array], kernel: Kernel) -> Result:
        reference = self.reference if isinstance(self.reference, Kernel) else None
        found = lints.of_sides({"reference": [] if reference is None else [reference], "optimized": [kernel]})
        result = result_of(server.ask(request), arrays, found, self.deny)
        call = self.launch.call(self.reference, kernel)
        grid = None if callable(call.grid) else call.grid
        replayed = Replayed(reference, kernel, tuple(call.args), tuple(call.names), grid, call.block, arrays, call.dynamic_shared)
        return replace(result, replay_=replayed)

    def __getstate__(self) -> dict[str, Any]:
        # The program is this process's own.
        return {**self.__dict__, "_handle": None}

    def check(self, candidate: object, *, timeout: float | None = None, budget: int | None = None) -> Result:
        """One candidate against the reference, as `volta.check`. Its compiler runs in a process of its own, and `timeout` is for
        both. A `budget` bounds the proof alone, in units of work that every machine counts alike."""
        begun = time.monotonic()
        timeout = None if timeout is None else waits.seconds(timeout)
        kernel = self.kernel_of(candidate, _COMPILER if timeout is None and budget is not None else timeout)
        left = None if timeout is None else max(timeout - (time.monotonic() - begun), _LEAST)
        limit = limits(left, budget)
        request, arrays = self.request(kernel, limit, self.handle())
        try:
            return self._judged(request, arrays, kernel)
        except InputError as e:
            if "prepare it again" not in str(e):
                raise
        # Other references were prepared in the meantime, and this one was dropped.
        self._handle = None
        request, arrays = self.request(kernel, limit, self.handle())
        return self._judged(request, arrays, kernel)

    def judge(self, candidate: object, *, timeout: float | None = None, budget: int | None = None) -> Result:
        """One candidate, whatever is wrong with it: what is no kernel, does not compile or cannot be launched is a result.

        Raises `ServerError` where the program cannot be started."""
        try:
            return self._judge(candidate, timeout, budget)
        except ServerError:
            # It ended at this candidate, or at another one that it had at the same time.
            with server.alone():
                try:
                    return copy.copy(self)._judge(candidate, timeout, budget)
                except ServerError as e:
                    return failed("unknown", f"volta itself does not survive it: {e}", "limit")

    def _judge(self, candidate: object, timeout: float | None, budget: int | None) -> Result:
        try:
            return self.check(candidate, timeout=timeout, budget=budget)
        except CompileError as e:
            return failed("compile", str(e), "compile")
        except InputError as e:
            kind = str(e.details.get("kind", ""))
            if kind == "entry" and getattr(candidate, "entry", None) is None:
                kind = "syntax"  # There is none at all.
            launch = kind in ("binding", "launch", "entry", "fact") or (not kind and not e.details.get("sites"))
            return failed("launch" if launch else "syntax", str(e), kind or ("launch" if launch else "syntax"))
        except ServerError:
            raise
        except Exception as e:
            return failed("unknown", f"{_said(e)}: nothing is known of the candidate", "undecided")

    def check_many(
        self,
        candidates: Iterable[Any],
        *,
        timeout: float | None = None,
        budget: int | None = None,
        jobs: int | None = None,
    ) -> Iterator[tuple[Any, Result]]:
        """Each candidate with its result, as they are ready: at most `jobs` of them side by side.

        `timeout` is in seconds, with those of the compiler; `budget` in units of work of the proof, so that each candidate has the
        same reward on every machine. Nothing raises for a candidate: one that is no kernel (category `syntax`), does not compile,
        cannot be launched as the reference is, or ends the program (reward None) is a result as well.
        """
        limits(timeout, budget)
        self.handle()
        stopped = threading.Event()
        done: queue.SimpleQueue[tuple[Any, Future[Result]]] = queue.SimpleQueue()
        source = iter(candidates)
        with ThreadPoolExecutor(jobs or 4, thread_name_prefix="volta") as pool:

            def judge(candidate: Any) -> Result:
                with waits.until(stopped):
                    return self.judge(candidate, timeout=timeout, budget=budget)

            def start(candidate: Any) -> None:
                future = pool.submit(judge, candidate)
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
                # Nobody takes what is under way, whose threads the pool waits for.
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def release(self) -> None:
        """Gives the reference back; it is prepared again when it is needed."""
        if self._handle is not None and self._handle[0].is_alive():
            self._handle[0].submit({"op": "release", "handle": self._handle[1]})
        self._handle = None


@overload
def prepare(reference: object, *given: object, **options: Unpack[PairOptions]) -> Prepared: ...
@overload
def prepare(reference: object, *given: object, **keywords: Any) -> Prepared: ...
def prepare(
    reference: object,
    *given: object,
    args: SizedArgs | None = None,
    grid: SizedGrid | None = None,
    block: Grid | None = None,
    dynamic_shared: int | None = None,
    **keywords: Any,
) -> Prepared:
    """A reference that is read once, for many candidates: `prepare(...).check_many(candidates, timeout=10)`.

    Arguments and keywords as those of `check`, for all candidates alike. Raises `InputError` or `CompileError` where the
    reference itself is wrong; what is wrong with a candidate is a result.
    """
    launch, options = asked(
        [reference], given, Launch(args, grid, block, dynamic_shared), keywords, PairOptions.__optional_keys__, is_open=True
    )
    out = Prepared(launch.kernel(reference), launch, options)
    out.handle()
    return out
