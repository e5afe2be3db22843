"""Tensors of torch without contents, that say that they are on a device where there is none.

They are torch's own fake tensors on the CPU: a function mode answers questions about the device, and a dispatch mode sees
every operator that makes memory or writes to it.
"""

from __future__ import annotations

import contextlib
import types
import unittest.mock
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from . import arg
from .trace.of_torch import dtype_of

if TYPE_CHECKING:
    from .recording import Recording

_mode = FakeTensorMode(allow_non_fake_inputs=True)
_own_device = FakeTensor.device.fget

#: Operators that make memory without contents.
_FRESH = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "empty_permuted", "new_empty_strided"))

#: Operators that make memory with one number in it, or fill memory with it; `None` is the last argument.
_FILLED = {
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros", "zero_"), 0.0),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), 1.0),
    **dict.fromkeys(("full", "full_like", "new_full", "fill_")),
}

#: Operators that copy: the source is their last tensor.
_COPIES = frozenset(("clone", "copy_", "_to_copy", "lift_fresh_copy"))

#: Operators that give a tensor as it is.
_NOTHING = frozenset(("detach", "alias", "lift_fresh", "set_", "resize_", "_local_scalar_dense"))


def tensor(array: arg.Array) -> Any:
    """A tensor that stands for an array."""
    with _disable_current_modes(), _mode:
        made = torch.empty(array.shape, dtype=dtype_of(array))
    made._volta_role = array.role
    return made


class _Device(TorchFunctionMode):
    """Says of every tensor that it is on a device, but to torch itself."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def device(self, tensor: Any) -> torch.device:
        """The device of a tensor, for whoever asks."""
        return _own_device(tensor) if self.depth else torch.device("cuda", 0)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.depth += 1
        try:
            return self._call(func, args, dict(kwargs or {}))
        finally:
            self.depth -= 1

    def _call(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if func == torch.Tensor.is_cuda.__get__:
            return True
        if func == torch.Tensor.is_cpu.__get__:
            return False
        if func == torch.Tensor.device.__get__:
            return torch.device("cuda", 0)
        if func == torch.Tensor.get_device:
            return 0
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            return args[0]
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        args = tuple(torch.device("cpu") if isinstance(a, torch.device) else a for a in args)
        if getattr(func, "__name__", "") == "to" and len(args) > 1 and isinstance(args[1], str):
            args = (args[0], "cpu", *args[2:])
        return func(*args, **kwargs)


class _Watch(TorchDispatchMode):
    """Sees what makes memory, and what computes."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self.recording = recording

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = str(func._schema.name).partition("::")[2]
        tensors = [t for t in tree_leaves(out) if isinstance(t, FakeTensor)]
        if not tensors or name in _NOTHING:
            return out
        given = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        is_write = func._schema.is_mutable
        for made in tensors:
            if made.untyped_storage()._cdata in given and not is_write:
                continue  # A view, or the same tensor.
            if name in _FRESH:
                self.recording.made(made)
            elif name in _COPIES:
                self._copied(made, args[-1] if name == "copy_" and len(args) == 2 else args[0], is_write)
            elif name in _FILLED and (number := _number(name, args, kwargs)) is not None and _is_whole(made):
                self.recording.made(made, contents=number)
            else:
                self.recording.made(made, computed_by=name.rstrip("_") or name)
        return out

    def _copied(self, target: Any, source: Any, is_write: bool) -> None:
        """A copy is a launch."""
        from . import copies

        if not is_write:
            self.recording.made(target)
        if not isinstance(source, torch.Tensor) or not copies.launch(target, source):
            self.recording.made(target, computed_by="copy_")


def _number(name: str, args: Any, kwargs: Any) -> str | None:
    value = _FILLED[name]
    if value is None:
        value = kwargs.get("fill_value", args[-1] if args else None)
    if isinstance(value, (bool, int, float)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return None


def _is_whole(made: Any) -> bool:
    return int(made.numel()) * int(made.element_size()) == int(made.untyped_storage().nbytes())


@contextlib.contextmanager
def watched(recording: Recording, arch: int) -> Iterator[None]:
    """Inside, tensors are made without contents, and a recording learns of them."""
    properties = types.SimpleNamespace(
        name="stand-in",
        major=arch // 10,
        minor=arch % 10,
        multi_processor_count=108,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=166912,
        shared_memory_per_multiprocessor=167936,
        total_memory=80 << 30,
        warp_size=32,
        L2_cache_size=40 << 20,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "get_device_properties": lambda *_: properties,
        "get_device_capability": lambda *_: (properties.major, properties.minor),
        "get_device_name": lambda *_: properties.name,
        "synchronize": lambda *_: None,
        "set_device": lambda *_: None,
        "device": lambda *_: contextlib.nullcontext(),
        "device_of": lambda *_: contextlib.nullcontext(),
        "current_stream": lambda *_: types.SimpleNamespace(cuda_stream=0),
    }
    with contextlib.ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(unittest.mock.patch.object(torch.cuda, name, answer))
        stack.enter_context(_mode)
        stack.enter_context(_Watch(recording))
        device = _Device()
        stack.enter_context(unittest.mock.patch.object(FakeTensor, "device", property(device.device)))
        stack.enter_context(device)
        yield
