"""Errors of this package: one family."""

from __future__ import annotations

from typing import Any

from .escapes import shown


class Error(Exception):
    """Anything that this package raises by itself. What others wrote into its message is shown in plain characters."""

    def __str__(self) -> str:
        return shown(super().__str__())


class InputError(Error):
    """A request that makes no sense: a file, a kernel, a binding, a launch. `details` is the program's JSON of it."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}


class KeywordError(InputError, TypeError):
    """A keyword that a call does not take, or one that it lacks; a `TypeError` too, as Python's own are."""


class CompileError(Error):
    """A compiler rejected a kernel; the message is the compiler's."""


class ServerError(Error):
    """The program could not be found or started, or it ended."""


class NotProved(Error, AssertionError):
    """What was to be proved was refuted or is open; the message is the report."""
