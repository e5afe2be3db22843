"""A process that imported torch once and forks for each job; it runs nothing foreign itself.

It takes one job at a time from its parent, over a socket that carries the job's two pipes. The child is confined before it
reads a line of foreign text; when it ended or its time is over it is killed, and only then does the parent hear of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time


def main(descriptor: int) -> None:
    """Serves jobs until the socket closes."""
    import torch

    from . import bridge, confine, job  # noqa: F401  (imported before the fork)

    torch.set_num_threads(1)
    with contextlib.suppress(Exception):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            torch.zeros(1) + 1
        # What the first trace imports is imported once.
        from ..arg import array
        from ..trace import formula_of

        formula_of(torch.nn.ReLU(), {"x": array((2,))}, library="torch")
    wire = socket.socket(fileno=descriptor)
    wire.sendall(b"ready\n")
    while True:
        data, pipes, _, _ = socket.recv_fds(wire, 1 << 20, 2)
        if not data:
            return
        asked = json.loads(data)
        child = os.fork()
        if child == 0:
            wire.close()
            _child(asked, pipes[0], pipes[1])
        for p in pipes:
            os.close(p)
        wire.sendall(json.dumps(_wait(child, asked["seconds"], wire)).encode() + b"\n")


def _wait(child: int, seconds: float, wire: socket.socket) -> dict[str, object]:
    """Waits for a child and kills it at its time, or when the parent, which asks for nothing in the meantime, is gone."""
    handle = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([handle, wire.fileno()], [], [], seconds)
        if handle not in ready:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
    finally:
        os.close(handle)
    return {"status": status, "late": handle not in ready, "cpu": usage.ru_utime + usage.ru_stime}


def _child(asked: dict[str, object], read: int, write: int) -> None:
    from . import bridge, confine, job

    code = 1
    # No one else in this process has it.
    secret = str(asked.pop("secret"))
    try:
        folder = str(asked["folder"])
        os.chdir(folder)
        null = os.open("/dev/null", os.O_RDWR)
        log = os.open(f"{folder}/log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for target, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, target)
        limits = confine.Limits(**asked["limits"])  # type: ignore[arg-type]
        reads = [str(p) for p in asked["read"]]  # type: ignore[attr-defined]
        confine.enter(
            reads, [folder], programs=False, limits=limits, keep=(read, write), allow_unconfined=bool(asked["unconfined"])
        )
        bridge.state = bridge.State()
        job.main(asked, job.Channel(read, write, secret))
        code = 0
    except BaseException as e:
        with contextlib.suppress(OSError):
            ended = {"stopped": "confinement", "message": f"{type(e).__name__}: {e}", "events": [], "gaps": [], "storages": []}
            os.write(write, f"{secret}{json.dumps({'done': ended})}\n".encode())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    started = time.monotonic()
    main(int(sys.argv[1]))
