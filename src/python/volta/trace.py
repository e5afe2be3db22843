"""Plain functions of arrays to formulas.

A function is called with arrays that stand in for real ones: they take NumPy's operations through its protocols
(`__array_ufunc__`, `__array_function__`) and know, for index texts, the text of their element. What a reduction or a
product of matrices gives becomes a definition of its own (`where`), so that nothing is written twice for each use.
What is not covered is an `InputError` that names the operation.
"""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from . import arg
from .errors import InputError
from .kernels import Formula

Index = tuple[str, ...]
Element = Callable[[Index], str]
Number = int | float


class Trace:
    """The definitions of one function."""

    def __init__(self) -> None:
        self.helpers: list[str] = []
        self.taken: set[str] = set()
        self.variables = itertools.count()

    def variable(self) -> str:
        """An index that nothing else uses."""
        return f"i{next(self.variables)}"

    def define(self, shape: tuple[int, ...], element: Element, kind: str) -> Traced:
        """A value under a name of its own."""
        number = len(self.helpers)
        name = f"t{number}"
        while name in self.taken:
            number += 1
            name = f"t{number}"
        self.taken.add(name)
        index = tuple(self.variable() for _ in shape)
        self.helpers.append(f"{name}[{', '.join(index)}] = {element(index)}")
        return Traced(self, shape, lambda at: f"{name}[{', '.join(at)}]", kind)


def _literal(value: Number) -> str:
    if isinstance(value, (bool, int, np.integer)):
        return str(int(value)) if value >= 0 else f"({int(value)})"
    number = float(value) or 0.0
    if math.isnan(number):
        raise InputError("a formula has no NaN")
    if math.isinf(number):
        return "inf" if number > 0 else "(-inf)"
    # The shortest decimal that is this number: that is what the source says.
    text = np.format_float_positional(number, trim="-")
    return text if number >= 0 else f"({text})"


def _paren(text: str) -> str:
    return f"({text})"


_BINARY = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "true_divide": "{} / {}",
    "maximum": "max({}, {})",
    "minimum": "min({}, {})",
    "fmax": "max({}, {})",
    "fmin": "min({}, {})",
}
_UNARY = {
    "negative": "(-{})",
    "positive": "{}",
    "exp": "exp({})",
    "exp2": "exp({} * log(2))",
    "expm1": "(exp({}) - 1)",
    "log": "log({})",
    "log2": "(log({}) / log(2))",
    "log10": "(log({}) / log(10))",
    "log1p": "log(1 + {})",
    "sqrt": "sqrt({})",
    "tanh": "tanh({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "absolute": "abs({})",
    "fabs": "abs({})",
    "reciprocal": "(1 / {})",
    "square": "{}^2",
    "floor": "floor({})",
}
_COMPARE = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_LOGIC = {
    "logical_and": "({} and {})",
    "logical_or": "({} or {})",
    "bitwise_and": "({} and {})",
    "bitwise_or": "({} or {})",
}


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a function that is traced. `kind` is `float`, `int` or `bool`."""

    __array_priority__ = 1000

    def __init__(self, trace: Trace, shape: tuple[int, ...], element: Element, kind: str = "float") -> None:
        self._trace, self._element = trace, element
        self.shape, self.kind = shape, kind

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """A type of the same kind; a formula has no widths."""
        return np.dtype({"float": np.float64, "int": np.int64, "bool": np.bool_}[self.kind])

    @property
    def T(self) -> Traced:
        """With its dimensions reversed."""
        return _transpose(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __bool__(self) -> bool:
        raise InputError("a traced function cannot branch on data: use numpy.where")

    def __float__(self) -> float:
        raise InputError("a traced function has no values: float(...) of an array is not possible")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise InputError("a traced array has no values: this NumPy operation is not covered")

    def at(self, index: Index) -> str:
        """The text of an element."""
        return self._element(index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        kwargs = {k: v for k, v in kwargs.items() if k != "dtype" and v is not None}
        if method == "reduce" and name in _REDUCERS:
            return _reduce(self, name=_REDUCERS[name], **kwargs)
        if method != "__call__" or kwargs:
            raise InputError(f"numpy.{name}.{method} is not covered" if not kwargs else f"numpy.{name} with {next(iter(kwargs))}")
        if name == "matmul":
            return _matmul(*inputs)
        if name in ("power", "float_power"):
            return _power(self._trace, *inputs)
        if name in _UNARY:
            pattern = _UNARY[name]
            kind = self.kind if name in ("negative", "positive", "absolute", "square") else "float"
            return _elementwise(
                self._trace,
                lambda a: pattern.format(_paren(a) if pattern[0] in "-{" or "^" in pattern else a),
                inputs,
                kind,
            )
        if name in _BINARY:
            pattern = _BINARY[name]
            call = "(" in pattern
            kind = _common(inputs)
            if name in ("divide", "true_divide") and kind == "int":
                raise InputError("a quotient of integers is not covered: cast one to floats")
            return _elementwise(
                self._trace, lambda a, b: pattern.format(a, b) if call else _paren(pattern.format(a, b)), inputs, kind
            )
        if name in _COMPARE:
            sign = _COMPARE[name]
            return _elementwise(self._trace, lambda a, b: f"{a} {sign} {b}", inputs, "bool")
        if name in _LOGIC and all(_kind(x) == "bool" for x in inputs):
            pattern = _LOGIC[name]
            conditions = [_condition(self._trace, x) for x in inputs]
            return _combine(self._trace, lambda a, b: pattern.format(_paren(a), _paren(b)), conditions, "bool")
        if name in ("logical_not", "invert") and self.kind == "bool":
            return _combine(self._trace, lambda a: f"not ({a})", [self], "bool")
        raise InputError(f"numpy.{name} is not covered")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found = _FUNCTIONS.get(func.__name__)
        if found is None:
            raise InputError(f"numpy.{func.__name__} is not covered")
        try:
            return found(*args, **kwargs)
        except TypeError as e:
            raise InputError(f"numpy.{func.__name__} with these arguments is not covered: {e}") from e

    def __getitem__(self, key: Any) -> Traced:
        return _getitem(self, key)

    def reshape(self, *shape: Any) -> Traced:
        """As `numpy.reshape`."""
        return _reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Traced:
        """As `numpy.transpose`."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _transpose(self, given or None)

    def astype(self, dtype: Any, **_: Any) -> Traced:
        """A cast between floats, or of integers to floats: over the reals it changes nothing."""
        kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(np.dtype(dtype).kind)
        if kind == self.kind or (kind == "float" and self.kind == "int"):
            return Traced(self._trace, self.shape, self._element, kind)
        raise InputError(f"a cast from {self.kind} to {dtype} is not covered")

    def sum(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Traced:
        """As `numpy.sum`."""
        return _reduce(self, axis, keepdims, name="sum")

    def mean(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Traced:
        """As `numpy.mean`."""
        return _reduce(self, axis, keepdims, name="mean")

    def max(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Traced:
        """As `numpy.max`."""
        return _reduce(self, axis, keepdims, name="max")

    def min(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Traced:
        """As `numpy.min`."""
        return _reduce(self, axis, keepdims, name="min")

    def var(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Traced:
        """As `numpy.var`, without a correction."""
        return _variance(self, axis, keepdims)

    def ravel(self) -> Traced:
        """As `numpy.ravel`."""
        return _reshape(self, (-1,))


def _kind(x: Any) -> str:
    if isinstance(x, Traced):
        return x.kind
    kind = np.asarray(x).dtype.kind
    return {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(kind, "float")


def _common(inputs: Sequence[Any]) -> str:
    kinds = {_kind(x) for x in inputs}
    return "float" if "float" in kinds else "int"


def _lift(trace: Trace, value: Any) -> Traced:
    if isinstance(value, Traced):
        return value
    array = np.asarray(value)
    if array.dtype == object:
        raise InputError(f"{value!r} is no array of numbers")
    kind = _kind(value)
    if array.ndim == 0:
        number = array.item()
        return Traced(trace, (), lambda _: _literal(number), kind)
    if array.size > 256:
        raise InputError(f"a constant array of {array.size} elements is not covered")

    def element(index: Index) -> str:
        out = _literal(array.reshape(-1)[-1].item())
        places = list(np.ndindex(*array.shape))[:-1]
        for place in reversed(places):
            same = " and ".join(f"{i} = {p}" for i, p in zip(index, place))
            out = f"if {same} then {_literal(array[place].item())} else {out}"
        return _paren(out)

    return Traced(trace, array.shape, element, kind)


def _broadcast(array: Traced, shape: tuple[int, ...]) -> Element:
    lead = len(shape) - array.ndim
    mine = array.shape

    def element(index: Index) -> str:
        own = index[lead:]
        return array.at(tuple("0" if n == 1 else i for n, i in zip(mine, own)))

    return element


def _number(x: Traced) -> Traced:
    """A value in arithmetic, where true is 1."""
    if x.kind != "bool":
        return x
    return Traced(x._trace, x.shape, lambda at: f"(if {x.at(at)} then 1 else 0)", "int")


def _elementwise(trace: Trace, text: Callable[..., str], inputs: Sequence[Any], kind: str) -> Traced:
    return _combine(trace, text, [_number(_lift(trace, x)) for x in inputs], kind)


def _combine(trace: Trace, text: Callable[..., str], arrays: Sequence[Traced], kind: str) -> Traced:
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as e:
        raise InputError(str(e)) from e
    elements = [_broadcast(a, shape) for a in arrays]
    return Traced(trace, shape, lambda index: text(*(e(index) for e in elements)), kind)


def _power(trace: Trace, base: Any, exponent: Any) -> Traced:
    if isinstance(exponent, Traced):
        raise InputError("numpy.power with an exponent that depends on data is not covered")
    value = np.asarray(exponent)
    if value.ndim == 0 and float(value) == int(value):
        return _elementwise(trace, lambda a: f"({a})^{int(value)}", [base], _kind(base) if value >= 0 else "float")
    if value.ndim == 0 and float(value) == 0.5:
        return _elementwise(trace, lambda a: f"sqrt({a})", [base], "float")
    if value.ndim == 0 and float(value) == -0.5:
        return _elementwise(trace, lambda a: f"rsqrt({a})", [base], "float")
    raise InputError(f"numpy.power with exponent {exponent} is not covered")


_REDUCERS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = tuple(operator.index(a) + (rank if a < 0 else 0) for a in given)
    if any(not 0 <= a < rank for a in out) or len(set(out)) != len(out):
        raise InputError(f"axis {axis} of an array of {rank} dimensions")
    return out


def _reduce(a: Traced, axis: Any = None, keepdims: bool = False, *, name: str, **more: Any) -> Traced:
    if any(v is not None for v in more.values()):
        raise InputError(f"numpy.{name} with {next(k for k, v in more.items() if v is not None)} is not covered")
    a = _number(a)
    if name == "mean" and a.kind == "int":
        raise InputError("numpy.mean of integers is not covered: cast them to floats")
    axes = _axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    bound = {i: a._trace.variable() for i in axes}
    if name in ("max", "min", "mean") and any(a.shape[i] == 0 for i in axes):
        raise InputError(f"numpy.{name} of nothing")

    def element(index: Index) -> str:
        place = dict(zip(rest, index)) | bound
        inner = a.at(tuple(place[i] for i in range(a.ndim)))
        ranges = ", ".join(f"{bound[i]} in 0..{a.shape[i]}" for i in axes)
        return f"{name}({ranges} : {inner})" if axes else inner

    kind = "float" if name == "mean" else a.kind
    out = a._trace.define(tuple(a.shape[i] for i in rest), element, kind)
    if not keepdims:
        return out
    shape = tuple(1 if i in axes else n for i, n in enumerate(a.shape))
    return Traced(a._trace, shape, lambda index: out.at(tuple(index[i] for i in rest)), kind)


def _variance(a: Traced, axis: Any = None, keepdims: bool = False, **more: Any) -> Traced:
    if any(more.values()):
        raise InputError("numpy.var with a correction is not covered")
    centred = a - _reduce(a, axis, True, name="mean")
    return _reduce(cast(Traced, centred * centred), axis, keepdims, name="mean")


def _matmul(x: Any, y: Any) -> Traced:
    trace = next(v for v in (x, y) if isinstance(v, Traced))._trace
    a, b = _lift(trace, x), _lift(trace, y)
    if a.ndim == 0 or b.ndim == 0:
        raise InputError("numpy.matmul of a number")
    rows, columns = a.ndim > 1, b.ndim > 1
    n = a.shape[-1]
    if n != b.shape[-2 if columns else -1]:
        raise InputError(f"numpy.matmul of shapes {a.shape} and {b.shape}")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = batch + ((a.shape[-2],) if rows else ()) + ((b.shape[-1],) if columns else ())
    left = _broadcast(a, batch + a.shape[-2:] if rows else a.shape)
    right = _broadcast(b, batch + b.shape[-2:] if columns else b.shape)
    k = trace.variable()

    def element(index: Index) -> str:
        lead = index[: len(batch)]
        own = list(index[len(batch) :])
        i = (own.pop(0),) if rows else ()
        j = (own.pop(0),) if columns else ()
        p = left((*lead, *i, k) if rows else (k,))
        q = right((*lead, k, *j) if columns else (k,))
        return f"sum({k} in 0..{n} : {p} * {q})"

    return trace.define(shape, element, _common([a, b]))


def _einsum(subscripts: Any, *operands: Any, **more: Any) -> Traced:
    if more or not isinstance(subscripts, str) or "." in subscripts:
        raise InputError("numpy.einsum takes its subscripts as a text without dots")
    trace = next(v for v in operands if isinstance(v, Traced))._trace
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = "".join(terms)
    if not arrow:
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    arrays = [_lift(trace, x) for x in operands]
    if len(terms) != len(arrays) or any(len(t) != a.ndim for t, a in zip(terms, arrays)):
        raise InputError(f"numpy.einsum: `{subscripts}` does not fit the operands")
    sizes: dict[str, int] = {}
    for t, a in zip(terms, arrays):
        for c, n in zip(t, a.shape):
            if sizes.setdefault(c, n) != n:
                raise InputError(f"numpy.einsum: `{c}` has two sizes")
    bound = {c: trace.variable() for c in sizes if c not in right}

    def element(index: Index) -> str:
        at = dict(zip(right, index)) | bound
        product = " * ".join(_paren(a.at(tuple(at[c] for c in t))) for t, a in zip(terms, arrays))
        ranges = ", ".join(f"{v} in 0..{sizes[c]}" for c, v in bound.items())
        return f"sum({ranges} : {product})" if bound else product

    return trace.define(tuple(sizes[c] for c in right), element, _common(arrays))


def _getitem(a: Traced, key: Any) -> Traced:
    keys = list(key) if isinstance(key, tuple) else [key]
    if sum(k is Ellipsis for k in keys) > 1:
        raise InputError("an index has one `...` at most")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if Ellipsis not in [k if k is Ellipsis else 0 for k in keys]:
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    keys[at : at + 1] = [slice(None)] * (a.ndim - used)
    shape: list[int] = []
    maps: list[Callable[[Index], str]] = []
    axis = 0
    for k in keys:
        out = len(shape)
        if k is None:
            shape.append(1)
            continue
        if axis >= a.ndim:
            raise InputError(f"an index of {used} places into {a.ndim} dimensions")
        n = a.shape[axis]
        axis += 1
        if isinstance(k, slice):
            start, stop, step = k.indices(n)
            shape.append(len(range(start, stop, step)))
            maps.append(lambda index, out=out, start=start, step=step: _affine(index[out], start, step))  # type: ignore[misc]
        elif isinstance(k, Traced):
            if k.kind != "int" or k.ndim != 1 or any(isinstance(o, Traced) and o is not k for o in keys):
                raise InputError("an index array is one array of integers with one dimension")
            shape.append(k.shape[0])
            maps.append(lambda index, out=out, k=k: k.at((index[out],)))  # type: ignore[misc]
        else:
            try:
                place = operator.index(k)
            except TypeError as e:
                raise InputError(f"an index {k!r} is not covered") from e
            if not -n <= place < n:
                raise InputError(f"index {place} of a dimension of size {n}")
            maps.append(lambda _, place=place % n: str(place))  # type: ignore[misc]
    return Traced(a._trace, tuple(shape), lambda index: a.at(tuple(m(index) for m in maps)), a.kind)


def _affine(index: str, start: int, step: int) -> str:
    scaled = index if step == 1 else f"{step}*({index})"
    return scaled if start == 0 else f"({start} + {scaled})"


def _reshape(a: Traced, shape: Any, *_: Any, **more: Any) -> Traced:
    if more:
        raise InputError(f"numpy.reshape with {next(iter(more))} is not covered")
    sizes = [shape] if isinstance(shape, int) else [operator.index(n) for n in shape]
    known = math.prod(n for n in sizes if n != -1)
    sizes = [a.size // max(known, 1) if n == -1 else n for n in sizes]
    if math.prod(sizes) != a.size:
        raise InputError(f"numpy.reshape of {a.shape} to {shape}")

    def element(index: Index) -> str:
        flat = "0"
        for i, n in zip(index, sizes):
            flat = i if flat == "0" else f"({flat}*{n} + {i})"
        out: list[str] = []
        step = 1
        for position in range(a.ndim - 1, -1, -1):
            n = a.shape[position]
            whole = flat if step == 1 else f"({flat} / {step})"
            out.insert(0, "0" if n == 1 else whole if position == 0 else f"({whole} % {n})")
            step *= n
        return a.at(tuple(out))

    return Traced(a._trace, tuple(sizes), element, a.kind)


def _transpose(a: Traced, axes: Any = None) -> Traced:
    order = tuple(reversed(range(a.ndim))) if axes is None else _axes(list(axes), a.ndim)
    if sorted(order) != list(range(a.ndim)):
        raise InputError(f"numpy.transpose with axes {axes}")
    back = [order.index(i) for i in range(a.ndim)]
    return Traced(a._trace, tuple(a.shape[i] for i in order), lambda index: a.at(tuple(index[b] for b in back)), a.kind)


def _where(condition: Any, x: Any, y: Any) -> Traced:
    trace = next(v for v in (condition, x, y) if isinstance(v, Traced))._trace
    if _kind(condition) != "bool":
        raise InputError("numpy.where takes a comparison")
    values = [_number(_lift(trace, v)) for v in (x, y)]
    arrays = [_condition(trace, condition), *values]
    return _combine(trace, lambda c, a, b: f"(if {c} then {a} else {b})", arrays, _common(values))


def _condition(trace: Trace, value: Any) -> Traced:
    if isinstance(value, Traced):
        return value
    constant = _lift(trace, np.asarray(value).astype(np.int64))
    return _combine(trace, lambda a: f"{a} = 1", [constant], "bool")


def _concatenate(arrays: Any, axis: int = 0, **more: Any) -> Traced:
    if more:
        raise InputError(f"numpy.concatenate with {next(iter(more))} is not covered")
    trace = next(v for v in arrays if isinstance(v, Traced))._trace
    parts = [_lift(trace, x) for x in arrays]
    (at,) = _axes(axis, parts[0].ndim)
    others = {tuple(n for i, n in enumerate(p.shape) if i != at) for p in parts}
    if len(others) != 1:
        raise InputError("numpy.concatenate of arrays whose other dimensions differ")
    shape = tuple(sum(p.shape[at] for p in parts) if i == at else n for i, n in enumerate(parts[0].shape))

    def element(index: Index) -> str:
        start = sum(p.shape[at] for p in parts[:-1])
        out = ""
        for number in range(len(parts) - 1, -1, -1):
            part = parts[number]
            place = index[at] if start == 0 else f"({index[at]} - {start})"
            text = part.at((*index[:at], place, *index[at + 1 :]))
            out = text if not out else f"if {index[at]} < {start + part.shape[at]} then {text} else {out}"
            start -= parts[number - 1].shape[at] if number else 0
        return _paren(out)

    return Traced(trace, shape, element, _common(parts))


def _stack(arrays: Any, axis: int = 0, **more: Any) -> Traced:
    trace = next(v for v in arrays if isinstance(v, Traced))._trace
    parts = [_lift(trace, x) for x in arrays]
    (at,) = _axes(axis, parts[0].ndim + 1)
    key = (*([slice(None)] * at), None)
    return _concatenate([p[key] for p in parts], at, **more)


def _arg_extreme(name: str) -> Callable[..., Traced]:
    def found(a: Traced, axis: Any = None, **more: Any) -> Traced:
        if any(v not in (None, False) for v in more.values()):
            raise InputError(f"numpy.arg{name} with {next(iter(more))} is not covered")
        source = a if axis is not None else a.ravel()
        (at,) = _axes(0 if axis is None else axis, source.ndim)
        best = _reduce(source, at, False, name=name)
        k = a._trace.variable()

        def element(index: Index) -> str:
            place = (*index[:at], k, *index[at:])
            first = f"min({k} in 0..{source.shape[at]} if {source.at(place)} = {best.at(index)} : {k})"
            return f"floor({first})"

        return a._trace.define(best.shape, element, "int")

    return found


def _like(value: Number | None) -> Callable[..., Traced]:
    def full(a: Traced, fill: Any = None, **_: Any) -> Traced:
        number = fill if value is None else value
        return Traced(a._trace, a.shape, lambda _: _literal(number), a.kind)

    return full


def _clip(a: Any, low: Any = None, high: Any = None, **more: Any) -> Any:
    if any(v is not None for v in more.values()):
        raise InputError(f"numpy.clip with {next(iter(more))} is not covered")
    out = a if low is None else np.maximum(a, low)
    return out if high is None else np.minimum(out, high)


def _cumulative(a: Traced, axis: Any = None, **more: Any) -> Traced:
    source = a if axis is not None else a.ravel()
    (at,) = _axes(0 if axis is None else axis, source.ndim)
    k = a._trace.variable()

    def element(index: Index) -> str:
        place = (*index[:at], k, *index[at + 1 :])
        return f"sum({k} in 0..{source.shape[at]} if {k} <= {index[at]} : {source.at(place)})"

    return a._trace.define(source.shape, element, source.kind)


def _named(name: str) -> Callable[..., Traced]:
    def reduce(a: Traced, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Traced:
        more = {k: v for k, v in more.items() if type(v).__name__ != "_NoValueType"}
        if out is not None:
            raise InputError(f"numpy.{name} with out is not covered")
        return _reduce(a, axis, bool(keepdims) and type(keepdims).__name__ != "_NoValueType", name=name, **more)

    return reduce


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: _named(n) for n in ("sum", "prod", "mean")},
    "max": lambda a, axis=None, out=None, keepdims=False: _reduce(a, axis, keepdims, name="max"),
    "min": lambda a, axis=None, out=None, keepdims=False: _reduce(a, axis, keepdims, name="min"),
    "var": lambda a, axis=None, dtype=None, out=None, ddof=0, keepdims=False: _variance(a, axis, keepdims, ddof=ddof),
    "std": lambda a, axis=None, dtype=None, out=None, ddof=0, keepdims=False: np.sqrt(_variance(a, axis, keepdims, ddof=ddof)),
    "argmax": _arg_extreme("max"),
    "argmin": _arg_extreme("min"),
    "where": _where,
    "concatenate": _concatenate,
    "stack": _stack,
    "einsum": _einsum,
    "dot": _matmul,
    "cumsum": _cumulative,
    "clip": _clip,
    "reshape": _reshape,
    "ravel": lambda a: _reshape(a, (-1,)),
    "transpose": _transpose,
    "swapaxes": lambda a, i, j: _swap(a, i, j),
    "expand_dims": lambda a, axis: _expand(a, axis),
    "squeeze": lambda a, axis=None: _squeeze(a, axis),
    "broadcast_to": lambda a, shape: Traced(a._trace, tuple(shape), _broadcast(a, tuple(shape)), a.kind),
    "zeros_like": _like(0),
    "ones_like": _like(1),
    "full_like": _like(None),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a: a.size,
}
_FUNCTIONS |= {"amax": _FUNCTIONS["max"], "amin": _FUNCTIONS["min"], "permute_dims": _transpose}


def _swap(a: Traced, i: int, j: int) -> Traced:
    order = list(range(a.ndim))
    p, q = _axes((i, j), a.ndim)
    order[p], order[q] = order[q], order[p]
    return _transpose(a, order)


def _expand(a: Traced, axis: Any) -> Traced:
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = _axes(tuple(given), a.ndim + len(given))
    return a[tuple(None if i in places else slice(None) for i in range(a.ndim + len(given)))]


def _squeeze(a: Traced, axis: Any) -> Traced:
    places = _axes(axis, a.ndim) if axis is not None else tuple(i for i, n in enumerate(a.shape) if n == 1)
    if any(a.shape[i] != 1 for i in places):
        raise InputError(f"numpy.squeeze of axis {axis} of shape {a.shape}")
    return a[tuple(0 if i in places else slice(None) for i in range(a.ndim))]


#: Words that the grammar of formulas has.
_RESERVED = frozenset(
    (
        *("where", "in", "if", "then", "else", "and", "or", "not", "sum", "max", "min", "prod", "mean", "inf", "pi"),
        *("exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "abs", "relu", "sigmoid", "floor"),
    )
)


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and name not in _RESERVED else f"`{name}`"


def function_of_call(f: Callable[..., Any], args: Sequence[tuple[str, arg.Arg]]) -> Formula:
    """The formula of a function, for the arguments of a launch: `f` takes the inputs in order, then the numbers that its
    signature names, and returns the outputs in order. Arrays without a role are inputs, the last one the output."""
    arrays = [(n, a) for n, a in args if isinstance(a, arg.Array)]
    inputs = [(n, a) for n, a in arrays if a.role in ("in", "inout")]
    outputs = [(n, a) for n, a in arrays if a.role in ("out", "inout")]
    if not outputs:
        raise InputError("a function as reference needs arguments that say what is an output: volta.arg.output(...)")
    inputs += [(n, a) for n, a in arrays if a.role is None]
    taken = inspect.signature(f).parameters
    numbers = {n: v for n, v in args if not isinstance(v, arg.Array) and n in taken}
    return _formula(f, inputs, outputs, numbers)


def _leaf(trace: Trace, name: str, array: arg.Array) -> Traced:
    kind = "float" if array.type[0] in "fbe" else "int"
    return Traced(trace, array.shape, lambda at: f"{_quoted(name)}[{', '.join(at)}]", kind)


def _formula(
    f: Callable[..., Any],
    inputs: Sequence[tuple[str, arg.Array]],
    outputs: Sequence[tuple[str, arg.Array]],
    numbers: Mapping[str, Number],
) -> Formula:
    trace = Trace()
    trace.taken = {n for n, _ in [*inputs, *outputs]}

    values = f(*(_leaf(trace, n, a) for n, a in inputs), **numbers)
    results = list(values) if isinstance(values, (tuple, list)) else [values]
    if len(results) != len(outputs):
        raise InputError(f"the function returns {len(results)} arrays, and there are {len(outputs)} outputs")
    definitions = []
    for (name, array), value in zip(outputs, results):
        result = _lift(trace, value)
        if result.kind == "bool":
            result = _number(result)
        if result.shape != array.shape:
            raise InputError(f"`{name}` has shape {array.shape}, and the function returns {result.shape}")
        index = tuple(trace.variable() for _ in result.shape)
        definitions.append(f"{_quoted(name)}[{', '.join(index)}] = {result.at(index)}")
    where = "".join(f" where {h}" for h in trace.helpers)
    return Formula("; ".join(d + where for d in definitions))


def function(f: Callable[..., Any], shapes: Mapping[str, tuple[int, ...] | arg.Array]) -> Formula:
    """The formula of a plain function of arrays.

    `shapes` names its inputs in order, and gives their shapes; what it returns is `y` (several: `y0`, `y1`, ...).
    Covered: NumPy's elementwise operations, broadcasting, reductions with axes, matmul, einsum, indexing and slicing,
    where, concatenation, reshaping, casts. Anything else is an `InputError` that names it.
    """
    inputs = [(n, s if isinstance(s, arg.Array) else arg.input("f32", s)) for n, s in shapes.items()]
    trace = Trace()
    probe = f(*(_leaf(trace, n, a) for n, a in inputs))
    several = isinstance(probe, (tuple, list))
    results = list(probe) if several else [probe]
    shapes_out = [r.shape if isinstance(r, Traced) else np.asarray(r).shape for r in results]
    names = [f"y{i}" for i in range(len(results))] if several else ["y"]
    outputs = [(n, arg.output("f32", s)) for n, s in zip(names, shapes_out)]
    return _formula(f, inputs, outputs, {})
