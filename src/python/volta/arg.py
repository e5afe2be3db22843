"""Arguments of kernels: arrays by what they are, numbers as they are.

    volta.arg.input("f32", (4, 128))        read only
    volta.arg.output("f32", (4, 128))       written; has no content before
    volta.arg.inout("f32", (4, 128))        both
    volta.arg.scratch("f32", (4,))          not compared
    volta.arg.zeros("s32", (1,))            starts at zero
    volta.arg.known(array)                  an array whose contents are given
    volta.arg.pointers([a, b])              an array of pointers to others

NumPy arrays and tensors give their type, shape and strides, and no contents.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InputError

_ALIASES = {
    "float16": "f16",
    "half": "f16",
    "fp16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float": "f32",
    "fp32": "f32",
    "float64": "f64",
    "double": "f64",
    "fp64": "f64",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "fp8e4nv": "e4m3",
    "fp8e5": "e5m2",
    "bool": "u8",
    "int": "s32",
    **{f"int{n}": f"s{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
    **{f"i{n}": f"s{n}" for n in (8, 16, 32, 64)},
}
_NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "e4m3": np.float32,
    "e5m2": np.float32,
    **{f"s{n}": getattr(np, f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": getattr(np, f"uint{n}") for n in (8, 16, 32, 64)},
}


def type_name(dtype: object) -> str:
    """The program's word for an element type: of NumPy, of torch, of Triton, or the word itself."""
    if isinstance(dtype, np.dtype):
        text = dtype.name
    elif isinstance(dtype, type) and issubclass(dtype, np.generic):
        text = np.dtype(dtype).name
    elif dtype is bool:
        text = "bool"
    else:
        text = str(dtype).rsplit(".", 1)[-1]
    name = _ALIASES.get(text, text)
    if name not in _NUMPY:
        raise InputError(f"`{dtype}` is no element type; one of {', '.join(_NUMPY)}")
    return name


def numpy_type(name: str) -> Any:
    """The NumPy type that holds values of an element type (a wider one where NumPy has none)."""
    return _NUMPY.get(name, np.float64)


@dataclass(frozen=True)
class Array:
    """An array that a pointer parameter points to: `strides` in elements where it is not row-major and dense.

    The program sees one with strides as the row of elements that its memory is, from the first one to the last."""

    type: str
    shape: tuple[int, ...]
    role: str | None = None
    strides: tuple[int, ...] | None = None
    contents: str | None = None
    name: str | None = None
    #: Elements of it are truth values.
    is_bool: bool = False
    #: It was given as a tensor of torch.
    is_tensor: bool = False

    def text(self) -> str:
        """It as the command line writes it."""
        role = f"{self.role}:" if self.role else ""
        out = f"{role}{self.type}[{','.join(map(str, self.extents or (1,)))}]"
        return out if self.contents is None else f"{out}={self.contents}"

    @property
    def extents(self) -> tuple[int, ...]:
        """Its dimensions as the program sees them."""
        if self.strides is None:
            return self.shape
        if 0 in self.shape:
            return (0,)
        return (1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides)),)

    def named(self, name: str) -> Array:
        """The same array under a name for formulas and reports."""
        return replace(self, name=name)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class View:
    """An array of a sequence of launches from an offset on, in bytes."""

    array: Array
    offset: int = 0


@dataclass(frozen=True)
class Pointers:
    """An array of pointers to other arrays, in order."""

    arrays: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """One pointer for each array."""
        return (len(self.arrays),)

    def targets(self, position: int) -> dict[str, Array]:
        """The arrays by their names, or by names that the position of the parameter gives."""
        return {a.name or f"p{position}_{i}": a for i, a in enumerate(self.arrays)}

    def text(self, position: int) -> str:
        """It as the command line writes it."""
        names = ",".join(f"${n}" for n in self.targets(position))
        return f"in:ptr[{len(self.arrays)}]=[{names}]"


Scalar = int | float
Arg = Array | View | Pointers | Scalar


def _make(role: str | None, dtype: object, shape: int | tuple[int, ...], contents: str | None = None) -> Array:
    try:
        sizes = tuple(operator.index(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    except TypeError as e:
        raise InputError(f"a shape is a whole number or a tuple of them, not {shape!r}") from e
    if any(n < 0 for n in sizes):
        raise InputError(f"a shape has no negative sizes: {sizes}")
    is_bool = str(dtype).rsplit(".", 1)[-1] in ("bool", "<class 'bool'>")
    return Array(type_name(dtype), sizes, role, contents=contents, is_bool=is_bool)


def input(dtype: object, shape: int | tuple[int, ...]) -> Array:
    """An array that a kernel reads."""
    return _make("in", dtype, shape)


def output(dtype: object, shape: int | tuple[int, ...]) -> Array:
    """An array that a kernel writes, without content before."""
    return _make("out", dtype, shape)


def inout(dtype: object, shape: int | tuple[int, ...]) -> Array:
    """An array that a kernel reads and writes."""
    return _make("inout", dtype, shape)


def scratch(dtype: object, shape: int | tuple[int, ...]) -> Array:
    """An array that a kernel uses, and that is not compared."""
    return _make("scratch", dtype, shape)


def zeros(dtype: object, shape: int | tuple[int, ...]) -> Array:
    """An array that starts at zero and is compared."""
    return _make("inout", dtype, shape, "0")


def known(array: object, role: str = "in") -> Array:
    """An array with the contents of a NumPy array or of a tensor on the CPU."""
    values: npt.NDArray[Any] = np.asarray(array)
    return Array(type_name(values.dtype), values.shape, role, contents=contents_of(values))


def pointers(arrays: Sequence[Any]) -> Pointers:
    """An array of pointers, to arrays of ours, of NumPy, or tensors. Formulas and reports call the targets by their names
    (`array.named("w0")`), else `p2_0`, `p2_1` and so on where the parameter is the third."""
    found = tuple(array(a) for a in arrays)
    if not found:
        raise InputError("an array of pointers has one at least")
    return Pointers(found)


def contents_of(array: object) -> str:
    """The elements of an array as the command line writes them."""
    return f"[{','.join(_number(v) for v in np.asarray(array).ravel().tolist())}]"


def _number(v: object) -> str:
    if isinstance(v, bool):
        return str(int(v))
    return repr(v)


def is_array(value: object) -> bool:
    """Whether a value stands for an array: one of ours, of NumPy, or a tensor."""
    return isinstance(value, (Array, View, Pointers, np.ndarray)) or (
        hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, np.generic)
    )


def array(value: Any) -> Array:
    """An array from whatever stands for one: of ours, of NumPy, a tensor, or a shape, which is one of f32."""
    if isinstance(value, int) or (isinstance(value, (tuple, list)) and all(isinstance(n, int) for n in value)):
        return input("f32", value if isinstance(value, int) else tuple(value))
    made = coerce(value)
    if isinstance(made, Array):
        return made
    raise InputError(f"{value!r} is no array: one of volta.arg, a NumPy array, a tensor or a shape")


def coerce(value: object) -> Arg:
    """An argument from whatever stands for one."""
    if isinstance(value, (Array, View, Pointers)):
        return value
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, np.ndarray):
        size = value.dtype.itemsize
        if any(s < 0 or s % max(size, 1) for s in value.strides):
            raise InputError(f"an array with strides of {value.strides} bytes is no argument: copy it (numpy.ascontiguousarray)")
        dense = value.flags["C_CONTIGUOUS"]
        strides = None if dense else tuple(s // size for s in value.strides)
        return Array(type_name(value.dtype), value.shape, strides=strides, is_bool=value.dtype.kind == "b")
    if is_array(value):
        return _tensor(value)
    raise InputError(f"{value!r} is no argument: a number, an array, a tensor or one of volta.arg")


def _tensor(value: Any) -> Array:
    shape = tuple(int(n) for n in value.shape)
    strides: tuple[int, ...] | None = None
    stride = getattr(value, "stride", None)
    if callable(stride):
        strides = tuple(int(n) for n in stride())
        dense, step = True, 1
        for n, s in zip(reversed(shape), reversed(strides)):
            dense = dense and (n == 1 or s == step)
            step *= n
        strides = None if dense else strides
    is_bool = str(value.dtype).rsplit(".", 1)[-1] == "bool"
    return Array(type_name(value.dtype), shape, strides=strides, is_bool=is_bool, is_tensor=True)


def text(value: Arg) -> str:
    """An argument as the command line writes it."""
    if isinstance(value, View):
        raise InputError("a view of an array stands in a list of launches only")
    if isinstance(value, Pointers):
        raise InputError("an array of pointers is bound to a parameter of a launch, and to nothing else")
    if isinstance(value, Array):
        return value.text()
    if isinstance(value, float):
        return repr(value)
    return str(value)
