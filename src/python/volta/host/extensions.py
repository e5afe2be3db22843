"""`volta.extension`: CUDA with its host code, whose functions are called under `record()` and launch nothing.

    add = volta.extension(CUDA, functions=["add"], cpp="torch::Tensor add(torch::Tensor a, torch::Tensor b);")
    with volta.record() as calls:
        y = add.add(volta.fake(4, 128), volta.fake(4, 128))
    volta.check(volta.formula("y[i,j] = a[i,j] + b[i,j]"), calls.sequence())

Each call runs the host code in a confined worker of its own. Arguments are described to it by shape, strides and storage, and
what it returns is a stand-in for a tensor again; what it launched joins the recording that is under way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import arg, recording
from ..arg import Array
from ..errors import CompileError, InputError
from ..recording import Fake
from ..server import text_of
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
        recorded = self._record({"kind": "program"})
        self._append(recorded, {}, {})

    def _record(self, job: Json) -> Json:
        job = {"real": True, "extension": self._built, **job}
        recorded, _ = worker.record(job, {}, seconds=self._timeout, allow_unconfined=self._unconfined)
        if recorded.get("gaps"):
            raise InputError(f"the stand-in of the CUDA runtime lacks {recorded['gaps'][0]}")
        if "stopped" in recorded:
            raise InputError(f"the host code did not end properly: {recorded['message']}")
        return recorded

    def _call(self, name: str, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        given = _Arguments()
        job = {
            "kind": "call",
            "function": name,
            "arguments": [given.describe(a) for a in arguments],
            "named": {k: given.describe(v) for k, v in named.items()},
        }
        recorded = self._record(job)
        inputs = {int(s["number"]): given.by_name[s["name"]] for s in recorded["storages"] if s.get("name") in given.by_name}
        made: dict[int, Fake] = {}
        out = _returned(recorded["out"], inputs, given, made)
        self._append(recorded, inputs, {n: f.array for n, f in made.items()})
        return out

    def _append(self, recorded: Json, inputs: dict[int, Array], outputs: dict[int, Array]) -> None:
        current = recording.current()
        if current is None:
            raise InputError("call an extension's functions under volta.record(): they launch nothing by themselves")
        try:
            built = sequence.Builder(recorded, [self._built], inputs, outputs).build()
        except sequence.Unclear as e:
            raise InputError(f"what the host code does is not expressed by launches: {e}") from e
        except (sequence.Wrong, sequence.Malformed) as e:
            raise InputError(str(e)) from e
        for kernel in built.launches:
            current.launches.append(recording.Launch(kernel, {}))


class _Arguments:
    """Arguments as a worker is told of them."""

    def __init__(self) -> None:
        self.by_name: dict[str, Array] = {}
        self.fakes: dict[str, Fake] = {}
        self.names: dict[int, str] = {}

    def describe(self, value: Any) -> Any:
        """One argument as JSON."""
        if isinstance(value, (list, tuple)):
            return [self.describe(v) for v in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        array = value.array if isinstance(value, Fake) else arg.coerce(value)
        if not isinstance(array, Array):
            raise InputError(f"{value!r} is no argument of host code")
        if array.strides is not None:
            raise InputError("host code takes dense arrays here")
        name = self.names.setdefault(id(array), array.name or f"a{len(self.names)}")
        array = array if array.name == name else array.named(name)
        self.by_name.setdefault(name, replace(array, role=array.role or "in"))
        if isinstance(value, Fake):
            self.fakes[name] = value
        width = _BYTES[array.type.lstrip("usbf")]
        strides = [math.prod(array.shape[i + 1 :]) for i in range(len(array.shape))]
        size = max(array.elements, 1) * width
        return {
            "storage": name,
            "name": name,
            "type": array.type,
            "shape": list(array.shape),
            "strides": strides,
            "offset": 0,
            "size": size,
        }


def _returned(value: Any, inputs: dict[int, Array], given: _Arguments, made: dict[int, Fake]) -> Any:
    """What a function returned, with stand-ins for tensors."""
    if isinstance(value, list):
        return [_returned(v, inputs, given, made) for v in value]
    if not isinstance(value, dict) or "tensor" not in value:
        return value
    view = value["tensor"]
    number = int(view["storage"])
    if number in inputs:
        name = inputs[number].name or ""
        return given.fakes.get(name) or Fake(inputs[number])
    shape = sequence.dense(view)
    if shape is None:
        raise InputError("what the function returns is a view that is not dense")
    if number not in made:
        made[number] = Fake(replace(arg.output(view["type"], shape), name=_fresh(given, len(made))))
    return made[number]


def _fresh(given: _Arguments, at: int) -> str:
    return next(n for n in (f"y{i}" for i in range(at, at + len(given.by_name) + 1)) if n not in given.by_name)


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
        built = compiler.build(asked, seconds=2 * timeout, unconfined=allow_unconfined)
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
