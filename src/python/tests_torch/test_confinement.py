"""Foreign code tries to break each part of its confinement, and fails."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from volta.host import compiler, confine, worker

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(bool(confine.missing()), reason="the kernel cannot confine foreign code")

MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.zeros(4)]
def get_init_inputs():
    return []
"""


def attack(body: str, seconds: float = 20) -> str:
    """The message with which a task ends that runs `body` and reports `said`."""
    text = MODEL + "\nimport os, ctypes, socket, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    text += "def attempt():\n" + "".join(f"    {line}\n" for line in body.strip().splitlines())
    text += "try:\n    said = attempt()\nexcept BaseException as e:\n    said = f'denied {type(e).__name__} {e}'\n"
    text += "raise RuntimeError(f'said: {said}')\n"
    found, _ = worker.record(
        {"kind": "model", "model": "Model", "real": True, "file": "task.py"}, {"task.py": text}, seconds=seconds
    )
    return str(found.get("message"))


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "cache.key"
    path.write_text("the key")
    return path


def test_the_attack_itself_runs() -> None:
    assert "said: 3" in attack("return 1 + 2")


def test_files_of_others_are_denied(secret: Path) -> None:
    for path in (secret, Path("/etc/passwd"), Path("/proc/self/environ"), Path("/proc/1/cmdline")):
        assert "denied PermissionError" in attack(f"return open({str(path)!r}, 'rb').read()"), path
    assert "denied" in attack(f"return os.listdir({str(secret.parent)!r})")


def test_nothing_is_written_but_the_own_folder(secret: Path) -> None:
    before = secret.read_bytes(), secret.stat().st_mode, secret.stat().st_mtime_ns
    for body in (
        f"open({str(secret.parent / 'new')!r}, 'w')",
        f"open({str(secret)!r}, 'w')",
        f"os.truncate({str(secret)!r}, 0)",
        f"os.chmod({str(secret)!r}, 0o777)",
        f"os.utime({str(secret)!r})",
        f"os.rename({str(secret)!r}, 'mine')",
        f"os.link({str(secret)!r}, 'mine')",
        f"os.unlink({str(secret)!r})",
        f"open({compiler.__file__!r}, 'a')",
        f"open({str(compiler.cache() / 'x')!r}, 'w')",
    ):
        assert "denied" in attack(body), body
    assert before == (secret.read_bytes(), secret.stat().st_mode, secret.stat().st_mtime_ns)
    assert "said: 1" in attack("return open('mine', 'w').write('x')")


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOLTA_CACHE_KEY", "c0ffee")
    said = attack("return sorted(os.environ)")
    assert "VOLTA_CACHE_KEY" not in said
    assert "PATH" in said


def test_the_network_is_denied() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    assert "denied" in attack(f"return socket.create_connection(('127.0.0.1', {port}), 2)")
    for family, kind in ((2, 2), (1, 1), (10, 2), (16, 3), (17, 3)):
        assert "said: -1" in attack(f"return libc.socket({family}, {kind}, 0)")
    assert "said: -1" in attack("return libc.syscall(425, 8, 0)"), "io_uring"
    server.close()


def test_no_process_is_started_or_reached() -> None:
    for body in (
        "os.fork()",
        "os.system('true') == 0 or 1/0",
        "os.execv('/bin/true', ['true'])",
        "__import__('subprocess').run(['/bin/true'])",
    ):
        assert "denied" in attack(f"return {body}"), body
    for pid in (os.getpid(), os.getppid(), 1):
        assert "denied" in attack(f"return os.kill({pid}, 0)")
    assert "said: -1" in attack(f"return libc.ptrace(16, {os.getpid()}, 0, 0)")
    assert "said: -1" in attack("return libc.unshare(0x10000000)")
    assert "said: -1" in attack("return libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)")
    assert "said: 5" in attack(
        "import threading\nout = []\nt = threading.Thread(target=lambda: out.append(5))\nt.start()\nt.join()\nreturn out[0]"
    )


def test_descriptors_of_the_parent_are_closed() -> None:
    assert "said: [0, 1, 2" in attack("return [n for n in range(256) if libc.fcntl(n, 1, 0) >= 0][:8]")
    held = attack("return len([n for n in range(512) if libc.fcntl(n, 1, 0) >= 0])")
    assert int(held.split()[-1]) <= 6


def test_time_and_memory_are_bounded() -> None:
    message = attack("while True: pass", seconds=3)
    assert "did not end in time" in message or "signal" in message
    assert "denied MemoryError" in attack("return len(bytearray(1 << 40))")
    assert "denied" in attack("f = open('big', 'wb')\nfor _ in range(400): f.write(bytes(1 << 20))")


def test_a_forged_answer_is_no_crash() -> None:
    forged = "for n in range(3, 64):\n    try: os.write(n, b'{\"done\": 7}\\n[[[[\\n')\n    except OSError: pass\nos._exit(0)"
    assert attack(forged) == "something else than the recorder wrote to its channel"
    assert "said: 3" in attack("return 3"), "the next job is another process"


def test_compilers_read_no_other_files(secret: Path) -> None:
    asked = {"cpp": [], "cuda": [f'#include "{secret}"\n__global__ void k() {{}}'], "functions": None, "flags": [], "program": True}
    with pytest.raises(compiler.Failed) as failed:
        compiler.build(asked)
    assert "the key" not in str(failed.value)
    asked["cuda"] = [f'__global__ void k() {{}}\nasm(".section .data\\n.incbin \\"{secret}\\"\\n");\nint main() {{ return 0; }}']
    with pytest.raises(compiler.Failed):
        compiler.build(asked)


def test_without_the_kernels_help_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import volta

    monkeypatch.setattr(confine, "landlock_version", lambda: 0)
    r = volta.judge(MODEL, MODEL)
    assert r.verdict == "unknown"
    assert "Landlock" in r.hint
    with pytest.raises(volta.Error, match="Landlock"):
        volta.extension("int main() { return 0; }\n")
