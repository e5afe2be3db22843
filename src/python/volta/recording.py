"""What a wrapper launches, without a GPU.

    with volta.record() as calls:
        my_softmax(volta.fake(4, 128))
    volta.check(lambda x: torch.softmax(x, -1), calls)

Inside `record()` a Triton launch `fn[grid](...)` compiles and is written down, and nothing runs. Grids, numbers, views and
arrays that are given twice come from the calls. Where torch is imported, tensors are fake ones that say that they are on a
device; memory that is made with `zeros`, `ones` or `full` has these contents, and what torch itself computes between
launches is an error once a launch reads it or it is an output.

An array that comes from outside is an input (in-out if it is written). One that the wrapper makes is an output if no later launch
reads it, else scratch; `calls.returns(y, ...)` says which are outputs, and in which order.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import arg, triton_kernels
from .errors import InputError
from .kernels import Kernel

#: Numbers fake tensors.
_order = itertools.count()


@dataclass(eq=False)
class Memory:
    """The memory of an array: from outside, or made by the wrapper; with contents, or computed by something else."""

    array: arg.Array
    is_made: bool
    contents: str | None = None
    computed_by: str | None = None
    #: Keeps what its key was made of alive.
    owner: Any = None


@dataclass(frozen=True)
class Launch:
    """One launch: the kernel with its arguments, and which arguments are one array, by position."""

    kernel: Kernel
    alias: dict[str, str]


@dataclass(frozen=True)
class _Call:
    """A launch as it was recorded: the memory behind each array argument, by position."""

    kernel: Kernel
    memory: dict[int, tuple[Memory, int]]


class Recording:
    """The launches that were made, in order."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._memory: dict[Any, Memory] = {}
        self._returned: list[Any] | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def __repr__(self) -> str:
        names = ", ".join(c.kernel.entry or c.kernel.name for c in self._calls)
        return f"<volta.Recording of {len(self)} launch{'' if len(self) == 1 else 'es'}{': ' if names else ''}{names}>"

    def __getitem__(self, at: int) -> Launch:
        call = self._calls[at]
        first: dict[int, int] = {}
        alias = {}
        for position, (memory, _) in sorted(call.memory.items()):
            seen = first.setdefault(id(memory), position)
            if seen != position:
                alias[str(position)] = str(seen)
        return Launch(call.kernel, alias)

    def __iter__(self) -> Iterator[Launch]:
        return iter([self[i] for i in range(len(self))])

    def only(self) -> Kernel:
        """The kernel of the only launch. Raises `InputError` where there are more, or one array stands in two places."""
        if len(self) != 1:
            raise InputError(f"{len(self)} launches were recorded where one is needed: give the recording itself")
        if self[0].alias:
            raise InputError("the launch gives one array twice: bind its alias by hand, with alias=, or give the recording itself")
        return self.sequence()[0]

    def returns(self, *values: Any) -> None:
        """Says which arrays are outputs, in order; any other that the wrapper makes is scratch then."""
        self._returned = list(values)

    def arrays(self) -> dict[str, arg.Array]:
        """All arrays of the launches by name, each with its role."""
        return {a.name or "": a for a in self._named().values()}

    def inputs(self) -> dict[str, arg.Array]:
        """What comes from outside and is read, in order."""
        return {n: a for n, a in self.arrays().items() if a.role == "in" or (a.role == "inout" and a.contents is None)}

    def outputs(self) -> dict[str, arg.Array]:
        """What the launches leave, in the order in which it is returned, where that was said."""
        found = {n: a for n, a in self.arrays().items() if a.role in ("out", "inout")}
        first = [self._named()[id(m)].name or "" for m in self._returned_memory() or []]
        return {n: found[n] for n in first if n in found} | found

    def sequence(self) -> list[Kernel]:
        """The launches as a list of kernels with their arguments, for `check` and `race`."""
        named = self._named()
        out = []
        for call in self._calls:
            args: dict[int, arg.Arg] = dict(call.kernel.args)
            for position, (memory, offset) in call.memory.items():
                if memory.computed_by is not None:
                    raise InputError(
                        f"torch.{memory.computed_by} computes what a launch reads: that is not covered; what the wrapper is given "
                        "is made before the recording begins, or by volta.fake(4, 128)"
                    )
                array = named[id(memory)]
                args[position] = arg.View(array, offset) if offset else array
            out.append(replace(call.kernel, args=args))
        return out

    def _named(self) -> dict[int, arg.Array]:
        """The array of each memory: its name is that of the parameter that it was first given for."""
        returned = self._returned_memory()
        out: dict[int, arg.Array] = {}
        taken: set[str] = set()
        for call in self._calls:
            for position, (memory, _) in sorted(call.memory.items()):
                if id(memory) in out:
                    continue
                base = call.kernel.names[position]
                name = next(n for n in (base, *(f"{base}{i}" for i in range(2, 1000))) if n not in taken)
                taken.add(name)
                out[id(memory)] = replace(memory.array, name=name, role=self._role(memory, returned), contents=memory.contents)
        # Fake tensors stand in the order in which they were made.
        at = {id(m): getattr(m.owner, "_volta_order", sys.maxsize) for m in self._memory.values()}
        return {k: out[k] for k in sorted(out, key=lambda k: at.get(k, sys.maxsize))}

    def _returned_memory(self) -> list[Memory] | None:
        if self._returned is None:
            return None
        out = []
        for value in self._returned:
            memory, offset = self._find(value)
            if memory.computed_by is not None:
                raise InputError(f"torch.{memory.computed_by} computes what is returned: that is not covered")
            if memory.is_made and offset == 0 and not isinstance(value, Fake):
                # It is compared as it is returned: reshaped, transposed.
                array = arg.array(value)
                if array.elements == memory.array.elements:
                    memory.array = array
            out.append(memory)
        return out

    def _role(self, memory: Memory, returned: list[Memory] | None) -> str:
        uses = [call.kernel.uses.get(p, "inout") for call in self._calls for p, (m, _) in call.memory.items() if m is memory]
        if not memory.is_made:
            if memory.array.role is not None and memory.array.role != "in":
                return memory.array.role
            return "in" if all(u == "in" for u in uses) else "inout"
        is_output = uses[-1] != "in" if returned is None else any(m is memory for m in returned)
        if not is_output:
            return "scratch"
        return "out" if memory.contents is None else "inout"

    def _find(self, value: Any) -> tuple[Memory, int]:
        """The memory of an array or a tensor, and where it begins in that, in bytes."""
        key: Any
        under = _wrapped(value)
        if under is not None:
            memory, offset = self._find(under)
            return memory, offset + int(value.data_ptr()) - int(under.data_ptr())
        owner = value
        if isinstance(value, Fake):
            key, array, offset = id(value.array), value.array, 0
        elif isinstance(value, arg.Array):
            key, array, offset = id(value), value, 0
        elif hasattr(value, "untyped_storage"):
            storage = value.untyped_storage()
            key = ("storage", storage._cdata)
            offset = int(value.storage_offset()) * int(value.element_size())
            owner = value._base if value._base is not None else value
            array = arg.array(owner) if owner.storage_offset() == 0 else _whole(value)
            array = replace(array, role=getattr(owner, "_volta_role", None))
        else:
            key, array, offset = id(value), arg.array(value), 0
        if key not in self._memory:
            self._memory[key] = Memory(array, False, owner=owner)
        return self._memory[key], offset

    def launched(self, kernel: Kernel, given: Mapping[str, Any]) -> None:
        """Writes a launch down; `given` are its arguments by name."""
        arrays = {i: given[n] for i, n in enumerate(kernel.names) if n in given and arg.is_array(given[n])}
        self._calls.append(_Call(kernel, {i: self._find(v) for i, v in arrays.items()}))

    def adopted(self, kernel: Kernel, values: Mapping[str, Any]) -> None:
        """Writes down a launch of host code: `values` are what stands for its arrays, by their names."""
        memory: dict[int, tuple[Memory, int]] = {}
        for position, given in kernel.args.items():
            if isinstance(given, arg.View):
                found = self._find(values[given.array.name or ""])
                memory[position] = (found[0], found[1] + given.offset)
        self._calls.append(_Call(kernel, memory))

    def made(self, value: Any, contents: str | None = None, computed_by: str | None = None) -> None:
        """Notes memory that the wrapper makes, or that something else than a launch writes."""
        memory, _ = self._find(value)
        known = any(m is memory for call in self._calls for m, _ in call.memory.values())
        if known or (computed_by is not None and not memory.is_made and memory.owner is not value):
            computed_by = computed_by or "fill_"
        memory.is_made = memory.is_made or memory.owner is value
        memory.contents, memory.computed_by = contents, computed_by


def _wrapped(value: Any) -> Any:
    """The tensor under a value that Triton takes for one, by its address and its type, and that is none: a wrapper of a library."""
    if hasattr(value, "storage_offset") or not hasattr(value, "data_ptr") or isinstance(value, triton_kernels.Tensor):
        return None
    found = [getattr(value, n, None) for n in ("base", "_base")]
    return next((t for t in found if hasattr(t, "data_ptr")), None)


def _whole(tensor: Any) -> arg.Array:
    """The memory of a tensor that begins inside of it, as one row."""
    size = int(tensor.untyped_storage().nbytes()) // int(tensor.element_size())
    return arg.Array(arg.type_name(tensor.dtype), (size,), is_tensor=True)


class Fake(triton_kernels.Tensor):
    """A tensor of a recorded call where torch is not imported: it has a shape and no contents."""

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


def fake(*shape: int, dtype: object = "f32", role: str = "in") -> Any:
    """A tensor without contents for a recorded wrapper: of torch where that is imported, else one that has no more than a
    shape. It is an input (in-out if a launch writes it) unless `role` says otherwise: `in`, `out`, `inout` or `scratch`."""
    made: dict[str, Callable[..., arg.Array]] = {
        "in": arg.input,
        "out": arg.output,
        "inout": arg.inout,
        "scratch": arg.scratch,
    }
    if role not in made:
        raise InputError(f"role {role!r}: one of {', '.join(made)}")
    array = made[role](dtype, shape)
    if "torch" not in sys.modules:
        out: Any = Fake(array)
    else:
        from .fake_tensors import tensor

        out = tensor(array)
    out._volta_order = next(_order)
    return out


_under_way: list[Recording] = []


def under_way() -> Recording | None:
    """The innermost recording that is under way."""
    return _under_way[-1] if _under_way else None


@contextlib.contextmanager
def record(arch: int = 80) -> Iterator[Recording]:
    """Inside, launches of Triton kernels and of `volta.extension` are recorded and nothing runs.

    Of an autotuned function the first configuration is taken; `load_inline` and `load` of torch give extensions of ours.
    Raises `CompileError` where a compiler rejects a kernel.
    """
    out = Recording()
    with contextlib.ExitStack() as stack:
        _under_way.append(out)
        stack.callback(_under_way.remove, out)
        if importlib.util.find_spec("triton") is not None:
            stack.enter_context(_triton(out, arch))
        if "torch" in sys.modules:
            from .fake_tensors import watched
            from .host.extensions import instead

            stack.enter_context(watched(out, arch))
            stack.enter_context(instead())
        yield out


@contextlib.contextmanager
def _triton(out: Recording, arch: int) -> Iterator[None]:
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction, KernelInterface

    classes = (JITFunction, Autotuner, Heuristics)
    before = [(c, c.run) for c in classes]

    def run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            original = next(r for c, r in before if isinstance(self, c))
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        function, _ = triton_kernels.unwrap(self)
        given = dict(zip((p.name for p in function.params), args)) | kwargs
        plain = {k: _argument(out, v) for k, v in given.items()}
        kernel = triton_kernels.triton(self, grid=_grid(grid), arch=arch, **plain)
        if kernel.is_launched:
            out.launched(kernel, given)
        if isinstance(self, Autotuner):
            self.best_config = self.configs[0]
        return kernel

    def launched(self: Any, grid: Any) -> Callable[..., Any]:
        # Wrappers of libraries have a `run` of their own.
        return lambda *args, **kwargs: run(self, *args, grid=grid, **kwargs)

    def launched_again(self: Any, grid: Any) -> Callable[..., Any]:
        """A launch of what `warmup` made, for whose constants and options it was made."""
        options = {n: getattr(self.metadata, n) for n in ("num_warps", "num_stages") if hasattr(self.metadata, n)}
        constants = {self.src.fn.arg_names[at[0]]: v for at, v in self.src.constants.items() if len(at) == 1}

        def call(*args: Any, **kwargs: Any) -> Any:
            given = constants | dict(zip(self.src.fn.arg_names, args)) | kwargs
            return run(self.src.fn, grid=grid, **(options | given))

        return call

    with contextlib.ExitStack() as stack:
        stack.enter_context(triton_kernels.without_gpu(arch))
        stack.callback(setattr, KernelInterface, "__getitem__", KernelInterface.__getitem__)
        KernelInterface.__getitem__ = launched
        stack.callback(setattr, CompiledKernel, "__getitem__", CompiledKernel.__getitem__)
        CompiledKernel.__getitem__ = launched_again
        for c, original in before:
            c.run = run
            stack.callback(setattr, c, "run", original)
        yield


def _argument(recording: Recording, value: Any) -> Any:
    """An argument as a kernel is compiled for it."""
    if isinstance(value, Fake):
        return value.array
    if not arg.is_array(value) or isinstance(value, arg.Array):
        return value
    _, offset = recording._find(value)
    array = arg.array(value)
    return arg.View(array, offset) if offset else array


def _grid(grid: Any) -> Any:
    if callable(grid):
        return lambda meta: tuple(int(n) for n in grid(meta))
    return tuple(int(n) for n in grid) if not isinstance(grid, int) else (grid,)
