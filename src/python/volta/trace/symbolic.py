"""Arrays of a traced function: each knows its shape, and for the texts of an index the text of that element.

Every text is closed: a name, a number, a call, or in parentheses, so that it stands anywhere without another thought.
An element whose text is long is given a name of its own (a helper in `where`) before it is used again, so that a
formula grows with the operations of a function and not with the paths through them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .. import arg
from ..errors import InputError
from . import indices

Index = tuple[str, ...]
Element = Callable[[Index], str]
Number = int | float
#: `int`: its text is an integer of the grammar, for indices and remainders; `rounded`: an integer whose text is a value.
Kind = Literal["float", "int", "rounded", "bool"]
#: The least and the greatest that the elements of an array of integers can be.
Bounds = tuple[int, int]

#: Operations in the text of an element from which on it gets a name before it becomes part of another.
LONG = 12

#: The same where another operation writes it more than once, or once for each of many elements.
REPEATED = 3

#: The same of an integer, which is none of the grammar any more where it has a name.
WHOLE = 64

#: Elements of a constant array that a formula spells out.
CONSTANTS = 256

#: Words that the grammar of formulas has.
RESERVED = frozenset(
    (
        *("where", "in", "if", "then", "else", "and", "or", "not", "sum", "max", "min", "prod", "mean", "inf", "pi"),
        *("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "abs", "relu", "sigmoid", "floor"),
    )
)


def quoted(name: str) -> str:
    """A name as a formula writes it."""
    return name if name.isidentifier() and name.isascii() and name not in RESERVED else f"`{name}`"


def kind_of(array: arg.Array) -> Kind:
    """What its elements are in a formula."""
    if array.is_bool:
        return "bool"
    return "float" if array.type[0] in "fbe" else "int"


def bounds_of(type_name: str) -> Bounds:
    """The least and the greatest number of a type of integers: `s8`, `u32` and so on."""
    bits = int(type_name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_name[0] == "s" else (0, (1 << bits) - 1)


def bare(text: str) -> str:
    """A text without the parentheses around the whole of it, for where others stand already."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text


def literal(value: Number) -> str:
    """A number. One of floating point has a point, so that no division by it rounds down."""
    if isinstance(value, (bool, int, np.integer)):
        return str(int(value)) if value >= 0 else f"({int(value)})"
    number = float(value) or 0.0
    if math.isnan(number):
        raise InputError("a formula has no NaN")
    if math.isinf(number):
        return "inf" if number > 0 else "(-inf)"
    # The shortest decimal that is this number: that is what the source says.
    text = np.format_float_positional(number, trim="0")
    return text if number >= 0 else f"({text})"


class Trace:
    """The definitions of one function."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.helpers: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.taken = set(taken or ())
        self._variables = itertools.count()
        self._names = itertools.count()

    def variable(self) -> str:
        """An index that nothing else uses."""
        return f"i{next(self._variables)}"

    def leaf(self, name: str, array: arg.Array) -> Symbolic:
        """An input. Truth values are stored as numbers, and any but 0 is true."""
        word, kind, strides = quoted(name), kind_of(array), array.strides
        self.taken.add(name)

        def element(at: Index) -> str:
            return f"{word}[{', '.join(at if strides is None else (indices.sum_of(at, strides),))}]"

        if kind == "bool":
            return Symbolic(self, array.shape, lambda at: f"({element(at)} != 0)", "bool", 1)
        return Symbolic(self, array.shape, element, kind, bounds=bounds_of(array.type) if kind == "int" else None)

    def constant(self, value: Any) -> Symbolic:
        """Numbers: one, or an array whose elements the formula spells out."""
        array = np.asarray(value)
        kinds: dict[str, Kind] = {"f": "float", "i": "int", "u": "int", "b": "bool"}
        if array.dtype.kind not in kinds:
            raise InputError(f"{value!r} is no array of numbers")
        kind = kinds[array.dtype.kind]
        numbers: Kind = "int" if kind == "bool" else kind
        flat = array.reshape(-1).tolist()
        if not flat or all(v == flat[0] for v in flat):
            number = flat[0] if flat else 0
            out = Symbolic(self, array.shape, lambda _: literal(number), numbers)
        elif (steps := _steps(array)) is not None:
            out = Symbolic(self, array.shape, steps, numbers, 1)
        elif array.size > CONSTANTS:
            raise InputError(f"a constant array of {array.size} elements is not covered: make it an argument")
        else:
            out = Symbolic(self, array.shape, _table(array), numbers, array.size)
        if kind == "bool":
            return Symbolic(self, out.shape, lambda at: f"({out.at(at)} = 1)", "bool", out.weight)
        if kind == "int":
            out.known = array
            out.bounds = (min(flat, default=0), max(flat, default=0))
        return out

    def define(self, shape: tuple[int, ...], element: Element, kind: Kind) -> Symbolic:
        """A value under a name of its own; a truth value is kept as 1 or 0."""
        name = next(n for n in (f"t{i}" for i in self._names) if n not in self.taken)
        self.taken.add(name)
        index = tuple(self.variable() for _ in shape)
        text = bare(element(index))
        if kind == "bool":
            text = f"if {text} then 1 else 0"
        self.shapes[name] = tuple(int(n) for n in shape)
        self.helpers.append(f"{name}[{', '.join(index)}] = {text}")
        if kind == "bool":
            return Symbolic(self, shape, lambda at: f"({name}[{', '.join(at)}] = 1)", "bool", 1)
        # The grammar takes no helper for an integer.
        return Symbolic(self, shape, lambda at: f"{name}[{', '.join(at)}]", "rounded" if kind == "int" else kind)


class Symbolic:
    """An array of a function that is traced. `weight` counts the operations in the text of an element."""

    def __init__(
        self,
        trace: Trace,
        shape: tuple[int, ...],
        element: Element,
        kind: Kind = "float",
        weight: int = 0,
        bounds: Bounds | None = None,
    ) -> None:
        self.trace, self.shape, self.kind, self.weight = trace, tuple(int(n) for n in shape), kind, weight
        #: `None` where nothing is known of them.
        self.bounds = bounds
        self._element = element
        self._named: Symbolic | None = None
        #: Integers that are known when the function is traced.
        self.known: np.ndarray[Any, Any] | None = None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def at(self, index: Index) -> str:
        """The text of an element."""
        return self._element(index)

    def view(self, shape: tuple[int, ...], place: Callable[[Index], Index]) -> Symbolic:
        """The same elements at other places: `place` gives the index in this array."""
        return Symbolic(self.trace, shape, lambda index: self.at(place(index)), self.kind, self.weight, self.bounds)

    def short(self, most: int = LONG) -> Symbolic:
        """The same value, under a name if the text of an element has more than `most` operations."""
        if self.weight <= most:
            return self
        if self._named is None:
            self._named = self.trace.define(self.shape, self.at, self.kind)
            self._named.bounds = self.bounds
        return self._named


@dataclass(frozen=True)
class Missing:
    """A result that has no formula, with the reason: a function that uses it is not covered."""

    reason: str


def _steps(array: np.ndarray[Any, Any]) -> Element | None:
    """Integers that grow along one axis by equal steps, or by one for so many places: a quotient of the index."""
    axes = [i for i, n in enumerate(array.shape) if n > 1]
    if len(axes) != 1 or array.dtype.kind not in "iu":
        return None
    (axis,) = axes
    flat = [int(v) for v in array.reshape(-1)]
    for each in (n for n in range(1, len(flat) + 1) if len(flat) > n):
        step = flat[each] - flat[0]
        if flat == [flat[0] + step * (i // each) for i in range(len(flat))]:
            return lambda index: indices.plus(indices.times(indices.quotient(index[axis], each), step), flat[0])
    return None


def _table(array: np.ndarray[Any, Any]) -> Element:
    def element(index: Index) -> str:
        out = literal(array.reshape(-1)[-1].item())
        for place in reversed(list(np.ndindex(*array.shape))[:-1]):
            same = " and ".join(f"{i} = {p}" for i, p in zip(index, place))
            out = f"if {same} then {literal(array[place].item())} else {out}"
        return f"({out})"

    return element
