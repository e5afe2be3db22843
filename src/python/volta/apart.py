"""A call in a process of its own, which can be ended."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from . import waits
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
    deadline, parent = waits.Deadline(timeout), os.getpid()

    def child() -> None:
        _ends_with(parent)
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
        while not here.poll(deadline.left()):
            waits.look()
            if deadline.is_over():
                raise CompileError(f"{name} took more than {timeout:g} s")
        done, value = here.recv()
    except EOFError:
        process.join(1)
        raise CompileError(f"{name} ended without an answer, with status {process.exitcode}") from None
    finally:
        here.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # What it started ends with it; until it is waited for its number is its own.
            os.killpg(process.pid or 0, signal.SIGKILL) if process.pid else None
        process.kill()
        process.join()
    if not done:
        raise value
    found: T = value
    return found


_PR_SET_PDEATHSIG = 1


def _ends_with(parent: int) -> None:
    """Makes this process the first of a group of its own, and one that the system ends with the thread that made it."""
    os.setsid()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
