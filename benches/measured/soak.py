"""`volta serve` under a long load: 10,000 requests of eight clients, malformed, hanging and hostile ones among them.

    python benches/measured/soak.py VOLTA [REQUESTS]

Each request must be answered exactly once, by the verdict that it must get; a malformed line by `id: null`; workers are
killed on purpose meanwhile. Memory and open files of the server are those of its first tenth at the end, within a bound.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

SCALE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
    .reg .u32 %r<2>; .reg .u64 %d<5>; .reg .f32 %f<3>; .reg .pred %p<2>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [y];
    mov.u32 %r1, %tid.x;
{loop}
    mul.wide.u32 %d3, %r1, 4;
    add.u64 %d4, %d1, %d3;
    ld.global.f32 %f1, [%d4];
    {op} %f2, %f1, {by};
    add.u64 %d4, %d2, %d3;
    st.global.f32 [%d4], %f2;
    ret;
}}
"""
RIGHT = SCALE.format(loop="", op="mul.f32", by="0f40000000")
SAME = SCALE.format(loop="", op="add.f32", by="%f1")
WRONG = SCALE.format(loop="", op="mul.f32", by="0f40400000")
RACING = SCALE.format(loop="", op="mul.f32", by="%f1").replace("add.u64 %d4, %d2, %d3", "mov.u64 %d4, %d2")
HANGS = SCALE.format(loop="AGAIN:\n    bra AGAIN;", op="mul.f32", by="0f40000000")
LAUNCH = {"threads": 32, "args": {"0": "in:f32[32]", "1": "out:f32[32]"}}

#: What is asked, how often, and what must come of it: the verdicts, or `error`.
KINDS: dict[str, tuple[int, set[str]]] = {
    "right": (40, {"equivalent"}),
    "wrong": (25, {"not-equivalent"}),
    "racing": (10, {"defective"}),
    "hangs": (1, {"unknown", "defective"}),
    "no entry": (4, {"error"}),
    "no PTX": (6, {"error"}),
    "deep": (2, {"error", "unknown"}),
    "huge": (2, {"error", "unknown", "defective", "not-equivalent"}),
    "no handle": (4, {"error"}),
    "race": (6, {"clean"}),
}


def request(kind: str, handle: str) -> dict[str, Any]:
    """One request, but for its id."""
    text = {"right": SAME, "wrong": WRONG, "racing": RACING, "hangs": HANGS, "race": SAME}.get(kind, SAME)
    check = {"op": "check", "handle": handle, "optimized": {"text": text, "name": "c.ptx"}, "launch": {}, "timeout": 20}
    if kind == "race":
        return {"op": "race", "kernel": {"text": text, "name": "c.ptx"}, "launch": LAUNCH, "timeout": 20}
    if kind == "hangs":
        return check | {"timeout": 0.5}
    if kind == "no entry":
        return check | {"optimized": {"text": ".version 8.0\n.target sm_80\n.address_size 64\n", "name": "c.ptx"}}
    if kind == "no PTX":
        return check | {"optimized": {"text": "\u0000]]{{" * 50, "name": "c.ptx"}}
    if kind == "deep":
        return check | {"optimized": {"text": SAME.replace("ret;", "{" * 3000 + "ret;"), "name": "c.ptx"}}
    if kind == "huge":
        return check | {"launch": {"grid": [2147483647, 65535, 65535]}, "timeout": 0.5}
    return check | ({"handle": "h999999"} if kind == "no handle" else {})


def memory(pid: int) -> int:
    """Resident bytes of a process and all that it started."""
    total = 0
    for p in [pid, *children(pid)]:
        try:
            fields = Path(f"/proc/{p}/statm").read_text().split()
            total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    try:
        return [int(c) for t in Path(f"/proc/{pid}/task").iterdir() for c in (t / "children").read_text().split()]
    except OSError:
        return []


class Client(threading.Thread):
    """Reads all answers."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self.server, self.answers, self.stray, self.twice = server, dict[int, Any](), 0, 0
        self.room = threading.Semaphore(8)

    def run(self) -> None:
        assert self.server.stdout is not None
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer["id"] is None:
                self.stray += 1
                continue
            self.twice += answer["id"] in self.answers
            self.answers[answer["id"]] = answer
            self.room.release()


def outcome(answer: dict[str, Any]) -> str:
    """The verdict of an answer, or `error`."""
    return str(answer["result"]["verdict"]) if answer.get("ok") and "result" in answer else "error"


def main() -> None:
    """Runs it and prints a table; the status is 1 where something is not as it must be."""
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    choose = random.Random(7)
    server = subprocess.Popen([sys.argv[1], "serve", "--jobs", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    client = Client(server)
    client.start()
    started, asked, malformed, killed, early = time.time(), {}, 0, 0, 0

    def send(line: str) -> None:
        assert server.stdin is not None
        server.stdin.write(line + "\n")
        server.stdin.flush()

    client.room.acquire()
    send(json.dumps({"id": 0, "op": "prepare", "reference": {"text": RIGHT, "name": "r.ptx"}, "launch": LAUNCH}))
    while 0 not in client.answers:
        time.sleep(0.01)
    handle = client.answers[0]["handle"]
    kinds = choose.choices(list(KINDS), [w for w, _ in KINDS.values()], k=count)
    for at, kind in enumerate(kinds, 1):
        client.room.acquire()
        asked[at] = kind
        send(json.dumps({"id": at, **request(kind, handle)}))
        if at % 50 == 0:
            send(choose.choice(['{"id": ', "[" * 5000, "\u00ff\u0000", "null", '{"id": {"a": 1}, "op": 7}', "x" * 100_000]))
            malformed += 1
        if at % 500 == 0 and (workers := children(server.pid)):
            os.kill(choose.choice(workers), signal.SIGKILL)
            killed += 1
        if at == count // 10:
            early = memory(server.pid)
    while len(client.answers) < count + 1 and server.poll() is None and time.time() - started < 7200:
        time.sleep(0.05)
    late, files = memory(server.pid), len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
    server.stdin.close()
    status = server.wait(60)
    seconds = time.time() - started
    found: dict[str, Counter[str]] = {k: Counter() for k in KINDS}
    for at, kind in asked.items():
        found[kind][outcome(client.answers[at]) if at in client.answers else "lost"] += 1
    # A worker that is killed costs what it was at: that is unknown.
    wrong = sum(n for k, c in found.items() for v, n in c.items() if v not in KINDS[k][1])
    for kind, outcomes in found.items():
        print(f"{kind}: {dict(outcomes)}")
    print(
        f"{count} requests in {seconds:.0f} s; {malformed} malformed lines, {client.stray} answered without an id; {killed} workers killed"
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{1000 * (used.ru_utime + used.ru_stime) / count:.1f} ms of processor time for each request")
    print(
        f"resident after a tenth {early >> 20} MiB, at the end {late >> 20} MiB; {files} open files; the server ends with {status}"
    )
    lost = count - sum(1 for at in asked if at in client.answers)
    fine = lost == 0 and client.twice == 0 and wrong <= 2 * killed and status == 0 and late < 2 * early + (64 << 20) and files < 64
    print("as it must be" if fine else f"NOT as it must be: {lost} lost, {client.twice} twice, {wrong} unexpected")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
