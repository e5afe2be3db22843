"""The CUDA driver by ctypes: modules, memory and launches of one device; nothing of a toolkit is needed beside it.

Parameters of a launch are one buffer of bytes, laid out as the PTX manual lays out the parameter space of an entry (section
5.1.6, "Kernel Function Parameter Attributes", and 7.1): each at the next multiple of its alignment, in the order of the text.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LIBRARY = "libcuda.so.1"

MAJOR, MINOR = 75, 76
"""Attributes of a device: its compute capability."""
DYNAMIC_SHARED = 8
"""The attribute of a function that lets it have more than 48 KiB of shared memory."""
POINTER, SIZE, END = 1, 2, 0
"""What the words of the last argument of a launch are."""


class NoDevice(Exception):
    """There is no driver here, or it has no device."""


class DriverError(Exception):
    """A call of the driver failed."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of an entry: its name, the type of a scalar or None of bytes, and its place."""

    name: str
    type: str | None
    offset: int
    bytes: int


def parameters(text: str, entry: str) -> list[Parameter]:
    """The parameters of an entry of a PTX text, laid out."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*(?:\((.*?)\))?\s*(?=[.{;])", text, flags=re.S)
    if not found:
        raise ValueError(f"there is no entry {entry}")
    out: list[Parameter] = []
    at = 0
    for one in (found[1] or "").split(","):
        if not one.strip():
            continue
        parts = re.fullmatch(r"\s*\.param\s+(.*?)\s*(?:\[\s*(\d*)\s*\])?\s*", one, flags=re.S)
        if not parts:
            raise ValueError(f"the parameter {one.strip()!r}")
        head, array = parts.groups()
        *words, name = head.split()
        kind = next(w[1:] for w in words if re.fullmatch(r"\.[busf]\d+", w))
        size = int(kind[1:]) // 8
        asked = re.search(r"\.align\s+(\d+)", head)
        # `.ptr .align N` is the alignment of what a pointer points to.
        align = int(asked[1]) if asked and ".ptr" not in words else size
        at = -(-at // align) * align
        total = size * int(array) if array else size
        out.append(Parameter(name, None if array else kind, at, total))
        at += total
    return out


def packed(layout: Sequence[Parameter], values: Sequence[bytes]) -> bytes:
    """The parameter space with values in it, each as long as its parameter."""
    end = max((p.offset + p.bytes for p in layout), default=0)
    out = bytearray(end)
    if len(values) != len(layout):
        raise ValueError(f"{len(values)} values for {len(layout)} parameters")
    for p, value in zip(layout, values):
        if len(value) != p.bytes:
            raise ValueError(f"{len(value)} bytes for {p.name}, which has {p.bytes}")
        out[p.offset : p.offset + p.bytes] = value
    return bytes(out)


class Driver:
    """One device, its primary context current."""

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            self.lib = ctypes.CDLL(library)
        except OSError as e:
            raise NoDevice(f"no CUDA driver: {e}") from e
        count, device = ctypes.c_int(), ctypes.c_int()
        try:
            self.call("cuInit", 0)
            self.call("cuDeviceGetCount", ctypes.byref(count))
            if count.value == 0:
                raise NoDevice("the CUDA driver has no device")
            self.call("cuDeviceGet", ctypes.byref(device), 0)
        except DriverError as e:
            raise NoDevice(str(e)) from e
        self.device = device
        self.open()

    def call(self, name: str, *args: Any) -> None:
        code = getattr(self.lib, name)(*args)
        if code:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(code, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'error').decode()} ({code})")

    def open(self) -> None:
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)

    def reset(self) -> None:
        """A context of its own for what comes next: a kernel that faulted leaves its own unusable."""
        self.lib.cuDevicePrimaryCtxReset_v2(self.device)
        self.open()

    def name(self) -> str:
        out = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", out, len(out), self.device)
        return out.value.decode()

    def version(self) -> int:
        out = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(out))
        return out.value

    def target(self) -> str:
        """The target of its own, with what only this architecture has."""
        numbers = []
        for attribute in (MAJOR, MINOR):
            out = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(out), attribute, self.device)
            numbers.append(out.value)
        return f"sm_{numbers[0]}{numbers[1]}" + ("a" if numbers[0] >= 9 else "")

    def module(self, cubin: bytes) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(out), ctypes.c_char_p(cubin))
        return out

    def unload(self, module: ctypes.c_void_p) -> None:
        self.call("cuModuleUnload", module)

    def run(
        self,
        module: ctypes.c_void_p,
        entry: str,
        launch: tuple[Sequence[int], Sequence[int], int],
        layout: Sequence[Parameter],
        arguments: Sequence[bytes | bytearray],
    ) -> list[bytes | None]:
        """Runs an entry once: a `bytearray` is memory that its parameter points to. What each memory holds afterwards."""
        function, shared = ctypes.c_void_p(), launch[2]
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        if shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, DYNAMIC_SHARED, shared)
        memories: list[ctypes.c_uint64 | None] = []
        try:
            values = []
            for x in arguments:
                memories.append(None)
                if isinstance(x, bytearray):
                    memories[-1] = at = ctypes.c_uint64()
                    self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(len(x), 1)))
                    self.call("cuMemcpyHtoD_v2", at, bytes(x), ctypes.c_size_t(len(x)))
                    values.append(at.value.to_bytes(8, "little"))
                else:
                    values.append(x)
            self.launch(function, launch, packed(layout, values))
            self.call("cuCtxSynchronize")
            return [None if at is None else self.held(at, len(x)) for at, x in zip(memories, arguments)]
        finally:
            for memory in memories:
                if memory is not None and memory.value:
                    self.lib.cuMemFree_v2(memory)

    def launch(self, function: ctypes.c_void_p, launch: tuple[Sequence[int], Sequence[int], int], space: bytes) -> None:
        grid, block, shared = launch
        buffer = ctypes.create_string_buffer(space, max(len(space), 1))
        size = ctypes.c_size_t(len(space))
        words = [POINTER, ctypes.addressof(buffer), SIZE, ctypes.addressof(size), END]
        extra = (ctypes.c_void_p * len(words))(*words)
        self.call("cuLaunchKernel", function, *grid, *block, shared, None, None, extra)

    def held(self, at: ctypes.c_uint64, size: int) -> bytes:
        out = ctypes.create_string_buffer(max(size, 1))
        self.call("cuMemcpyDtoH_v2", out, at, ctypes.c_size_t(size))
        return out.raw[:size]
