"""What layers of networks compute, over the reals: constants such as 1/sqrt(2) are themselves, not their rounded values."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

from ..errors import InputError
from . import indices
from .elementwise import apply, combine, number, power, where
from .operations import axes_of, reduce, reshape, variance
from .symbolic import REPEATED, Index, Number, Symbolic
from .tree import PI, Call, Choice, Node, Reduction, all_of, chained, node


def constant(x: Symbolic, value: Number) -> Symbolic:
    """A number beside an array."""
    return x.trace.constant(value)


def add(x: Symbolic, y: Symbolic | Number) -> Symbolic:
    """x + y."""
    return apply("add", x, y if isinstance(y, Symbolic) else constant(x, y))


def subtract(x: Symbolic, y: Symbolic | Number) -> Symbolic:
    """x - y."""
    return apply("subtract", x, y if isinstance(y, Symbolic) else constant(x, y))


def multiply(x: Symbolic, y: Symbolic | Number) -> Symbolic:
    """x y."""
    return apply("multiply", x, y if isinstance(y, Symbolic) else constant(x, y))


def divide(x: Symbolic, y: Symbolic | Number) -> Symbolic:
    """x / y."""
    return apply("divide", x, y if isinstance(y, Symbolic) else constant(x, y))


def clamp(x: Symbolic, low: Symbolic | Number | None, high: Symbolic | Number | None) -> Symbolic:
    """A value between two bounds; the upper one wins."""
    for name, bound in (("maximum", low), ("minimum", high)):
        if bound is not None:
            x = apply(name, x, bound if isinstance(bound, Symbolic) else constant(x, bound))
    return x


def choose(x: Symbolic, sign: str, bound: Number, yes: Symbolic | Number, no: Symbolic | Number) -> Symbolic:
    """One of two values by a comparison of x with a number."""
    values = [v if isinstance(v, Symbolic) else constant(x, v) for v in (yes, no)]
    return where(apply(sign, x, constant(x, bound)), *values)


def softmax(x: Symbolic, axis: int) -> Symbolic:
    """exp(x - max x) over its sum along an axis."""
    x = number(x).short(REPEATED)
    shifted = apply("exp", subtract(x, reduce("max", x, axis, True)))
    return divide(shifted, reduce("sum", shifted, axis, True))


def log_sum_exp(x: Symbolic, axis: int | Sequence[int], keepdims: bool) -> Symbolic:
    """log of the sum of exp(x) along axes."""
    x = number(x).short(REPEATED)
    shifted = apply("exp", subtract(x, reduce("max", x, axis, True)))
    return add(apply("log", reduce("sum", shifted, axis, keepdims)), reduce("max", x, axis, keepdims))


def log_softmax(x: Symbolic, axis: int) -> Symbolic:
    """The logarithm of a softmax."""
    x = number(x).short(REPEATED)
    return subtract(x, log_sum_exp(x, axis, True))


def silu(x: Symbolic) -> Symbolic:
    """x sigmoid(x)."""
    x = x.short(REPEATED)
    return multiply(x, apply("sigmoid", x))


def gelu(x: Symbolic, approximate: str = "none") -> Symbolic:
    """x times the normal distribution, or its approximation by a hyperbolic tangent."""
    x = x.short(REPEATED)
    if approximate == "tanh":
        root = Call("sqrt", node(2) / PI)
        return combine(lambda a: a * (1.0 + Call("tanh", root * (a + 0.044715 * a**3))) / 2.0, (x,), "float")
    return combine(lambda a: a * (1.0 + Call("erf", a / Call("sqrt", node(2)))) / 2.0, (x,), "float")


def softplus(x: Symbolic, beta: Number = 1, threshold: Number = 20) -> Symbolic:
    """log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold."""
    x = x.short(REPEATED)
    scaled = multiply(x, beta).short(REPEATED)
    soft = divide(apply("log1p", apply("exp", scaled)), float(beta))
    return choose(scaled, "greater", threshold, x, soft)


def elu(x: Symbolic, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Symbolic:
    """scale x where x is positive, else scale alpha (exp(input_scale x) - 1)."""
    x = x.short(REPEATED)
    low = multiply(apply("expm1", multiply(x, input_scale)), alpha)
    return multiply(choose(x, "greater", 0, x, low), scale)


def normalised(x: Symbolic, axes: Sequence[int], eps: Number) -> Symbolic:
    """x less its mean, over the square root of its variance and eps, along axes."""
    x = number(x).short(REPEATED)
    centred = subtract(x, reduce("mean", x, tuple(axes), True))
    return multiply(centred, apply("rsqrt", add(variance(x, tuple(axes), True), float(eps))))


def affine(x: Symbolic, weight: Symbolic | None, bias: Symbolic | None, axis: int | None = None) -> Symbolic:
    """x times a weight plus a bias: of the last axes, or of one axis."""

    def along(v: Symbolic) -> Symbolic:
        return v if axis is None else reshape(v, [v.size if i == axis else 1 for i in range(x.ndim)])

    if weight is not None:
        x = multiply(x, along(weight))
    return x if bias is None else add(x, along(bias))


def layer_norm(x: Symbolic, rank: int, weight: Symbolic | None, bias: Symbolic | None, eps: Number) -> Symbolic:
    """Each row normalised, a row being the last `rank` axes."""
    return affine(normalised(x, range(x.ndim - rank, x.ndim), eps), weight, bias)


def group_norm(x: Symbolic, groups: int, weight: Symbolic | None, bias: Symbolic | None, eps: Number) -> Symbolic:
    """Each group of channels normalised; channels are axis 1."""
    batch, channels = x.shape[:2]
    grouped = reshape(x, (batch, groups, x.size // max(batch * groups, 1)))
    out = reshape(normalised(grouped, (2,), eps), x.shape)
    del channels
    return affine(out, weight, bias, 1)


def batch_norm(
    x: Symbolic,
    weight: Symbolic | None,
    bias: Symbolic | None,
    mean: Symbolic | None,
    deviation: Symbolic | None,
    eps: Number,
) -> Symbolic:
    """Each channel normalised, by the batch itself or by a mean and a variance that are given."""
    if mean is None or deviation is None:
        axes = [i for i in range(x.ndim) if i != 1]
        return affine(normalised(x, axes, eps), weight, bias, 1)
    shape = [n if i == 1 else 1 for i, n in enumerate(x.shape)]
    scale = apply("rsqrt", add(reshape(deviation, shape), float(eps)))
    return affine(multiply(subtract(x, reshape(mean, shape)), scale), weight, bias, 1)


def _spread(values: Sequence[int], rank: int) -> list[int]:
    given = list(values)
    return given * rank if len(given) == 1 else given


def convolution(
    x: Symbolic,
    weight: Symbolic,
    bias: Symbolic | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Symbolic:
    """A convolution as torch counts its axes: batch, channels, space; weights by output, input channel of the group, window."""
    rank = weight.ndim - 2
    if x.ndim != rank + 2:
        raise InputError(f"a convolution of {x.ndim} dimensions by a window of {rank} is not covered")
    x, weight = number(x).short(REPEATED), number(weight).short(REPEATED)
    s, p, d = _spread(stride, rank), _spread(padding, rank), _spread(dilation, rank)
    window = weight.shape[2:]
    space = x.shape[2:]
    names = [x.trace.variable() for _ in range(rank + 1)]
    channel, offsets = names[0], names[1:]
    per_group = x.shape[1] // groups
    outputs = weight.shape[1] if transposed else weight.shape[0] // groups
    if transposed:
        extra = _spread(output_padding, rank)
        sizes = [(n - 1) * s[i] - 2 * p[i] + d[i] * (window[i] - 1) + extra[i] + 1 for i, n in enumerate(space)]
    else:
        sizes = [(n + 2 * p[i] - d[i] * (window[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(space)]

    def element(index: Index) -> Node:
        batch, out = index[:2]
        source = out // outputs * per_group + channel if groups > 1 else channel
        guards, places = [], []
        for i, o in enumerate(index[2:]):
            at: Node = o + p[i] - offsets[i] * d[i] if transposed else o * s[i] + offsets[i] * d[i] - p[i]
            if transposed:
                guards += [chained(at % s[i], "=", 0)] if s[i] > 1 else []
                at = at // s[i]
            if transposed or p[i] > 0:
                guards.append(indices.inside(at, space[i]))
            places.append(at)
        w = (source, out % outputs, *offsets) if transposed else (out, channel, *offsets)
        ranges = [(channel, 0, per_group), *((v, 0, n) for v, n in zip(offsets, window))]
        return Reduction("sum", ranges, all_of(guards), x.at((batch, source, *places)) * weight.at(w))

    out = x.trace.define((x.shape[0], outputs * groups, *sizes), element, "float")
    return out if bias is None else affine(out, None, bias, 1)


def pool(
    name: str,
    x: Symbolic,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    shape: tuple[int, ...],
    count_padding: bool = True,
    divisor: int | None = None,
) -> Symbolic:
    """The maximum or the mean (`max`, `mean`) of a window that moves over the last axes; `shape` is that of the result."""
    rank = len(window)
    x = number(x).short(REPEATED)
    s, p, d = _spread(stride or window, rank), _spread(padding, rank), _spread(dilation, rank)
    lead = x.ndim - rank
    offsets = [x.trace.variable() for _ in range(rank)]
    space = x.shape[lead:]

    def element(index: Index) -> Node:
        guards, places, counts = [], [], []
        for i, o in enumerate(index[lead:]):
            at = o * s[i] + offsets[i] * d[i] - p[i]
            reach = (shape[lead + i] - 1) * s[i] + (window[i] - 1) * d[i] - p[i]
            if p[i] > 0 or reach >= space[i]:
                guards.append(indices.inside(at, space[i]))
            places.append(at)
            first = o * s[i] - p[i]
            last = first + window[i]
            if count_padding:
                counts.append(Call("min", last, node(space[i] + p[i])) - first)
            else:
                counts.append(Call("min", last, node(space[i])) - Call("max", first, node(0)))
        ranges = [(v, 0, n) for v, n in zip(offsets, window)]
        found = Reduction("max" if name == "max" else "sum", ranges, all_of(guards), x.at((*index[:lead], *places)))
        if name == "max":
            return found
        if divisor:
            return found / divisor
        return found / (functools.reduce(operator.mul, counts) if guards else math.prod(window))

    return x.trace.define(shape, element, "float")


def uneven_pool(name: str, x: Symbolic, shape: tuple[int, ...], rank: int) -> Symbolic:
    """The maximum or the mean of windows that share the last axes among `shape` of them, as evenly as whole numbers go:
    each begins where its share does, rounded down, and ends where it ends, rounded up."""
    x = number(x).short(REPEATED)
    lead = x.ndim - rank
    places = [x.trace.variable() for _ in range(rank)]

    def element(index: Index) -> Node:
        bounds = []
        for o, n, m in zip(index[lead:], x.shape[lead:], shape[lead:]):
            bounds.append((o * n // m, (o * n + n + m - 1) // m))
        ranges = [(p, 0, n) for p, n in zip(places, x.shape[lead:])]
        guard = all_of([chained(low, "<=", p, "<", high) for p, (low, high) in zip(places, bounds)])
        found = Reduction("max" if name == "max" else "sum", ranges, guard, x.at((*index[:lead], *places)))
        return found if name == "max" else found / functools.reduce(operator.mul, (high - low for low, high in bounds))

    return x.trace.define(shape, element, "float")


def nll_loss(log: Symbolic, target: Symbolic, weight: Symbolic | None, reduction: int, ignored: int) -> tuple[Symbolic, Symbolic]:
    """Minus the logarithm at each target, where that is not the one that is ignored; and the sum of the weights."""
    if target.kind != "int" or target.ndim != log.ndim - 1:
        raise InputError("nll_loss takes a class for each row")
    axis = 0 if log.ndim == 1 else 1
    log = number(log).short(REPEATED)

    def kept(index: Index, value: Node) -> Node:
        return Choice(chained(target.at(index), "=", ignored), node(0.0), value)

    def picked(index: Index) -> Node:
        at = target.at(index)
        value = -log.at((*index[:axis], at, *index[axis:]))
        return kept(index, value if weight is None else value * weight.at((at,)))

    def weighed(index: Index) -> Node:
        return kept(index, node(1.0) if weight is None else weight.at((target.at(index),)))

    trace = log.trace
    losses = trace.define(target.shape, picked, "float")
    total = reduce("sum", Symbolic(trace, target.shape, weighed, "float", 2))
    if reduction == 0:
        return losses, total
    out = reduce("sum", losses)
    return (divide(out, total), total) if reduction == 1 else (out, total)


def norm(x: Symbolic, order: float, axis: Sequence[int] | None, keepdims: bool) -> Symbolic:
    """The norm of an order along axes."""
    size = apply("absolute", number(x))
    if order in (math.inf, -math.inf):
        return reduce("max" if order > 0 else "min", size, axis, keepdims)
    if order == 2:
        return apply("sqrt", reduce("sum", apply("square", number(x)), axis, keepdims))
    if order == 1:
        return reduce("sum", size, axis, keepdims)
    if order == 0:
        nonzero = apply("not_equal", number(x), constant(x, 0))
        return reduce("sum", nonzero, axis, keepdims)
    if order <= 0:
        raise InputError(f"a norm of order {order} is not covered")
    return power(reduce("sum", power(size, order), axis, keepdims), 1 / order)


def axis_of(x: Symbolic, axis: int) -> int:
    """An axis counted from the front."""
    return axes_of(axis, x.ndim)[0]
