"""Torch's operators (`torch.ops.aten`) by the table of operations.

Each entry takes the trace, and the operator's own arguments with arrays in the place of tensors. The names of types,
layouts and memory formats among them tell nothing over the reals and are ignored, but for casts to integers, which
`of_torch` makes by the types that torch gives each value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError
from . import aten_places, aten_windows, bits, indices, lookups, networks, operations
from .elementwise import apply, broadcast, cast, number, operand, power, truth, where
from .symbolic import NOTHING, REPEATED, Missing, Number, Symbolic, Trace
from .tree import Choice, chained, node

Operation = Callable[..., Any]


def _elementwise(name: str) -> Operation:
    return lambda c, *args: apply(name, *(operand(c, a) for a in args))


def _same(c: Trace, x: Symbolic, *_: Any, **__: Any) -> Symbolic:
    return x


def _scaled(name: str) -> Operation:
    def call(c: Trace, x: Any, y: Any, *, alpha: Number = 1) -> Symbolic:
        right = operand(c, y)
        return apply(name, operand(c, x), right if alpha == 1 else networks.multiply(right, alpha))

    return call


def _divide(c: Trace, x: Any, y: Any, *, rounding_mode: str | None = None) -> Symbolic:
    a, b = number(operand(c, x)), number(operand(c, y))
    if rounding_mode == "floor":
        return _floor_divide(c, a, b)
    if rounding_mode == "trunc" and "float" not in (a.kind, b.kind):
        return apply("integer_truncated", a, b)
    out = apply("divide", cast(a, "float"), b)
    return out if rounding_mode is None else apply("trunc", out)


def _floor_divide(c: Trace, x: Any, y: Any) -> Symbolic:
    a, b = number(operand(c, x)), number(operand(c, y))
    return apply("floor_divide" if "float" in (a.kind, b.kind) else "integer_quotient", a, b)


def _remainder(c: Trace, x: Any, y: Any) -> Symbolic:
    a, b = number(operand(c, x)), number(operand(c, y))
    return apply("remainder" if "float" in (a.kind, b.kind) else "integer_remainder", a, b)


def _bitwise(name: str, of_bits: Callable[..., Symbolic]) -> Operation:
    def call(c: Trace, *args: Any) -> Symbolic:
        values = [operand(c, a) for a in args]
        return apply(name, *values) if all(v.kind == "bool" for v in values) else of_bits(*values)

    return call


def _shift(of_bits: Callable[..., Symbolic]) -> Operation:
    return lambda c, x, by: of_bits(operand(c, x), operand(c, by))


def _missing(what: str) -> Operation:
    def call(c: Trace, *args: Any, **kwargs: Any) -> Symbolic:
        raise InputError(
            f"the language of formulas has no {what}: compare with another kernel (volta.check(kernel, kernel)), "
            "or return its argument"
        )

    return call


def _power(c: Trace, x: Any, exponent: Any) -> Symbolic:
    if isinstance(exponent, Symbolic):
        if not isinstance(x, Symbolic) and x > 0:
            return apply("exp", networks.multiply(exponent, apply("log", c.constant(x))))
        raise InputError("an exponent that depends on data is not covered")
    return power(operand(c, x), exponent)


def _clamp(c: Trace, x: Symbolic, low: Any = None, high: Any = None) -> Symbolic:
    return networks.clamp(x, low, high)


def _leaky(c: Trace, x: Symbolic, slope: Number = 0.01) -> Symbolic:
    x = x.short(REPEATED)
    return networks.choose(x, "greater", 0, x, networks.multiply(x, slope))


def _hard_sigmoid(c: Trace, x: Symbolic) -> Symbolic:
    return networks.divide(networks.clamp(networks.add(x, 3.0), 0.0, 6.0), 6.0)


def _log_sigmoid(c: Trace, x: Symbolic) -> tuple[Symbolic, Symbolic]:
    out = apply("negative", apply("log1p", apply("exp", apply("negative", x))))
    return out, x


def _hard_shrink(c: Trace, x: Symbolic, bound: Number = 0.5) -> Symbolic:
    x = x.short(REPEATED)
    return networks.choose(apply("absolute", x), "greater", bound, x, 0.0)


def _soft_shrink(c: Trace, x: Symbolic, bound: Number = 0.5) -> Symbolic:
    x = x.short(REPEATED)
    low = networks.choose(x, "less", -bound, networks.add(x, bound), 0.0)
    return networks.choose(x, "greater", bound, networks.subtract(x, bound), low)


def _reduction(name: str) -> Operation:
    def call(c: Trace, x: Symbolic, axis: Any = None, keepdims: bool = False, **_: Any) -> Symbolic:
        # An empty list of axes is all of them.
        return operations.reduce(name, x, axis if axis != [] else None, keepdims)

    return call


def _extreme(name: str) -> Operation:
    def call(c: Trace, x: Symbolic, axis: int | None = None, keepdims: bool = False) -> Any:
        if axis is None:
            return operations.reduce(name, x)
        return operations.reduce(name, x, axis, keepdims), operations.arg_extreme(name, x, axis, keepdims)

    return call


def _compare_extreme(name: str, reduced: str) -> Operation:
    """`max` and `min`: of two arrays, of all elements, or along an axis."""
    along = _extreme(reduced)

    def call(c: Trace, x: Symbolic, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Symbolic):
            return apply(name, x, args[0])
        return along(c, x, *args, **kwargs)

    return call


def _arg(name: str) -> Operation:
    return lambda c, x, axis=None, keepdims=False: operations.arg_extreme(name, x, axis, keepdims)


def _cumulative_extreme(name: str) -> Operation:
    reason = "the place of a running extreme is not covered"
    return lambda c, x, axis: (operations.cumulative(name, x, axis), Missing(reason))


def _running_log_sum(c: Trace, x: Symbolic, axis: int) -> Symbolic:
    return apply("log", operations.cumulative("sum", apply("exp", x), axis))


def _quantifier(name: str) -> Operation:
    return lambda c, x, axis=None, keepdims=False: truth(operations.reduce(name, truth(x), axis, keepdims))


def _variance(c: Trace, x: Symbolic, axis: Any = None, unbiased: Any = True, keepdim: bool = False, **more: Any) -> Symbolic:
    correction = more.get("correction", 1 if unbiased else 0)
    return operations.variance(x, axis or None, keepdim, 1 if correction is None else correction)


def _variance_mean(c: Trace, x: Symbolic, axis: Any = None, *args: Any, **more: Any) -> tuple[Symbolic, Symbolic]:
    found = _variance(c, x, axis, *args, **more)
    return found, operations.reduce("mean", x, axis or None, more.get("keepdim", False))


def _norm(c: Trace, x: Symbolic, order: Any = 2, axis: Any = None, keepdim: bool = False, **_: Any) -> Symbolic:
    return networks.norm(x, float(order), axis, keepdim)


def _add_product(c: Trace, x: Symbolic, a: Symbolic, b: Symbolic, *, beta: Number = 1, alpha: Number = 1) -> Symbolic:
    product = operations.matmul(a, b)
    product = product if alpha == 1 else networks.multiply(product, alpha)
    if beta == 0:
        return product
    return networks.add(x if beta == 1 else networks.multiply(x, beta), product)


def _add_batches(c: Trace, x: Symbolic, a: Symbolic, b: Symbolic, *, beta: Number = 1, alpha: Number = 1) -> Symbolic:
    product = networks.multiply(operations.einsum("bij,bjk->ik", [a, b]), alpha)
    return networks.add(networks.multiply(x, beta), product) if beta else product


def _distances(c: Trace, x: Symbolic, y: Symbolic, order: float, *_: Any) -> Symbolic:
    difference = apply("subtract", operations.expand_dims(x, x.ndim - 1), operations.expand_dims(y, y.ndim - 2))
    return networks.norm(difference, float(order), [difference.ndim - 1], False)


def _add_with(name: str) -> Operation:
    def call(c: Trace, x: Symbolic, a: Symbolic, b: Symbolic, *, value: Number = 1) -> Symbolic:
        part = apply(name, a, b)
        return networks.add(x, part if value == 1 else networks.multiply(part, value))

    return call


def _lerp(c: Trace, x: Symbolic, y: Symbolic, weight: Any) -> Symbolic:
    return networks.add(x, apply("multiply", networks.subtract(y, x), operand(c, weight)))


def _reshape(c: Trace, x: Symbolic, shape: Sequence[int]) -> Symbolic:
    return operations.reshape(x, shape)


def _expand(c: Trace, x: Symbolic, shape: Sequence[int], **_: Any) -> Symbolic:
    lead = len(shape) - x.ndim
    return broadcast(x, tuple(x.shape[i - lead] if n == -1 else n for i, n in enumerate(shape)))


def _split(c: Trace, x: Symbolic, sizes: Any, axis: int = 0) -> list[Symbolic]:
    (at,) = operations.axes_of(axis, x.ndim)
    n = x.shape[at]
    if isinstance(sizes, int):
        sizes = [min(sizes, n - start) for start in range(0, n, max(sizes, 1))] or [0]
    out, start = [], 0
    for size in sizes:
        out.append(operations.take_slice(x, at, start, start + size))
        start += size
    return out


def _unbind(c: Trace, x: Symbolic, axis: int = 0) -> list[Symbolic]:
    (at,) = operations.axes_of(axis, x.ndim)
    return [operations.select(x, at, i) for i in range(x.shape[at])]


def _roll(c: Trace, x: Symbolic, shifts: Any, axes: Any = ()) -> Symbolic:
    if not axes:
        flat = operations.reshape(x, (x.size,))
        return operations.reshape(operations.roll(flat, shifts[0], 0), x.shape)
    for shift, axis in zip(shifts, axes):
        x = operations.roll(x, shift, axis)
    return x


def _pad(c: Trace, x: Symbolic, amounts: Sequence[int], value: Any = 0) -> Symbolic:
    pairs = list(zip(amounts[::2], amounts[1::2]))
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    fill: Number = value if x.kind != "float" and isinstance(value, int) else float(value)
    return operations.pad(x, pairs, c.constant(fill))


def _slice(c: Trace, x: Symbolic, axis: int = 0, start: Any = None, stop: Any = None, step: int = 1) -> Symbolic:
    return operations.take_slice(x, axis, start, stop, step)


def _slice_scatter(
    c: Trace, x: Symbolic, part: Symbolic, axis: int = 0, start: Any = None, stop: Any = None, step: int = 1
) -> Symbolic:
    return lookups.scatter_slice(x, part, axis, start, stop, step)


def _select_scatter(c: Trace, x: Symbolic, part: Symbolic, axis: int, at: int) -> Symbolic:
    (axis,) = operations.axes_of(axis, x.ndim)
    at %= max(x.shape[axis], 1)
    return lookups.scatter_slice(x, operations.expand_dims(part, axis), axis, at, at + 1, 1)


def _filled(value: Number | None, like: bool = False) -> Operation:
    def call(c: Trace, first: Any, *args: Any, **_: Any) -> Symbolic:
        shape = first.shape if like else tuple(args[0] if isinstance(first, Symbolic) else first)
        fill = value if value is not None else args[-1]
        return fill if isinstance(fill, Symbolic) and fill.shape == shape else broadcast(operand(c, fill), shape)

    return call


def _arange(c: Trace, *args: Any, **_: Any) -> Symbolic:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return operations.counting(c, start, stop, step)


def _eye(c: Trace, rows: int, columns: int | None = None, **_: Any) -> Symbolic:
    shape = (rows, rows if columns is None else columns)
    return Symbolic(c, shape, lambda i: Choice(chained(i[0], "=", i[1]), node(1.0), node(0.0)), "float", 1)


def _convolution(c: Trace, *args: Any) -> Symbolic:
    return networks.convolution(*args)


def _layer_norm(c: Trace, x: Symbolic, shape: Sequence[int], weight: Any, bias: Any, eps: Number) -> tuple[Symbolic, Any, Any]:
    return networks.layer_norm(x, len(shape), weight, bias, eps), None, None


def _group_norm(
    c: Trace, x: Symbolic, weight: Any, bias: Any, batch: int, channels: int, size: int, groups: int, eps: Number
) -> tuple[Symbolic, Any, Any]:
    return networks.group_norm(x, groups, weight, bias, eps), None, None


def _batch_norm(
    c: Trace, x: Symbolic, weight: Any, bias: Any, mean: Any, deviation: Any, training: bool, momentum: Number, eps: Number
) -> tuple[Any, ...]:
    by = (None, None) if training else (mean, deviation)
    axes = [i for i in range(x.ndim) if i != 1]
    moved: list[Any] = [None, None]
    if training and mean is not None and deviation is not None:
        count = x.size // max(x.shape[1], 1)
        found = [operations.reduce("mean", x, axes), operations.variance(x, axes, False, 1) if count > 1 else None]
        for i, (old, new) in enumerate(zip((mean, deviation), found)):
            moved[i] = None if new is None else _lerp(c, old, new, float(momentum))
    return networks.batch_norm(x, weight, bias, by[0], by[1], eps), None, None, *moved


def _batch_norm_no_training(
    c: Trace, x: Symbolic, weight: Any, bias: Any, mean: Any, deviation: Any, momentum: Number, eps: Number
) -> tuple[Symbolic, Any, Any]:
    return networks.batch_norm(x, weight, bias, mean, deviation, eps), None, None


def _batch_norm_no_stats(
    c: Trace, x: Symbolic, weight: Any, bias: Any, training: bool, momentum: Number, eps: Number
) -> tuple[Symbolic, Any, Any]:
    return networks.batch_norm(x, weight, bias, None, None, eps), None, None


def _dropout(c: Trace, x: Symbolic, rate: float, training: bool | None) -> tuple[Symbolic, Any]:
    if training and rate > 0:
        raise InputError("random numbers are not covered: call module.eval()")
    return x, None


def _nll_loss(c: Trace, x: Symbolic, target: Symbolic, weight: Any, reduction: int, ignored: int) -> tuple[Symbolic, Symbolic]:
    return networks.nll_loss(x, target, weight, reduction, ignored)


def _masked_fill(c: Trace, x: Symbolic, mask: Symbolic, value: Any) -> Symbolic:
    return where(mask, operand(c, value), x)


def _cumulative(name: str) -> Operation:
    return lambda c, x, axis, **_: operations.cumulative(name, x, axis)


def _repeat_interleave(c: Trace, *args: Any, **kwargs: Any) -> Symbolic:
    raise InputError("repeats that data give are not covered")


def _tensor(c: Trace, value: Any, **_: Any) -> Symbolic:
    return operand(c, value)


def _as_strided(c: Trace, x: Symbolic, shape: Sequence[int], strides: Sequence[int], offset: int | None = 0) -> Symbolic:
    """A view of memory: `of_torch` sees to it that this is the memory of a dense array."""
    flat = operations.reshape(x, (x.size,))
    return flat.view(tuple(shape), lambda index: (indices.sum_of(index, tuple(strides)) + (offset or 0),))


def _diagonal(c: Trace, x: Symbolic, offset: int = 0, first: int = 0, second: int = 1) -> Symbolic:
    return operations.diagonal(x, offset, first, second)


def _unfold(c: Trace, x: Symbolic, axis: int, size: int, step: int) -> Symbolic:
    (at,) = operations.axes_of(axis, x.ndim)
    shape = (*x.shape[:at], (x.shape[at] - size) // step + 1, *x.shape[at + 1 :], size)
    return x.view(shape, lambda i: (*i[:at], i[at] * step + i[-1], *i[at + 1 : -1]))


def _xlogy(c: Trace, x: Any, y: Any) -> Symbolic:
    a = number(operand(c, x)).short(REPEATED)
    product = apply("multiply", a, apply("log", operand(c, y)))
    return networks.choose(a, "equal", 0, 0.0, product)


def _trilinear(
    c: Trace, x: Symbolic, y: Symbolic, z: Symbolic, first: Any, second: Any, third: Any, summed: Any, *_: Any
) -> Symbolic:
    wide = [operations.expand_dims(v, tuple(axes)) if axes else v for v, axes in ((x, first), (y, second), (z, third))]
    return operations.reduce("sum", apply("multiply", apply("multiply", *wide[:2]), wide[2]), tuple(summed))


def _empty(c: Trace, first: Any, *args: Any, **_: Any) -> Symbolic:
    """Elements that have no value: one that is read makes the function undefined there."""
    shape = args[0] if isinstance(first, Symbolic) and args and isinstance(args[0], (list, tuple)) else first
    sizes = shape.shape if isinstance(shape, Symbolic) else tuple(shape)
    return Symbolic(c, sizes, lambda _: NOTHING, "rounded", 1)


def _mse(difference: Callable[[Symbolic], Symbolic]) -> Operation:
    def call(c: Trace, x: Symbolic, y: Symbolic, reduction: int = 1) -> Symbolic:
        out = difference(apply("subtract", x, y))
        return out if reduction == 0 else operations.reduce("mean" if reduction == 1 else "sum", out)

    return call


#: By the name of the operator, without its overload.
OPERATIONS: dict[str, Operation] = {
    **aten_places.OPERATIONS,
    **aten_windows.OPERATIONS,
    **{n: _elementwise(n) for n in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos")},
    **{n: _elementwise(n) for n in ("tan", "sinh", "cosh", "tanh", "erf", "sigmoid", "relu", "floor", "ceil", "trunc", "sign")},
    **{n: _elementwise(n) for n in ("reciprocal", "maximum", "minimum", "square", "erfc", "hypot", "logaddexp", "logaddexp2")},
    **{n: _elementwise(n) for n in ("isnan", "isinf", "isfinite", "fmod")},
    **{n: _elementwise(n.replace("a", "arc", 1)) for n in ("asinh", "acosh", "atanh")},
    **{n: _elementwise(n) for n in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    "abs": _elementwise("absolute"),
    "neg": _elementwise("negative"),
    "round": _elementwise("rint"),
    "mul": _elementwise("multiply"),
    "fmax": _elementwise("maximum"),
    "fmin": _elementwise("minimum"),
    "eq": _elementwise("equal"),
    "ne": _elementwise("not_equal"),
    "lt": _elementwise("less"),
    "le": _elementwise("less_equal"),
    "gt": _elementwise("greater"),
    "ge": _elementwise("greater_equal"),
    "add": _scaled("add"),
    "sub": _scaled("subtract"),
    "rsub": lambda c, x, y, alpha=1: _scaled("subtract")(c, y, x, alpha=alpha),
    "div": _divide,
    "true_divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "pow": _power,
    "bitwise_and": _bitwise("logical_and", bits.both),
    "bitwise_or": _bitwise("logical_or", bits.either),
    "bitwise_xor": _bitwise("logical_xor", bits.one_of),
    "bitwise_not": _bitwise("logical_not", lambda x: apply("subtract", x.trace.constant(-1), x)),
    **dict.fromkeys(("__lshift__", "bitwise_left_shift"), _shift(bits.shifted_left)),
    **dict.fromkeys(("__rshift__", "bitwise_right_shift"), _shift(bits.shifted_right)),
    **dict.fromkeys(("atan", "atan2"), _missing("inverse of a tangent")),
    **{n: _missing(f"inverse of a {w}") for n, w in (("asin", "sine"), ("acos", "cosine"))},
    "where": lambda c, p, x, y: where(truth(p), operand(c, x), operand(c, y)),
    "masked_fill": _masked_fill,
    "clamp": _clamp,
    "clamp_min": lambda c, x, low: _clamp(c, x, low),
    "clamp_max": lambda c, x, high: _clamp(c, x, None, high),
    "hardtanh": lambda c, x, low=-1.0, high=1.0: _clamp(c, x, low, high),
    "relu6": lambda c, x: _clamp(c, x, 0.0, 6.0),
    "silu": lambda c, x: networks.silu(x),
    "gelu": lambda c, x, approximate="none": networks.gelu(x, approximate),
    "softplus": lambda c, x, beta=1, threshold=20: networks.softplus(x, beta, threshold),
    "elu": lambda c, x, alpha=1, scale=1, input_scale=1: networks.elu(x, alpha, scale, input_scale),
    "leaky_relu": _leaky,
    "hardsigmoid": _hard_sigmoid,
    "hardswish": lambda c, x: networks.multiply(x.short(REPEATED), _hard_sigmoid(c, x.short(REPEATED))),
    "mish": lambda c, x: networks.multiply(x.short(REPEATED), apply("tanh", apply("log1p", apply("exp", x.short(REPEATED))))),
    "log_sigmoid_forward": _log_sigmoid,
    "hardshrink": _hard_shrink,
    "softshrink": _soft_shrink,
    "threshold": lambda c, x, bound, value: networks.choose(x, "greater", bound, x, value),
    "lerp": _lerp,
    "addcmul": _add_with("multiply"),
    "addcdiv": _add_with("divide"),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "prod": _reduction("prod"),
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "max": _compare_extreme("maximum", "max"),
    "min": _compare_extreme("minimum", "min"),
    "argmax": _arg("max"),
    "argmin": _arg("min"),
    "any": _quantifier("max"),
    "all": _quantifier("min"),
    "var": _variance,
    "std": lambda c, *args, **kwargs: apply("sqrt", _variance(c, *args, **kwargs)),
    "var_mean": _variance_mean,
    "logsumexp": lambda c, x, axis, keepdims=False: networks.log_sum_exp(x, axis, keepdims),
    "linalg_vector_norm": _norm,
    "norm": _norm,
    "_cdist_forward": _distances,
    "dist": lambda c, x, y, order=2: networks.norm(apply("subtract", x, y), float(order), None, False),
    "cumsum": _cumulative("sum"),
    "cummax": _cumulative_extreme("max"),
    "cummin": _cumulative_extreme("min"),
    "logcumsumexp": _running_log_sum,
    "cumprod": _cumulative("prod"),
    **{n: lambda c, a, b: operations.matmul(a, b) for n in ("mm", "bmm", "mv", "dot", "matmul")},
    "addbmm": _add_batches,
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _add_product),
    **dict.fromkeys(("clone", "detach", "alias", "contiguous", "lift_fresh_copy", "lift_fresh", "_to_copy", "lift"), _same),
    **dict.fromkeys(("view", "reshape", "_unsafe_view"), _reshape),
    "expand": _expand,
    "permute": lambda c, x, axes: operations.permute(x, axes),
    "transpose": lambda c, x, i, j: operations.swap_axes(x, i, j),
    "t": lambda c, x: operations.swap_axes(x, 0, x.ndim - 1) if x.ndim else x,
    "unsqueeze": lambda c, x, axis: operations.expand_dims(x, axis),
    "squeeze": lambda c, x, axis=None: _squeeze(x, axis),
    "select": lambda c, x, axis, at: operations.select(x, axis, at),
    "slice": _slice,
    "split": _split,
    "split_with_sizes": _split,
    "unbind": _unbind,
    "unfold": _unfold,
    "diagonal": _diagonal,
    "flip": lambda c, x, axes: operations.flip(x, axes),
    "roll": _roll,
    "repeat": lambda c, x, times: operations.tile(x, times),
    "as_strided": _as_strided,
    "cat": lambda c, arrays, axis=0: _cat(arrays, axis),
    "stack": lambda c, arrays, axis=0: operations.stack(arrays, axis),
    "constant_pad_nd": _pad,
    "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter,
    "tril": lambda c, x, diagonal=0: operations.triangle(x, diagonal, True),
    "triu": lambda c, x, diagonal=0: operations.triangle(x, diagonal, False),
    "full": _filled(None),
    "zeros": _filled(0),
    "ones": _filled(1),
    "new_zeros": _filled(0),
    "new_ones": _filled(1),
    "new_full": lambda c, x, shape, value, **_: broadcast(operand(c, value), tuple(shape)),
    "full_like": _filled(None, like=True),
    "fill": _filled(None, like=True),
    "zeros_like": _filled(0, like=True),
    "ones_like": _filled(1, like=True),
    "scalar_tensor": _tensor,
    "arange": _arange,
    "eye": _eye,
    "copy": lambda c, x, y, *_: broadcast(y, x.shape),
    "_softmax": lambda c, x, axis, *_: networks.softmax(x, axis),
    "_safe_softmax": lambda c, x, axis, *_: networks.softmax(x, axis),
    "_log_softmax": lambda c, x, axis, *_: networks.log_softmax(x, axis),
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    # These write the running statistics as well: who follows a graph takes them from what comes after the three results.
    "native_batch_norm": _batch_norm,
    "_native_batch_norm_legit": lambda c, *args: (_batch_norm if len(args) == 8 else _batch_norm_no_stats)(c, *args),
    "_native_batch_norm_legit_functional": _batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm_no_training,
    "native_dropout": _dropout,
    "convolution": _convolution,
    "nll_loss_forward": _nll_loss,
    "nll_loss2d_forward": _nll_loss,
    "xlogy": _xlogy,
    "_trilinear": _trilinear,
    **dict.fromkeys(("empty", "empty_like", "new_empty", "empty_permuted", "empty_strided"), _empty),
    "mse_loss": _mse(lambda d: apply("square", d)),
}


def _squeeze(x: Symbolic, axis: Any) -> Symbolic:
    if axis is None:
        return operations.squeeze(x)
    axes = operations.axes_of(axis, x.ndim)
    return operations.squeeze(x, tuple(i for i in axes if i < x.ndim and x.shape[i] == 1))


def _cat(arrays: Sequence[Symbolic], axis: int) -> Symbolic:
    # An empty array of one dimension goes with any other.
    kept = [a for a in arrays if a.shape != (0,)] or list(arrays[:1])
    return operations.concatenate(kept, axis)
