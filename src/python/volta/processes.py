"""Programs that this package runs to their end: compilers.

Such a program starts others (nvcc has a front end, an optimizer and an assembler), so it leads a group of processes of its own,
which is ended as a whole: at its time, at an interrupt, and when this interpreter dies, however it dies. For the last a shell
stands before it, which waits for the end of a pipe that this process holds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import waits

#: Runs the program in its arguments, and ends its own group at the end of its input; of the shell itself alone, whatever PATH is.
_GUARD = 'exec 3<&0 </dev/null; "$@" 3<&- & child=$!; { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec 3<&-; wait "$child"'
#: Bytes of what a program says that are kept.
_SAID = 1 << 20


@dataclass(frozen=True)
class Ended:
    """A program that ended: its status and what it said."""

    status: int
    said: str


class Late(Exception):
    """A program was ended at its time."""


def run(command: Sequence[str], timeout: float | None, environment: Mapping[str, str] | None = None) -> Ended:
    """Runs a program with nothing to read.

    Raises `Late` after `timeout` seconds, `OSError` where it cannot be started.
    """
    if not os.access(command[0], os.X_OK) or os.path.isdir(command[0]):
        raise PermissionError(f"{command[0]} is no program")
    deadline = waits.Deadline(timeout)
    held, alive = os.pipe()
    # A file takes what it says: whoever inherits a pipe keeps its reader waiting.
    with tempfile.TemporaryFile() as said, os.fdopen(alive, "wb"):
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "sh", *command],
                env=environment,
                stdin=held,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        finally:
            os.close(held)
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(deadline.left())
                    break
                waits.look()
                if deadline.is_over():
                    raise Late
        finally:
            end_group(process)
        said.seek(0)
        return Ended(status, said.read(_SAID).decode(errors="replace"))


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads a group, and the group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
