"""Operations on elements: one table, which NumPy's and torch's names refer to."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from .indices import ZERO
from .symbolic import LONG, REPEATED, WHOLE, Bounds, Index, Kind, Symbolic, Trace
from .tree import INFINITY, Call, Choice, Comparer, Digits, Logic, Node, Not, Variable, chained, node

#: What kind of value an operation gives: that of its operands, or always one.
Gives = Literal["same", "float", "int", "rounded", "bool"]


@dataclass(frozen=True)
class Primitive:
    """An operation of the grammar on trees."""

    tree: Callable[..., Node]
    gives: Gives = "same"
    #: Operands that the tree has more than once.
    repeats: bool = False


def _called(name: str) -> Callable[..., Node]:
    return lambda *args: Call(name, *args)


def _compared(sign: Comparer) -> Callable[..., Node]:
    return lambda a, b: chained(a, sign, b)


def _if(condition: Node, yes: Any, no: Any) -> Node:
    return Choice(condition, node(yes), node(no))


_abs, _exp, _log, _sqrt, _floor, _trunc, _sin, _cos = (
    _called(n) for n in ("abs", "exp", "log", "sqrt", "floor", "trunc", "sin", "cos")
)
_LOG2, _LOG10 = _log(node(2)), _log(node(10))


def _integer_truncated(a: Node, b: Node) -> Node:
    if isinstance(b, Digits) and b.value > 0:
        return _if(chained(a, "<", 0), -(-a // b), a // b)
    apart = Logic("or", Logic("and", chained(a, "<", 0), chained(b, ">", 0)), Logic("and", chained(a, ">", 0), chained(b, "<", 0)))
    quotient = _abs(a) // _abs(b)
    return _if(apart, -quotient, quotient)


def _integer_rest(a: Node, b: Node) -> Node:
    size = b if isinstance(b, Digits) and b.value > 0 else _abs(b)
    return _if(chained(a, "<", 0), -(-a % size), a % size)


#: By the name that NumPy gives an operation, or torch where NumPy has none.
PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive(operator.add),
    "subtract": Primitive(operator.sub),
    "multiply": Primitive(operator.mul),
    "divide": Primitive(operator.truediv, "float"),
    "maximum": Primitive(_called("max")),
    "minimum": Primitive(_called("min")),
    "negative": Primitive(operator.neg),
    "positive": Primitive(lambda a: a),
    "absolute": Primitive(_abs),
    "square": Primitive(lambda a: a**2),
    "reciprocal": Primitive(lambda a: 1.0 / a, "float"),
    "exp": Primitive(_exp, "float"),
    "exp2": Primitive(lambda a: _exp(a * _LOG2), "float"),
    "expm1": Primitive(lambda a: _exp(a) - 1.0, "float"),
    "log": Primitive(_log, "float"),
    "log2": Primitive(lambda a: _log(a) / _LOG2, "float"),
    "log10": Primitive(lambda a: _log(a) / _LOG10, "float"),
    "log1p": Primitive(lambda a: _log(1.0 + a), "float"),
    "sqrt": Primitive(_sqrt, "float"),
    "rsqrt": Primitive(_called("rsqrt"), "float"),
    "sin": Primitive(_sin, "float"),
    "cos": Primitive(_cos, "float"),
    "tan": Primitive(lambda a: _sin(a) / _cos(a), "float", repeats=True),
    "sinh": Primitive(lambda a: (_exp(a) - _exp(-a)) / 2.0, "float", repeats=True),
    "cosh": Primitive(lambda a: (_exp(a) + _exp(-a)) / 2.0, "float", repeats=True),
    "tanh": Primitive(_called("tanh"), "float"),
    "erf": Primitive(_called("erf"), "float"),
    "erfc": Primitive(lambda a: 1.0 - Call("erf", a), "float"),
    "arcsinh": Primitive(lambda a: _log(a + _sqrt(a**2 + 1.0)), "float", repeats=True),
    "arccosh": Primitive(lambda a: _log(a + _sqrt(a**2 - 1.0)), "float", repeats=True),
    "arctanh": Primitive(lambda a: _log((1.0 + a) / (1.0 - a)) / 2.0, "float", repeats=True),
    "hypot": Primitive(lambda a, b: _sqrt(a**2 + b**2), "float"),
    "logaddexp": Primitive(lambda a, b: _log(_exp(a) + _exp(b)), "float"),
    "logaddexp2": Primitive(lambda a, b: _log(_exp(a * _LOG2) + _exp(b * _LOG2)) / _LOG2, "float"),
    # A root that a negative number has as well, and that 0 has, whose logarithm is infinite.
    "cbrt": Primitive(
        lambda a: _if(chained(a, "=", 0), 0.0, _if(chained(a, "<", 0), -_exp(_log(-a) / 3.0), _exp(_log(a) / 3.0))),
        "float",
        repeats=True,
    ),
    "sigmoid": Primitive(_called("sigmoid"), "float"),
    "relu": Primitive(_called("relu")),
    "floor": Primitive(_floor),
    "ceil": Primitive(_called("ceil")),
    "trunc": Primitive(_trunc),
    # A half goes to the even neighbour.
    "rint": Primitive(_called("rint")),
    "sign": Primitive(lambda a: _if(chained(a, ">", 0), 1, _if(chained(a, "<", 0), -1, 0)), repeats=True),
    "integer_quotient": Primitive(operator.floordiv, "int", repeats=True),
    "integer_remainder": Primitive(operator.mod, "int"),
    "integer_truncated": Primitive(_integer_truncated, "int", repeats=True),
    # It has the sign of what is divided.
    "integer_rest": Primitive(_integer_rest, "int", repeats=True),
    "truncated": Primitive(lambda a, b: _trunc(a / b)),
    "floor_divide": Primitive(lambda a, b: _floor(a / b)),
    "remainder": Primitive(lambda a, b: a - b * _floor(a / b), repeats=True),
    # By comparisons that a value which is not a number fails.
    "isnan": Primitive(lambda a: chained(a, "!=", a), "bool", repeats=True),
    "isinf": Primitive(lambda a: chained(_abs(a), "=", INFINITY), "bool"),
    "isfinite": Primitive(lambda a: chained(_abs(a), "<", INFINITY), "bool"),
    "fmod": Primitive(lambda a, b: a - b * _trunc(a / b), repeats=True),
    "equal": Primitive(_compared("="), "bool"),
    "not_equal": Primitive(_compared("!="), "bool"),
    "less": Primitive(_compared("<"), "bool"),
    "less_equal": Primitive(_compared("<="), "bool"),
    "greater": Primitive(_compared(">"), "bool"),
    "greater_equal": Primitive(_compared(">="), "bool"),
}

#: Operations that only integers of the grammar have, and what stands for them elsewhere.
INTEGERS = {
    "integer_quotient": "floor_divide",
    "integer_remainder": "remainder",
    "integer_truncated": "truncated",
    "integer_rest": "fmod",
}

#: Operations on truth values.
LOGIC: dict[str, Callable[..., Node]] = {
    "logical_and": lambda a, b: Logic("and", a, b),
    "logical_or": lambda a, b: Logic("or", a, b),
    "logical_xor": lambda a, b: Logic("or", Logic("and", a, Not(b)), Logic("and", b, Not(a))),
    "logical_not": lambda a: Not(a),
}


def operand(trace: Trace, value: Any) -> Symbolic:
    """An operand, from an array or from numbers."""
    return value if isinstance(value, Symbolic) else trace.constant(value)


def number(x: Symbolic) -> Symbolic:
    """A value in arithmetic, where true is 1."""
    if x.kind != "bool":
        return x
    return Symbolic(x.trace, x.shape, lambda at: _if(x.at(at), 1, 0), "int", x.weight + 1, (0, 1))


def truth(x: Symbolic) -> Symbolic:
    """A value as a condition: any number but 0 is true."""
    if x.kind == "bool":
        return x
    return Symbolic(x.trace, x.shape, lambda at: chained(x.at(at), "!=", 0), "bool", x.weight + 1)


def common(operands: tuple[Symbolic, ...]) -> Kind:
    """The kind of a result of arithmetic."""
    kinds = {x.kind for x in operands}
    return "float" if "float" in kinds else "rounded" if "rounded" in kinds else "int"


def broadcast(x: Symbolic, shape: tuple[int, ...]) -> Symbolic:
    """An array at a larger shape."""
    if x.shape == tuple(shape):
        return x
    lead, own = len(shape) - x.ndim, x.shape
    if lead < 0 or any(n not in (1, m) for n, m in zip(own, shape[lead:])):
        raise InputError(f"an array of shape {own} does not broadcast to {tuple(shape)}")
    return x.view(shape, lambda index: tuple(ZERO if n == 1 else i for n, i in zip(own, index[lead:])))


def combine(tree: Callable[..., Node], operands: tuple[Symbolic, ...], kind: Kind, most: int = LONG) -> Symbolic:
    """An operation on the elements of operands that broadcast."""
    operands = tuple(x.short(most) for x in operands)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError as e:
        raise InputError(f"arrays of shapes {', '.join(str(x.shape) for x in operands)} do not broadcast") from e
    parts = tuple(broadcast(x, shape) for x in operands)
    weight = 1 + sum(x.weight for x in operands)
    if kind == "int":
        # An integer that has a name now is none of the grammar any more.
        kind = common(tuple(x for x in operands if x.kind != "bool"))

    def element(index: Index) -> Node:
        return tree(*(p.at(index) for p in parts))

    return Symbolic(operands[0].trace, shape, element, kind, weight)


def apply(name: str, *operands: Symbolic) -> Symbolic:
    """An operation of the tables by its name."""
    if name in LOGIC:
        return combine(LOGIC[name], tuple(truth(x) for x in operands), "bool", REPEATED)
    if name in INTEGERS:
        operands = tuple(number(x).short(WHOLE) for x in operands)
        if any(x.kind != "int" for x in operands):
            return as_integer(apply(INTEGERS[name], *operands))
        x, by = operands
        size = by.bounds[0] if by.bounds is not None and by.bounds[0] == by.bounds[1] else None
        if name == "integer_remainder" and size and x.bounds is not None and 0 <= x.bounds[0] <= x.bounds[1] < size:
            return broadcast(x, np.broadcast_shapes(x.shape, by.shape))
        if name in ("integer_quotient", "integer_remainder") and by.known is not None and by.known.size and (by.known < 0).all():
            # The grammar divides by positive numbers: x // -n is -x // n, and x % -n is -(-x % n).
            out = apply(name, apply("negative", x), by.trace.constant(-by.known))
            return out if name == "integer_quotient" else apply("negative", out)
    values = tuple(number(x) for x in operands)
    if all(x.kind != "float" for x in values):
        # What the grammar has for real numbers alone is another thing of integers.
        if name in ("floor", "ceil", "trunc", "rint"):
            return values[0]
        if name == "relu":
            return apply("maximum", values[0], values[0].trace.constant(0))
        if name == "fmod" and all(x.kind == "int" for x in values):
            return apply("integer_rest", *values)
    primitive = PRIMITIVES[name]
    kind = common(values) if primitive.gives == "same" else primitive.gives
    if kind == "int" and not primitive.tree(*(Variable("") for _ in values)).whole:
        kind = "rounded"
    most = WHOLE if kind == "int" else REPEATED if primitive.repeats else LONG
    out = combine(primitive.tree, values, kind, most)
    if kind in ("int", "rounded"):
        out.bounds = _bounds(name, [x.bounds for x in values])
    return out


#: Operations on integers whose extremes are at extremes of the operands.
_AT_CORNERS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "maximum": max,
    "minimum": min,
    "negative": operator.neg,
    "positive": operator.pos,
    **dict.fromkeys(("floor", "ceil", "trunc", "rint"), operator.pos),
    "relu": lambda a: max(a, 0),
    "sign": lambda a: (a > 0) - (a < 0),
}


def _bounds(name: str, operands: Sequence[Bounds | None]) -> Bounds | None:
    """What is known of the result of an operation on integers; every answer but `None` holds for all operands."""
    known = [b for b in operands if b is not None]
    if len(known) != len(operands):
        return None
    if name in _AT_CORNERS:
        return hull([(v, v) for v in (_AT_CORNERS[name](*corner) for corner in itertools.product(*known))])
    largest = [max(abs(low), abs(high)) for low, high in known]
    if name == "absolute":
        return 0, largest[0]
    if name == "square":
        return 0, largest[0] ** 2
    if name == "integer_quotient" and known[1][0] == known[1][1] > 0:
        return known[0][0] // known[1][0], known[0][1] // known[1][0]
    # A divisor is none of 0, so no quotient is larger than what is divided.
    if name in ("integer_quotient", "floor_divide", "integer_truncated", "truncated"):
        return -largest[0], largest[0]
    if name in ("integer_remainder", "remainder", "fmod", "integer_rest"):
        low = 0 if known[1][0] > 0 and "remainder" in name else 1 - largest[1]
        return min(low, 0), max(largest[1] - 1, 0)
    return None


def hull(bounds: Sequence[Bounds | None]) -> Bounds | None:
    """The least bounds that hold wherever one of several does."""
    known = [b for b in bounds if b is not None]
    if not known or len(known) != len(bounds):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def as_integer(x: Symbolic) -> Symbolic:
    """A value that is known to be an integer."""
    return Symbolic(x.trace, x.shape, x.at, "rounded", x.weight, x.bounds)


def power(x: Symbolic, exponent: Any) -> Symbolic:
    """A power whose exponent is a number."""
    value = np.asarray(exponent).item() if np.asarray(exponent).ndim == 0 else None
    if value is None or abs(value) > 256:
        raise InputError(f"power with the exponent {exponent} is not covered")
    whole = int(value // 1)
    x = number(x)
    if 2 * value != int(2 * value):
        # Not a number for negative x, as the power itself, and 0 or an infinity for 0.
        logarithm = apply("log", cast(x, "float"))
        return apply("exp", apply("multiply", x.trace.constant(float(value)), logarithm))
    if value != whole:
        # x^(n + 1/2) = x^n sqrt(x), and x^(-n - 1/2) = x^-n rsqrt(x).
        root = apply("sqrt" if whole >= 0 else "rsqrt", x)
        whole = whole if whole >= 0 else whole + 1
        return root if whole == 0 else apply("multiply", power(x, whole), root)
    kind: Kind = "float" if whole < 0 else x.kind
    out = combine(lambda a: a**whole, (x,), kind)
    if kind in ("int", "rounded") and x.bounds is not None:
        largest = max(abs(n) for n in x.bounds) ** whole
        out.bounds = (-largest if whole % 2 and x.bounds[0] < 0 else 0, max(largest, 1))
    return out


def where(condition: Symbolic, x: Symbolic, y: Symbolic) -> Symbolic:
    """A choice between two values."""
    values = (number(x), number(y))
    both = x.kind == y.kind == "bool"
    kind = common(values)
    out = combine(Choice, (truth(condition), *values), kind)
    out.bounds = hull([v.bounds for v in values]) if kind in ("int", "rounded") else None
    return truth(out) if both else out


def cast(x: Symbolic, kind: Kind) -> Symbolic:
    """A value as one of another kind: floats lose their fraction towards zero; between floats nothing changes over the reals."""
    if kind == x.kind:
        return x
    if kind == "bool":
        return truth(x)
    x = number(x)
    if kind == "int":
        return as_integer(apply("trunc", x)) if x.kind == "float" else x
    return Symbolic(x.trace, x.shape, x.at, kind, x.weight, x.bounds if kind == "rounded" else None)
