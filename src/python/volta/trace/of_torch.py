"""Torch functions and modules: a graph of torch.fx, whose operations are those of the table.

`make_fx` runs a function on tensors that have shapes and no contents. What comes out is a graph of torch's own
operators (`torch.ops.aten`): composite ones are taken apart by torch itself, branches on shapes are taken, loops are
unrolled, methods, operators and in-place writes are the same few operators (`functionalize`). Shapes and element types
of each value are torch's, and each step is compared with them.

Torch takes some operations apart with constants that are rounded (attention multiplies by the root of a scale): those
are kept whole and given by the table, as they are over the reals.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from .. import arg
from ..errors import Error, InputError
from .aten import OPERATIONS
from .bits import held, within
from .elementwise import broadcast, cast, operand
from .symbolic import Kind, Missing, Symbolic, Trace

#: Elements of integers that are known for as long as a function is traced.
KNOWN = 1 << 16

#: Elements of a constant that torch computes.
LARGE = 1 << 24

#: Operators that torch takes apart for some of its compilers only.
_TAKEN_APART = frozenset(("upsample_bilinear2d",))

_TYPES: dict[str, torch.dtype] = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    **{f"s{n}": getattr(torch, f"int{n}") for n in (8, 16, 32, 64)},
    **{f"u{n}": getattr(torch, f"uint{n}") for n in (8, 16, 32, 64)},
}


#: Operators that give their array the type of another, whose elements are cast to it.
_CASTS = frozenset(("_to_copy", "copy"))


def _kind(dtype: torch.dtype) -> Kind:
    if dtype is torch.bool:
        return "bool"
    if dtype.is_complex:
        raise InputError("complex numbers are not covered")
    return "float" if dtype.is_floating_point else "int"


def state_of(f: Callable[..., Any]) -> dict[str, torch.Tensor]:
    """The parameters and buffers of a module."""
    if not isinstance(f, torch.nn.Module):
        return {}
    return {**dict(f.named_parameters()), **dict(f.named_buffers())}


def traced(
    f: Callable[..., Any],
    trace: Trace,
    inputs: Mapping[str, arg.Array],
    state: Mapping[str, arg.Array],
    numbers: Mapping[str, Any],
) -> tuple[list[Symbolic], list[arg.Array], set[str]]:
    """What a function of named inputs, or a module with its state, returns; as arrays too; and which of all these it reads."""
    graph = _graph(f, inputs, state, numbers)
    values: dict[Any, Any] = {}
    placeholders = [n for n in graph.graph.nodes if n.op == "placeholder"]
    results: list[Any] = []
    arrays: list[arg.Array] = []
    used: set[str] = set()
    constant = _constants(graph)
    for node, (name, array) in zip(placeholders, {**inputs, **state}.items(), strict=True):
        used |= {name} if node.users else set()
        values[node] = trace.leaf(name, array)
    for node in graph.graph.nodes:
        if node.op == "output":
            nodes, _ = tree_flatten(node.args[0])
            results = [_present(values[n]) if isinstance(n, torch.fx.Node) else trace.constant(n) for n in nodes]
            arrays = [_array(n, r) for n, r in zip(nodes, results)]
        elif node.op != "placeholder":
            values[node] = _value(graph, trace, node, values, placeholders[: len(inputs)], constant)
            _write_statistics(node, values)
            if node in constant and isinstance(values[node], Symbolic):
                _know(graph, node, values[node])
    return results, arrays, used


def _write_statistics(node: torch.fx.Node, values: dict[Any, Any]) -> None:
    """The running mean and variance, which these operators move and their graph does not: who reads them later reads new ones."""
    if _name(node) not in ("native_batch_norm", "_native_batch_norm_legit") or len(node.args) != 8 or not node.args[5]:
        return
    for place, moved in zip((3, 4), values[node][3:]):
        written = node.args[place]
        if not isinstance(written, torch.fx.Node) or not isinstance(moved, Symbolic):
            continue
        own = written.op == "placeholder" or _name(written) in ("clone", "zeros", "ones", "full", "zeros_like", "ones_like")
        if len(written.users) > 1 and not (own and all(n is node or node < n for n in written.users)):
            raise InputError("torch.batch_norm moves running statistics that are read through views: that is not covered")
        values[written] = moved


def _name(node: torch.fx.Node) -> str:
    """The operator of a node, without its overload."""
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name).partition("::")[2]


def _array(node: Any, result: Symbolic) -> arg.Array:
    meta = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if meta is None:
        return arg.output("f32" if result.kind == "float" else "s64", result.shape)
    return arg.output(meta.dtype, result.shape)


class _Here(TorchFunctionMode):
    """Tensors of any device are made where there is one, and attention is taken apart without rounding."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        name = getattr(func, "__name__", "")
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            return args[0]
        if name == "to" and len(args) > 1 and isinstance(args[1], (str, torch.device)):
            rest = [a for a in args[2:] if isinstance(a, torch.dtype)]
            return func(args[0], *rest) if rest or kwargs.get("dtype") else args[0]
        if func is torch.nn.functional.scaled_dot_product_attention:
            return _attention(*args, **kwargs)
        if func is torch.nn.functional.one_hot:
            return _one_hot(*args, **kwargs)
        return func(*args, **kwargs)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """softmax(q k^T scale + mask) v."""
    if dropout_p > 0:
        raise InputError("torch.nn.functional.scaled_dot_product_attention with dropout is not covered")
    if enable_gqa:
        key, value = (v.repeat_interleave(query.shape[-3] // v.shape[-3], -3) for v in (key, value))
    scores = query @ key.transpose(-2, -1)
    width = torch.full((), query.shape[-1], dtype=scores.dtype)
    scores = scores / width.sqrt() if scale is None else scores * scale
    if is_causal:
        seen = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
        scores = torch.where(seen, scores, -math.inf)
    if attn_mask is None:
        return torch.softmax(scores, -1) @ value
    if attn_mask.dtype is not torch.bool:
        return torch.softmax(scores + attn_mask, -1) @ value
    # A row that sees nothing is 0.
    seen_rows = attn_mask.any(-1, keepdim=True)
    weights = torch.softmax(torch.where(attn_mask, scores, -math.inf), -1)
    return torch.where(seen_rows, weights, 0.0) @ value


def _one_hot(tensor: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """1 at the class of each element; torch's own looks whether there is such a class."""
    if num_classes < 0:
        raise InputError("torch.nn.functional.one_hot without num_classes is not covered")
    return (tensor.unsqueeze(-1) == torch.arange(num_classes)).to(torch.int64)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Torch's refusals as errors of this package."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

    try:
        yield
    except Error:
        raise
    except DataDependentOutputException as e:
        raise InputError("a traced function cannot branch on data: use torch.where") from e
    except DynamicOutputShapeException as e:
        raise InputError(f"a shape that depends on data ({e.func}) is not covered") from e
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError) as e:
        raise InputError(f"torch says: {e}") from e


def _graph(
    f: Callable[..., Any], inputs: Mapping[str, arg.Array], state: Mapping[str, arg.Array], numbers: Mapping[str, Any]
) -> torch.fx.GraphModule:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    names = list(state)

    def call(*tensors: torch.Tensor) -> Any:
        own, rest = tensors[: len(inputs)], tensors[len(inputs) :]
        with _Here():
            if names:
                given = dict(zip(names, rest))
                out = torch.func.functional_call(f, given, own, dict(numbers))
            else:
                out = f(*own, **numbers)
        return out

    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with _refusals():
        with fake:
            tensors = [_empty(a) for a in (*inputs.values(), *state.values())]
        graph: torch.fx.GraphModule
        table = _decompositions()
        try:
            graph = make_fx(torch.func.functionalize(call, remove="mutations"), table)(*tensors)
        except RuntimeError as e:
            if "allocate memory" in str(e):
                # What the function makes itself has no contents either, where nobody could hold them.
                with fake:
                    graph = make_fx(torch.func.functionalize(call, remove="mutations"), table)(*tensors)
                graph.graph.eliminate_dead_code()
                return graph
            if "functorch transform" not in str(e):
                raise
            # A function that takes gradients is unrolled first, and its writes are made values after that.
            unrolled = make_fx(call)(*tensors)
            graph = make_fx(torch.func.functionalize(unrolled, remove="mutations"), table)(*tensors)
    graph.graph.eliminate_dead_code()
    return graph


def _empty(array: arg.Array) -> torch.Tensor:
    return torch.empty(array.shape, dtype=dtype_of(array))


def dtype_of(array: arg.Array) -> torch.dtype:
    """The type of torch for the elements of an array."""
    return torch.bool if array.is_bool else _TYPES[array.type]


def _decompositions() -> dict[Any, Callable[..., Any]]:
    """How torch takes operators apart that the table has not."""
    from torch._decomp import core_aten_decompositions, decomposition_table

    def name(op: Any) -> str:
        return str(op._schema.name).partition("::")[2] if hasattr(op, "_schema") else str(op)

    further = {op: rule for op, rule in decomposition_table.items() if name(op) in _TAKEN_APART}
    return {op: rule for op, rule in {**further, **core_aten_decompositions()}.items() if name(op) not in OPERATIONS}


def _value(
    graph: torch.fx.GraphModule,
    trace: Trace,
    node: torch.fx.Node,
    values: dict[Any, Any],
    own: list[Any],
    constant: set[torch.fx.Node],
) -> Any:
    """The value of a node."""
    if node.op == "get_attr":
        return trace.constant(_contents(getattr(graph, str(node.target))))
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: _present(values[n]))
    name = _name(node)
    if not name:
        return node.target(*(values[a] if isinstance(a, torch.fx.Node) else a for a in node.args), **kwargs)
    if name == "copy_":
        if node.args[0] in own:
            raise InputError("the function writes to one of its inputs: return what it writes")
        return args[1]
    operation = OPERATIONS.get(name)
    meta = node.meta.get("val")
    _refuse(name, node)
    # Integers that floats were rounded to are no index of a formula.
    rounded = name == "_to_copy" and args[0].kind == "float" and _kind(meta.dtype) == "int"
    if (operation is None or rounded) and isinstance(meta, torch.Tensor) and node in constant:
        return trace.constant(_contents(_evaluated(graph, node)))
    if operation is None:
        raise InputError(f"torch.{name} is not covered")
    if name == "where" and node.args[0] in constant and _is_true(graph, node.args[0]):
        return _as_torch_says(name, broadcast(operand(trace, args[1]), tuple(meta.shape)), meta)
    try:
        out = operation(trace, *args, **kwargs)
    except InputError as e:
        raise InputError(f"torch.{name}: {e}") from e
    except TypeError as e:
        raise InputError(f"torch.{name} with these arguments is not covered: {e}") from e
    return _as_torch_says(name, out, meta)


def _as_torch_says(name: str, out: Any, meta: Any) -> Any:
    """A value whose shape is compared with torch's, and whose kind is torch's; integers are what their type holds of them."""
    if isinstance(out, (tuple, list)):
        metas = meta if isinstance(meta, (tuple, list)) else ()
        return [_as_torch_says(name, o, m) for o, m in itertools.zip_longest(out, metas)]
    if not isinstance(meta, torch.Tensor) or not isinstance(out, Symbolic):
        return out
    if tuple(meta.shape) != out.shape:
        raise InputError(f"torch.{name} gives shape {tuple(meta.shape)}, and its formula {out.shape}: this is a bug of volta")
    kind = _kind(meta.dtype)
    if kind != "int":
        return cast(out, kind)
    type_name = arg.type_name(meta.dtype)
    if out.kind != "float":
        return held(cast(out, kind), type_name)
    if name not in _CASTS:
        raise InputError(f"torch.{name} gives integers, and its formula floats: this is a bug of volta")
    # A float that the integers of a type do not reach has no value as one of them: what is left out is no matter.
    return within(cast(out, kind), type_name)


def _present(value: Any) -> Any:
    """A value that an operation uses."""
    if isinstance(value, Missing):
        raise InputError(value.reason)
    return value


def _refuse(name: str, node: torch.fx.Node) -> None:
    """Says no to what the table cannot tell by the values alone."""
    tags = getattr(node.target, "tags", ())
    if torch.Tag.nondeterministic_seeded in tags and name not in OPERATIONS:
        raise InputError(f"torch.{name} draws random numbers: that is not covered")
    if node.target._schema.is_mutable and name not in OPERATIONS:
        raise InputError(f"torch.{name} writes where this cannot be followed: that is not covered")
    if name == "view" and isinstance(node.args[1], torch.dtype):
        raise InputError("torch.view of the bits of another type is not covered")
    if name == "as_strided":
        source = node.args[0].meta["val"]
        if not source.is_contiguous() or source.storage_offset() or source.untyped_storage().nbytes() != source.nbytes:
            raise InputError("torch.as_strided of a view is not covered: slice, or reshape")


def _constants(graph: torch.fx.GraphModule) -> set[torch.fx.Node]:
    """The nodes that depend on no input."""
    out: set[torch.fx.Node] = set()
    for node in graph.graph.nodes:
        if node.op not in ("placeholder", "output") and all(n in out for n in node.all_input_nodes):
            out.add(node)
    return out


def _know(graph: torch.fx.GraphModule, node: torch.fx.Node, value: Symbolic) -> None:
    """Keeps the contents of a constant node of few integers."""
    if value.kind == "int" and value.known is None and value.size <= KNOWN:
        value.known = _contents(_evaluated(graph, node))


def _is_true(graph: torch.fx.GraphModule, node: Any) -> bool:
    """Whether all elements of a constant node are true, as far as there are few enough to look at."""
    return bool(node.meta["val"].numel() <= LARGE and _evaluated(graph, node).all())


def _evaluated(graph: torch.fx.GraphModule, node: torch.fx.Node) -> torch.Tensor:
    """The contents of a constant node, by torch."""
    known: dict[torch.fx.Node, Any] = {}
    needed, open_nodes = {node}, [node]
    if any(isinstance(v := n.meta.get("val"), torch.Tensor) and v.numel() > LARGE for n in [node, *node.all_input_nodes]):
        raise InputError(f"a constant of {tuple(node.meta['val'].shape)} is too large to have: make it an argument")
    while open_nodes:
        for source in open_nodes.pop().all_input_nodes:
            if source not in needed:
                needed.add(source)
                open_nodes.append(source)
    for each in graph.graph.nodes:
        if each not in needed:
            continue
        args, kwargs = torch.fx.node.map_arg((each.args, each.kwargs), lambda n: known[n])
        known[each] = getattr(graph, str(each.target)) if each.op == "get_attr" else each.target(*args, **kwargs)
    out: torch.Tensor = known[node]
    return out


def _contents(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    try:
        plain = tensor.detach().to(torch.float64) if tensor.is_floating_point() else tensor.detach()
        return np.asarray(plain.cpu().numpy())
    except (RuntimeError, TypeError) as e:
        raise InputError(f"a tensor without contents is used as a constant: {e}") from e
