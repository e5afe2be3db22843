"""Operations on elements: one table, which NumPy's and torch's names refer to."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from .symbolic import LONG, REPEATED, WHOLE, Bounds, Index, Kind, Symbolic, Trace, bare

#: What kind of value an operation gives: that of its operands, or always one.
Gives = Literal["same", "float", "int", "rounded", "bool"]


@dataclass(frozen=True)
class Primitive:
    """An operation of the grammar: `{0}`, `{1}` are closed texts of the operands, `{0:b}` stands between parentheses of its own."""

    pattern: str
    gives: Gives = "same"
    #: Operands that the pattern writes more than once.
    repeats: bool = False


#: By the name that NumPy gives an operation, or torch where NumPy has none.
PRIMITIVES: dict[str, Primitive] = {
    "add": Primitive("({0} + {1})"),
    "subtract": Primitive("({0} - {1})"),
    "multiply": Primitive("({0} * {1})"),
    "divide": Primitive("({0} / {1})", "float"),
    "maximum": Primitive("max({0:b}, {1:b})"),
    "minimum": Primitive("min({0:b}, {1:b})"),
    "negative": Primitive("(-{0})"),
    "positive": Primitive("{0}"),
    "absolute": Primitive("abs({0:b})"),
    "square": Primitive("({0}^2)"),
    "reciprocal": Primitive("(1.0 / {0})", "float"),
    "exp": Primitive("exp({0:b})", "float"),
    "exp2": Primitive("exp({0} * log(2))", "float"),
    "expm1": Primitive("(exp({0:b}) - 1.0)", "float"),
    "log": Primitive("log({0:b})", "float"),
    "log2": Primitive("(log({0:b}) / log(2))", "float"),
    "log10": Primitive("(log({0:b}) / log(10))", "float"),
    "log1p": Primitive("log(1.0 + {0})", "float"),
    "sqrt": Primitive("sqrt({0:b})", "float"),
    "rsqrt": Primitive("rsqrt({0:b})", "float"),
    "sin": Primitive("sin({0:b})", "float"),
    "cos": Primitive("cos({0:b})", "float"),
    "tan": Primitive("(sin({0:b}) / cos({0:b}))", "float", repeats=True),
    "sinh": Primitive("((exp({0:b}) - exp(-{0})) / 2.0)", "float", repeats=True),
    "cosh": Primitive("((exp({0:b}) + exp(-{0})) / 2.0)", "float", repeats=True),
    "tanh": Primitive("tanh({0:b})", "float"),
    "erf": Primitive("erf({0:b})", "float"),
    "erfc": Primitive("(1.0 - erf({0:b}))", "float"),
    "arcsinh": Primitive("log({0} + sqrt({0}^2 + 1.0))", "float", repeats=True),
    "arccosh": Primitive("log({0} + sqrt({0}^2 - 1.0))", "float", repeats=True),
    "arctanh": Primitive("(log((1.0 + {0}) / (1.0 - {0})) / 2.0)", "float", repeats=True),
    "hypot": Primitive("sqrt({0}^2 + {1}^2)", "float"),
    "logaddexp": Primitive("log(exp({0:b}) + exp({1:b}))", "float"),
    "logaddexp2": Primitive("(log(exp({0} * log(2)) + exp({1} * log(2))) / log(2))", "float"),
    "sigmoid": Primitive("sigmoid({0:b})", "float"),
    "relu": Primitive("relu({0:b})"),
    "floor": Primitive("floor({0:b})"),
    "ceil": Primitive("(-floor(-{0}))"),
    "trunc": Primitive("(if {0} < 0 then -floor(-{0}) else floor({0:b}))", repeats=True),
    # A half goes to the even neighbour.
    "rint": Primitive("(floor({0} + 0.5) - (if {0} - 2.0 * floor({0} / 2.0) = 0.5 then 1.0 else 0.0))", repeats=True),
    "sign": Primitive("(if {0} > 0 then 1 else if {0} < 0 then -1 else 0)", repeats=True),
    # Integers are divided so that the text is the same number whether `/` rounds down there or not.
    "integer_quotient": Primitive("(({0} - {0} % {1}) / {1})", "int", repeats=True),
    "integer_remainder": Primitive("({0} % {1})", "int"),
    "integer_truncated": Primitive(
        "(if ({0} < 0 and {1} > 0) or ({0} > 0 and {1} < 0) then -((abs({0:b}) - abs({0:b}) % abs({1:b})) / abs({1:b}))"
        " else (abs({0:b}) - abs({0:b}) % abs({1:b})) / abs({1:b}))",
        "int",
        repeats=True,
    ),
    "truncated": Primitive("(if {0} / {1} < 0 then -floor(-({0} / {1})) else floor({0} / {1}))", repeats=True),
    "floor_divide": Primitive("floor({0} / {1})"),
    "remainder": Primitive("({0} - {1} * floor({0} / {1}))", repeats=True),
    # By comparisons that a value which is not a number fails.
    "isnan": Primitive("({0} != {0})", "bool", repeats=True),
    "isinf": Primitive("(abs({0:b}) = inf)", "bool"),
    "isfinite": Primitive("(abs({0:b}) < inf)", "bool"),
    "fmod": Primitive("({0} - {1} * (if {0} / {1} < 0 then -floor(-({0} / {1})) else floor({0} / {1})))", repeats=True),
    "equal": Primitive("({0} = {1})", "bool"),
    "not_equal": Primitive("({0} != {1})", "bool"),
    "less": Primitive("({0} < {1})", "bool"),
    "less_equal": Primitive("({0} <= {1})", "bool"),
    "greater": Primitive("({0} > {1})", "bool"),
    "greater_equal": Primitive("({0} >= {1})", "bool"),
}

#: Operations that only integers of the grammar have, and what stands for them elsewhere.
INTEGERS = {"integer_quotient": "floor_divide", "integer_remainder": "remainder", "integer_truncated": "truncated"}

#: Operations on truth values.
LOGIC: dict[str, str] = {
    "logical_and": "({0} and {1})",
    "logical_or": "({0} or {1})",
    "logical_xor": "(({0} and not {1}) or ({1} and not {0}))",
    "logical_not": "(not {0})",
}


class _Closed(str):
    """A closed text; `{:b}` leaves out parentheses that the pattern has itself."""

    def __format__(self, spec: str) -> str:
        return bare(str(self)) if spec == "b" else str(self)


def operand(trace: Trace, value: Any) -> Symbolic:
    """An operand, from an array or from numbers."""
    return value if isinstance(value, Symbolic) else trace.constant(value)


def number(x: Symbolic) -> Symbolic:
    """A value in arithmetic, where true is 1."""
    if x.kind != "bool":
        return x
    return Symbolic(x.trace, x.shape, lambda at: f"(if {bare(x.at(at))} then 1 else 0)", "int", x.weight + 1, (0, 1))


def truth(x: Symbolic) -> Symbolic:
    """A value as a condition: any number but 0 is true."""
    if x.kind == "bool":
        return x
    return Symbolic(x.trace, x.shape, lambda at: f"({x.at(at)} != 0)", "bool", x.weight + 1)


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
    return x.view(shape, lambda index: tuple("0" if n == 1 else i for n, i in zip(own, index[lead:])))


def combine(text: Callable[..., str], operands: tuple[Symbolic, ...], kind: Kind, most: int = LONG) -> Symbolic:
    """An operation on the elements of operands that broadcast."""
    operands = tuple(x.short(most) for x in operands)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError as e:
        raise InputError(f"arrays of shapes {', '.join(str(x.shape) for x in operands)} do not broadcast") from e
    parts = tuple(broadcast(x, shape) for x in operands)
    weight = 1 + sum(x.weight for x in operands)

    def element(index: Index) -> str:
        return text(*(_Closed(p.at(index)) for p in parts))

    return Symbolic(operands[0].trace, shape, element, kind, weight)


def apply(name: str, *operands: Symbolic) -> Symbolic:
    """An operation of the tables by its name."""
    if name in LOGIC:
        return combine(LOGIC[name].format, tuple(truth(x) for x in operands), "bool", REPEATED)
    if name in INTEGERS:
        operands = tuple(number(x).short(WHOLE) for x in operands)
        if any(x.kind != "int" for x in operands):
            return as_integer(apply(INTEGERS[name], *operands))
        x, by = operands
        if name != "integer_truncated" and by.known is not None and by.known.size and (by.known < 0).all():
            # The grammar divides by positive numbers: x // -n is -x // n, and x % -n is -(-x % n).
            out = apply(name, apply("negative", x), by.trace.constant(-by.known))
            return out if name == "integer_quotient" else apply("negative", out)
    primitive = PRIMITIVES[name]
    values = tuple(number(x) for x in operands)
    kind = common(values) if primitive.gives == "same" else primitive.gives
    most = WHOLE if kind == "int" else REPEATED if primitive.repeats else LONG
    out = combine(primitive.pattern.format, values, kind, most)
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
    # A divisor is none of 0, so no quotient is larger than what is divided.
    if name in ("integer_quotient", "floor_divide", "integer_truncated", "truncated"):
        return -largest[0], largest[0]
    if name in ("integer_remainder", "remainder", "fmod"):
        low = 0 if known[1][0] > 0 and name != "fmod" else 1 - largest[1]
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
    out = combine(lambda a: f"({a}^{whole})", (x,), kind)
    if kind in ("int", "rounded") and x.bounds is not None:
        largest = max(abs(n) for n in x.bounds) ** whole
        out.bounds = (-largest if whole % 2 and x.bounds[0] < 0 else 0, max(largest, 1))
    return out


def where(condition: Symbolic, x: Symbolic, y: Symbolic) -> Symbolic:
    """A choice between two values."""
    values = (number(x), number(y))
    both = x.kind == y.kind == "bool"
    kind = common(values)
    out = combine(lambda c, a, b: f"(if {bare(c)} then {bare(a)} else {bare(b)})", (truth(condition), *values), kind)
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
