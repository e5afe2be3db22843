"""A function of arrays as a formula: which library it is written for, what it takes and what it returns."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from .. import arg
from ..errors import InputError
from ..kernels import Formula
from . import indices
from .drawn import codes, nothing_drawn, same_again
from .elementwise import number, operand
from .symbolic import Helper, Index, Symbolic, Trace, kind_of
from .tree import Call, Element, parts_of

Library = Literal["numpy", "torch"]

#: Methods that arrays of both libraries have, and that mean different things.
DIFFERENT = frozenset(("std", "var", "repeat", "max", "min"))

#: Keywords of one library.
KEYWORDS: dict[str, Library] = {"axis": "numpy", "keepdims": "numpy", "ddof": "numpy", "dim": "torch", "keepdim": "torch"}


def is_module(f: object) -> bool:
    """Whether something is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(f, torch.nn.Module)


def _mentions(f: Any, seen: set[int], names: set[str]) -> set[str]:
    """The packages that a function refers to, through others too; `names` gathers the names of its attributes."""
    f = inspect.unwrap(getattr(f, "__func__", f)) if callable(f) else f
    code = getattr(f, "__code__", None)
    if id(f) in seen or len(seen) > 200:
        return set()
    seen.add(id(f))
    if (home := _package(f)) is not None:
        return {home}
    if not isinstance(code, types.CodeType):
        call = vars(type(f)).get("__call__")
        inner = getattr(f, "func", None) or (call if isinstance(call, types.FunctionType) else None)
        return _mentions(inner, seen, names) if callable(inner) else set()
    own = list(codes(code))
    found = {n for c in own for n in c.co_names}
    names |= found | {k for c in own for v in c.co_consts if isinstance(v, tuple) for k in v if isinstance(k, str)}
    cells = [c.cell_contents for c in getattr(f, "__closure__", None) or () if _is_filled(c)]
    values = [*cells, *(f.__globals__[n] for n in found if n in f.__globals__)]
    out = found & {"torch", "numpy"}
    for value in values:
        package = "torch" if is_module(value) else _package(value)
        if package is not None:
            out.add(package)
        elif isinstance(value, types.FunctionType):
            out |= _mentions(value, seen, names)
    return out


def _package(value: object) -> Library | None:
    """The package that a module, a function or a method is of, functions that are not written in Python too."""
    owner = getattr(value, "__objclass__", value)
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(owner, "__module__", None)
    package = str(home).partition(".")[0]
    return cast(Library, package) if package in ("torch", "numpy") else None


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def library_of(f: Callable[..., Any], tensors: bool = False) -> Library | None:
    """The library whose arrays a function takes; `None` where it means the same with both, or only one of them can know."""
    if is_module(f):
        return "torch"
    names: set[str] = set()
    found = _mentions(f, set(), names)
    if "torch" in found or (tensors and "numpy" not in found):
        return "torch"
    if "numpy" in found or "torch" not in sys.modules:
        return "numpy"
    hints = {KEYWORDS[n] for n in names & KEYWORDS.keys()}
    if len(hints) == 1:
        return hints.pop()
    unclear = sorted(names & DIFFERENT)
    if unclear:
        raise InputError(f"`{unclear[0]}` differs between NumPy and torch: say volta.function(f, shapes, library=...)")
    return None


@dataclass(frozen=True)
class Traced:
    """What a function returns, as values and as arrays, and all arrays that it takes."""

    trace: Trace
    results: list[Symbolic]
    arrays: list[arg.Array]
    inputs: dict[str, arg.Array]


def formula_of(
    f: Callable[..., Any],
    inputs: Mapping[str, arg.Array],
    outputs: Mapping[str, arg.Array] | None = None,
    numbers: Mapping[str, Any] | None = None,
    library: Library | None = None,
) -> Formula:
    """The formula of a function of named inputs, and of numbers by the names of its parameters.

    A module of torch takes its inputs in order; inputs that are called as its parameters and buffers are those, and the
    others of these that it uses become inputs as well. Without `outputs` what it returns is `y`, or `y0`, `y1` and so on.
    The formula lists its `inputs` and `outputs` as arrays.
    """
    given = dict(inputs)
    _fits(f, given, numbers or {})
    taken = {*given, *(outputs or {})}
    library = library or library_of(f, any(a.is_tensor for a in given.values()))
    try:
        with nothing_drawn(f):
            found = _formula(f, given, outputs, numbers or {}, library, taken)
        if not is_module(f):
            same_again(found.text, _formula(f, given, outputs, numbers or {}, library, taken).text)
    except MemoryError as e:
        raise InputError(f"the function makes an array of NumPy that is too large to have: {e}") from e
    except RecursionError as e:
        raise InputError("the function nests more operations than a formula does: return what is between as well") from e
    return found


def _formula(
    f: Callable[..., Any],
    given: dict[str, arg.Array],
    outputs: Mapping[str, arg.Array] | None,
    numbers: Mapping[str, Any],
    library: Library | None,
    taken: set[str],
) -> Formula:
    """The formula that a function gives once."""
    traced: Traced
    if library == "torch":
        traced = _of_torch(f, Trace(taken), given, numbers)
    else:
        try:
            traced = _of_numpy(f, Trace(taken), given, numbers)
        except InputError:
            if library is not None:
                raise
            traced = _of_torch(f, Trace(taken), given, numbers)
    trace, results, made, given = traced.trace, traced.results, traced.arrays, traced.inputs
    if outputs is None:
        names = ["y"] if len(results) == 1 else [f"y{i}" for i in range(len(results))]
        outputs = dict(zip(names, made))
    if len(results) != len(outputs):
        raise InputError(f"the function returns {len(results)} arrays, and there are {len(outputs)} outputs")
    definitions = [_definition(trace, n, a, r) for (n, a), r in zip(outputs.items(), results)]
    return Formula("; ".join(_with_helpers(d, trace.helpers) for d in definitions), given, dict(outputs), trace.shapes)


def _parameters(f: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(f.forward if is_module(f) else f).parameters  # type: ignore[attr-defined]
    except (TypeError, ValueError):  # One that is not written in Python.
        return {}


def _fits(f: Callable[..., Any], arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> None:
    """Says which arguments a function would get, if it cannot be called with them."""
    parameters = _parameters(f)
    if not parameters and not is_module(f) and not isinstance(f, types.FunctionType):
        return
    # The state of a module stands among the arrays, or does not.
    state = {n for n, _ in [*f.named_parameters(), *f.named_buffers()]} if is_module(f) else set()  # type: ignore[attr-defined]
    given = [n for n in arrays if n not in state]
    try:
        inspect.Signature(list(parameters.values())).bind(*given, **numbers)
    except TypeError as e:
        name = getattr(f, "__name__", type(f).__name__)
        got = [*given, *(f"{n}=" for n in numbers)]
        raise InputError(
            f"`{name}` takes ({', '.join(parameters)}), and is given ({', '.join(got)}): {e}. "
            "A function takes the input arrays in order, then the numbers that its signature names"
        ) from e


def _of_numpy(f: Callable[..., Any], trace: Trace, inputs: dict[str, arg.Array], numbers: Mapping[str, Any]) -> Traced:
    from . import numpy_calls, numpy_types

    leaves = [(trace.leaf(n, a), numpy_types.dtype_of(a)) for n, a in inputs.items()]
    results = [operand(trace, r) for r in numpy_calls.traced(f, leaves, dict(numbers))]
    return Traced(trace, results, [_array_of(r) for r in results], inputs)


def _of_torch(f: Callable[..., Any], trace: Trace, inputs: dict[str, arg.Array], numbers: Mapping[str, Any]) -> Traced:
    from . import numpy_calls, of_torch

    state = {n: arg.array(t) for n, t in of_torch.state_of(f).items()}
    own = {n: a for n, a in inputs.items() if n not in state}
    given = own | {n: inputs.get(n, a) for n, a in state.items()}
    with numpy_calls.watched({}):
        results, arrays, used = of_torch.traced(f, trace, own, {n: given[n] for n in state}, dict(numbers))
    return Traced(trace, results, arrays, {n: a for n, a in given.items() if n in inputs or n in used})


def _array_of(result: Symbolic) -> arg.Array:
    return arg.output({"float": "f32", "int": "s64", "rounded": "s64", "bool": "u8"}[result.kind], result.shape)


def _definition(trace: Trace, name: str, array: arg.Array, result: Symbolic) -> Helper:
    result = number(result)
    if result.shape != array.shape and not (result.size == array.elements == 1):
        raise InputError(f"`{name}` has shape {array.shape}, and the function returns {result.shape}")
    if result.kind == "float" and kind_of(array) != "float":
        raise InputError(f"`{name}` holds integers, and the function returns floats: cast them")
    index = tuple(trace.variable() for _ in array.extents)
    place: Index = index if result.shape == array.shape else (indices.ZERO,) * result.ndim
    if array.strides is not None:
        found = indices.of_place(index[0], array.shape, array.strides)
        if found is None:
            raise InputError(f"`{name}` has gaps: an output with strides {array.strides} is not covered")
        place = found
    value = result.at(place)
    if isinstance(value, Element) and value.array in trace.helpers and sorted(map(id, value.children)) == sorted(map(id, index)):
        # What is a helper as a whole is defined as that: of integers it stays one of the grammar.
        own = trace.helpers[value.array]
        at = {id(v): i for v, i in zip(value.children, own.index)}
        index, value = tuple(at[id(v)] for v in index), own.value
    if result.kind == "rounded" and kind_of(array) != "float" and not value.whole:
        # The program asks of what is stored as an integer that it is one, and sees that of a few operations alone.
        value = Call("floor", value)
    return Helper(name, index, value)


def _with_helpers(definition: Helper, helpers: Mapping[str, Helper]) -> str:
    """A definition with the helpers that it uses, directly or through others."""
    needed: set[str] = set()
    left = [definition.value]
    while left:
        for part in parts_of(left.pop()):
            if isinstance(part, Element) and part.array in helpers and part.array not in needed:
                needed.add(part.array)
                left.append(helpers[part.array].value)
    return definition.text() + "".join(f" where {h.text()}" for n, h in helpers.items() if n in needed)


def function(
    f: Callable[..., Any],
    shapes: Mapping[str, Any],
    library: Library | None = None,
    **numbers: Any,
) -> Formula:
    """The formula of a plain function of arrays, or of a module of torch.

    `shapes` names its inputs in order, and gives their shapes (of f32) or what they are (`volta.arg.input(...)`, an array, a
    tensor); `numbers` are further arguments by name. What it returns is `y` (several: `y0`, `y1`, ...). Parameters and
    buffers of a module are inputs called as it calls them; `shapes` may name them to give their types.

    Covered, of NumPy and torch: elementwise operations, broadcasting, reductions with axes, products of matrices and
    einsum, indexing, slicing and writes to slices, where, joining, reshaping, casts, bits of integers, the order of a few
    elements; of torch also convolutions, pooling, normalisations, activations, attention and losses of
    `torch.nn.functional`. An index of an input counts from the front: a negative one that data give is none. Equal elements
    are ordered as they stand. Anything else is an `InputError` that names it.

    What the function takes from elsewhere is known: arrays of numbers of up to 8,192 pieces without a rule. A function that
    draws random numbers or reads a clock has no formula. It is traced twice, so it runs twice.
    """
    inputs = {n: arg.array(s) for n, s in shapes.items()}
    return formula_of(f, inputs, None, numbers, library)


def function_of_call(f: Callable[..., Any], args: Sequence[tuple[str, arg.Arg]]) -> Formula:
    """The formula of a function, for the arguments of a launch: `f` takes the inputs in order, then the numbers that its
    signature names, and returns the outputs in order. Arrays without a role are inputs.

    After the inputs of a module come its parameters and buffers, by their names or in their order.
    """
    arrays = {n: a for n, a in args if isinstance(a, arg.Array)}
    # What starts with known contents and is written, zeros for example, is no argument of the function.
    inputs = {n: a for n, a in arrays.items() if a.role in (None, "in") or (a.role == "inout" and a.contents is None)}
    outputs = {n: a for n, a in arrays.items() if a.role in ("out", "inout")}
    if not outputs:
        raise InputError("a function as reference needs arguments that say what is an output: volta.arg.output(...)")
    numbers = {n: v for n, v in args if not isinstance(v, arg.Array) and n in _parameters(f)}
    return formula_of(f, inputs, outputs, numbers)
