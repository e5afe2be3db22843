"""Triton functions to PTX without a GPU.

Triton asks a driver for the device to compile for, and its `warmup` compiles for arguments without launching. So a
driver stands in that names an architecture and can do nothing else, and tensors stand in that have a type and an
address, which is all that a kernel is specialised by.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import arg, lints
from .errors import CompileError, InputError, KeywordError
from .kernels import Grid, Kernel, shape_of, unlaunched
from .ttir import uses_of

GridLike = Grid | Callable[[dict[str, Any]], Grid]

#: Types as Triton names them.
_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    **{f"s{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
}

#: Held by the thread that compiles.
LOCK = threading.RLock()


class Tensor:
    """A stand-in for a tensor: what Triton looks at to compile for it."""

    def __init__(self, array: arg.Array, offset: int = 0) -> None:
        self.array, self.offset = array, offset
        self.dtype = _DTYPES[array.type]
        self.shape = array.shape

    def data_ptr(self) -> int:
        """An address that is aligned as allocators align."""
        return (1 << 20) + self.offset

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements."""
        steps = list(self.array.strides or [])
        if not steps:
            step = 1
            for n in reversed(self.shape):
                steps.insert(0, step)
                step *= n
        return tuple(steps) if dim is None else steps[dim]

    def numel(self) -> int:
        """Number of elements."""
        return self.array.elements

    def size(self, dim: int | None = None) -> Any:
        """The shape."""
        return self.shape if dim is None else self.shape[dim]

    def element_size(self) -> int:
        """Bytes of an element."""
        return int("".join(c for c in self.dtype.split("_")[0] if c.isdigit())) // 8


def _driver(arch: int) -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class Driver(DriverBase):  # type: ignore[misc]
        """Names a device, and has none."""

        def __init__(self) -> None:
            pass

        @classmethod
        def is_active(cls) -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", arch, 32)

        #: What is asked of a device before a launch: how many of what it has, and what it makes of a kernel.
        utils = types.SimpleNamespace(
            get_device_properties=lambda *_: {
                "max_shared_mem": 166912,
                "max_num_regs": 65536,
                "multiprocessor_count": 108,
                "warpSize": 32,
                "sm_clock_rate": 1410000,
                "mem_clock_rate": 1215000,
                "mem_bus_width": 5120,
            },
            load_binary=lambda *_: (None, None, 32, 0, 1024),
        )

        def launcher_cls(self, *_: Any) -> None:
            """There is no launcher: launches are written down."""

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cuda", 0)

        def get_benchmarker(self) -> Any:
            # Tuners ask for it where a kernel is defined, and call it where one is launched.
            def measured(*_: Any, **__: Any) -> Any:
                raise CompileError("there is no device: configurations cannot be measured")

            return measured

        def get_device_interface(self) -> Any:
            raise CompileError("there is no device: the kernel is compiled, not run")

        def get_current_device(self) -> int:
            # Functions keep what they compiled by device: one for each architecture.
            return 100_000 + arch

        def set_current_device(self, device: int) -> None:
            pass

        def get_current_stream(self, device: int) -> int:
            return 0

    return Driver()


@contextlib.contextmanager
def without_gpu(arch: int) -> Iterator[None]:
    """Inside, Triton compiles for an architecture and finds no device."""
    from triton.runtime.driver import driver

    with LOCK:
        before = driver._active
        driver.set_active(_driver(arch))
        try:
            yield
        finally:
            driver._active = before


def unwrap(fn: Any) -> tuple[Any, list[Any]]:
    """The compiled function under its wrappers (autotuners, heuristics, others with an `fn`), and these from outside."""
    from triton.runtime.jit import JITFunction

    shape = shape_of(fn)
    fn = fn if shape is None else shape[0]
    wrappers = []
    while not isinstance(fn, JITFunction):
        wrappers.append(fn)
        if not hasattr(fn, "fn") or len(wrappers) > 16:
            raise InputError(f"{fn!r} is no Triton function")
        fn = fn.fn
    return fn, wrappers


def configurations(fn: Any) -> list[Any]:
    """The configurations of an autotuned function; `[None]` for any other."""
    found = next((w.configs for w in unwrap(fn)[1] if hasattr(w, "configs")), None)
    return list(found) if found else [None]


def triton(
    fn: Any,
    *args: Any,
    grid: GridLike | None = None,
    num_warps: int | None = None,
    num_stages: int | None = None,
    arch: int = 80,
    config: Any = 0,
    **constexprs: Any,
) -> Kernel:
    """A kernel from a Triton function, with the arguments and the grid of a launch.

    `args` and `constexprs` are those of `fn[grid](*args, **constexprs)`, arrays by what they are. Of an autotuned function
    `config` chooses a configuration by its number, or is one. No GPU is needed.
    Raises `CompileError` with Triton's message.
    """
    shape = shape_of(fn)
    if shape is not None:
        fn, grid = shape[0], shape[1] if grid is None else grid
    function, wrappers = unwrap(fn)
    if grid is None:
        raise KeywordError(
            f"{function.__name__} is launched on a grid: say grid=(n,), or a function of its arguments, as in fn[grid](...)"
        )
    names = [p.name for p in function.params]
    if len(args) > len(names):
        raise InputError(f"{function.__name__} takes {len(names)} arguments, not {len(args)}")
    twice = [n for n in names[: len(args)] if n in constexprs]
    if twice:
        raise InputError(f"{function.__name__} is given `{twice[0]}` twice: by position and by name")
    bound = dict(zip(names, args)) | constexprs
    options: dict[str, Any] = {k: v for k, v in [("num_warps", num_warps), ("num_stages", num_stages)] if v is not None}
    if not any(hasattr(w, "configs") for w in wrappers):
        if isinstance(config, int) and config != 0:
            raise InputError(f"{function.__name__} has no configurations: config={config} chooses among those of triton.autotune")
        bound |= {} if isinstance(config, int) else config.all_kwargs()
    for wrapper in wrappers:
        if hasattr(wrapper, "configs"):
            chosen = _chosen(function, wrapper.configs, config).all_kwargs()
            _not_tuned(function, chosen, options | bound)
            bound |= chosen
        elif hasattr(wrapper, "values") and isinstance(wrapper.values, Mapping):
            for name, value in wrapper.values.items():
                bound[name] = value(options | bound)
    options |= {k: bound.pop(k) for k in list(bound) if k not in names}
    # As in a launch, defaults are bound before a grid is asked.
    bound = {p.name: p.default for p in function.params if p.has_default} | bound
    missing = [n for n in names if n not in bound]
    if missing:
        listed = ", ".join(f"`{n}`" for n in missing)
        raise InputError(f"{function.__name__} has {len(names)} parameters ({', '.join(names)}): there is nothing for {listed}")
    bound = {n: bound[n] for n in names}
    arrays = {k: arg.coerce(v) if arg.is_array(v) else v for k, v in bound.items()}
    stand_ins = {k: _stand_in(v) for k, v in arrays.items()}
    try:
        extents = grid(dict(stand_ins)) if callable(grid) else grid
    except KeyError as e:
        raise InputError(f"the grid of {function.__name__} asks for {e}; there are {', '.join(stand_ins)}") from e
    compiled = _compile(function, stand_ins, options, arch)
    made = _kernel(function, compiled, arrays, extents, arch)
    changed = [made.names[i] for i, use in sorted(made.uses.items()) if use == "inout"]
    return replace(made, lints=lints.of_triton(function, wrappers, str(compiled.asm.get("ttir", "")), changed))


def _not_tuned(function: Any, chosen: Mapping[str, Any], bound: Mapping[str, Any]) -> None:
    """What a configuration gives is not given by the launch: Triton itself refuses that too."""
    twice = sorted(k for k in chosen if k in bound and bound[k] != chosen[k])
    if twice:
        raise InputError(
            f"{function.__name__} is autotuned, and its configuration says {twice[0]}={chosen[twice[0]]!r}: "
            f"{twice[0]}={bound[twice[0]]!r} cannot be given; config=N chooses another one, "
            f"volta.triton({function.__name__}.fn, ...) takes none"
        )


def _chosen(function: Any, configs: Sequence[Any], config: Any) -> Any:
    """A configuration by its number, or itself."""
    if not isinstance(config, int):
        return config
    if not 0 <= config < len(configs):
        raise InputError(f"{function.__name__} has {len(configs)} configurations: there is no config={config}")
    return configs[config]


def _stand_in(value: Any) -> Any:
    if isinstance(value, arg.View):
        return Tensor(value.array, value.offset)
    if isinstance(value, arg.Pointers):
        return Tensor(
            arg.Array("s64", value.shape)
        )  # Triton has no pointers to pointers: a kernel casts the integers that it reads.
    return Tensor(value) if isinstance(value, arg.Array) else value


def _compile(function: Any, values: Mapping[str, Any], options: Mapping[str, Any], arch: int) -> Any:
    with without_gpu(arch):
        try:
            compiled = function.warmup(**values, grid=(1,), **options)
        except (InputError, CompileError):
            raise
        except Exception as e:
            raise CompileError(f"{function.__name__}: Triton says\n{e}") from e
        return compiled.result() if hasattr(compiled, "result") else compiled


def _kernel(function: Any, compiled: Any, arrays: Mapping[str, Any], grid: Grid, arch: int) -> Kernel:
    signature: Mapping[str, Any] = compiled.src.signature
    kept = [name for name, kind in signature.items() if kind != "constexpr"]
    flat = [name for name in kept if isinstance(signature[name], (tuple, list))]
    if flat:
        raise CompileError(f"{function.__name__}: arguments that are tuples ({', '.join(flat)}) are not supported")
    bound: dict[int, arg.Arg] = {}
    for position, name in enumerate(kept):
        if name not in arrays:
            raise InputError(f"{function.__name__} needs an argument for `{name}`")
        if str(signature[name]).startswith("tensordesc"):
            raise CompileError(f"{function.__name__}: `{name}` is a tensor descriptor, which is not supported yet")
        bound[position] = arg.coerce(arrays[name])
    if 0 in (grid if isinstance(grid, Sequence) else (grid,)):
        return unlaunched(Kernel(compiled.asm["ptx"], f"{function.__name__}.ptx", compiled.metadata.name, tuple(kept), bound))
    kernel = Kernel(
        ptx=compiled.asm["ptx"],
        name=f"{function.__name__}.ptx",
        entry=compiled.metadata.name,
        names=tuple(kept),
        args=bound,
        grid=grid,
        dynamic_shared=int(compiled.metadata.shared),
        uses=uses_of(str(compiled.asm["ttir"])) if "ttir" in compiled.asm else {},
    )
    hidden = kernel.parameters()[len(kept) :]
    scratch = ("global_scratch_size", "profile_scratch_size")
    for position, name in enumerate(scratch[: len(hidden)], len(kept)):
        # Memory that Triton itself asks for, which nothing outside of the kernel sees; its launcher passes null for none.
        size = int(getattr(compiled.metadata, name, 0) or 0)
        bound[position] = arg.scratch("u8", (size * _count(grid),)) if size else 0
    return kernel


def _count(grid: Grid) -> int:
    from .kernels import count

    return count(grid)


def every(fn: Any, *args: Any, grid: GridLike | None = None, arch: int = 80, **constexprs: Any) -> dict[str, Kernel]:
    """The kernels of all configurations of an autotuned function, by the configuration's text."""
    found: Sequence[Any] = configurations(fn)
    return {
        "" if config is None else str(config): triton(
            fn, *args, grid=grid, arch=arch, config=0 if config is None else config, **constexprs
        )
        for config in found
    }
