"""Expressions of the grammar of formulas as trees, and the one place that writes them as text.

`src/prove/formula` of the program reads what is written here, and its precedence rules: from loose to tight `or`, `and`, `not`,
comparisons, `+ -`, `* / %`, unary `-`, `^`; `if` reaches as far right as it can. A text means one thing among integers and
another among real numbers: in a subscript, in a range, on both sides of `%`, and in a comparison whose sides are all made
of indices, integers and arrays of integers, `/` rounds down. So there are two quotients here, `Binary("/")` of real numbers
and `Binary("//")` of integers, and `written` gives each a text that means it where it stands.

Trees are shared: two nodes are the same if they are one object, and nothing compares them otherwise.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..errors import InputError

#: Levels of precedence, the tightest last. A remainder never stands beside another factor without parentheses: a product
#: that has one is a product of integers as a whole.
CHOICE, OR, AND, NOT, COMPARISON, SUM, REMAINDER, PRODUCT, MINUS, POWER, ATOM = range(11)

#: Words that the grammar of formulas has.
RESERVED = frozenset(
    (
        *("where", "in", "if", "then", "else", "and", "or", "not", "sum", "max", "min", "prod", "mean", "inf", "pi", "isnan"),
        *("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "abs", "relu", "sigmoid", "floor", "ceil", "trunc", "rint"),
    )
)

#: Functions that give an integer of the grammar for such.
_OF_INTEGERS = frozenset(("abs", "max", "min"))

Comparer = Literal["=", "!=", "<", "<=", ">", ">="]


def quoted(name: str) -> str:
    """A name as a formula writes it."""
    return name if name.isidentifier() and name.isascii() and name not in RESERVED else f"`{name}`"


class Node:
    """A number or a condition. `whole` says that the grammar takes it for an integer of its own."""

    __slots__ = ("children", "depth", "of_data", "size", "whole")

    def __init__(self, children: tuple[Node, ...], whole: bool, of_data: bool = False) -> None:
        self.children, self.whole = children, whole
        #: Nodes of the text, in which what is shared stands as often as it is used, and how deep they nest.
        self.size: int = 1 + sum(c.size for c in children)
        self.depth: int = 1 + max((c.depth for c in children), default=0)
        #: Whether it reads an array.
        self.of_data: bool = of_data or any(c.of_data for c in children)

    def __str__(self) -> str:
        return written(self)

    def __add__(self, other: Any) -> Node:
        return _sum(self, node(other))

    def __radd__(self, other: Any) -> Node:
        return _sum(node(other), self)

    def __sub__(self, other: Any) -> Node:
        right = node(other)
        n = _integer(right)
        return Binary("-", self, right) if n is None else _sum(self, Digits(-n))

    def __rsub__(self, other: Any) -> Node:
        return node(other) - self

    def __mul__(self, other: Any) -> Node:
        return _product(self, node(other))

    def __rmul__(self, other: Any) -> Node:
        return _product(node(other), self)

    def __truediv__(self, other: Any) -> Node:
        return Binary("/", self, node(other))

    def __rtruediv__(self, other: Any) -> Node:
        return Binary("/", node(other), self)

    def __floordiv__(self, other: Any) -> Node:
        right = node(other)
        x, n = _integer(self), _integer(right)
        if n == 1:
            return self
        return Digits(x // n) if x is not None and n else Binary("//", self, right)

    def __mod__(self, other: Any) -> Node:
        right = node(other)
        x, n = _integer(self), _integer(right)
        if n == 1:
            return Digits(0)
        if n and isinstance(self, Binary) and self.sign in "+-" and _integer(self.children[1]) is not None:
            # A remainder of a remainder by the same number, after a shift.
            inner = self.children[0]
            if isinstance(inner, Binary) and inner.sign == "%" and _integer(inner.children[1]) == n:
                return Binary(self.sign, inner.children[0], self.children[1]) % right
        return Digits(x % n) if x is not None and n else Binary("%", self, right)

    def __neg__(self) -> Node:
        x = _integer(self)
        return Negated(self) if x is None else Digits(-x)

    def __pow__(self, exponent: int) -> Node:
        return Power(self, exponent)


class Digits(Node):
    """A number: an integer, or one of floating point, which is itself as its shortest decimal says."""

    __slots__ = ("value",)

    def __init__(self, value: int | float) -> None:
        is_integer = isinstance(value, (bool, int, np.integer))
        super().__init__((), is_integer)
        self.value: int | float = int(value) if is_integer else float(value) or 0.0


class Variable(Node):
    """An index, of a definition or of a reduction."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__((), True)
        self.name = name


class Constant(Node):
    """A number that has a name in the grammar: `inf`, `pi`."""

    __slots__ = ("name",)

    def __init__(self, name: Literal["inf", "pi"]) -> None:
        super().__init__((), False)
        self.name = name


class Element(Node):
    """An element of an array, of integers if it is `whole`, or of a helper."""

    __slots__ = ("array",)

    def __init__(self, array: str, index: tuple[Node, ...], whole: bool = False) -> None:
        super().__init__(index, whole, True)
        self.array = array


class Binary(Node):
    """`+ - *`, `/` of real numbers, and `//` and `%` of integers, which round down."""

    __slots__ = ("sign",)

    def __init__(self, sign: Literal["+", "-", "*", "/", "//", "%"], left: Node, right: Node) -> None:
        super().__init__((left, right), sign != "/" and (sign in ("//", "%") or (left.whole and right.whole)))
        self.sign = sign


class Negated(Node):
    """-x."""

    __slots__ = ()

    def __init__(self, x: Node) -> None:
        super().__init__((x,), x.whole)


class Power(Node):
    """x to a known integer."""

    __slots__ = ("exponent",)

    def __init__(self, x: Node, exponent: int) -> None:
        super().__init__((x,), x.whole and exponent >= 0)
        self.exponent = exponent


class Call(Node):
    """A function of the grammar."""

    __slots__ = ("function",)

    def __init__(self, function: str, *args: Node) -> None:
        super().__init__(args, function in _OF_INTEGERS and all(a.whole for a in args))
        self.function = function


class Choice(Node):
    """One of two numbers by a condition: `children` are the condition and both."""

    __slots__ = ()

    def __init__(self, condition: Node, yes: Node, no: Node) -> None:
        super().__init__((condition, yes, no), yes.whole and no.whole)


class Comparison(Node):
    """A chain of comparisons; one of integers alone is made among integers."""

    __slots__ = ("signs",)

    def __init__(self, left: Node, *rest: tuple[Comparer, Node]) -> None:
        super().__init__((left, *(n for _, n in rest)), False)
        self.signs = tuple(s for s, _ in rest)


class Logic(Node):
    """Conditions joined by `and` or `or`."""

    __slots__ = ("word",)

    def __init__(self, word: Literal["and", "or"], *conditions: Node) -> None:
        super().__init__(conditions, False)
        self.word = word


class Not(Node):
    """The opposite of a condition."""

    __slots__ = ()

    def __init__(self, condition: Node) -> None:
        super().__init__((condition,), False)


class Reduction(Node):
    """`sum`, `prod`, `max`, `min` or `mean` over ranges of indices: `children` are the body, both ends of each range, and the
    condition, if there is one."""

    __slots__ = ("fold", "variables")

    def __init__(self, fold: str, ranges: list[tuple[Variable, Any, Any]], condition: Node | None, body: Node) -> None:
        ends = tuple(node(end) for _, low, high in ranges for end in (low, high))
        super().__init__((body, *ends, *(() if condition is None else (condition,))), fold != "mean" and body.whole)
        self.fold, self.variables = fold, tuple(v for v, _, _ in ranges)


INFINITY, PI = Constant("inf"), Constant("pi")


def node(value: Any) -> Node:
    """A number as a node, or a node as it is."""
    if isinstance(value, Node):
        return value
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            raise InputError("a formula has no NaN")
        if math.isinf(value):
            return INFINITY if value > 0 else Negated(INFINITY)
    return Digits(value)


def _integer(x: Node) -> int | None:
    """The integer that a node spells out."""
    return x.value if isinstance(x, Digits) and isinstance(x.value, int) else None


def _sum(left: Node, right: Node) -> Node:
    """Integers that are spelled out are added, and stand on the right."""
    a, b = _integer(left), _integer(right)
    if a is not None and b is not None:
        return Digits(a + b)
    if a is not None:
        left, right, b = right, left, a
    if b is None:
        return Binary("+", left, right)
    if isinstance(left, Binary) and left.sign in "+-" and (inner := _integer(left.children[1])) is not None:
        return _sum(left.children[0], Digits(b + (inner if left.sign == "+" else -inner)))
    return left if b == 0 else Binary("+" if b > 0 else "-", left, Digits(abs(b)))


def _product(left: Node, right: Node) -> Node:
    """Integers that are spelled out are multiplied; 0 times an index is 0, and times a value it may be no number."""
    a, b = _integer(left), _integer(right)
    if a is not None and b is not None:
        return Digits(a * b)
    n, other = (a, right) if a is not None else (b, left)
    if n == 1:
        return other
    return Digits(0) if n == 0 and other.whole else Binary("*", left, right)


def chained(*parts: Any) -> Node:
    """A chain of comparisons: operands and signs in turn."""
    first, rest = node(parts[0]), parts[1:]
    return Comparison(first, *((s, node(n)) for s, n in zip(rest[::2], rest[1::2])))


def all_of(conditions: list[Node]) -> Node | None:
    """The condition that all of several hold; `None` if there are none."""
    return None if not conditions else conditions[0] if len(conditions) == 1 else Logic("and", *conditions)


def chosen(condition: Node | None, yes: Node, no: Node) -> Node:
    """A choice, if there is a condition."""
    return yes if condition is None else Choice(condition, yes, no)


def parts_of(root: Node) -> list[Node]:
    """Every node of a tree, once."""
    seen: dict[int, Node] = {}
    left = [root]
    while left:
        n = left.pop()
        if id(n) not in seen:
            seen[id(n)] = n
            left += n.children
    return list(seen.values())


def decimal(value: int | float) -> str:
    """A number that is not negative. One of floating point has a point, so that it is no integer to the grammar."""
    if isinstance(value, int):
        return str(value)
    # The shortest decimal that is this number: that is what the source says.
    return np.format_float_positional(value, trim="0")


def written(x: Node, level: int = CHOICE, whole: bool = False) -> str:
    """The text of a node where operators of a level and looser ones need parentheses; `whole` says that the grammar reads
    integers there."""
    own, text = _text(x, whole)
    return text if own >= level else f"({text})"


def _text(x: Node, whole: bool) -> tuple[int, str]:
    """A text and the level of the operator that was applied last."""
    match x:
        case Digits(value=v):
            return (MINUS, f"-{decimal(-v)}") if v < 0 else (ATOM, decimal(v))
        case Variable(name=name) | Constant(name=name):
            return ATOM, name
        case Element(array=array):
            return ATOM, f"{quoted(array)}[{', '.join(written(i, whole=True) for i in x.children)}]"
        case Binary():
            return _binary(x, whole)
        case Negated():
            return MINUS, f"-{written(x.children[0], MINUS, whole)}"
        case Power(exponent=exponent):
            return POWER, f"{written(x.children[0], ATOM, whole)}^{exponent}"
        case Call(function=function):
            inner = whole and x.whole
            return ATOM, f"{function}({', '.join(written(a, whole=inner) for a in x.children)})"
        case Choice():
            c, yes, no = x.children
            return CHOICE, f"if {written(c)} then {written(yes, SUM, whole)} else {written(no, CHOICE, whole)}"
        case Comparison(signs=signs):
            # Integers are compared as such by the grammar, and as real numbers by who reads no more than signs.
            first, *rest = (written(c, SUM) for c in x.children)
            return COMPARISON, " ".join([first, *(f"{s} {t}" for s, t in zip(signs, rest))])
        case Logic(word=word):
            joined = OR if word == "or" else AND
            return joined, f" {word} ".join(written(c, joined + 1) for c in x.children)
        case Not():
            return NOT, f"not {written(x.children[0], NOT)}"
        case Reduction(fold=fold, variables=variables):
            body, bounds, conditions = x.children[0], x.children[1:][: 2 * len(variables)], x.children[1 + 2 * len(variables) :]
            ends = [written(e, SUM, True) for e in bounds]
            ranges = ", ".join(f"{v.name} in {low}..{high}" for v, low, high in zip(variables, ends[::2], ends[1::2]))
            guard = "".join(f" if {written(c)}" for c in conditions)
            return ATOM, f"{fold}({ranges}{guard} : {written(body, whole=whole and x.whole)})"
    raise AssertionError(x)


def _binary(x: Binary, whole: bool) -> tuple[int, str]:
    sign = x.sign
    left, right = x.children
    if sign == "%":
        return REMAINDER, f"{written(left, REMAINDER, True)} % {written(right, MINUS, True)}"
    if sign == "//":
        if whole:
            return REMAINDER, f"{written(left, REMAINDER, True)} / {written(right, MINUS, True)}"
        # The quotient of a multiple is the same number whether `/` rounds down here or not.
        multiple = f"{written(left, SUM)} - {written(left, REMAINDER, True)} % {written(right, MINUS, True)}"
        return PRODUCT, f"({multiple}) / {written(right, MINUS)}"
    if sign == "/":
        return _real_quotient(left, right)
    if sign == "*":
        return PRODUCT, f"{written(left, PRODUCT, whole)} * {written(right, MINUS, whole)}"
    if isinstance(right, Negated) or (isinstance(right, Digits) and right.value < 0):
        sign = "-" if sign == "+" else "+"
        right = right.children[0] if isinstance(right, Negated) else Digits(-right.value)
    return SUM, f"{written(left, SUM, whole)} {sign} {written(right, REMAINDER, whole)}"


def _real_quotient(left: Node, right: Node) -> tuple[int, str]:
    """A quotient that does not round down: where both are integers of the grammar, one is written as another number."""
    above, below = written(left, PRODUCT), written(right, MINUS)
    if left.whole and right.whole:
        if isinstance(right, Digits):
            below += ".0"
        elif isinstance(left, Digits):
            above += ".0"
        else:
            above = f"1.0 * {written(left, MINUS)}"
    return PRODUCT, f"{above} / {below}"
