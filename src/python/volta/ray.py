"""`check_many` over a Ray cluster: actors that hold the prepared reference, each with a program of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .errors import InputError
from .kernels import Function
from .prepared import Prepared, prepare
from .results import Result


class _Judge:
    """Holds a prepared reference in a process of Ray."""

    def __init__(self, reference: Any, launch: dict[str, Any]) -> None:
        self.prepared = prepare(reference, **launch)

    def judge(self, number: int, candidate: Any, timeout: float | None, budget: int | None) -> tuple[int, Result]:
        """The result of one candidate; nothing in it refers to this process."""
        from dataclasses import replace

        return number, replace(self.prepared.judge(candidate, timeout=timeout, budget=budget), replay_=None)


def check_many(
    reference: Any,
    candidates: Iterable[Any],
    *,
    timeout: float | None = None,
    budget: int | None = None,
    actors: int | None = None,
    **launch: Any,
) -> Iterator[tuple[Any, Result]]:
    """Each candidate with its result, as they are ready, as `volta.prepare(reference, **launch).check_many(candidates)` gives them.

    `actors` processes hold the reference, one for each CPU of the cluster if it is not given. The reference and the candidates
    are pickled: texts and kernels are, and functions as far as Ray can. A counterexample of such a result cannot be replayed.
    Raises `InputError` where Ray is not installed.
    """
    try:
        import ray
    except ImportError as e:
        raise InputError("Ray is not installed: pip install './src/python[ray]'") from e
    if isinstance(reference, Prepared):
        raise InputError("give the reference itself and its launch: each actor prepares it")
    if isinstance(reference, Function):
        reference = reference.function
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    count = actors or max(int(ray.cluster_resources().get("CPU", 1)), 1)
    judge = ray.remote(num_cpus=1)(_Judge)
    workers = [judge.remote(reference, launch) for _ in range(count)]
    sent: dict[int, Any] = {}
    open_answers: dict[Any, Any] = {}
    source = enumerate(candidates)

    def send(worker: Any) -> None:
        for number, candidate in source:
            sent[number] = candidate
            open_answers[worker.judge.remote(number, candidate, timeout, budget)] = worker
            return

    try:
        for worker in workers * 2:  # One under way and one that waits, for each.
            send(worker)
        while open_answers:
            (ready,), _ = ray.wait(list(open_answers), num_returns=1)
            worker = open_answers.pop(ready)
            number, result = ray.get(ready)
            send(worker)
            yield sent.pop(number), result
    finally:
        for worker in workers:
            ray.kill(worker)
