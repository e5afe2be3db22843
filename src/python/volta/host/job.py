"""The confined side of one recording: foreign Python and host code run here, and nowhere else.

`main` is called in a process that is forked for one job and was confined. It speaks JSON lines with its parent: it asks for
compilations, which the parent has made by another confined process, and ends with what was recorded.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import sys
import traceback
import types
from collections.abc import Iterator
from typing import IO, Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException

from . import bridge, handlers

Json = dict[str, Any]
SEED = 42


class Stop(Exception):
    """The job ends with a category of its own."""

    def __init__(self, category: str, message: str) -> None:
        super().__init__(message)
        self.category = category


class Channel:
    """JSON lines to the parent, each after a word that only this channel has, and back."""

    def __init__(self, read: int, write: int, secret: str) -> None:
        self.input: IO[bytes] = os.fdopen(read, "rb")
        output = os.fdopen(write, "wb")

        def send(message: Json) -> None:
            output.write(secret.encode() + json.dumps(message).encode() + b"\n")
            output.flush()

        #: Sends one line.
        self.send = send

    def ask(self, message: Json) -> Json:
        """A question and its answer."""
        self.send(message)
        answer: Json = json.loads(self.input.readline() or b"{}")
        return answer


def main(job: Json, channel: Channel) -> None:
    """Runs a job and sends what came of it."""
    try:
        with _recording(job, channel):
            result = _KINDS[job["kind"]](job, channel)
        # Tracing has modes of its own.
        for event, *operation in bridge.state.operations if bridge.state.real and job.get("model") != "Model" else ():
            event["formula"] = _operation(event, *operation)
        if "reference" in result:
            result["formula"] = _formula(*result.pop("reference"))
    except Stop as e:
        result = {"stopped": e.category, "message": str(e)}
    except bridge.Gap as e:
        result = {"stopped": "unsupported", "message": str(e)}
    except DataDependentOutputException as e:
        result = {
            "stopped": "host-read",
            "message": f"the host looks at a value that depends on data: {e}",
            "trace": _trace(e, job),
        }
    except MemoryError:
        result = {"stopped": "limit", "message": "the host code ran out of memory"}
    except BaseException as e:
        result = {"stopped": "raised", "message": f"{type(e).__name__}: {e}"[:2000], "trace": _trace(e, job)}
    channel.send({"done": {**result, **recorded()}})


def recorded() -> Json:
    """Everything that was written down."""
    s = bridge.state
    more = {"caught": handlers.caught, "rejected": handlers.rejected}
    return {**more, "events": s.events, "gaps": s.gaps, "storages": [p.described() for p in s.by_number]}


def _trace(e: BaseException, job: Json) -> str:
    ours = [f for f in traceback.extract_tb(e.__traceback__) if f.filename.startswith(job["folder"])]
    return "; ".join(f"{os.path.basename(f.filename)}:{f.lineno} in {f.name}" for f in ours[-3:])


@contextlib.contextmanager
def _recording(job: Json, channel: Channel) -> Iterator[None]:
    bridge.state.real = job.get("real", True)
    bridge.state.arch = job.get("arch", 80)
    bridge.state.file = f"{job['folder']}/{job.get('file', 'candidate.py')}"
    bridge.believe()
    _extensions(job, channel)
    torch.set_grad_enabled(False)
    with contextlib.ExitStack() as stack:
        if not bridge.state.real:
            from torch._subclasses.fake_tensor import FakeTensorMode

            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(bridge.Watch())
        stack.enter_context(bridge.Devices())
        yield


def _extensions(job: Json, channel: Channel) -> None:
    """`load_inline` and `load` compile against the stand-in and give a module of this process."""
    import torch.utils.cpp_extension as place

    def load_inline(name: str, cpp_sources: Any = (), cuda_sources: Any = (), functions: Any = None, **more: Any) -> Any:
        return _load(
            channel,
            {"name": name, "cpp": _texts(cpp_sources), "cuda": _texts(cuda_sources), "functions": _functions(functions)},
            more,
        )

    def load(name: str, sources: Any, **more: Any) -> Any:
        asked: Json = {"name": name, "cpp": [], "cuda": [], "functions": None, "whole": True}
        for path in _texts(sources):
            with open(path) as file:
                asked["cuda" if str(path).endswith((".cu", ".cuh")) else "cpp"].append(file.read())
        return _load(channel, asked, more)

    place.load_inline = load_inline
    place.load = load


def _texts(value: Any) -> list[str]:
    return [str(value)] if isinstance(value, (str, os.PathLike)) else [str(v) for v in value or ()]


def _functions(value: Any) -> list[str] | None:
    return None if value is None else [value] if isinstance(value, str) else list(value)


def _load(channel: Channel, asked: Json, more: dict[str, Any]) -> Any:
    flags = [str(f) for f in more.get("extra_cuda_cflags") or () if f]
    host = [str(f) for f in more.get("extra_cflags") or () if f]
    answer = channel.ask({"compile": {**asked, "flags": flags, "host_flags": host}})
    return module_of(answer)


def module_of(answer: Json) -> types.ModuleType:
    """The module that the parent had compiled."""
    if "module" not in answer:
        raise Stop(answer.get("category", "unknown"), answer.get("message", "nothing was compiled"))
    bridge.state.kernels |= answer["kernels"]
    spec = importlib.util.spec_from_file_location(answer["module"], answer["file"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[answer["module"]] = module
    return module


def _run_file(path: str, name: str, *, noting: bool = False) -> dict[str, Any]:
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path) as file:
        text = file.read()
    if noting and handlers.NAME in text:
        raise Stop("unknown", f"the file has the name {handlers.NAME}")
    if noting:
        module.__dict__[handlers.NAME] = handlers.note(lambda e: isinstance(e, Stop) and e.category == "compile")
    exec(compile(handlers.noting(text, path) if noting else text, path, "exec"), module.__dict__)
    return module.__dict__


def _digest(t: torch.Tensor) -> str:
    """What tells parameters apart: shape, type, and at shrunk sizes the values too."""
    head = f"{list(t.shape)} {t.dtype}"
    if not bridge.state.real:
        return head
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        dense = t.detach().contiguous()
        data = bytes(dense.view(-1).view(torch.uint8).numpy().tobytes()) if dense.numel() else b""
    return f"{head} {hashlib.sha256(data).hexdigest()}"


def _mark(t: torch.Tensor, what: str, name: str) -> str:
    """Makes a tensor an input or a parameter; how it was made before."""
    s = bridge.place(t)
    made = s.state
    # How it was made is the past: what it holds now is what it starts with.
    s.host, s.state, s.used = False, what, False
    s.name = s.name or name
    return made


#: Elements below which an input is drawn more often, how often that is, and zeros of all drawings that are no chance.
_SMALL, _DRAWINGS, _TRIANGLE = 256, 24, 64


def _known(task: dict[str, Any], drawn: list[Any]) -> list[Json]:
    """What several drawings of the inputs have in common, for each input."""
    again = []
    # Few small integers are alike by chance now and then.
    least = min((v.numel() for v in drawn if isinstance(v, torch.Tensor)), default=0)
    for seed in range(SEED + 1, SEED + (3 if least >= _SMALL else 2 + _DRAWINGS)):
        torch.manual_seed(seed)
        again.append(list(task["get_inputs"]()))
    out: list[Json] = []
    for i, value in enumerate(drawn):
        others = [draw[i] for draw in again]
        out.append(_common(value, others) if isinstance(value, torch.Tensor) else {})
    return out


def _common(value: torch.Tensor, others: list[Any]) -> Json:
    if value.numel() > 1 and all(torch.equal(value, o) for o in others):
        return bridge._contents(bridge.place(value), value) or {}
    if value.dim() == 2 and min(value.shape) > 1 and value.dtype == torch.float32:
        for name, half in (("lower", torch.tril), ("upper", torch.triu)):
            zeros = value.numel() - int(half(torch.ones_like(value)).sum())
            if zeros * (1 + len(others)) >= _TRIANGLE and all(torch.equal(v, half(v)) for v in (value, *others)):
                return {"triangle": name}
    drawn = _drawn.get(id(value))
    return {"range": list(drawn)} if drawn is not None else {}


#: The bounds of integers that were drawn, by tensor.
_drawn: dict[int, tuple[int, int]] = {}
_kept: list[Any] = []


def _watch_integers() -> None:
    before = torch.randint

    def randint(*args: Any, **named: Any) -> Any:
        out = before(*args, **named)
        bounds = [a for a in args if isinstance(a, int)]
        low, high = named.get("low", bounds[0] if len(bounds) > 1 else 0), named.get("high", bounds[-1] if bounds else None)
        if high is not None:
            _drawn[id(out)] = (int(low), int(high))
            _kept.append(out)
        return out

    torch.randint = randint


def _model(job: Json, channel: Channel) -> Json:
    """A task's inputs, and a model on them: the reference's, or the candidate's."""
    folder = job["folder"]
    torch.manual_seed(SEED)
    _watch_integers()
    task = _run_file(f"{folder}/task.py", "task")
    inputs = list(task["get_inputs"]())
    known = _known(task, inputs) if job.get("formula") else [{} for _ in inputs]
    torch.manual_seed(SEED)
    initial = list(task["get_init_inputs"]())
    if job["model"] == "Model":
        bridge.state.file = f"{folder}/task.py"
        model_class = task["Model"]
    else:
        try:
            candidate = _run_file(f"{folder}/candidate.py", "candidate", noting=True)
        except SyntaxError as e:
            raise Stop("syntax", f"line {e.lineno}: {e.msg}") from e
        if "ModelNew" not in candidate:
            raise Stop("syntax", "the file defines no class ModelNew")
        model_class = candidate["ModelNew"]
    torch.manual_seed(SEED)
    model = model_class(*initial)
    given: list[Any] = []
    for i, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            _mark(value, "input", f"x{i}")
            given.append({"tensor": bridge.view(value), "known": known[i]})
        else:
            given.append(value if isinstance(value, (int, float, bool, str, type(None))) else {"other": str(value)})
    parameters = []
    if isinstance(model, torch.nn.Module):
        buffers = {name for name, _ in model.named_buffers()}
        for name, t in [*model.named_parameters(), *model.named_buffers()]:
            made = _mark(t, "parameter", name)
            parameters.append(
                {"name": name, "made": made, "buffer": name in buffers, "digest": _digest(t), "tensor": bridge.view(t)}
            )
    bridge.state.events.clear()
    bridge.state.operations.clear()
    first: Json = {}
    if job["model"] != "Model" and bridge.state.real:
        first = _first_call(task, model, inputs)
    out = model(*inputs)
    outputs = [bridge.view(t) | {"host": bridge.place(t).host} for t in bridge._tensors(out)]
    result: Json = {**first, "inputs": given, "parameters": parameters, "outputs": outputs, "single": isinstance(out, torch.Tensor)}
    if job.get("formula"):
        result["reference"] = (model, inputs)
    return result


def _operation(event: Json, f: Any, args: Any, named: Any) -> Json:
    """An operation of torch as a formula of the elements that it reads."""
    from .. import arg
    from ..trace import formula_of

    given = bridge._tensors(args) + bridge._tensors(named)
    views = [v["tensor"] for v in _views([event["args"], event["named"]])]
    writes = f._schema.is_mutable

    def replaced(value: Any, queue: list[Any]) -> Any:
        if isinstance(value, torch.Tensor):
            return queue.pop(0)
        if isinstance(value, (list, tuple)):
            return type(value)(replaced(v, queue) for v in value)
        return {k: replaced(v, queue) for k, v in value.items()} if isinstance(value, dict) else value

    class Operation(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *tensors: torch.Tensor) -> Any:
            # What an operation writes in place is a value of its own here: the write becomes what is returned.
            queue = [tensors[0].clone(), *tensors[1:]] if writes else list(tensors)
            target = queue[0] if writes else None
            out = f(*replaced(args, queue), **replaced(named, queue))
            return target if writes else out

    outputs = [v["tensor"] for v in _views(event["out"])]
    if writes and (len(outputs) != 1 or outputs[0]["storage"] != views[0]["storage"]):
        return {"missing": "it writes more than its first operand"}
    arrays = {f"a{i}": arg.array(torch.empty(t.shape, dtype=t.dtype)) for i, t in enumerate(given)}
    try:
        made = formula_of(Operation(), arrays, library="torch")
    except Exception as e:
        return {"missing": f"{type(e).__name__}: {e}"[:300]}
    named_views = dict(zip(made.outputs, outputs)), dict(zip(arrays, views))
    return {
        "text": made.text,
        "outputs": named_views[0],
        "inputs": named_views[1],
        "helpers": {n: list(s) for n, s in made.helpers.items()},
    }


def _views(value: Any) -> list[Json]:
    if isinstance(value, dict):
        return [value] if "tensor" in value else [v for e in value.values() for v in _views(e)]
    return [v for e in value for v in _views(e)] if isinstance(value, list) else []


def _first_call(task: dict[str, Any], model: Any, inputs: list[Any]) -> Json:
    """A call on other inputs, before the one that is judged: what it leaves behind is there then, as it is on a GPU."""
    before = len(bridge.state.by_number)
    torch.manual_seed(SEED + 3)
    others = list(task["get_inputs"]())
    # How inputs are drawn is no part of a call.
    bridge.state.events.clear()
    bridge.state.operations.clear()
    names = []
    for i, value in enumerate(others):
        if isinstance(value, torch.Tensor):
            _mark(value, "input", f"first_x{i}")
            names.append({"tensor": bridge.view(value)})
    model(*others)
    return {"first": {"inputs": names, "events": len(bridge.state.events), "older": before}}


def _formula(model: Any, inputs: list[Any]) -> Json:
    """The reference as a formula of its inputs and parameters; what it does not cover is said."""
    import inspect

    from .. import arg
    from ..errors import InputError
    from ..trace import formula_of

    names = list(inspect.signature(model.forward).parameters)
    arrays = {f"x{i}": arg.array(v) for i, v in enumerate(inputs) if isinstance(v, torch.Tensor)}
    numbers = {names[i]: v for i, v in enumerate(inputs) if not isinstance(v, torch.Tensor) and i < len(names)}
    try:
        made = formula_of(model, arrays, numbers=numbers, library="torch")
    except InputError as e:
        return {"missing": str(e)}
    shapes = {n: [a.type, list(a.shape)] for n, a in made.outputs.items()}
    return {"text": made.text, "inputs": {n: [a.type, list(a.shape)] for n, a in made.inputs.items()}, "outputs": shapes}


def _call(job: Json, channel: Channel) -> Json:
    """One function of an extension on described arguments."""
    module = module_of(job["extension"])
    made: dict[int, torch.Tensor] = {}

    def value(v: Any) -> Any:
        if isinstance(v, list):
            return [value(e) for e in v]
        if not isinstance(v, dict):
            return v
        if "float" in v:
            return float(v["float"])
        return _tensor(v, made)

    arguments = [value(v) for v in job["arguments"]]
    named = {k: value(v) for k, v in job["named"].items()}
    bridge.state.events.clear()
    out = getattr(module, job["function"])(*arguments, **named)
    return {"out": bridge._plain(out)}


def _tensor(v: Json, made: dict[int, torch.Tensor]) -> torch.Tensor:
    kinds = {w: d for d, w in bridge._WORDS.items() if d is not torch.bool}
    dtype = kinds[v["type"]]
    if v["storage"] not in made:
        whole = torch.zeros(v["size"], dtype=torch.uint8).view(dtype)
        made[v["storage"]] = whole
        _mark(whole, "input", v["name"])
        bridge.place(whole).type = v["type"]
        bridge.place(whole).host = v.get("host", False)
    return made[v["storage"]].view(dtype).as_strided(v["shape"], v["strides"], v["offset"])


def _program(job: Json, channel: Channel) -> Json:
    """A `.cu` file with `main`."""
    import ctypes

    bridge.state.kernels |= job["extension"]["kernels"]
    library = ctypes.PyDLL(job["extension"]["file"])
    arguments = (ctypes.c_char_p * 2)(b"program", None)
    # Its name tells what it takes.
    for name in ("_Z10volta_mainv", "_Z10volta_mainiPPc", "_Z10volta_mainiPPKc", "volta_main"):
        if hasattr(library, name):
            return {"status": getattr(library, name)(1, arguments)}
    raise Stop("compile", "the file has no function main")


_KINDS = {"model": _model, "call": _call, "program": _program}
