"""Confinement of foreign code: what a process may still do once `enter` returned.

A candidate's Python, its host code, `get_inputs` and the compilers that read its text run in processes that called `enter`. Four
layers of the kernel are stacked, so that a gap of one is covered by another: Landlock (no path but those listed, no TCP, no signal
out of its own domain), a seccomp filter (a list of what is allowed: no socket, no ptrace, no change of owner, mode or time of a
file, no new namespace, and no new process or program but for compilers), namespaces (no network interface, users, processes), and
limits of resources. Files are denied by Landlock alone and the network by seccomp, so those two are what `missing` asks for:
where one is absent nothing foreign may run. Sound is the direction "denied": a call that the filter does not list fails.

Not claimed: that a process cannot use its time and memory up to the limits, or that it does not see which machine this is.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import resource
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 38, 22, 1, 4
_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
_CLONE_THREAD, _CLONE_ANY_NEW = 0x00010000, 0x7E020080

# Rights of Landlock, in the order of its bits; how many of them a kernel knows follows from its version.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG, _MAKE_SYM = 16, 32, 128, 256, 4096
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_OWN = _READ_FILE | _READ_DIR | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE

#: Calls of x86-64 that are allowed with any arguments, by number.
_ALLOWED = (
    *(
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        17,
        18,
        19,
        20,
        21,
        22,
        23,
        24,
        25,
        26,
        27,
        28,
        32,
        33,
    ),  # files, memory, signals
    *(35, 36, 37, 38, 39, 40, 60, 61, 63, 72, 73, 74, 75, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 95, 96, 97, 98, 99),
    *(100, 102, 104, 107, 108, 110, 111, 115, 118, 120, 121, 124, 131, 137, 138, 140, 143, 145, 146, 147, 157, 158, 186, 201, 202),
    *(203, 204, 213, 217, 218, 221, 228, 229, 230, 231, 232, 233, 239, 247, 257, 258, 262, 263, 264, 265, 266, 267, 269, 270, 271),
    *(273, 274, 281, 285, 290, 291, 292, 293, 309, 316, 318, 324, 326, 332, 334, 436, 439),
)
_IOCTL, _CLONE, _FORK, _VFORK, _EXECVE, _TGKILL, _PRLIMIT, _CLONE3, _EXECVEAT = 16, 56, 57, 58, 59, 234, 302, 435, 322
#: Requests of `ioctl` that only ask about a terminal or a descriptor: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_AUDIT_X86_64 = 0xC000003E


@dataclass(frozen=True)
class Limits:
    """Limits of one confined process: seconds of CPU, bytes of address space, bytes of a file, processes."""

    cpu: int = 60
    memory: int = 24 << 30
    file: int = 256 << 20
    files: int = 512


class Refused(OSError):
    """The kernel refused a layer that `missing` said it has."""


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(*args: object) -> int:
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return int(_libc().syscall(*values))


def landlock_version() -> int:
    """The version of Landlock that the kernel has; 0 without it."""
    if platform.machine() != "x86_64":
        return 0
    found = _syscall(_LANDLOCK_CREATE, 0, 0, 1)
    return max(found, 0)


def missing() -> list[str]:
    """What the kernel lacks for foreign code to run; empty where it can."""
    out = []
    if os.name != "posix" or platform.system() != "Linux":
        return ["Linux (Landlock, seccomp)"]
    # Before version 3 a file outside of the listed folders could be truncated.
    if landlock_version() < 3:
        out.append("Landlock (version 3, Linux 6.2), which denies files")
    if platform.machine() != "x86_64":
        out.append(f"a seccomp filter for {platform.machine()}, which denies the network")
    elif not _has_seccomp():
        out.append("seccomp filters, which deny the network")
    return out


def _has_seccomp() -> bool:
    with contextlib.suppress(OSError):
        return any(line.startswith("Seccomp:") for line in Path("/proc/self/status").read_text().splitlines())
    return False


def enter(
    read: Iterable[str],
    write: Iterable[str],
    *,
    programs: bool,
    limits: Limits,
    keep: Sequence[int] = (),
    allow_unconfined: bool = False,
) -> list[str]:
    """Confines this process for good: `read` and `write` are what it may open, `programs` whether it may start others (compilers).

    `keep` are the descriptors that stay open beside the standard ones. The process has one thread. Returns the layers that
    were refused though nothing depends on them alone. Raises `Refused` where files or the network are not denied.
    """
    _close_others(keep)
    _limit(limits)
    _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    notes = _namespaces(programs)
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise Refused("no_new_privs was refused")
    with contextlib.suppress(*([Refused] if allow_unconfined else [])):
        _landlock(read, write, programs)
    with contextlib.suppress(*([Refused] if allow_unconfined else [])):
        _seccomp(programs)
    return notes


def _close_others(keep: Sequence[int]) -> None:
    kept = sorted({0, 1, 2, *keep})
    for low, high in zip(kept, [*kept[1:], resource.getrlimit(resource.RLIMIT_NOFILE)[0]]):
        os.closerange(low + 1, min(high, 1 << 20))


def _limit(limits: Limits) -> None:
    for what, value in (
        (resource.RLIMIT_CPU, limits.cpu),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def _namespaces(programs: bool) -> list[str]:
    # A process whose children are to be in another namespace of processes can start no thread.
    kinds = _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC | (_CLONE_NEWPID if programs else 0)
    if _libc().unshare(kinds) != 0:
        return ["namespaces of users, network and processes were refused"]
    if programs:
        child = os.fork()
        if child:
            # With the first process of a namespace all others of it end.
            os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
        _libc().prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
    return []


def _landlock(read: Iterable[str], write: Iterable[str], programs: bool) -> None:
    version = landlock_version()
    if version < 3:
        raise Refused("Landlock is missing")
    handled = _RIGHTS[5 if version >= 5 else 3]
    net = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0
    rules = struct.pack("QQQ", handled, net, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    buffer = ctypes.create_string_buffer(rules, len(rules))
    ruleset = _syscall(_LANDLOCK_CREATE, ctypes.byref(buffer), len(rules), 0)
    if ruleset < 0:
        raise Refused("Landlock refused a ruleset")
    look = _READ_FILE | _READ_DIR | (_EXECUTE if programs else 0)
    own = _OWN | (_EXECUTE if programs else 0)
    try:
        for paths, rights in ((read, look), (write, own), (("/dev/null",), _READ_FILE | _WRITE_FILE)):
            for path in sorted(set(paths)):
                _allow(ruleset, path, rights)
        if _syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
            raise Refused("Landlock refused to restrict this process")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # What does not exist needs no rule.
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place), 12)
        if _syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.byref(rule), 0) != 0:
            raise Refused(f"Landlock refused a rule for {path}")
    finally:
        os.close(place)


# One instruction of the kernel's packet filter: code, jumps if true and false, operand.
_LOAD, _JEQ, _JSET, _JGE, _RET = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38


def _op(code: int, operand: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, operand)


def _when(number: int, body: Sequence[bytes]) -> list[bytes]:
    """What to do for one call; the body ends with a verdict."""
    return [_op(_JEQ, number, 0, len(body)), *body]


def _argument(at: int) -> bytes:
    """Loads the low half of an argument; those that are tested here have no high half."""
    return _op(_LOAD, 16 + 8 * at)


def filter_program(programs: bool) -> bytes:
    """The seccomp filter: what is not listed fails with EPERM."""
    allow, deny = _op(_RET, _ALLOW), _op(_RET, _ERRNO | _EPERM)
    out = [_op(_LOAD, 4), _op(_JEQ, _AUDIT_X86_64, 1, 0), _op(_RET, _KILL), _op(_LOAD, 0)]
    # Calls of the x32 interface have numbers from 2^30 on.
    out += [_op(_JGE, 0x40000000, 0, 1), _op(_RET, _KILL)]
    for number in _ALLOWED:
        out += _when(number, [allow])
    # glibc asks for clone where clone3 is unknown; its flags can be read there.
    out += _when(_CLONE3, [_op(_RET, _ERRNO | _ENOSYS)])
    if programs:
        out += _when(_CLONE, [_argument(0), _op(_JSET, _CLONE_ANY_NEW & ~0x80, 0, 1), deny, allow])
        for number in (_FORK, _VFORK, _EXECVE, _EXECVEAT):
            out += _when(number, [allow])
    else:
        out += _when(_CLONE, [_argument(0), _op(_JSET, _CLONE_THREAD, 0, 1), allow, deny])
    ioctls = [_argument(1)]
    for request in _IOCTLS:
        ioctls += [_op(_JEQ, request, 0, 1), allow]
    out += _when(_IOCTL, [*ioctls, deny])
    # abort() sends a signal to its own thread; to any other process it is denied by the number.
    own = [] if programs else [_argument(0), _op(_JEQ, os.getpid(), 0, 1), allow]
    out += _when(_TGKILL, [*own, deny])
    out += _when(_PRLIMIT, [_argument(0), _op(_JEQ, 0, 0, 1), allow, deny])
    out.append(deny)
    return b"".join(out)


def _seccomp(programs: bool) -> None:
    if platform.machine() != "x86_64":
        raise Refused("seccomp has no filter for this machine")
    program = filter_program(programs)
    text = ctypes.create_string_buffer(program, len(program))
    described = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(text)), 16)
    if _libc().prctl(_PR_SET_SECCOMP, 2, ctypes.byref(described), 0, 0) != 0:
        raise Refused("the seccomp filter was refused")


def main(asked: dict[str, Any]) -> int:
    """Confines this process and runs programs side by side; the first status that is not 0."""
    os.chdir(asked["folder"])
    limits = Limits(**asked["limits"])
    enter(asked["read"], [asked["folder"]], programs=True, limits=limits, allow_unconfined=asked["unconfined"])
    running = []
    for at, command in enumerate(asked["commands"]):
        with open(f"out{at}.txt", "wb") as out:
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
    return max((abs(p.wait()) & 255 for p in running), default=0)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
