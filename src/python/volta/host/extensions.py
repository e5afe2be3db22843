"""`volta.extension`: CUDA with its host code, whose functions are called under `record()` and launch nothing.

    add = volta.extension(CUDA, functions=["add"], cpp="torch::Tensor add(torch::Tensor a, torch::Tensor b);")
    with volta.record() as calls:
        y = add.add(volta.fake(4, 128), volta.fake(4, 128))
    volta.check(volta.formula("y0[i,j] = a0[i,j] + a1[i,j]"), calls)

Each call runs the host code in a confined worker of its own. Arguments are described to it by shape, strides and storage, and
what it returns is a stand-in for a tensor again; what it launched joins the recording that is under way.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import arg, recording, waits
from ..arg import Array
from ..errors import CompileError, InputError
from ..files import text_of
from ..kernels import Kernel
from ..recording import Fake, Recording
from . import compiler, sequence, worker

Json = dict[str, Any]
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


class Extension:
    """Functions of host code, by their names; with `main`, the program that the file is."""

    def __init__(self, built: compiler.Built, program: bool, timeout: float, unconfined: bool) -> None:
        self._built, self._program = built, program
        self._timeout, self._unconfined = timeout, unconfined

    @property
    def ptx(self) -> dict[str, str]:
        """Its device code, by file."""
        return dict(self._built.ptx)

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels in PTX."""
        return list(self._built.kernels)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def function(*arguments: Any, **named: Any) -> Any:
            return self._call(name, arguments, named)

        return function

    def __call__(self) -> None:
        """Runs `main` of a program; its launches join the recording that is under way."""
        if not self._program:
            raise InputError("only a .cu file with main can be run: call one of the extension's functions")
        current = _under_way()
        recorded = self._record({"kind": "program"})
        self._append(current, recorded, {}, {})

    def _record(self, job: Json) -> Json:
        job = {"real": True, "extension": self._built, **job}
        recorded, _ = worker.record(job, {}, seconds=self._timeout, allow_unconfined=self._unconfined)
        if recorded.get("gaps"):
            raise InputError(f"the stand-in of the CUDA runtime lacks {recorded['gaps'][0]}")
        if "stopped" in recorded:
            raise InputError(f"the host code did not end properly: {recorded['message']}")
        return recorded

    def _call(self, name: str, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        current = _under_way()
        given = _Arguments(current)
        job = {
            "kind": "call",
            "function": name,
            "arguments": [given.describe(a) for a in arguments],
            "named": {k: given.describe(v) for k, v in named.items()},
        }
        recorded = self._record(job)
        by_storage = {int(s["number"]): str(s["name"]) for s in recorded["storages"] if s.get("name") in given.values}
        inputs = {n: given.arrays[name] for n, name in by_storage.items()}
        made: dict[int, Any] = {}
        values: dict[str, Any] = dict(given.values)
        out = _returned(recorded["out"], by_storage, given, made, values)
        self._append(current, recorded, inputs, {n: arg.array(v).named(name) for n, (name, v) in made.items()}, values)
        return out

    def _append(
        self,
        current: Recording,
        recorded: Json,
        inputs: dict[int, Array],
        outputs: dict[int, Array],
        values: dict[str, Any] | None = None,
    ) -> None:
        """The launches of one call join a recording."""
        try:
            built = sequence.Builder(recorded, [self._built], inputs, outputs).build()
        except sequence.Unclear as e:
            raise InputError(f"what the host code does is not expressed by launches: {e}") from e
        except (sequence.Wrong, sequence.Malformed) as e:
            raise InputError(str(e)) from e
        known: dict[str, Any] = dict(values or {})
        for array in built.arrays.values():
            name = array.name or ""
            if name not in known:
                known[name] = array
                current.made(array, contents=array.contents)
            elif array.contents is not None:
                current.made(known[name], contents=array.contents)
        for kernel in built.launches:
            if any(isinstance(v, arg.View) for v in kernel.fields.values()):
                raise InputError("a pointer inside of a parameter that is passed by value is not covered here")
            current.adopted(replace(kernel, names=_names(kernel), uses=_uses(kernel)), known)


def _under_way() -> Recording:
    found = recording.under_way()
    if found is None:
        raise InputError("call an extension's functions under volta.record(): they launch nothing by themselves")
    return found


def _names(kernel: Kernel) -> tuple[str, ...]:
    """The names of a launch's parameters: of arrays their own."""
    count = max([*kernel.args, *(int(k.split("+")[0]) for k in kernel.fields)], default=-1) + 1
    given = [kernel.args.get(i) for i in range(count)]
    return tuple(v.array.name or f"p{i}" if isinstance(v, arg.View) else f"p{i}" for i, v in enumerate(given))


def _uses(kernel: Kernel) -> dict[int, str]:
    """A pointer to what is const is read only."""
    marks = (
        re.findall(r"P(K?)[a-z0-9S]", kernel.entry or "")
        if re.fullmatch(r"_Z\d+\w*?(?:PK?[a-z]|[a-z])+", kernel.entry or "")
        else []
    )
    pointers = [i for i, v in sorted(kernel.args.items()) if isinstance(v, arg.View)]
    return {i: "in" for i, m in zip(pointers, marks) if m} if len(marks) == len(pointers) else {}


class _Arguments:
    """Arguments as a worker is told of them."""

    def __init__(self, current: Recording) -> None:
        self.current = current
        self.values: dict[str, Any] = {}
        self.arrays: dict[str, Array] = {}
        self.names: dict[int, str] = {}

    def describe(self, value: Any) -> Any:
        """One argument as JSON."""
        if isinstance(value, (list, tuple)):
            return [self.describe(v) for v in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if not arg.is_array(value) and not isinstance(value, Fake):
            raise InputError(f"{value!r} is no argument of host code")
        array = value.array if isinstance(value, Fake) else arg.array(value)
        memory, offset = self.current._find(value)
        name = self.names.setdefault(id(memory), memory.array.name or f"a{len(self.names)}")
        width = _BYTES[array.type.lstrip("usbf")]
        whole = memory.array
        extent = whole.elements if whole.strides is None else 1 + sum((n - 1) * s for n, s in zip(whole.shape, whole.strides))
        self.values.setdefault(name, value)
        self.arrays.setdefault(name, Array(whole.type, (max(extent, 1),), "in", name=name))
        strides = array.strides or tuple(math.prod(array.shape[i + 1 :]) for i in range(len(array.shape)))
        view = {"shape": list(array.shape), "strides": list(strides), "offset": offset // width}
        return {"storage": name, "name": name, "type": array.type, "size": max(extent, 1) * width, **view}


def _returned(value: Any, by_storage: dict[int, str], given: _Arguments, made: dict[int, Any], values: dict[str, Any]) -> Any:
    """What a function returned, with stand-ins for tensors."""
    if isinstance(value, list):
        return [_returned(v, by_storage, given, made, values) for v in value]
    if not isinstance(value, dict) or "tensor" not in value:
        return value
    view = value["tensor"]
    number = int(view["storage"])
    if number in by_storage:
        return given.values[by_storage[number]]
    shape = sequence.dense(view)
    if shape is None:
        raise InputError("what the function returns is a view that is not dense")
    if number not in made:
        name = next(n for n in (f"y{i}" for i in range(len(made), len(made) + len(values) + 1)) if n not in values)
        stands = recording.fake(*shape, dtype=view["type"], role="out")
        given.current.made(stands)
        made[number] = (name, stands)
        values[name] = stands
    return made[number][1]


def extension(
    source: str | Path,
    functions: str | Sequence[str] | None = None,
    cpp: str | Sequence[str] = "",
    *,
    options: Sequence[str] = (),
    timeout: float = 60,
    allow_unconfined: bool = False,
) -> Extension:
    """CUDA with its host code, as `torch.utils.cpp_extension.load_inline` takes it: `source`, declarations in `cpp`, and the
    `functions` to bind where neither has a PYBIND11_MODULE. A `.cu` file (or text) with `main` is a program: call the result.

    Device code is compiled to PTX by nvcc, host code against stand-ins of torch's headers and of the CUDA runtime. Its functions
    run in confined workers. Raises `CompileError` with the compilers' messages; a gap of the stand-ins is an `InputError`.
    """
    worker.require_confinement(allow_unconfined)
    is_path = isinstance(source, Path) or ("\n" not in source and source.endswith((".cu", ".cuh")))
    text = text_of(Path(source)) if is_path else str(source)
    names = [functions] if isinstance(functions, str) else None if functions is None else list(functions)
    texts = [cpp] if isinstance(cpp, str) else list(cpp)
    program = names is None and not any(texts) and "PYBIND11_MODULE" not in text
    asked = {"cpp": [t for t in texts if t], "cuda": [text], "functions": names, "flags": list(options), "program": program}
    if "PYBIND11_MODULE" in text:
        asked["whole"] = True
    return _extension(asked, program, timeout, allow_unconfined)


def _extension(asked: Json, program: bool, timeout: float, allow_unconfined: bool) -> Extension:
    try:
        built = compiler.build(asked, seconds=2 * waits.seconds(timeout), unconfined=allow_unconfined)
    except compiler.Failed as e:
        if e.category == "unsupported":
            raise InputError(str(e)) from e
        raise CompileError(str(e)) from e
    return Extension(built, program, timeout, allow_unconfined)


def load_inline(name: str, cpp_sources: Any = "", cuda_sources: Any = "", functions: Any = None, **more: Any) -> Extension:
    """`torch.utils.cpp_extension.load_inline` under `record()`."""
    cuda = [cuda_sources] if isinstance(cuda_sources, str) else list(cuda_sources or ())
    return extension("\n".join(cuda), functions, cpp_sources, options=[f for f in more.get("extra_cuda_cflags") or () if f])


def load(name: str, sources: Any, **more: Any) -> Extension:
    """`torch.utils.cpp_extension.load` under `record()`."""
    paths = [Path(p) for p in ([sources] if isinstance(sources, (str, Path)) else sources)]
    cuda = [text_of(p) for p in paths if p.suffix in (".cu", ".cuh")]
    cpp = [text_of(p) for p in paths if p.suffix not in (".cu", ".cuh")]
    asked: Json = {
        "cpp": cpp,
        "cuda": cuda,
        "functions": None,
        "flags": [f for f in more.get("extra_cuda_cflags") or () if f],
        "whole": True,
    }
    return _extension(asked, False, 60, False)


@contextlib.contextmanager
def instead() -> Iterator[None]:
    """Inside, a candidate's file builds its extension as it does on a GPU."""
    import torch.utils.cpp_extension as place

    before = place.load_inline, place.load
    place.load_inline, place.load = load_inline, load
    try:
        yield
    finally:
        place.load_inline, place.load = before
