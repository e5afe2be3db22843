"""Declarations of torch's methods and functions for host code, generated from torch's list of operators.

Each schema `aten::name.overload(...)` becomes a function of C++ with the types that torch's own interface has, and, where it takes
`self`, a method. All are defined in one object that is compiled once; each asks the interpreter that records. A schema with a type
that is not in the tables below is left out; using it is a gap of the stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: Types of schemas as parameters of C++.
_TYPES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const std::optional<Tensor>&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "const std::vector<std::optional<Tensor>>&",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "IntArrayRef",
    "int[]?": "OptionalIntArrayRef",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "ArrayRef<double>",
    "float[]?": "std::optional<ArrayRef<double>>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "std::string",
    "str?": "std::optional<std::string>",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "Scalar[]": "ArrayRef<Scalar>",
    "ScalarType": "ScalarType",
    "ScalarType?": "std::optional<ScalarType>",
    "MemoryFormat": "MemoryFormat",
    "MemoryFormat?": "std::optional<MemoryFormat>",
    "Device": "Device",
    "Device?": "std::optional<Device>",
    "Layout?": "std::optional<Layout>",
    "Generator?": "std::optional<Generator>",
}
_RETURNS = {
    "Tensor": "Tensor",
    "Tensor[]": "std::vector<Tensor>",
    "bool": "bool",
    "int": "int64_t",
    "float": "double",
    "Scalar": "Scalar",
    "()": "void",
}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")
#: What the header defines by hand, words of C++, and functions that only torch's interpreter has.
_BY_HAND = frozenset(
    (
        *(
            "to",
            "contiguous",
            "item",
            "cuda",
            "cpu",
            "size",
            "stride",
            "dim",
        ),
        *(
            "numel",
            "is_contiguous",
            "is_floating_point",
            "data",
            "storage_offset",
            "tensor",
            "as_tensor",
            "from_blob",
        ),
        *(
            "device",
            "layout",
            "requires_grad",
            "requires_grad_",
            "is_cuda",
            "element_size",
            "nbytes",
            "sizes",
        ),
        *(
            "strides",
            "type",
            "is_same",
            "get_device",
            "is_sparse",
            "itemsize",
            "is_pinned",
            "defined",
        ),
        *(
            "sym_size",
            "sym_stride",
            "sym_numel",
            "sym_storage_offset",
            "and",
            "or",
            "xor",
            "not",
        ),
        *(
            "bool",
            "int",
            "float",
            "double",
            "long",
            "short",
            "char",
            "default",
        ),
        *(
            "is_non_overlapping_and_dense",
            "options",
            "dtype",
            "grad",
            "retains_grad",
            "output_nr",
            "is_cpu",
            "Float",
        ),
        *(
            "Int",
            "Bool",
        ),
    )
)
_SCHEMA = re.compile(r"aten::(\w+)(?:\.(\w+))?\((.*)\) -> (.*)$")
_ARGUMENT = re.compile(r"(?P<type>[\w\[\]?]+)(?:\([^)]*\))?(?P<more>[\[\]\d?]*) (?P<name>\w+)(?:=(?P<default>.*))?$")


@dataclass(frozen=True)
class _Argument:
    type: str
    name: str
    default: str | None


@dataclass(frozen=True)
class Function:
    """One operator: its name, its overload, its arguments, what it returns in C++."""

    name: str
    overload: str
    arguments: tuple[_Argument, ...]
    result: str


def _split(text: str) -> list[str]:
    out, depth, last = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            out.append(text[last:i].strip())
            last = i + 1
    return [*out, text[last:].strip()] if text.strip() else []


def parse(schema: str) -> Function | None:
    """A schema as a function; None for what the stand-in leaves out."""
    found = _SCHEMA.match(schema)
    if found is None or found[1].startswith("_") or found[1] in _BY_HAND:
        return None
    if re.search("dimname|names", found[2] or "", re.I):
        return None  # Named dimensions are printed as strings.
    arguments = []
    parts = _split(found[3])
    for at, text in enumerate(parts):
        if text == "*":
            continue
        argument = _ARGUMENT.match(text)
        # What is written and named after `*` is an output that the caller gives.
        if argument is None or ("!" in text and "*" in parts[:at]):
            return None
        kind = re.sub(r"\[\d+\]", "[]", argument["type"] + argument["more"]).replace("SymInt", "int")
        if kind not in _TYPES:
            return None
        arguments.append(_Argument(kind, argument["name"], argument["default"]))
    returned = re.sub(r"\((\w)( -> \w)?!?\)|\(\w!\)|\([a-z|!]+( -> \*)?\)", "", found[4]).replace("SymInt", "int").strip()
    result = _result(returned)
    if result is None or not (any("Tensor" in a.type for a in arguments) or "Tensor" in result):
        return None
    return Function(found[1], found[2] or "", tuple(arguments), result)


def _result(text: str) -> str | None:
    if text in _RETURNS:
        return _RETURNS[text]
    if text.startswith("(") and text.endswith(")"):
        parts = [_RETURNS.get(p.split(" ")[0]) for p in _split(text[1:-1])]
        if all(parts):
            return f"std::tuple<{', '.join(str(p) for p in parts)}>"
    return None


def _default(argument: _Argument) -> str | None:
    text = argument.default
    if text is None:
        return None
    if text == "None":
        return "std::nullopt" if not argument.type.startswith("int[]") else "OptionalIntArrayRef()"
    if text in ("True", "False"):
        return text.lower()
    if text.startswith("["):
        return "{" + text[1:-1] + "}" if argument.type.startswith(("int[]", "float[]")) else None
    if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text):
        return f"Scalar({text})" if argument.type.startswith("Scalar") else text
    if text[:1] in "\"'":
        return '"' + text.strip("\"'") + '"'
    return None


def _word(name: str) -> str:
    return f"{name}_" if name in ("self", "end", "default", "register", "this", "operator") else name


class _Signature:
    """A function's parameters and what its body passes on, for the method (without `self`) or the function."""

    def __init__(self, function: Function, method: bool) -> None:
        self.types: list[str] = []
        self.parameters: list[tuple[str, str, str | None]] = []
        self.passed: list[str] = []
        names = [a.name for a in function.arguments]
        grouped = all(n in names for n in _OPTIONS)
        for a in function.arguments:
            if grouped and a.name in _OPTIONS:
                if a.name == "dtype":
                    needed = a.default is None and not a.type.endswith("?")
                    self._add("const TensorOptions&", "options", None if needed else "{}")
                self.passed.append(
                    {"dtype": "box(options.type_)", "device": "box(options.device_)"}.get(a.name, "box(std::nullopt)")
                )
            elif method and a.name == "self":
                self.passed.append("box(*this)")
            else:
                self._add(_TYPES[a.type], _word(a.name), _default(a))
                self.passed.append(f"box({_word(a.name)})")

    def _add(self, kind: str, name: str, default: str | None) -> None:
        self.types.append(kind)
        self.parameters.append((kind, name, default))

    def text(self, *, defaults: bool) -> str:
        """The parameters; a default stands only where all that follow have one."""
        allowed, out = defaults, []
        for kind, name, default in reversed(self.parameters):
            allowed = allowed and default is not None
            out.append(f"{kind} {name} = {default}" if allowed else f"{kind} {name}")
        return ", ".join(reversed(out))

    def required(self) -> tuple[str, ...]:
        """The types that a caller must give at least."""
        n = len(self.parameters)
        while n and self.parameters[n - 1][2] is not None:
            n -= 1
        return tuple(self.types[:n])


def generate(schemas: Iterable[str]) -> dict[str, str]:
    """The texts of `methods.inc`, `functions.inc` and `definitions.cpp`."""
    methods: list[str] = []
    functions: list[str] = []
    bodies = ["#include <volta/host.h>", "using namespace volta_host;", "namespace at {"]
    taken: set[tuple[bool, str, tuple[str, ...]]] = set()
    ambiguous: set[tuple[bool, str, tuple[str, ...]]] = set()
    # An overload without a name is the operator itself: it goes first, so that it wins where two have one signature.
    for f in sorted(filter(None, map(parse, set(schemas))), key=lambda f: (f.name, f.overload)):
        for method in (True, False):
            if method and not any(a.name == "self" and a.type == "Tensor" for a in f.arguments):
                continue
            s = _Signature(f, method)
            key, least = (method, f.name, tuple(s.types)), (method, f.name, s.required())
            if key in taken or least in ambiguous:
                continue
            taken.add(key)
            ambiguous.add(least)
            name = _word(f.name)
            (methods if method else functions).append(f"{f.result} {name}({s.text(defaults=True)}){' const' if method else ''};")
            call = f'volta_host::op("{f.name}", "{f.overload}", {{{", ".join(s.passed)}}})'
            run = f"{call};" if f.result == "void" else f"return volta_host::from<{f.result}>({call});"
            head = f"{f.result} {'Tensor::' if method else ''}{name}({s.text(defaults=False)}){' const' if method else ''}"
            bodies.append(f"{head} {{ {run} }}")
    bodies.append("}")
    return {
        "methods.inc": "\n".join(methods) + "\n",
        "functions.inc": "\n".join(functions) + "\n",
        "definitions.cpp": "\n".join(bodies) + "\n",
    }


#: Headers of torch that host code includes; each is the stand-in.
FORWARDED = (
    *("torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "torch/script.h", "torch/python.h", "torch/library.h"),
    *("torch/csrc/utils/pybind.h", "torch/csrc/autograd/variable.h", "torch/cuda.h"),
    *(
        "ATen/ATen.h",
        "ATen/Tensor.h",
        "ATen/Functions.h",
        "ATen/Dispatch.h",
        "ATen/TensorUtils.h",
        "ATen/AccumulateType.h",
        "ATen/NativeFunctions.h",
    ),
    *(
        "ATen/core/Tensor.h",
        "ATen/core/TensorAccessor.h",
        "ATen/core/Scalar.h",
        "ATen/OpMathType.h",
        "ATen/ScalarOps.h",
        "ATen/Parallel.h",
    ),
    *(
        "ATen/cuda/CUDAContext.h",
        "ATen/cuda/CUDAContextLight.h",
        "ATen/cuda/CUDAUtils.h",
        "ATen/cuda/Exceptions.h",
        "ATen/cuda/CUDABlas.h",
    ),
    *(
        "ATen/cuda/DeviceUtils.cuh",
        "ATen/cuda/Atomic.cuh",
        "ATen/cuda/CUDAEvent.h",
        "ATen/cuda/CUDAApplyUtils.cuh",
        "ATen/cuda/CUDATensorMethods.cuh",
    ),
    *(
        "ATen/cuda/detail/KernelUtils.h",
        "ATen/cuda/detail/IndexUtils.cuh",
        "ATen/native/cuda/Loops.cuh",
        "ATen/native/cuda/KernelUtils.cuh",
    ),
    *("ATen/ceil_div.h", "ATen/DeviceGuard.h", "ATen/TensorAccessor.h", "ATen/NumericUtils.h", "ATen/native/cuda/block_reduce.cuh"),
    *(
        "c10/cuda/CUDAException.h",
        "c10/cuda/CUDAGuard.h",
        "c10/cuda/CUDAStream.h",
        "c10/cuda/CUDAFunctions.h",
        "c10/cuda/CUDAMacros.h",
    ),
    *(
        "c10/cuda/CUDAMathCompat.h",
        "c10/cuda/CUDACachingAllocator.h",
        "c10/macros/Macros.h",
        "c10/util/Exception.h",
        "c10/util/Half.h",
    ),
    *(
        "c10/util/BFloat16.h",
        "c10/util/Optional.h",
        "c10/util/ArrayRef.h",
        "c10/core/ScalarType.h",
        "c10/core/Device.h",
        "c10/core/DeviceType.h",
    ),
    *("c10/core/TensorOptions.h", "c10/core/MemoryFormat.h", "c10/core/Scalar.h", "c10/util/irange.h", "c10/util/Logging.h"),
    *("pybind11/pybind11.h", "pybind11/stl.h", "pybind11/functional.h", "pybind11/numpy.h"),
)
