"""Programs that answer wrongly, late, or never, and interpreters that are interrupted or killed: nothing hangs, nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ENDLESS, TWICE

import volta
from volta import arg, server, waits

HERE = Path(__file__).parent
#: Says who it is as volta does, then hands each further request to what follows.
GREETS = """
import json, os, sys, time

def say(answer):
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()

def requests():
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "version":
            say({"id": request["id"], "ok": True, "result": {"volta": "0.2.0", "schema": "volta/2"}})
        else:
            yield request
"""
REPORT = '{"verdict": "clean", "defects": [], "warnings": [], "unknown": []}'

#: Programs that do not say that they are volta, by what they do.
STRANGERS = {
    "ends at once": ("", "ended with status 0"),
    "fails": ("sys.exit(2)", "ended with status 2"),
    "dies": ("os.abort()", "ended with status -6"),
    "says nothing": ("time.sleep(100)", "does not say who it is within"),
    "says nothing and reads": ("for line in sys.stdin: pass", "does not say who it is within"),
    "closes its output": ("os.close(1); time.sleep(100)", "closed its output"),
    "says something else": ("print('usage: serve', flush=True); time.sleep(100)", "it says usage: serve"),
    "says bytes": (r"os.write(1, b'\xff\xfe\x00\x1b[31m\n'); time.sleep(100)", r"u\{1b\}"),
    "says a list": ("print([], flush=True); time.sleep(100)", r"it says \[\]"),
    "says zeros for ever": ("while True: os.write(1, bytes(1 << 16))", "a line of more than"),
    "says lines for ever": ("while True: os.write(1, b'y\\n' * 999)", "it says y"),
    "nests": ("print('[' * 60000, flush=True); time.sleep(100)", "does not answer as volta"),
    "says a long number": ("print('{\"id\": ' + '9' * 9999 + '}', flush=True); time.sleep(100)", "does not answer as volta"),
    "repeats": ("for line in sys.stdin: print(line, end='', flush=True)", "another program of this name"),
    "has no id": ("print('{\"ok\": true}', flush=True); time.sleep(100)", "not understood"),
    "has another id": ("print('{\"id\": 77}', flush=True); time.sleep(100)", "was not made, 77"),
    "has a true id": ("print('{\"id\": true}', flush=True); time.sleep(100)", "was not made, True"),
    # An answer that is there before its request is one to none.
    "answers nothing": (
        'sys.stdin.readline(); print(\'{"id": 1, "result": null}\', flush=True); time.sleep(100)',
        "another program",
    ),
    "is older": (
        "sys.stdin.readline();"
        'print(\'{"id": 1, "ok": true, "result": {"volta": "0.1.0", "schema": "volta/1"}}\', flush=True); time.sleep(100)',
        "speaks volta/1 where this package speaks volta/2",
    ),
}

#: Programs that say that they are volta, and what they do then.
ILL = {
    "understands nothing": (
        'for r in requests(): say({"id": None, "ok": False, "error": {"message": "\\x1b[2Jno"}})',
        r"not understood \(\\u\{1b\}\[2Jno\)",
    ),
    "says nothing": ("for r in requests(): pass", "does not answer any more"),
    "stops to read": ("next(requests()); time.sleep(100)", "does not answer any more"),
    "ends": ("next(requests()); sys.exit(3)", "ended with status 3"),
    "ends in a line": ("next(requests()); os.write(1, b'{\"id\"'); sys.exit(3)", "ended with status 3"),
    "closes its output": ("next(requests()); os.close(1); time.sleep(100)", "closed its output"),
    "says something else": ("next(requests()); print('panicked', flush=True); time.sleep(100)", "it says panicked"),
    "answers twice": (
        f'for r in requests(): say({{"id": r["id"], "ok": True, "result": {REPORT}}}); say({{"id": r["id"]}}); time.sleep(100)',
        None,
    ),
    "has no result": ('for r in requests(): say({"id": r["id"], "ok": True})', "something else than a report"),
    "has another result": ('for r in requests(): say({"id": r["id"], "ok": True, "result": {"verdict": []}})', "than a report"),
    "has another verdict": ('for r in requests(): say({"id": r["id"], "ok": True, "result": {"verdict": "yes"}})', "than a report"),
    "has other findings": (
        'for r in requests(): say({"id": r["id"], "ok": True, "result": {"verdict": "clean", "defects": [7]}})',
        "report of another form",
    ),
    "refuses without a word": ('for r in requests(): say({"id": r["id"], "ok": False})', "was refused"),
    "refuses in another form": (
        'for r in requests(): say({"id": r["id"], "ok": False, "error": {"message": 7, "sites": [8, {"file": [], "text": {}}]}})',
        "7",
    ),
    "is neither": ('for r in requests(): say({"id": r["id"], "ok": "yes"})', "was refused"),
}


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts another program in the place of volta; it is gone in the end, with all that it started."""
    begun = [s.process.pid for s in server._started]
    seen: list[int] = []

    def put(text: str) -> None:
        path = tmp_path / "volta"
        path.write_text(f"#!{sys.executable} -S\nimport os, sys, time\n{text}\n")
        path.chmod(0o755)
        server.get().close()
        monkeypatch.setenv(server.BINARY, str(path))
        for name, value in (("SILENT", 0.3), ("PATIENCE", 1.0), ("STARTED", 6.0)):
            monkeypatch.setattr(server, name, value)
        popen = subprocess.Popen.__init__

        def started(self: Any, *args: Any, **named: Any) -> None:
            popen(self, *args, **named)
            seen.append(self.pid)

        monkeypatch.setattr(subprocess.Popen, "__init__", started)

    yield put
    for one in list(server._started):
        one.close()
    monkeypatch.undo()
    assert seen
    assert not [p for p in seen if group(p)], "a program is left"
    assert volta.explain("data-race")
    assert len(server._started) == 1, begun


def group(leader: int) -> list[int]:
    """The processes of a group that still do something."""
    out = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = entry.read_text().rpartition(")")[2].split()[:3]
            out += [int(entry.parent.name)] * (int(of) == leader and state != "Z")
    return out


def ends(leader: int, within: float) -> bool:
    """Whether a group of processes is gone soon."""
    deadline = time.monotonic() + within
    while group(leader):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("name", STRANGERS)
def test_a_program_that_is_not_volta_is_an_error(name: str, other: Any) -> None:
    text, message = STRANGERS[name]
    other(text)
    begun = time.monotonic()
    with pytest.raises(volta.ServerError, match=message):
        volta.explain("data-race")
    assert time.monotonic() - begun < 12


@pytest.mark.parametrize("name", ILL)
def test_a_program_that_is_ill_is_an_error(name: str, other: Any, xy: list[arg.Array]) -> None:
    text, message = ILL[name]
    other(GREETS + text)
    begun = time.monotonic()
    with pytest.raises(volta.Error, match=message) if message else contextlib.nullcontext():
        volta.race(TWICE, args=xy, block=8, timeout=0.1)
    # Whatever it was, a second question has an end as well.
    with contextlib.suppress(volta.Error):
        volta.race(TWICE, args=xy, block=8, timeout=0.1)
    assert time.monotonic() - begun < 15


def test_a_request_that_is_not_read_blocks_nothing(other: Any, xy: list[arg.Array]) -> None:
    other(
        GREETS + 'sys.stdin.readline(); say({"id": 1, "ok": True, "result": {"volta": "1", "schema": "volta/2"}}); time.sleep(100)'
    )
    begun = time.monotonic()
    with pytest.raises(volta.ServerError, match="does not answer any more"):
        volta.race(TWICE + "//" + "x" * (32 << 20) + "\n", args=xy, block=8, timeout=1)
    assert time.monotonic() - begun < 12


@pytest.mark.parametrize("path", ["/", "/dev/null", "/etc/passwd", "/nowhere/volta", "/bin/true", "/bin/cat", "a\x1b[2Jb\u202e"])
def test_a_path_that_is_no_program(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server.get().close()
    monkeypatch.setenv(server.BINARY, path)
    with pytest.raises(volta.ServerError) as e:
        volta.explain("data-race")
    assert server.BINARY in str(e.value) or "ended with status" in str(e.value)
    assert not any(c in str(e.value) for c in "\x1b\u202e")


TIMEOUTS = [float("inf"), float("-inf"), float("nan"), -1, -1e-9, 1e300, 10**400, "5", "x", b"1", True, [1], {}]


@pytest.mark.parametrize("timeout", TIMEOUTS, ids=lambda v: repr(v)[:12])
def test_a_timeout_is_a_finite_number_of_seconds(timeout: Any, xy: list[arg.Array]) -> None:
    prepared = volta.prepare(TWICE, args=xy, block=8)
    asked = (
        lambda: volta.race(TWICE, args=xy, block=8, timeout=timeout),
        lambda: prepared.check(TWICE, timeout=timeout),
        lambda: list(prepared.check_many([TWICE], timeout=timeout)),
        lambda: volta.cuda("__global__ void k() {}", timeout=timeout),
    )
    for ask in asked:
        with pytest.raises(volta.InputError, match="finite number of seconds"):
            ask()


def test_numbers_of_numpy_are_seconds(xy: list[arg.Array]) -> None:
    import numpy as np

    given: list[Any] = [np.float32(60), np.int64(60), 60, 1e12, None]
    for timeout in given:
        assert volta.race(TWICE, args=xy, block=8, timeout=timeout).ok


def test_a_value_that_cannot_be_sent_is_an_error(xy: list[arg.Array]) -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    given: list[Any] = [[float("nan")], [object()], ["\ud800"], nested, ["x" * (65 << 20)]]
    for assume in given:
        with pytest.raises(volta.InputError):
            volta.race(TWICE, args=xy, block=8, assume=assume)
    with pytest.raises(volta.InputError, match=r"half of a surrogate pair .*u\{dc80\}"):
        volta.race(TWICE + "// \udc80\n", args=xy, block=8)
    with pytest.raises(volta.InputError):
        volta.explain("\udfff")


BIG = 8 << 20


@pytest.mark.parametrize(
    "text",
    [
        "x" * BIG,
        "\n" * BIG,
        " " * BIG + "\n",
        "\0" * BIG + "\n",
        ".version 8.0\n" + "\n" * BIG,
        ".version 8.0\n.entry k(.param .u64 " + "a" * BIG + "!)\n",
        ".version 8.0\n.entry k(" + ".param .u64 a[" * (BIG // 14) + ")\n",
        ".version 8.0\n.entry" + " " * BIG + "\n",
        ".version 8.0\n" + ".entry a(" * (BIG // 64) + "\n",
        ".version 8.0\n" + "/" * BIG + "\n",
        "__global__" + "(" * (BIG >> 6) + "\n",
    ],
    ids=range(11),
)
def test_a_long_text_has_an_answer(text: str, xy: list[arg.Array]) -> None:
    begun = time.monotonic()
    with pytest.raises(volta.Error) as e:
        volta.race(text, args=xy, block=8, timeout=5)
    assert len(str(e.value)) < 1 << 20
    assert time.monotonic() - begun < 60


def test_a_request_that_is_too_long_is_an_error(xy: list[arg.Array]) -> None:
    with pytest.raises(volta.InputError, match="takes 67108864 at most"):
        volta.race(".version 8.0\n//" + "x" * (64 << 20) + "\n", args=xy, block=8)
    assert volta.race(TWICE, args=xy, block=8).ok


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """Paths of what is no file that could be read."""
    os.mkfifo(tmp_path / "pipe.ptx")
    (tmp_path / "folder.ptx").mkdir()
    (tmp_path / "loop.ptx").symlink_to("loop.ptx")
    (tmp_path / "zero.ptx").symlink_to("/dev/zero")
    with (tmp_path / "large.ptx").open("wb") as large:
        large.truncate(1 << 40)
    (tmp_path / "bytes.ptx").write_bytes(b"\xff\xfe")
    return {
        str(tmp_path / "pipe.ptx"): "pipe or a device",
        str(tmp_path / "folder.ptx"): "folder",
        str(tmp_path / "loop.ptx"): "symbolic links",
        str(tmp_path / "zero.ptx"): "pipe or a device",
        str(tmp_path / "large.ptx"): "longer than 64 MiB",
        str(tmp_path / "bytes.ptx"): "utf-8",
        "/dev/zero": "pipe or a device",
        "/dev/stdin": "cannot read",
        "/nowhere/k.ptx": "No such file",
        "k\0.ptx": "null",
        "\udc80.ptx": r"u\{dc80\}",
        "x" * 5000 + ".ptx": "too long",
        "\x1b[2J\u202e\n.ptx": r"u\{1b\}\[2J\\u\{202e\}\\u\{a\}",
    }


def test_a_place_that_is_no_file_is_an_error(places: dict[str, str]) -> None:
    for path, message in places.items():
        for read in (volta.ptx, volta.cuda, volta.extension):
            with pytest.raises(volta.InputError, match=message) as e:
                read(Path(path))
            assert len(str(e.value)) < 1000
            assert not any(c in str(e.value) for c in "\x1b\u202e\udc80")


PRELUDE = f"""
import os, sys, threading, time
sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]
from concurrent.futures import ThreadPoolExecutor
from conftest import ENDLESS, TWICE
import volta
from volta import apart, arg, server
xy = [arg.input("f32", (8,)).named("x"), arg.output("f32", (8,)).named("y")]

def long(_=None):
    return volta.race(ENDLESS, args=xy, block=8, timeout=300)

def ready():
    # What is waited for is under way.
    time.sleep(1)
    print(server._server.process.pid if server._server else 0, flush=True)

threading.Thread(target=ready, daemon=True).start()
"""
CUDA = "['extern \"C\" __global__ void k(float* x, float* y) { // %d\\n}' % i for i in range(9)]"
#: Ways to wait, by name.
WAITING = {
    "a check": "long()",
    "threads": "with ThreadPoolExecutor(4) as pool: list(pool.map(long, range(9)))",
    "a pool without end": "pool = ThreadPoolExecutor(4); [pool.submit(long) for _ in range(9)]; time.sleep(300)",
    "plain threads": "ts = [threading.Thread(target=long) for _ in range(3)]; [t.start() for t in ts]; [t.join() for t in ts]",
    "many candidates": "list(volta.prepare(TWICE, args=xy, block=8).check_many([ENDLESS] * 9, timeout=300, jobs=4))",
    "a compiler": f"volta.cuda({CUDA}[0])",
    "compilers": f"list(volta.prepare(TWICE, args=xy, block=8).check_many({CUDA}, timeout=300, jobs=4))",
    "a call apart": "import contextlib; apart.call(lambda: time.sleep(300), 300, 'it', contextlib.nullcontext())",
}


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Any]:
    """Starts an interpreter that waits; it, and the groups of processes that it began."""
    compiler = tmp_path / "nvcc"
    compiler.write_text(f"#!/bin/sh\nsleep 300 &\necho $$ >> {tmp_path}/compilers\nwait\n")
    compiler.chmod(0o755)
    started: list[subprocess.Popen[str]] = []

    def start(text: str) -> tuple[subprocess.Popen[str], list[int]]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(text)],
            env={**os.environ, "NVCC": str(compiler)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        leader = int(process.stdout.readline())
        below = tmp_path / "compilers"
        groups = [os.getpgid(int(p)) for p in below.read_text().split()] if below.exists() else []
        children = Path(f"/proc/{process.pid}/task").glob("*/children")
        groups += [int(p) for c in children for p in c.read_text().split()]
        return process, sorted({*groups, *([leader] if leader else [])})

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", WAITING)
def test_an_interrupt_ends_what_waits(name: str, waiting: Any) -> None:
    process, groups = waiting(WAITING[name])
    assert groups
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begun < 3, errors
    assert process.returncode in (1, 130, -signal.SIGINT)
    assert "KeyboardInterrupt" in errors
    assert all(ends(g, 1) for g in groups)


@pytest.mark.parametrize("name", WAITING)
def test_a_killed_interpreter_leaves_nothing(name: str, waiting: Any) -> None:
    process, groups = waiting(WAITING[name])
    assert groups
    assert all(group(g) for g in groups)
    process.kill()
    process.communicate(timeout=30)
    assert all(ends(g, 5) for g in groups), [group(g) for g in groups]


def test_a_child_does_not_keep_the_program_of_its_parent(waiting: Any) -> None:
    process, groups = waiting("""
        volta.explain("data-race")
        if os.fork() == 0:
            assert volta.explain("data-race")
            time.sleep(8)
            os._exit(0)
        long()
    """)
    (leader,) = [g for g in groups if group(g)]
    process.kill()
    assert ends(leader, 5)


def test_who_takes_no_more_candidates_waits_for_none(xy: list[arg.Array]) -> None:
    begun = time.monotonic()
    for _ in volta.prepare(TWICE, args=xy, block=8).check_many([TWICE, *[ENDLESS] * 9], timeout=100, jobs=4):
        break
    assert time.monotonic() - begun < 10
    waits.look()
    assert volta.race(TWICE, args=xy, block=8).ok
