"""What a wrapper launches, without a GPU.

Inside `record()` a Triton launch `fn[grid](...)` compiles and is written down, and nothing runs. The grid, the numbers and
the aliasing of arrays come from the call.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from . import arg, triton_kernels
from .errors import InputError
from .kernels import Kernel


@dataclass(frozen=True)
class Launch:
    """One launch: the kernel with its arguments, and which arguments are one array."""

    kernel: Kernel
    alias: dict[str, str]


@dataclass
class Recording:
    """The launches that were made, in order."""

    launches: list[Launch] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.launches)

    def __getitem__(self, at: int) -> Launch:
        return self.launches[at]

    def __iter__(self) -> Iterator[Launch]:
        return iter(self.launches)

    def sequence(self) -> list[Kernel]:
        """The launches as one side of `check`, or as what `race` takes."""
        if any(launch.alias for launch in self.launches):
            raise InputError("a launch gives one array twice: bind its alias by hand, with alias=")
        return [launch.kernel for launch in self.launches]

    def only(self) -> Kernel:
        """The kernel of the only launch."""
        if len(self.launches) != 1:
            raise InputError(f"{len(self.launches)} launches were recorded where one is needed")
        if self.launches[0].alias:
            raise InputError("the launch gives one array twice: bind its alias by hand, with alias=")
        return self.launches[0].kernel


class Fake(triton_kernels.Tensor):
    """A tensor of a recorded call: it has a shape and no contents."""

    def __init__(self, array: arg.Array) -> None:
        super().__init__(array)
        self.device = "cuda"
        self.is_cuda = True

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def is_contiguous(self) -> bool:
        """Whether it is dense and row-major."""
        return self.array.strides is None

    def contiguous(self) -> Fake:
        """Itself, since a fake tensor that this package makes is dense."""
        return self

    def new_empty(self, *shape: Any) -> Fake:
        """A new output."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return Fake(arg.output(self.array.type, tuple(sizes)))


def fake(*shape: int, dtype: object = "f32", role: str = "in") -> Fake:
    """A stand-in for a tensor, for wrappers that need no more than shapes; an input unless `role` says otherwise."""
    made: dict[str, Callable[..., arg.Array]] = {
        "in": arg.input,
        "out": arg.output,
        "inout": arg.inout,
        "scratch": arg.scratch,
    }
    if role not in made:
        raise InputError(f"role {role!r}: one of {', '.join(made)}")
    return Fake(made[role](dtype, shape))


_current: list[Recording] = []


def current() -> Recording | None:
    """The recording that is under way."""
    return _current[-1] if _current else None


@contextlib.contextmanager
def record(arch: int = 80) -> Iterator[Recording]:
    """Inside, launches of Triton kernels and of `volta.extension` are recorded and nothing runs.

    Of an autotuned function the first configuration is taken; `load_inline` and `load` of torch give extensions of ours.
    Raises `CompileError` where a compiler rejects a kernel.
    """
    out = Recording()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_pushed(out))
        if importlib.util.find_spec("triton") is not None:
            stack.enter_context(_triton(out, arch))
        if importlib.util.find_spec("torch") is not None:
            stack.enter_context(_torch())
        yield out


@contextlib.contextmanager
def _pushed(out: Recording) -> Iterator[None]:
    _current.append(out)
    try:
        yield
    finally:
        _current.remove(out)


@contextlib.contextmanager
def _torch() -> Iterator[None]:
    """A candidate's file builds its extension here as it does on a GPU."""
    import torch.utils.cpp_extension as place

    from .host import extensions

    before = place.load_inline, place.load
    place.load_inline, place.load = extensions.load_inline, extensions.load
    try:
        yield
    finally:
        place.load_inline, place.load = before


@contextlib.contextmanager
def _triton(out: Recording, arch: int) -> Iterator[None]:
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    classes = (JITFunction, Autotuner, Heuristics)
    before = [(c, c.run) for c in classes]

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            original = next(r for c, r in before if isinstance(self, c))
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        values = [v.array if isinstance(v, Fake) else v for v in args]
        named: dict[str, Any] = {k: v.array if isinstance(v, Fake) else v for k, v in kwargs.items()}
        kernel = triton_kernels.triton(self, *values, grid=_grid(grid), arch=arch, **named)
        function, _ = triton_kernels.unwrap(self)
        given = dict(zip((p.name for p in function.params), args)) | kwargs
        out.launches.append(Launch(kernel, _aliases(kernel, given)))
        return kernel

    for c in classes:
        c.run = run
    try:
        yield
    finally:
        for c, original in before:
            c.run = original


def _grid(grid: Any) -> Any:
    if callable(grid):
        return lambda meta: tuple(int(n) for n in grid(meta))
    return tuple(int(n) for n in grid) if not isinstance(grid, int) else (grid,)


def _aliases(kernel: Kernel, given: dict[str, Any]) -> dict[str, str]:
    first: dict[int, int] = {}
    out = {}
    for position, name in enumerate(kernel.names):
        value = given.get(name)
        if not arg.is_array(value) and not isinstance(value, Fake):
            continue
        seen = first.setdefault(id(value), position)
        if seen != position:
            out[str(position)] = str(seen)
    return out
