"""The parent's side of recording: processes that fork for each job, and the answers that jobs are given.

A job is hostile: its messages are read as data with a bound on their size, and an end that is not a proper message is a result
of its own. Nothing of one job reaches the next, since each is a new process that is gone before its answer is believed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import waits
from ..errors import Error
from . import compiler, confine

Json = dict[str, Any]
#: Bytes of messages that a job may send.
_TALK = 256 << 20
#: Seconds that importing torch may take.
_STARTED = 300.0


class Unconfined(Error):
    """Foreign code cannot be confined on this machine."""


def require_confinement(allow_unconfined: bool) -> None:
    """Raises `Unconfined`, naming what the kernel lacks, unless the caller takes the risk."""
    lacks = confine.missing()
    if lacks and not allow_unconfined:
        raise Unconfined(
            f"foreign code does not run here: the kernel lacks {' and '.join(lacks)} (allow_unconfined=True runs it all the same)"
        )


class Zygote:
    """One process with torch imported, which forks for each job."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).parent.parent.parent)
        path = f"sys.path[:0] = [{root!r}]; sys.path += {compiler.packages()!r}"
        code = f"import sys; {path}; from volta.host import zygote; zygote.main({theirs.fileno()})"
        environment = {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": "/nonexistent",
        }
        # torch asks for a name of the user, whom a namespace hides.
        environment |= {"USER": "volta", "LOGNAME": "volta", "TORCHINDUCTOR_CACHE_DIR": "/nonexistent"}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", code],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self.wire = ours
        self.wire.settimeout(_STARTED)
        ready = False
        with contextlib.suppress(TimeoutError):
            ready = self._line() == b"ready\n"
        if not ready:
            self.close()
            raise Error("the process that records could not be started: is torch installed in this environment?")

    def _line(self) -> bytes:
        out = b""
        while not out.endswith(b"\n"):
            more = self.wire.recv(4096)
            if not more:
                break
            out += more
        return out

    def close(self) -> None:
        """Ends it."""
        self.wire.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()

    def run(self, job: Json, seconds: float, talk: Talk) -> Json:
        """One job to its end."""
        down, up = os.pipe(), os.pipe()
        self.wire.settimeout(seconds + 60)
        try:
            asked = {**job, "seconds": seconds, "secret": talk.secret}
            socket.send_fds(self.wire, [json.dumps(asked).encode()], [down[0], up[1]])
        finally:
            os.close(down[0])
            os.close(up[1])
        try:
            done = talk.listen(up[0], down[1], time.monotonic() + seconds + 5)
        finally:
            os.close(up[0])
            os.close(down[1])
        # The child is gone when the zygote answers.
        status = json.loads(self._line() or b"{}")
        if not status:
            raise Error("the process that records ended")
        if done is None or not _is_recording(done.get("done")):
            if talk.strange:
                return _ended("strange", "something else than the recorder wrote to its channel")
            late = status["late"] or status["cpu"] >= job["limits"]["cpu"] - 1
            return _ended("limit" if late else "died", _ending(status))
        out: Json = done["done"]
        return out


def _ended(how: str, message: str) -> Json:
    return {"stopped": how, "message": message, "events": [], "gaps": [], "storages": []}


def _is_recording(done: object) -> bool:
    """Whether a job's last message has the form of a recording; what it says is judged later."""
    if not isinstance(done, dict) or not all(isinstance(done.get(k), list) for k in ("events", "gaps", "storages")):
        return False
    return all(isinstance(e, dict) for e in (*done["events"], *done["storages"]))


def _ending(status: Json) -> str:
    if status["late"]:
        return "the host code did not end in time"
    if os.WIFSIGNALED(status["status"]):
        return f"the host code was ended by signal {os.WTERMSIG(status['status'])}"
    return "the host code ended its process"


class Talk:
    """What a job may ask while it runs."""

    def __init__(self, folder: Path, seconds: float, unconfined: bool) -> None:
        self.folder, self.seconds, self.unconfined = folder, seconds, unconfined
        self.built: list[compiler.Built] = []
        self.secret = secrets.token_hex(16)
        self.strange = False
        self.compiling = 0.0

    def listen(self, read: int, write: int, end: float) -> Json | None:
        """Answers until the job is done, ends, says too much or is late."""
        held, said = b"", 0
        while True:
            ready, _, _ = select.select([read], [], [], max(0.0, min(waits.LOOK, end - time.monotonic())))
            if not ready and time.monotonic() >= end:
                return None
            if not ready:
                waits.look()
                continue
            more = os.read(read, 1 << 20)
            said += len(more)
            if not more or said > _TALK:
                return None
            held += more
            while b"\n" in held:
                line, held = held.split(b"\n", 1)
                message = self._message(line)
                self.strange = self.strange or message is None
                if message is None or "done" in message:
                    return message
                os.write(write, json.dumps(self.answer(message)).encode() + b"\n")

    def _message(self, line: bytes) -> Json | None:
        """What the recorder said: it begins each line with a word that it was given before anything foreign ran."""
        said = self.secret.encode()
        if not line.startswith(said):
            return None
        try:
            message = json.loads(line[len(said) :])
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def answer(self, message: Json) -> Json:
        """The answer to one question: a compilation."""
        asked = message.get("compile")
        if not isinstance(asked, dict) or not _is_compilation(asked):
            return {"category": "unknown", "message": "no such question"}
        started = time.monotonic()
        try:
            built = compiler.build(asked, seconds=self.seconds, unconfined=self.unconfined)
        except compiler.Failed as e:
            return {"category": e.category, "message": str(e)}
        finally:
            self.compiling += time.monotonic() - started
        own = self.folder / f"{built.module}.so"
        with contextlib.suppress(OSError):
            own.unlink()
        shutil.copyfile(built.file, own)
        self.built.append(built)
        return built.answer(str(own))


def _is_compilation(asked: Json) -> bool:
    def texts(v: object) -> bool:
        return isinstance(v, list) and len(v) < 64 and all(isinstance(t, str) and len(t) < 1 << 20 for t in v)

    functions = asked.get("functions")
    names = functions is None or (texts(functions) and all(f.isidentifier() for f in functions))
    return texts(asked.get("cpp")) and texts(asked.get("cuda")) and names and texts(asked.get("flags", []))


_idle: list[Zygote] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _zygote() -> Iterator[Zygote]:
    with _lock:
        taken = _idle.pop() if _idle else None
    if taken is None or taken.process.poll() is not None:
        taken = Zygote()
    try:
        yield taken
    except BaseException:
        taken.close()
        raise
    with _lock:
        _idle.append(taken)


@atexit.register
def _end() -> None:
    while _idle:
        _idle.pop().close()


def _forget() -> None:
    _idle.clear()


os.register_at_fork(after_in_child=_forget)


def record(
    job: Json, files: Mapping[str, str], *, seconds: float = 60, compile_seconds: float = 120, allow_unconfined: bool = False
) -> tuple[Json, Talk]:
    """Runs a job in a folder of its own that holds `files`; what was recorded, and what was compiled for it."""
    require_confinement(allow_unconfined)
    seconds, compile_seconds = waits.seconds(seconds), waits.seconds(compile_seconds)
    with tempfile.TemporaryDirectory(prefix="volta-job-", ignore_cleanup_errors=True) as name, _zygote() as zygote:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text)
        talk = Talk(folder, compile_seconds, allow_unconfined)
        extension = job.get("extension")
        if isinstance(extension, compiler.Built):
            own = folder / f"{extension.module}.so"
            shutil.copyfile(extension.file, own)
            job = {**job, "extension": extension.answer(str(own))}
        limits = asdict(confine.Limits(cpu=int(seconds) + 5))
        # Compilation is bounded by itself, and the child waits for it.
        asked = {**job, "folder": name, "read": _readable(), "limits": limits, "unconfined": allow_unconfined}
        return zygote.run(asked, seconds + compile_seconds, talk), talk


@functools.cache
def _readable() -> list[str]:
    """What a recording may read: the interpreter and its packages."""
    here = str(Path(__file__).parent.parent.parent)
    system = [
        "/usr/lib",
        "/lib",
        "/lib64",
        "/usr/share/zoneinfo",
        "/etc/ld.so.cache",
        "/dev/null",
        "/dev/urandom",
        "/proc/cpuinfo",
        "/sys/devices/system/cpu",
    ]
    return [*system, sys.prefix, sys.base_prefix, *compiler.packages(), f"{here}/volta"]
