"""Files that a user or somebody's kernel names: read where they are files, within a bound, and never waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import InputError
from .foreign import name

#: Most bytes of a text: the program takes requests of no more.
MOST = 64 << 20


def text_of(path: str | Path) -> str:
    """The text of a file.

    Raises `InputError` where it cannot be read: a pipe or a device could hold the reader for ever.
    """
    try:
        return _bytes(path).decode()
    except (OSError, ValueError) as e:
        why = (e.strerror or str(e)) if isinstance(e, OSError) else str(e)
        raise InputError(f"cannot read {name(path)}: {why}", {"kind": "syntax"}) from e


def _bytes(path: str | Path) -> bytes:
    # A device may do something where it is opened; a name may lead to another file a moment later.
    _regular(os.stat(path))
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(descriptor, "rb") as file:
        _regular(os.fstat(descriptor))
        out = file.read(MOST + 1)
    if len(out) > MOST:
        raise ValueError(f"it is longer than {MOST >> 20} MiB, which is what one file may have")
    return out


def _regular(about: os.stat_result) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise ValueError("it is a folder; name the file in it")
    if not stat.S_ISREG(about.st_mode):
        raise ValueError("it is a pipe or a device; write it to a file first")
    if about.st_size > MOST:
        raise ValueError(f"it is longer than {MOST >> 20} MiB, which is what one file may have")
