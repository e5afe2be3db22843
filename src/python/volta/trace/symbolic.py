"""Arrays of a traced function: each knows its shape, and for the places of an index the tree of that element.

An element whose tree is large is given a name of its own (a helper in `where`) before it is used again, so that a
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
from . import indices, tables
from .tree import Choice, Element, Node, Variable, chained, node, quoted, written

Index = tuple[Node, ...]
Gives = Callable[[Index], Node]
Number = int | float
#: `int`: its tree is an integer of the grammar, for indices and remainders; `rounded`: an integer whose tree is a value.
Kind = Literal["float", "int", "rounded", "bool"]
#: The least and the greatest that the elements of an array of integers can be.
Bounds = tuple[int, int]

#: What has no value: where it is read, the function is undefined.
NOTHING = node(0.0) / node(0.0)

#: Operations in the tree of an element from which on it gets a name before it becomes part of another.
LONG = 12

#: The same where another operation writes it more than once, or once for each of many elements.
REPEATED = 3

#: Nodes and levels of an index from which on what is read at it has a name, and views of views from which on they have one.
LARGE, DEEP, VIEWS = 400, 12, 24

#: The same of an integer, which is none of the grammar any more where it has a name.
WHOLE = 24


def kind_of(array: arg.Array) -> Kind:
    """What its elements are in a formula."""
    if array.is_bool:
        return "bool"
    return "float" if array.type[0] in "fbe" else "int"


def bounds_of(type_name: str) -> Bounds:
    """The least and the greatest number of a type of integers: `s8`, `u32` and so on."""
    bits = int(type_name[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_name[0] == "s" else (0, (1 << bits) - 1)


@dataclass(frozen=True)
class Helper:
    """An intermediate array of a formula."""

    name: str
    index: tuple[Variable, ...]
    value: Node

    def text(self) -> str:
        """As it stands after `where`."""
        return f"{quoted(self.name)}[{', '.join(v.name for v in self.index)}] = {written(self.value)}"


class Trace:
    """The definitions of one function."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.helpers: dict[str, Helper] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.taken = set(taken or ())
        self._variables = itertools.count()
        self._names = itertools.count()

    def variable(self) -> Variable:
        """An index that nothing else uses."""
        return Variable(f"i{next(self._variables)}")

    def leaf(self, name: str, array: arg.Array) -> Symbolic:
        """An input. Truth values are stored as numbers, and any but 0 is true."""
        kind, strides = kind_of(array), array.strides
        self.taken.add(name)

        def element(at: Index) -> Node:
            return Element(name, at if strides is None else (indices.sum_of(at, strides),), kind != "float")

        if kind == "bool":
            return Symbolic(self, array.shape, lambda at: chained(element(at), "!=", 0), "bool", 1)
        return Symbolic(self, array.shape, element, kind, bounds=bounds_of(array.type) if kind == "int" else None)

    def constant(self, value: Any) -> Symbolic:
        """Numbers: one, or an array, whose elements the formula spells out as far as no rule gives them."""
        array = np.asarray(value)
        kinds: dict[str, Kind] = {"f": "float", "i": "int", "u": "int", "b": "bool"}
        if array.dtype.kind not in kinds:
            raise InputError(f"{value!r} is no array of numbers")
        kind = kinds[array.dtype.kind]
        element, size = tables.table(array.astype(np.int64) if kind == "bool" else array)
        if kind == "bool":
            return Symbolic(self, array.shape, lambda at: chained(element(at), "=", 1), "bool", 1 + size)
        out = Symbolic(self, array.shape, element, kind, size)
        if kind == "int":
            out.known = array
            out.bounds = (int(array.min()), int(array.max())) if array.size else (0, 0)
        return out

    def define(self, shape: tuple[int, ...], element: Gives, kind: Kind) -> Symbolic:
        """A value under a name of its own; a truth value is kept as 1 or 0."""
        name = next(n for n in (f"t{i}" for i in self._names) if n not in self.taken)
        self.taken.add(name)
        index = tuple(self.variable() for _ in shape)
        value = element(index)
        if kind == "bool":
            value = Choice(value, node(1), node(0))
        self.shapes[name] = tuple(int(n) for n in shape)
        self.helpers[name] = Helper(name, index, value)
        if kind == "bool":
            return Symbolic(self, shape, lambda at: chained(Element(name, at), "=", 1), "bool", 1)
        # The grammar takes no helper for an integer.
        return Symbolic(self, shape, lambda at: Element(name, at), "rounded" if kind == "int" else kind)


class Symbolic:
    """An array of a function that is traced. `weight` counts the operations in the tree of an element."""

    def __init__(
        self,
        trace: Trace,
        shape: tuple[int, ...],
        element: Gives,
        kind: Kind = "float",
        weight: int = 0,
        bounds: Bounds | None = None,
    ) -> None:
        self.trace, self.shape, self.kind, self.weight = trace, tuple(int(n) for n in shape), kind, weight
        #: `None` where nothing is known of them.
        self.bounds = bounds
        self._element = element
        #: Views of views that it is.
        self.views = 0
        self._named: Symbolic | None = None
        #: Integers that are known when the function is traced.
        self.known: np.ndarray[Any, Any] | None = None
        #: Bits of an integer from the lowest on that are known to be 0.
        self.zeros = 0

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def at(self, index: Index) -> Node:
        """The tree of an element."""
        # What has a name ends a tree that grows with each view of a view. An integer of the grammar has none, and a helper
        # is read at places that are known alone.
        may_end = self.views and self.kind != "int" and not any(i.of_data for i in index)
        if may_end and any(i.size > LARGE or i.depth > DEEP for i in index):
            return self.named().at(index)
        out = self._element(index)
        return self.named().at(index) if may_end and (out.size > 4 * LARGE or out.depth > 2 * DEEP) else out

    def view(self, shape: tuple[int, ...], place: Callable[[Index], Index]) -> Symbolic:
        """The same elements at other places: `place` gives the index in this array."""
        source = self.named() if self.views >= VIEWS and self.kind != "int" else self
        out = Symbolic(self.trace, shape, lambda index: source.at(place(index)), source.kind, source.weight, source.bounds)
        out.views = source.views + 1
        return out

    def named(self) -> Symbolic:
        """The same value under a name."""
        if self._named is None:
            self._named = self.trace.define(self.shape, self._element, self.kind)
            self._named.bounds = self.bounds
        return self._named

    def short(self, most: int = LONG) -> Symbolic:
        """The same value, under a name if the tree of an element has more than `most` operations."""
        return self if self.weight <= most else self.named()


@dataclass(frozen=True)
class Missing:
    """A result that has no formula, with the reason: a function that uses it is not covered."""

    reason: str
