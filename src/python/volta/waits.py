"""Waiting that ends: at a deadline, or because what is waited for is wanted no more.

Ctrl-C raises `KeyboardInterrupt` in the main thread alone. A thread that waits here looks from time to time whether the main
thread is on its way out of one (a pool's `with` or a `finally` joins its threads then), and raises it too.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Iterator

from .errors import InputError

#: Seconds between two looks.
LOOK = 0.2
#: Most seconds of a limit that a user gives: the program's own bound.
MOST = 2.0**63

_own = threading.local()


def seconds(value: object, what: str = "a timeout") -> float:
    """A limit that a user gives; what is no finite number of seconds is an input error."""
    try:
        found = math.nan if isinstance(value, (bool, str, bytes)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < MOST:
        raise InputError(f"{what} is a finite number of seconds, not {value!r}; leave it out, or give a large number")
    return found


@contextlib.contextmanager
def until(event: threading.Event) -> Iterator[None]:
    """What this thread waits for is wanted no more once the event is set."""
    before = getattr(_own, "event", None)
    _own.event = event
    try:
        yield
    finally:
        _own.event = before


def look() -> None:
    """Raises `KeyboardInterrupt` where nobody wants what this thread waits for."""
    event = getattr(_own, "event", None)
    if (event is not None and event.is_set()) or _is_interrupted():
        raise KeyboardInterrupt


def _is_interrupted() -> bool:
    main = threading.main_thread()
    if threading.current_thread() is main:
        return False  # The interpreter raises it there by itself.
    if not main.is_alive() or getattr(threading, "_SHUTTING_DOWN", False):
        return _is(getattr(sys, "last_value", None))
    handled = sys._current_exceptions().get(main.ident or 0)
    # Before Python 3.12 it is a triple.
    return _is(handled[1] if isinstance(handled, tuple) else handled)


def _is(found: object) -> bool:
    """Whether an exception is an interrupt, or was raised because of one."""
    for _ in range(16):
        if isinstance(found, KeyboardInterrupt):
            return True
        if not isinstance(found, BaseException):
            return False
        found = found.__context__
    return False


class Deadline:
    """The end of a limit in seconds; without a limit there is none."""

    def __init__(self, limit: float | None) -> None:
        self.at = math.inf if limit is None else time.monotonic() + limit

    def left(self) -> float:
        """Seconds until the next look or the end, at least 0."""
        return max(0.0, min(LOOK, self.at - time.monotonic()))

    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self.at
