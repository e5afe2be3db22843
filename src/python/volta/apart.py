"""A call in a process of its own, which can be ended."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import CompileError, Error

T = TypeVar("T")


def call(what: Callable[[], T], timeout: float, name: str, lock: contextlib.AbstractContextManager[Any]) -> T:
    """The value of a call that a child of this process makes within `timeout` seconds; it must be one that can be pickled.

    `lock` is one that the call takes, and that a thread can take again: it is held while the child is made, so that no other
    thread holds it there for ever.

    Raises what the call raises, if it is an error of this package, and `CompileError` where the child takes too long or dies.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def child() -> None:
        out: Any
        try:
            out = (True, what())
        except Error as e:
            out = (False, e)
        except BaseException as e:
            out = (False, CompileError(f"{name} failed: {type(e).__name__}: {e}"))
        with contextlib.suppress(BrokenPipeError):
            there.send(out)

    process = context.Process(target=child, daemon=True)
    with lock:
        process.start()
    there.close()
    try:
        if not here.poll(timeout):
            raise CompileError(f"{name} took more than {timeout} s")
        done, value = here.recv()
    except EOFError:
        process.join(1)
        raise CompileError(f"{name} ended without an answer, with status {process.exitcode}") from None
    finally:
        here.close()
        process.kill()
        process.join()
    if not done:
        raise value
    found: T = value
    return found
