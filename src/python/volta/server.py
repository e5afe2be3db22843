"""The `volta serve` process of this interpreter.

It is started on first use and again if it died, belongs to one process (after a fork the child starts its own) and
ends with the interpreter.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sysconfig
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from . import foreign
from .errors import InputError, ServerError

Json = dict[str, Any]

#: Names the program to run, before anything else is looked for.
BINARY = "VOLTA_BINARY"


def program() -> str:
    """The path of the `volta` program: `VOLTA_BINARY`, else beside this interpreter, else on `PATH`."""
    named = os.environ.get(BINARY)
    if named:
        return named
    for scheme in (None, f"{os.name}_user"):
        with contextlib.suppress(KeyError):
            folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
            found = shutil.which("volta", path=folder)
            if found:
                return found
    found = shutil.which("volta")
    if found:
        return found
    raise ServerError(
        "the program `volta` was not found: install this package with pip (pip install ./src/python), "
        f"or name the program in the environment variable {BINARY}"
    )


class Server:
    """One `volta serve` process and the requests that are under way."""

    def __init__(self) -> None:
        path = program()
        try:
            self.process = subprocess.Popen(
                [path, "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for Python, which cancels its request.
            )
        except OSError as e:
            raise ServerError(f"cannot start `{path}`: {e}") from e
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.path = path
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.pending: dict[int, Future[Json]] = {}
        self.ended: str | None = None
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()
        version = self.submit({"op": "version"})[1].result(timeout=60)
        if "volta" not in version.get("result", {}):
            self.close()
            raise ServerError(f"`{path}` is another program of this name; name the right one in {BINARY}")

    def submit(self, request: Json) -> tuple[int, Future[Json]]:
        """Sends a request; its id, and the future of its answer."""
        number = next(self.ids)
        future: Future[Json] = Future()
        line = json.dumps({"id": number, **request}).encode() + b"\n"
        with self.lock:
            if self.ended is not None:
                raise ServerError(self.ended)
            self.pending[number] = future
            try:
                self.stdin.write(line)
                self.stdin.flush()
            except (OSError, ValueError) as e:
                del self.pending[number]
                raise ServerError(f"`{self.path}` takes no more requests: {e}") from e
        return number, future

    def cancel(self, number: int) -> None:
        """Ends a request; its answer comes as for any other."""
        with contextlib.suppress(ServerError):
            self.submit({"op": "cancel", "target": number})

    def is_alive(self) -> bool:
        """Whether it can take a request."""
        return self.ended is None and self.process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):
            self.stdin.close()
        try:
            self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            number = answer.get("id")
            with self.lock:
                future = self.pending.pop(number, None) if isinstance(number, int) else None
            if future is not None:
                future.set_result(answer)
        status = self.process.wait()
        with self.lock:
            self.ended = f"`{self.path}` ended with status {status}"
            lost, self.pending = list(self.pending.values()), {}
        for future in lost:
            future.set_exception(ServerError(self.ended))


_lock = threading.Lock()
_server: Server | None = None


def get() -> Server:
    """The server of this process."""
    global _server
    with _lock:
        if _server is None or not _server.is_alive():
            _server = Server()
        return _server


def ask(request: Json) -> Json:
    """The answer to a request; an error of it is raised. Ctrl-C cancels it."""
    server = get()
    number, future = server.submit(request)
    try:
        return checked(future.result())
    except KeyboardInterrupt:
        server.cancel(number)
        raise


def checked(answer: Json) -> Json:
    """An answer that is ok; an error of it is raised."""
    if answer.get("ok"):
        return answer
    details = answer.get("error", {})
    message = str(details.get("message", "the request was refused"))
    sites = [f"\n  {foreign.line(s['file'])}:{s['line']}: {s['text']}" for s in details.get("sites", [])]
    raise InputError(message + _in_python(message) + "".join(sites), details)


#: What flags of the command line are called here.
_KEYWORDS = {
    **dict.fromkeys(("threads", "block", "ref-block", "opt-block"), "block="),
    **dict.fromkeys(("grid", "ref-grid", "opt-grid"), "grid="),
    **dict.fromkeys(("entry", "ref-entry", "opt-entry"), "entry="),
    **dict.fromkeys(("arg", "ref-arg", "opt-arg", "name"), "args="),
    "buffer": "volta.arg.pointers([...])",
    "assume": "assume=[...]",
    "timeout": "timeout=",
    "dynamic-shared": "dynamic_shared=",
}


def _in_python(message: str) -> str:
    """The keywords for the flags that a message names."""
    found = dict.fromkeys(_KEYWORDS[f] for f in re.findall(r"--([a-z][a-z-]*)", message) if f in _KEYWORDS)
    return f" (in Python: {', '.join(found)})" if found else ""


def _after_fork() -> None:
    global _server, _lock
    _lock = threading.Lock()
    if _server is not None:
        # The pipes are the parent's; a copy of them would keep its server alive.
        for pipe in (_server.process.stdin, _server.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    os.close(pipe.fileno())
        _forgotten.append(_server)
        _server = None


# Servers of a parent process: never finalised here, since their file descriptors are closed already.
_forgotten: list[Server] = []


@atexit.register
def _at_exit() -> None:
    if _server is not None and _server.is_alive():
        _server.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def text_of(path: Path) -> str:
    """The text of a file; an unreadable one is an input error."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"cannot read {path}: {e}") from e
