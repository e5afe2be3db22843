"""The `volta serve` process of this interpreter.

It is started on first use and again if it died, belongs to one process (after a fork the child starts its own) and
ends with the interpreter, however that ends.

What answers may be any program that was named, so nothing is taken for granted of it: that it reads (a thread of its own writes
requests), that it answers (who waits looks from time to time, and asks a program that is silent who it is), or that what it says
is an answer. One that breaks the protocol is ended, and with it every request that waits, with an error that says why.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import sysconfig
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import wait as until_done
from dataclasses import dataclass
from typing import IO, Any

from . import processes, waits
from .errors import InputError, ServerError
from .foreign import lines, name
from .keywords import spoken

Json = dict[str, Any]

#: Names the program to run, before anything else is looked for.
BINARY = "VOLTA_BINARY"
#: Of the protocol that this package speaks.
SCHEMA = "volta/2"
#: Seconds in which a program says who it is.
STARTED = 20.0
#: Seconds of silence after which a program is asked whether it is there, and those that it has for that answer; more of them where
#: it may have stopped to read.
SILENT, PATIENCE, FULL_PATIENCE = 5.0, 20.0, 1200.0
#: Seconds that a request has where it says nothing of it.
_LIMIT = 600.0
#: Most bytes of a request; the program takes no longer lines.
LONGEST = 64 << 20
#: Bytes of requests under way above which a program may read no more for a while.
_FULL = 128 << 20
#: Most bytes of an answer, and of that of a program that has not said who it is.
_ANSWER, _GREETING = 1 << 30, 1 << 16


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
        self.path = name(path)
        try:
            with _starting:
                self.process = subprocess.Popen(
                    [path, "serve"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=0,
                    start_new_session=True,  # Ctrl-C is for Python, which cancels its request.
                )
                _started.append(self)
        except (OSError, ValueError) as e:
            why = (e.strerror or str(e)) if isinstance(e, OSError) else str(e)
            raise ServerError(f"cannot start `{self.path}`: {why}; name the program volta in {BINARY}") from e
        self.lock = threading.Lock()
        self.ids = itertools.count(1)
        self.pending: dict[int, _Pending] = {}
        self.bytes = 0
        self.ended: str | None = None
        #: When it said something, when it was asked whether it is there, and when it last answered what a user asked.
        self.heard = self.moved = time.monotonic()
        self.asked: float | None = None
        self.greeted = False
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.threads = [threading.Thread(target=f, daemon=True, name="volta") for f in (self._read, self._write)]
        try:
            for thread in self.threads:
                thread.start()
            self._greet()
        except BaseException:
            self.close()
            raise

    def _greet(self) -> None:
        _, future = self.submit({"op": "version"}, limit=STARTED)
        try:
            version = self.answer(future, STARTED)
        except TimeoutError:
            why = f"`{self.path}` does not say who it is within {STARTED:g} s"
            raise ServerError(f"{why}; name the program volta in {BINARY}") from None
        found = version.get("result")
        if not isinstance(found, dict) or not isinstance(found.get("volta"), str):
            raise ServerError(f"`{self.path}` is another program of this name; name the right one in {BINARY}")
        if found.get("schema") != SCHEMA:
            whose = f"`{self.path}` is volta {name(found['volta'])}, which speaks {name(found.get('schema'))}"
            raise ServerError(f"{whose} where this package speaks {SCHEMA}; name one of its version in {BINARY}")
        self.greeted = True

    def submit(self, request: Json, limit: float | None = None) -> tuple[int, Future[Json]]:
        """Sends a request; its id, and the future of its answer, which `answer` waits for."""
        number = next(self.ids)
        line = _line({"id": number, **request})
        seconds = float(request.get("timeout", _LIMIT)) if limit is None else limit
        asked = _Pending(Future(), len(line), seconds)
        with self.lock:
            if self.ended is not None:
                raise ServerError(self.ended)
            if not self.pending:
                self.moved = time.monotonic()
            self.pending[number] = asked
            self.bytes += len(line)
            self.lines.put(line)
        return number, asked.future

    def answer(self, future: Future[Json], timeout: float | None = None) -> Json:
        """What a request is answered.

        Raises `ServerError` where the program ends or is found to answer nothing any more, `TimeoutError` after `timeout` seconds.
        """
        deadline = waits.Deadline(timeout)
        while not until_done([future], deadline.left()).done:
            waits.look()
            if deadline.is_over():
                raise TimeoutError
            if self.greeted:
                self._look()
        return future.result()

    def _look(self) -> None:
        """Asks a program that is silent whether it is there, and ends one that is lost.

        Each request has its limit, and one of those that wait is always under way: within the longest of their limits one is
        answered, and some time more is left for the program to see to it."""
        now = time.monotonic()
        with self.lock:
            longest = max((p.limit for p in self.pending.values()), default=0.0)
            is_stuck = now - self.moved > 1.2 * longest + 1 + PATIENCE
            patience = PATIENCE if self.bytes <= _FULL else FULL_PATIENCE
            is_lost = self.asked is not None and now - self.asked > patience
            asks = self.asked is None and now - self.heard > SILENT
            if asks:
                self.asked = now
        if is_lost or is_stuck:
            self.fail(f"`{self.path}` does not answer any more")
        elif asks:
            with contextlib.suppress(ServerError):
                self.submit({"op": "version"}, limit=0.0)

    def cancel(self, number: int) -> None:
        """Ends a request; its answer comes as for any other."""
        with contextlib.suppress(ServerError):
            self.submit({"op": "cancel", "target": number}, limit=0.0)

    def is_alive(self) -> bool:
        """Whether it can take a request."""
        return self.ended is None and self.process.poll() is None

    def fail(self, why: str) -> None:
        """Ends the process, and every request that waits with an error."""
        with self.lock:
            if self.ended is None:
                self.ended = why
            lost, self.pending, self.bytes = list(self.pending.values()), {}, 0
            why = self.ended
        self.lines.put(None)
        # The number of one that was waited for may be that of another by now.
        if self.process.poll() is None:
            processes.end_group(self.process)
        for asked in lost:
            asked.future.set_exception(ServerError(why))

    def close(self) -> None:
        """Ends the process."""
        with self.lock:
            self.ended = self.ended or f"`{self.path}` was ended"
        # A writer that is at a line is ended with its reader.
        self.lines.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=0.5)
        self.fail(f"`{self.path}` was ended")
        for thread in self.threads:
            if thread.is_alive():
                thread.join(0.5)
        with contextlib.suppress(ValueError):
            _started.remove(self)

    def _write(self) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            while (line := self.lines.get()) is not None:
                left = memoryview(line)
                while left:
                    left = left[stdin.write(left) :]
        except (OSError, ValueError):
            return  # It reads no more: that it ended is what its reader sees, or whoever waits.
        finally:
            with contextlib.suppress(OSError):
                stdin.close()

    def _read(self) -> None:
        stdout = self.process.stdout
        assert stdout is not None
        try:
            for line in self._lines(stdout):
                self._take(line)
        except _Breach as e:
            self.fail(f"`{self.path}` does not answer as volta does: {e}; name the right program in {BINARY}")
        except (OSError, ValueError):
            pass  # The pipe was closed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        if self.process.poll() is None:
            self.fail(f"`{self.path}` closed its output")
        self.fail(f"`{self.path}` ended with status {self.process.returncode}")

    def _lines(self, stdout: IO[bytes]) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = 0
        while more := stdout.read(1 << 20):
            *ends, rest = more.split(b"\n")
            for end in ends:
                yield b"".join([*parts, end])
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > (_ANSWER if self.greeted else _GREETING):
                raise _Breach(f"a line of more than {size} bytes")

    def _take(self, line: bytes) -> None:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise _Breach(f"it says {name(line[:80].decode(errors='backslashreplace'))!s}")
        number = answer.get("id")
        if number is None:
            # Which request it could not read it does not know, so that none can be waited for.
            raise _Breach(f"a request was not understood ({name(_message(answer))})")
        with self.lock:
            self.heard, self.asked = time.monotonic(), None
            known = self.pending.pop(number, None) if type(number) is int else None
            if known is not None:
                self.bytes -= known.bytes
                self.moved = self.heard if known.limit else self.moved
        if known is None:
            raise _Breach(f"an answer to a request that was not made, {name(number)}")
        known.future.set_result(answer)


@dataclass(frozen=True)
class _Pending:
    """A request that waits: its answer, its bytes, and the seconds that it may take; a question about the program takes none."""

    future: Future[Json]
    bytes: int
    limit: float


class _Breach(Exception):
    """What a program says is no answer."""


def _line(request: Json) -> bytes:
    """A request as a line."""
    try:
        line = json.dumps(request, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError as e:
        at = e.object[max(0, e.start - 20) : e.start + 20]
        raise InputError(f"half of a surrogate pair is no character of a text: {name(at)}") from None
    except (ValueError, TypeError, RecursionError) as e:
        raise InputError(f"a value of this call cannot be sent to the program: {e}") from e
    if len(line) > LONGEST:
        raise InputError(f"the request has {len(line)} bytes, and the program takes {LONGEST} at most")
    return line


#: Held while a process is started, so that no fork comes between its pipes and their owner.
_starting = threading.RLock()
#: Every server of this process, those that say who they are among them.
_started: list[Server] = []
_lock = threading.Lock()
_server: Server | None = None
_private = threading.local()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Inside, this thread asks a program of its own, so that one that ends there ends no request of another thread."""
    _private.server = Server()
    try:
        yield
    finally:
        _private.server.close()
        _private.server = None


def get() -> Server:
    """The server of this process, or of this thread."""
    global _server
    own: Server | None = getattr(_private, "server", None)
    if own is not None:
        return own
    while not _lock.acquire(timeout=waits.LOOK):
        waits.look()
    try:
        if _server is None or not _server.is_alive():
            if _server is not None:
                _server.close()
            _server = Server()
        return _server
    finally:
        _lock.release()


def ask(request: Json) -> Json:
    """The answer to a request; an error of it is raised. Ctrl-C cancels it."""
    waits.look()
    return get_answer(get(), request)


def get_answer(server: Server, request: Json) -> Json:
    """The answer of a server to a request; an error of it is raised. Ctrl-C cancels it."""
    number, future = server.submit(request)
    try:
        return checked(server.answer(future))
    except KeyboardInterrupt:
        server.cancel(number)
        raise


def _message(answer: Json) -> str:
    details = answer.get("error")
    return str(details.get("message", "")) if isinstance(details, dict) else ""


def checked(answer: Json) -> Json:
    """An answer that is ok; an error of it is raised."""
    if answer.get("ok") is True:
        return answer
    details = answer.get("error")
    details = details if isinstance(details, dict) else {}
    message = _message(answer) or "the request was refused"
    found = details.get("sites")
    sites = [s for s in found if isinstance(s, dict)] if isinstance(found, list) else []
    places = [f"\n  {name(s.get('file', ''))}:{s.get('line', 0)}: {name(s.get('text', ''))}" for s in sites]
    raise InputError(lines(spoken(message)) + "".join(places), details)


def _after_fork() -> None:
    global _server, _lock, _starting
    _lock, _starting = threading.Lock(), threading.RLock()
    for server in _started:
        # The pipes are the parent's; a copy of them would keep its server alive.
        for pipe in (server.process.stdin, server.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        # It is no child of this process, which has nothing to wait for.
        server.ended = f"`{server.path}` belongs to the process that this one was forked from"
        server.process.returncode = 0
    _started.clear()
    _server = None


@atexit.register
def _at_exit() -> None:
    for server in list(_started):
        server.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _starting.acquire(), after_in_parent=lambda: _starting.release(), after_in_child=_after_fork)
