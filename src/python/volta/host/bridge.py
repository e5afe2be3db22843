"""What host code sees of torch and of the CUDA runtime while it is recorded. It runs in a confined worker only.

The stand-in's C++ calls the functions of this module by name. Tensors are torch's own, on the CPU (fake ones, without memory, at
declared shapes); on which device host code believes them to be is kept for each storage. An address on the device is made up
for each storage, 4 GiB apart, so that a parameter of a launch can be read back as a storage and an offset.

A storage is an input, a parameter, uninitialised, known (its contents follow from no input, and are taken when something first
reads it), or computed. Every operation of torch on what is not known becomes an event, as launches, copies and fills are; so does
every look of the host at such a value, since what the host does then depends on data.
"""

from __future__ import annotations

import base64
import ctypes
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Json = dict[str, Any]

_TYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
}
_NUMBERS = {v: k for k, v in _TYPES.items()}
_WORDS = {
    torch.uint8: "u8",
    torch.bool: "u8",
    torch.int8: "s8",
    torch.int16: "s16",
    torch.int32: "s32",
    torch.int64: "s64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
}
_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
_APART = 1 << 32
_SUCCESS, _INVALID_VALUE, _NO_MEMORY, _INVALID_CONFIGURATION, _UNKNOWN = 0, 1, 2, 9, 999
_DEVICE_MEMORY = 80 << 30
#: Bytes of known contents that an event carries.
_CONTENTS = 1 << 20


class Gap(Exception):
    """The stand-in lacks something that torch or the runtime has; it is noted, whoever catches this."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        state.gaps.append(what)


@dataclass
class Storage:
    """A piece of memory: where host code believes it to be, and what is known of its contents."""

    number: int
    base: int
    size: int
    type: str
    state: str  # input, parameter, empty, known, random or computed
    host: bool
    name: str | None = None
    used: bool = False
    origin: str = ""  # the state when something first used it
    contents: Json | None = None
    keep: Any = None

    def described(self) -> Json:
        """It as the parent reads it."""
        return {k: v for k, v in vars(self).items() if k not in ("keep", "base")}


@dataclass
class State:
    """Everything of one recording."""

    storages: dict[int, Storage] = field(default_factory=dict)
    by_number: list[Storage] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    operations: list[tuple[Json, Any, Any, Any]] = field(default_factory=list)
    kernels: dict[str, Json] = field(default_factory=dict)
    big_shared: dict[str, int] = field(default_factory=dict)
    next_base: int = 0x7F0000000000
    handles: int = 1
    allocated: int = 0
    arch: int = 80
    real: bool = True
    file: str = ""


state = State()


def place(t: torch.Tensor) -> Storage:
    """The storage of a tensor; one that was never seen is on the host, with contents that follow from no input."""
    kept = t.untyped_storage()
    key = int(kept._cdata)
    found = state.storages.get(key)
    if found is None:
        found = _new(kept.nbytes(), _WORDS.get(t.dtype, "u8"), "known", True)
        found.keep = (kept, t)
        state.storages[key] = found
    return found


def _new(size: int, kind: str, what: str, host: bool) -> Storage:
    made = Storage(len(state.by_number), state.next_base, size, kind, what, host)
    state.next_base += (size + _APART - 1) // _APART * _APART + _APART
    state.by_number.append(made)
    return made


def _line() -> int:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == state.file:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return 0


def event(kind: str, **more: Any) -> None:
    """Writes down what happened."""
    state.events.append({"event": kind, "line": _line(), **more})


def gap(what: str) -> int:
    """Something that cannot be recorded."""
    state.gaps.append(what)
    return _UNKNOWN


def view(t: torch.Tensor) -> Json:
    """A tensor as the parent reads it."""
    s = place(t)
    _use(s, t)
    return {
        "storage": s.number,
        "type": _WORDS.get(t.dtype, str(t.dtype)),
        "shape": list(t.shape),
        "strides": list(t.stride()),
        "offset": t.storage_offset(),
    }


def _use(s: Storage, t: torch.Tensor | None = None) -> None:
    """Takes the contents of a storage that something reads or writes for the first time."""
    if s.used:
        return
    s.used, s.origin = True, s.state
    if s.state in ("known", "parameter", "random"):
        s.contents = _contents(s, t)


def _contents(s: Storage, t: torch.Tensor | None) -> Json | None:
    if not state.real or s.keep is None:
        return None
    kept, first = s.keep
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        flat = torch.empty(0, dtype=first.dtype).set_(kept)
        if flat.numel() == 0:
            return {"fill": 0}
        if bool((flat == flat[0]).all()):
            return {"fill": flat[0].item()}
        if kept.nbytes() > _CONTENTS:
            return None
        data = ctypes.string_at(kept.data_ptr(), kept.nbytes())
    return {"bytes": base64.b64encode(data).decode()}


# What the stand-in's tensors ask.


def dtype(number: int) -> Any:
    """The element type of a number of C++."""
    if number not in _TYPES:
        raise Gap(f"element type {number}")
    return _TYPES[number]


def scalar_type(d: Any) -> int:
    """The number of an element type; pybind11 takes no other value for it."""
    if not isinstance(d, torch.dtype):
        raise TypeError("incompatible function arguments: expected torch.dtype")
    return _NUMBERS[d]


def scalar_type_of(t: torch.Tensor) -> int:
    """The number of a tensor's element type."""
    if t.dtype not in _NUMBERS:
        raise Gap(f"tensors of {t.dtype}")
    return _NUMBERS[t.dtype]


def memory_format(number: int) -> Any:
    """A memory format of a number of C++."""
    return _FORMATS[number]


def device_name(d: Any) -> str:
    """A device as text."""
    return str(d)


def is_tensor(o: object) -> bool:
    """Whether a value is a tensor."""
    return isinstance(o, torch.Tensor)


def sizes(t: torch.Tensor) -> list[int]:
    """A shape."""
    return [int(n) for n in t.shape]


def strides(t: torch.Tensor) -> list[int]:
    """Strides in elements."""
    return [int(n) for n in t.stride()]


def storage_offset(t: torch.Tensor) -> int:
    """The offset in the storage, in elements."""
    return int(t.storage_offset())


def is_cuda(t: torch.Tensor) -> bool:
    """Whether host code believes a tensor to be on the device."""
    return not place(t).host


def is_contiguous(t: torch.Tensor, m: Any) -> bool:
    """Whether it is dense in a format."""
    return bool(t.is_contiguous(memory_format=m)) if m is not torch.preserve_format else bool(t.is_contiguous())


def is_dense(t: torch.Tensor) -> bool:
    """Whether its elements fill its storage without overlap."""
    return bool(torch._prims_common.is_non_overlapping_and_dense(t))


def pointer(t: torch.Tensor, wanted: int | None) -> int:
    """The address of a tensor's first element; a wrong element type is the error that torch gives."""
    if wanted is not None and _TYPES.get(wanted) != t.dtype:
        raise RuntimeError(f"expected scalar type {_TYPES.get(wanted)} but found {t.dtype}")
    if t.numel() == 0:
        return 0
    s = place(t)
    if s.host:
        return int(t.untyped_storage().data_ptr() + t.storage_offset() * t.element_size()) if state.real else 1
    return s.base + int(t.storage_offset() * t.element_size())


def item(t: torch.Tensor) -> Any:
    """A value that the host looks at."""
    return t.item()


def _on(device: object, made: Any) -> Any:
    """Marks what was made on a device."""
    host = not str(device).startswith("cuda")
    for t in made if isinstance(made, (tuple, list)) else [made]:
        if isinstance(t, torch.Tensor):
            place(t).host = host
    return made


def convert(t: torch.Tensor, dt: Any, device: Any, copy: bool, layout: Any = None) -> torch.Tensor:
    """`to` of a tensor: another type, another device, another format."""
    s = place(t)
    moves = device is not None and str(device).startswith("cuda") == s.host
    if moves and not s.host:
        _looks(s, "a copy to the host")
    kept = (dt is None or dt == t.dtype) and not copy and not moves
    if kept and (layout is None or layout is torch.preserve_format or t.is_contiguous(memory_format=layout)):
        return t
    more = {} if layout is None else {"memory_format": layout}
    out = t.to(dtype=dt or t.dtype, copy=True, **more)
    if moves:
        place(out).host = not s.host
    return out


def _looks(s: Storage, how: str) -> None:
    if s.state != "known":
        event("host-read", how=how, storage=s.number)


def contiguous(t: torch.Tensor, m: Any) -> torch.Tensor:
    """`contiguous` in a format."""
    return t.contiguous(memory_format=m)


def tensor(values: Any, dt: Any, device: Any) -> torch.Tensor:
    """A tensor of values of the host."""
    return _on(device or "cpu", torch.tensor(values, dtype=dt))


def from_blob(address: int, shape: Sequence[int], dt: Any, device: Any) -> torch.Tensor:
    """A tensor over memory that host code holds: of the host, or an allocation of the device."""
    dt = dt or torch.float32
    found = find(address)
    if found is None:
        if not state.real:
            raise Gap("a tensor over memory of the host")
        n = math.prod(shape)
        buffer = (ctypes.c_char * (n * dt.itemsize)).from_address(address)
        return _on("cpu", torch.frombuffer(buffer, dtype=dt, count=n).reshape(list(shape)))
    raise Gap("a tensor over memory of the device")


def operator(name: str, overload: str, values: Sequence[Any]) -> Any:
    """An operator of torch by name."""
    f = getattr(getattr(torch.ops.aten, name), overload or "default")
    arguments = f._schema.arguments
    given, named, device = [], {}, None
    for a, v in zip(arguments, values):
        if a.name == "device":
            device, v = v, None
        if a.name == "memory_format" and v is None:
            continue
        if a.kwarg_only:
            named[a.name] = v
        else:
            given.append(v)
    made = f(*given, **named)
    return made if device is None else _on(device, made)


# The runtime.


def stream() -> int:
    """A new stream or event."""
    state.handles += 1
    return state.handles


def synchronize(_stream: int) -> int:
    """The host waits; what was recorded so far is in order."""
    return _SUCCESS


def stream_waits(_stream: int, _event: int) -> int:
    """An order between streams."""
    return _SUCCESS


def event_recorded(_event: int, _stream: int) -> int:
    """A mark in a stream."""
    return _SUCCESS


def allocate(size: int) -> int:
    """`cudaMalloc`: an address, or 0."""
    if size < 0 or state.allocated + size > _DEVICE_MEMORY:
        return 0
    if size == 0:
        return 0
    state.allocated += size
    return _new(size, "u8", "empty", False).base


def release(address: int) -> int:
    """`cudaFree`."""
    if address == 0:
        return _SUCCESS
    found = find(address)
    if found is None or found[1] != 0:
        return _INVALID_VALUE
    event("release", storage=found[0].number)
    return _SUCCESS


def find(address: int) -> tuple[Storage, int] | None:
    """The storage of an address on the device, and the offset in bytes."""
    for s in state.by_number:
        if not s.host and s.base <= address < s.base + _APART + s.size // _APART * _APART:
            return s, address - s.base
    return None


def is_device_pointer(address: int) -> int:
    """Whether an address is one of the device."""
    return int(find(address) is not None)


def _touched(s: Storage) -> None:
    _use(s)
    s.state = "computed"


def fill(address: int, value: int, size: int, on: int) -> int:
    """`cudaMemset`."""
    found = find(address)
    if found is None:
        return _INVALID_VALUE if size else _SUCCESS
    s, offset = found
    event("fill", storage=s.number, offset=offset, value=value & 255, size=size, stream=on)
    _touched(s)
    return _SUCCESS if offset + size <= s.size else _INVALID_VALUE


def copy(to: int, source: int, size: int, kind: int, on: int) -> int:
    """`cudaMemcpy`, by where the addresses are."""
    if size == 0:
        return _SUCCESS
    target, origin = find(to), find(source)
    if target is not None and origin is not None:
        event("copy", to=[target[0].number, target[1]], source=[origin[0].number, origin[1]], size=size, stream=on)
        _use(origin[0])
        _touched(target[0])
        return _SUCCESS
    if target is not None and kind in (1, 4):
        data = ctypes.string_at(source, size)
        event("upload", to=[target[0].number, target[1]], bytes=base64.b64encode(data).decode(), stream=on)
        _touched(target[0])
        return _SUCCESS
    if origin is not None and kind in (2, 4):
        event("download", source=[origin[0].number, origin[1]], size=size, stream=on)
        _use(origin[0])
        ctypes.memset(to, 0, size)
        return _SUCCESS
    return _INVALID_VALUE


def copy_to_symbol(name: str, source: int, size: int, offset: int, kind: int) -> int:
    """`cudaMemcpyToSymbol`."""
    origin = find(source)
    if origin is not None:
        _use(origin[0])
        event("symbol", name=name, source=[origin[0].number, origin[1]], size=size, offset=offset)
    elif kind in (1, 4):
        event("symbol", name=name, bytes=base64.b64encode(ctypes.string_at(source, size)).decode(), size=size, offset=offset)
    else:
        return _INVALID_VALUE
    return _SUCCESS


def library(name: str) -> int:
    """A product by a library."""
    event("library", name=name)
    return _SUCCESS


_ATTRIBUTES = {
    **{1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2147483647, 6: 65535, 7: 65535, 8: 49152, 9: 65536, 10: 32, 12: 65536, 13: 1410000},
    **{16: 108, 39: 2048, 75: 8, 76: 0, 81: 167936, 82: 65536, 95: 1, 97: 166912, 106: 32, 38: 41943040, 41: 1, 83: 1, 115: 1},
}
_HOPPER = {16: 132, 75: 9, 76: 0, 81: 233472, 97: 232448}


def device_attribute(which: int) -> int:
    """An attribute of the device that the recording describes."""
    if state.arch >= 90 and which in _HOPPER:
        return _HOPPER[which]
    return _ATTRIBUTES.get(which, 0)


def static_shared(name: str) -> int:
    """Bytes of shared memory that a kernel declares."""
    return int(state.kernels.get(name, {}).get("shared", 0))


def function_attribute(name: str, which: int, value: int) -> int:
    """`cudaFuncSetAttribute`; 8 is the most dynamic shared memory."""
    if which == 8:
        if value + static_shared(name) > device_attribute(97):
            return _INVALID_VALUE
        state.big_shared[name] = value
    return _SUCCESS


def launch(
    name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    on: int,
    arguments: int,
    cooperative: int,
    cluster: tuple[int, int, int],
) -> int:
    """A launch: refused as the runtime refuses it, else written down with the bytes of its parameters."""
    kernel = state.kernels.get(name)
    if kernel is None:
        gap(f"the kernel `{name}` is in no device code that was compiled here")
        return _UNKNOWN
    wrong = _wrong(name, grid, block, shared)
    head: Json = {"kernel": name, "grid": list(grid), "block": list(block), "shared": shared, "stream": on}
    if wrong:
        event("refused", why=wrong, **head)
        return _INVALID_CONFIGURATION if "shared" not in wrong else _INVALID_VALUE
    pointers = ctypes.cast(arguments, ctypes.POINTER(ctypes.c_void_p))
    values: list[Json] = []
    touched: list[Storage] = []
    for i, (_, size) in enumerate(kernel["parameters"]):
        data = ctypes.string_at(pointers[i] or 0, size) if pointers[i] else bytes(size)
        values.append({"bytes": data.hex(), **_pointers(data, touched)})
    if cluster[0]:
        head["cluster"] = list(cluster)
    event("launch", cooperative=bool(cooperative), parameters=values, **head)
    for s in touched:
        _touched(s)
    return _SUCCESS


def _pointers(data: bytes, touched: list[Storage]) -> Json:
    """Addresses in a parameter: of the device as storages, of a tensor of the host as what they are."""
    found, host = [], []
    for at in range(0, len(data) - 7, 8):
        value = int.from_bytes(data[at : at + 8], "little")
        hit = find(value)
        if hit is not None:
            found.append([at, hit[0].number, hit[1]])
            touched.append(hit[0])
        elif value and any(_in_host(s, value) for s in state.by_number if s.host):
            host.append(at)
    return {"pointers": found, "host": host}


def _in_host(s: Storage, value: int) -> bool:
    if not state.real:
        return value == 1
    return s.keep is not None and s.size > 0 and s.keep[0].data_ptr() <= value < s.keep[0].data_ptr() + s.size


def _wrong(name: str, grid: Sequence[int], block: Sequence[int], shared: int) -> str | None:
    """Why the runtime refuses a launch."""
    if min(grid) == 0 or min(block) == 0:
        return f"an extent is 0: grid {tuple(grid)}, block {tuple(block)}"
    if grid[0] > 2147483647 or grid[1] > 65535 or grid[2] > 65535:
        return f"the grid {tuple(grid)} is larger than (2147483647, 65535, 65535)"
    if math.prod(block) > 1024 or block[2] > 64:
        return f"the block {tuple(block)} has {math.prod(block)} threads, of 1024 at most (64 in z)"
    most = int(state.kernels[name].get("threads") or 1024)
    if math.prod(block) > most:
        return f"the block {tuple(block)} has more threads than __launch_bounds__({most}) allows"
    static = static_shared(name)
    allowed = max(49152 - static, state.big_shared.get(name, 0))
    if shared > allowed:
        return f"{shared} bytes of dynamic shared memory, of {allowed} that are allowed without cudaFuncSetAttribute"
    return None


# torch itself.


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _tensors(v)]
    return []


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return {"tensor": view(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.dtype):
        return {"dtype": _WORDS.get(value, str(value))}
    return {"other": str(value)}


_EMPTY = re.compile(r"aten\.(empty|empty_like|empty_strided|empty_permuted|new_empty|new_empty_strided)\.")
_LIKE = re.compile(r"aten\.(zeros_like|ones_like|full_like|new_zeros|new_ones|new_full)\.")
_WHOLE = re.compile(r"aten\.(zero_|fill_)\.")
_UNSEEN = re.compile(
    r"aten\.(detach|alias|lift_fresh|is_same_size|set_|_has_compatible_shallow_copy_type|resize_)\b|prim\.|profiler\."
)


class Watch(TorchDispatchMode):
    """Keeps the state of storages through torch's operations, and writes down those whose values nothing else tells."""

    def __torch_dispatch__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        given = _tensors(args) + _tensors(named)
        before = [place(t) for t in given]
        states = [s.state for s in before]
        out = f(*args, **named)
        made = _tensors(out)
        text = str(f)
        old = {s.number for s in before}
        writes = f._schema.is_mutable
        fresh = [t for t in made if place(t).number not in old]
        for t in fresh:
            place(t).host = all(s.host for s in before) if before else True
        if text.startswith("aten._local_scalar_dense") or (given and not made and not writes and not _UNSEEN.match(text)):
            for s in before:
                _looks(s, text)
            return out
        if _EMPTY.match(text):
            for t in fresh:
                place(t).state = "empty"
            return out
        if _LIKE.match(text):
            return out  # Its contents follow from the shape alone.
        if torch.Tag.nondeterministic_seeded in f.tags:
            for t in fresh or list(made):
                if place(t).state in ("known", "empty"):
                    place(t).state = "random"
                elif not fresh:
                    event("op", op=text, args=_plain(args), named={k: _plain(v) for k, v in named.items()}, out=_plain(out))
            return out
        if not fresh and not writes:
            return out  # A view.
        if _UNSEEN.match(text):
            return out
        if _WHOLE.match(text) and states[0] in ("empty", "known", "random") and not before[0].used and _whole(args[0]):
            before[0].state = "known"
            return out
        if all(s == "known" for s in states) and not (writes and before[0].used):
            return out
        for t in fresh:
            place(t).origin, place(t).used = "empty", True
        shown = {"args": _plain(args), "named": {k: _plain(v) for k, v in named.items()}, "out": _plain(out)}
        event("op", op=text, **shown)
        state.operations.append((state.events[-1], f, args, named))
        for t in made if fresh or writes else []:
            s = place(t)
            if not s.used:
                s.used, s.origin = True, "empty"
            s.state = "computed"
        return out


def _whole(t: torch.Tensor) -> bool:
    return bool(t.numel() * t.element_size() == t.untyped_storage().nbytes())


def _device_of(value: Any) -> Any:
    if isinstance(value, torch.device):
        return value
    if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?|cpu", value):
        return torch.device(value)
    return None


class Devices(TorchFunctionMode):
    """Lets Python code believe in a device: what it asks to be there is made on the CPU and marked."""

    def __torch_function__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        if f == torch.Tensor.device.__get__:
            return torch.device("cpu") if place(args[0]).host else torch.device("cuda", 0)
        if f == torch.Tensor.is_cuda.__get__:
            return not place(args[0]).host
        name = getattr(f, "__name__", "")
        if name in ("cuda", "cpu") and args and isinstance(args[0], torch.Tensor):
            return convert(args[0], None, name, False)
        if name == "to" and args and isinstance(args[0], torch.Tensor):
            return self._to(args, named)
        if name in ("tolist", "numpy", "__array__") and args and isinstance(args[0], torch.Tensor):
            _looks(place(args[0]), name)
            return f(*args, **named)
        if name == "data_ptr" and args:
            return pointer(args[0], None)
        if name == "get_device" and args:
            return -1 if place(args[0]).host else 0
        wanted = _device_of(named.get("device"))
        if wanted is not None:
            named["device"] = torch.device("cpu")
        if "pin_memory" in named:
            named["pin_memory"] = False
        out = f(*args, **named)
        return out if wanted is None else _on(wanted, out)

    @staticmethod
    def _to(args: Any, named: dict[str, Any]) -> Any:
        t, dt, device = args[0], named.get("dtype"), _device_of(named.get("device"))
        for a in args[1:]:
            if isinstance(a, torch.dtype):
                dt = a
            elif isinstance(a, torch.Tensor):
                dt, device = a.dtype, torch.device("cpu" if place(a).host else "cuda")
            elif _device_of(a) is not None:
                device = _device_of(a)
            elif isinstance(a, int) and not isinstance(a, bool):
                device = torch.device("cuda")
        return convert(t, dt, device, bool(named.get("copy")), named.get("memory_format"))


class _Properties:
    name, major, minor, multi_processor_count, total_memory = "NVIDIA A100-SXM4-80GB", 8, 0, 108, _DEVICE_MEMORY
    warp_size, max_threads_per_multi_processor, shared_memory_per_block = 32, 2048, 49152


class _Stream:
    cuda_stream, device_index = 0, 0

    def synchronize(self) -> None:
        """Nothing runs."""


def believe() -> None:
    """torch's questions about the device get answers."""
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "synchronize": lambda *_: None,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "set_device": lambda *_: None,
        "get_device_properties": lambda *_: _Properties(),
        "get_device_capability": lambda *_: (8, 0),
        "get_device_name": lambda *_: _Properties.name,
        "current_stream": lambda *_: _Stream(),
        "empty_cache": lambda: None,
        "manual_seed": lambda *_: None,
        "manual_seed_all": lambda *_: None,
        "init": lambda: None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch.compile = lambda f=None, **_: f if f is not None else (lambda g: g)
