"""Public Triton kernels, unmodified: from the function that launches them to a verdict in one call, without a GPU.

    PYTHONPATH=src/python python benches/measured/sweep.py [FILTER] > benches/measured/sweep.md

It reads Liger-Kernel where pip puts it (`pip install --no-deps liger-kernel`), and attorch, FlagGems and batch_invariant_ops from
the folders that ATTORCH, FLAGGEMS and BATCH_INVARIANT name; what is not there is left out. Nothing of theirs is kept here.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

import volta


@dataclasses.dataclass(frozen=True)
class Case:
    """A wrapper of a project, what it must compute, and the arrays that both take in order."""

    project: str
    name: str
    launch: Callable[..., Any]
    reference: Callable[..., Any]
    shapes: tuple[Any, ...]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def fakes(shapes: tuple[Any, ...]) -> list[Any]:
    """A fake tensor for each shape; one with a type is a pair."""
    return [volta.fake(*s[0], dtype=s[1]) if s and isinstance(s[0], tuple) else volta.fake(*s) for s in shapes]


def run(case: Case) -> tuple[str, float, str]:
    """The verdict, the seconds that it took, and a reason where there is one."""
    start = time.time()
    try:
        with volta.record() as calls:
            out = case.launch(*fakes(case.shapes))
            calls.returns(*(out if isinstance(out, (tuple, list)) else [out]))
        r = volta.check(case.reference, calls, timeout=100, **case.options)
        return r.verdict, time.time() - start, "" if r.ok else r.hint
    except volta.Error as e:
        return type(e).__name__, time.time() - start, str(e)
    except Exception as e:
        return "not launched", time.time() - start, f"{type(e).__name__}: {e}"


def liger() -> list[Case]:
    """Liger-Kernel."""
    o = {n: importlib.import_module(f"liger_kernel.ops.{n}") for n in LIGER_OPS}
    x, w = (3, 20), (20,)
    rms = o["rms_norm"]._CASTING_MODE_NONE.value if hasattr(o["rms_norm"], "_CASTING_MODE_NONE") else -1
    found = [
        ("swiglu_forward", lambda a, b: o["swiglu"].swiglu_forward(a, b)[-1], lambda a, b: F.silu(a) * b, (x, x)),
        ("geglu_forward", lambda a, b: o["geglu"].geglu_forward(a, b)[-1], lambda a, b: F.gelu(a, approximate="tanh") * b, (x, x)),
        ("relu_squared_forward", lambda a: _last(o["relu_squared"].relu_squared_forward(a)), lambda a: F.relu(a) ** 2, (x,)),
        ("softmax_forward", lambda a: o["softmax"]._softmax_forward(a)[0], lambda a: torch.softmax(a, -1), (x,)),
        ("rms_norm_forward", lambda a, b: o["rms_norm"].rms_norm_forward(a, b, 1e-6, 0.0, "none", None)[0], lambda a, b: F.rms_norm(a, (20,), b, 1e-6), (x, w)),
        ("rms_norm_forward, Llama", lambda a, b: o["rms_norm"].rms_norm_forward(a, b, 1e-6, 0.0, "llama", True)[0], lambda a, b: F.rms_norm(a, (20,), b, 1e-6), (x, w)),
        ("rms_norm_forward, Gemma", lambda a, b: o["rms_norm"].rms_norm_forward(a, b, 1e-6, 1.0, "gemma", None)[0], lambda a, b: F.rms_norm(a, (20,), b + 1, 1e-6), (x, w)),
        ("layer_norm_forward", lambda a, b, c: o["layer_norm"].layer_norm_forward(a, b, c, 1e-5)[0], lambda a, b, c: F.layer_norm(a, (20,), b, c, 1e-5), (x, w, w)),
        ("group_norm_forward", lambda a, b, c: o["group_norm"].group_norm_forward(a, 6, 2, b, c, 1e-5)[0], lambda a, b, c: F.group_norm(a, 2, b, c, 1e-5), ((2, 6, 4), (6,), (6,))),
        ("fused_add_rms_norm_forward", lambda a, r, b: o["fused_add_rms_norm"].fused_add_rms_norm_forward(a, r, b, 1e-6, 0.0, "none")[:2], lambda a, r, b: (F.rms_norm(a + r, (20,), b, 1e-6), a + r), (x, x, w)),
        ("dyt_forward", lambda a, al, g, b: o["dyt"].liger_dyt_fwd(a, al, g, b), lambda a, al, g, b: torch.tanh(al * a) * g + b, (x, (1,), w, w)),
        ("poly_norm_forward", lambda a, b, c: o["poly_norm"].poly_norm_forward(a, b, c, 1e-6)[0], _poly_norm, (x, (3,), (1,))),
        ("kldiv_forward", lambda p, t: o["kl_div"].kldiv_forward_triton(p, t, False, "none", 1e-10), lambda p, t: t * (torch.log(t.clamp(min=1e-10)) - p), (x, x)),
        ("rope_forward", lambda q, k, c, s: o["rope"].rope_forward(q, k, c, s)[:2], _rope, ((1, 2, 3, 8), (1, 2, 3, 8), (1, 3, 8), (1, 3, 8))),
        ("swiglu_backward", lambda a, b, g: o["swiglu"].swiglu_backward(a, b, g), lambda a, b, g: _gradient(lambda a, b: F.silu(a) * b, (a, b), g), (x, x, x)),
        ("geglu_backward", lambda a, b, g: o["geglu"].geglu_backward(a, b, g), lambda a, b, g: _gradient(lambda a, b: F.gelu(a, approximate="tanh") * b, (a, b), g), (x, x, x)),
        ("relu_squared_backward", lambda a, g: o["relu_squared"].relu_squared_backward(a, g), lambda a, g: 2 * F.relu(a) * g, (x, x)),
        ("softmax_backward", lambda y, g: o["softmax"]._softmax_backward(g, y, 32, 4, False), lambda y, g: y * (g - (g * y).sum(-1, keepdim=True)), (x, x)),
        ("sparsemax_forward", lambda a: o["sparsemax"]._sparsemax_forward(a, -1)[0], lambda a: a.sort(-1).values, (x,)),
        ("cross_entropy_forward", _liger_cross_entropy(o["cross_entropy"]), lambda a, t: F.cross_entropy(a, t), ((3, 20), ((3,), "s64"))),
        ("tvd_forward", lambda p, q: o["tvd"].tv_distance_forward_triton(p, q, torch.empty(1), "none", -100, False)[0], lambda p, q: 0.5 * (p - q).abs(), (x, x)),
        ("jsd_forward", lambda p, q: o["jsd"].jsd_forward(p, q, None, 0.5, -100, False)[0], _jsd, (x, x)),
    ]
    return [Case("Liger-Kernel", *case) for case in found]


LIGER_OPS = (
    *("swiglu", "geglu", "relu_squared", "softmax", "rms_norm", "layer_norm", "group_norm", "fused_add_rms_norm", "dyt"),
    *("poly_norm", "kl_div", "rope", "sparsemax", "cross_entropy", "tvd", "jsd"),
)


def _last(out: Any) -> Any:
    return out[-1] if isinstance(out, tuple) else out


def _gradient(f: Callable[..., Any], inputs: tuple[Any, ...], g: Any) -> tuple[Any, ...]:
    own = tuple(x.detach().requires_grad_() for x in inputs)
    return torch.autograd.grad(f(*own), own, g)


def _poly_norm(x: Any, w: Any, b: Any) -> Any:
    def norm(v: Any) -> Any:
        return v * torch.rsqrt((v * v).mean(-1, keepdim=True) + 1e-6)

    return w[0] * norm(x**3) + w[1] * norm(x**2) + w[2] * norm(x) + b


def _rope(q: Any, k: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    def turn(x: Any) -> Any:
        a, b = x.chunk(2, -1)
        half = torch.cat([-b, a], -1)
        c = torch.cat([cos[..., :4], cos[..., :4]], -1)[:, None]
        s = torch.cat([sin[..., :4], sin[..., :4]], -1)[:, None]
        return x * c + half * s

    return turn(q), turn(k)


def _jsd(p: Any, q: Any) -> Any:
    mean = torch.log(0.5 * p.exp() + 0.5 * q.exp())
    return 0.5 * (p.exp() * (p - mean)).sum() / 3 + 0.5 * (q.exp() * (q - mean)).sum() / 3


def _liger_cross_entropy(module: Any) -> Callable[..., Any]:
    return lambda a, t: module.cross_entropy_forward(a, t, None, -100, 0.0, 0.0, "mean", None, False)[0]


def attorch() -> list[Case]:
    """attorch: layers with weights of their own."""
    sys.path.insert(0, os.environ["ATTORCH"])
    # It looks for a device when it is imported; weights that are made here come from outside of what is recorded.
    with volta.record():
        return _attorch(importlib.import_module("attorch"))


def _attorch(a: Any) -> list[Case]:
    x, image = (3, 20), (2, 3, 4, 4)
    plain: dict[str, Callable[..., Any]] = {
        "Sigmoid": torch.sigmoid, "LogSigmoid": F.logsigmoid, "Tanh": torch.tanh, "ReLU": F.relu, "SiLU": F.silu,
        "ReLU6": F.relu6, "Hardsigmoid": F.hardsigmoid, "Hardtanh": F.hardtanh, "Hardswish": F.hardswish, "SELU": F.selu,
        "Mish": F.mish, "Softplus": F.softplus, "Softsign": F.softsign, "Tanhshrink": F.tanhshrink, "LeakyReLU": F.leaky_relu,
        "ELU": F.elu, "CELU": F.celu, "Hardshrink": F.hardshrink, "Softshrink": F.softshrink, "GELU": F.gelu,
    }  # fmt: skip
    cases = [Case("attorch", n, lambda v, n=n: getattr(a, n)()(v), f, (x,)) for n, f in plain.items()]
    found = [
        ("GELU, tanh", lambda v: a.GELU("tanh")(v), lambda v: F.gelu(v, approximate="tanh"), (x,)),
        ("Softmax", lambda v: a.Softmax(-1)(v), lambda v: torch.softmax(v, -1), (x,)),
        ("Softmin", lambda v: a.Softmin(-1)(v), lambda v: F.softmin(v, -1), (x,)),
        ("LogSoftmax", lambda v: a.LogSoftmax(-1)(v), lambda v: F.log_softmax(v, -1), (x,)),
        ("LayerNorm", a.LayerNorm(20), lambda v, w, b: F.layer_norm(v, (20,), w, b), (x,)),
        ("RMSNorm", a.RMSNorm(20, eps=1e-6), lambda v, w: F.rms_norm(v, (20,), w, 1e-6), (x,)),
        ("GLU", lambda v: a.GLU(-1)(v), lambda v: F.glu(v, -1), (x,)),
        ("Linear", a.Linear(20, 6), lambda v, w, b: v @ w + b, (x,)),
        ("Linear, GELU", a.Linear(20, 6, act_func="gelu"), lambda v, w, b: F.gelu(v @ w + b), (x,)),
        ("Conv2d", a.Conv2d(3, 4, 3, padding=1, bias=False), lambda v, w: F.conv2d(v, w, padding=1), (image,)),
        ("BatchNorm2d", a.BatchNorm2d(3, track_running_stats=False), lambda v, w, b: F.batch_norm(v, None, None, w, b, training=True), (image,)),
        ("MSELoss", lambda v, t: a.MSELoss(reduction="none")(v, t), lambda v, t: F.mse_loss(v, t, reduction="none"), (x, x)),
        ("L1Loss", lambda v, t: a.L1Loss(reduction="none")(v, t), lambda v, t: (v - t).abs(), (x, x)),
        ("SmoothL1Loss", lambda v, t: a.SmoothL1Loss(reduction="none")(v, t), lambda v, t: F.smooth_l1_loss(v, t, reduction="none"), (x, x)),
        ("HuberLoss", lambda v, t: a.HuberLoss(reduction="none")(v, t), lambda v, t: F.huber_loss(v, t, reduction="none"), (x, x)),
        ("NLLLoss", lambda v, t: a.NLLLoss(reduction="none")(v, t), lambda v, t: F.nll_loss(v, t, reduction="none"), (x, ((3,), "s64"))),
    ]
    return [*cases, *(Case("attorch", *case) for case in found)]


def flag_gems() -> list[Case]:
    """FlagGems: operators of torch, with tuners and caches of their own around the kernels."""
    sys.path.insert(0, os.environ["FLAGGEMS"])
    os.environ["GEMS_VENDOR"] = "nvidia"
    with volta.record():
        o = importlib.import_module("flag_gems").ops
    x = (3, 20)
    found = [
        ("softmax", lambda v: o.softmax(v, -1), lambda v: torch.softmax(v, -1), (x,)),
        ("log_softmax", lambda v: o.log_softmax(v, -1), lambda v: F.log_softmax(v, -1), (x,)),
        ("layer_norm", lambda v, w, b: o.layer_norm(v, (20,), w, b)[0], lambda v, w, b: F.layer_norm(v, (20,), w, b), (x, (20,), (20,))),
        ("group_norm", lambda v, w, b: o.group_norm(v, w, b, 2, 6, 4, 2)[0], lambda v, w, b: F.group_norm(v, 2, w, b), ((2, 6, 4), (6,), (6,))),
        ("sum_dim", lambda v: o.sum_dim(v, [1]), lambda v: v.sum(1), (x,)),
        ("mean_dim", lambda v: o.mean_dim(v, [1]), lambda v: v.mean(1), (x,)),
        ("amax", lambda v: o.amax(v, [1]), lambda v: v.amax(1), (x,)),
        ("var_mean", lambda v: o.var_mean(v, [1]), lambda v: torch.var_mean(v, 1), (x,)),
        ("vector_norm", lambda v: o.vector_norm(v, 2, [1]), lambda v: v.norm(dim=1), (x,)),
        ("mm", lambda a, b: o.mm(a, b), lambda a, b: a @ b, ((16, 32), (32, 16))),
        ("bmm", lambda a, b: o.bmm(a, b), lambda a, b: a @ b, ((2, 16, 16), (2, 16, 16))),
        ("outer", lambda a, b: o.outer(a, b), lambda a, b: torch.outer(a, b), ((6,), (7,))),
        ("cumsum", lambda v: o.cumsum(v, 1), lambda v: v.cumsum(1), (x,)),
        ("triu", lambda v: o.triu(v), lambda v: v.triu(), ((5, 6),)),
        ("embedding", lambda w, i: o.embedding(w, i), lambda w, i: w[i], ((7, 12), ((4,), "s64"))),
        ("index_select", lambda w, i: o.index_select(w, 0, i), lambda w, i: w[i], ((7, 12), ((4,), "s32"))),
    ]
    return [Case("FlagGems", *case) for case in [*found, *_elementwise(o), *_further(o)]]


def _elementwise(o: Any) -> list[tuple[Any, ...]]:
    """Operators of one and of two arrays, whose kernels FlagGems writes itself at their first call."""
    x = (3, 20)
    one: dict[str, Callable[..., Any]] = {
        "abs": torch.abs, "exp": torch.exp, "rsqrt": torch.rsqrt, "sqrt": torch.sqrt, "neg": torch.neg, "log": torch.log,
        "reciprocal": torch.reciprocal, "relu": F.relu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
        "gelu": F.gelu, "erf": torch.erf, "sin": torch.sin, "cos": torch.cos, "softplus": F.softplus, "elu": F.elu,
        "celu": F.celu, "log_sigmoid": F.logsigmoid, "exp2": torch.exp2,
    }  # fmt: skip
    two: dict[str, Callable[..., Any]] = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "true_divide": torch.div, "maximum": torch.maximum,
        "minimum": torch.minimum, "eq": torch.eq, "lt": torch.lt, "ge": torch.ge,
    }  # fmt: skip
    return [
        *((n, lambda v, n=n: getattr(o, n)(v), f, (x,)) for n, f in one.items()),
        *((n, lambda v, u, n=n: getattr(o, n)(v, u), f, (x, x)) for n, f in two.items()),
    ]


def _further(o: Any) -> list[tuple[Any, ...]]:
    """Products, reductions, and operators that move elements."""
    x = (3, 20)
    return [
        ("addmm", lambda c, a, b: o.addmm(c, a, b), lambda c, a, b: torch.addmm(c, a, b), ((16, 16), (16, 32), (32, 16))),
        ("mv", lambda a, b: o.mv(a, b), lambda a, b: a @ b, ((6, 20), (20,))),
        ("dot", lambda a, b: o.dot(a, b), lambda a, b: a @ b, ((20,), (20,))),
        ("prod_dim", lambda v: o.prod_dim(v, 1), lambda v: v.prod(1), (x,)),
        ("max_dim", lambda v: o.max_dim(v, 1)[0], lambda v: v.max(1).values, (x,)),
        ("argmax", lambda v: o.argmax(v, 1), lambda v: v.argmax(1), (x,)),
        ("argmin", lambda v: o.argmin(v, 1), lambda v: v.argmin(1), (x,)),
        ("all_dim", lambda v: o.all_dim(v, 1), lambda v: (v != 0).all(1), (x,)),
        ("rms_norm", lambda v, w: o.rms_norm(v, (20,), w), lambda v, w: F.rms_norm(v, (20,), w, 1e-5), (x, (20,))),
        ("where", lambda c, v, u: o.where_self(c, v, u), torch.where, ((x, "bool"), x, x)),
        ("masked_fill", lambda v, c: o.masked_fill(v, c, 2.0), lambda v, c: v.masked_fill(c, 2.0), (x, (x, "bool"))),
        ("clamp", lambda v: o.clamp(v, -1.0, 1.0), lambda v: v.clamp(-1.0, 1.0), (x,)),
        ("lerp", lambda v, u: o.lerp_scalar(v, u, 0.25), lambda v, u: torch.lerp(v, u, 0.25), (x, x)),
        ("addcmul", lambda v, u, w: o.addcmul(v, u, w, value=2.0), lambda v, u, w: torch.addcmul(v, u, w, value=2.0), (x, x, x)),
        ("cat", lambda v, u: o.cat([v, u], 0), lambda v, u: torch.cat([v, u], 0), (x, x)),
        ("stack", lambda v, u: o.stack([v, u], 0), lambda v, u: torch.stack([v, u], 0), (x, x)),
        ("flip", lambda v: o.flip(v, [1]), lambda v: v.flip(1), (x,)),
        ("repeat", lambda v: o.repeat(v, [2, 1]), lambda v: v.repeat(2, 1), (x,)),
        ("tile", lambda v: o.tile(v, [1, 2]), lambda v: v.tile(1, 2), (x,)),
        ("diag", lambda v: o.diag(v), torch.diag, ((6,),)),
        ("gather", lambda v, i: o.gather(v, 1, i), lambda v, i: v.gather(1, i), (x, ((3, 5), "s64"))),
        ("glu", lambda v: o.glu(v, -1), lambda v: F.glu(v, -1), (x,)),
        ("mse_loss", lambda v, t: o.mse_loss(v, t), F.mse_loss, (x, x)),
        ("max_pool2d", lambda v: o.max_pool2d_with_indices(v, 2)[0], lambda v: F.max_pool2d(v, 2), ((1, 2, 4, 4),)),
        ("avg_pool2d", lambda v: o.avg_pool2d(v, [2, 2], [2, 2]), lambda v: F.avg_pool2d(v, 2), ((1, 2, 4, 4),)),
        ("upsample_nearest2d", lambda v: o.upsample_nearest2d(v, (4, 6)), lambda v: F.interpolate(v, (4, 6)), ((1, 2, 2, 3),)),
        ("trace", lambda v: o.trace(v), torch.trace, ((6, 6),)),
        ("vdot", lambda a, b: o.vdot(a, b), lambda a, b: a @ b, ((20,), (20,))),
        ("addr", lambda c, a, b: o.addr(c, a, b), torch.addr, ((6, 7), (6,), (7,))),
    ]


def batch_invariant() -> list[Case]:
    """batch_invariant_ops: kernels that give a row the same bits in every batch."""
    sys.path.insert(0, os.environ["BATCH_INVARIANT"])
    with volta.record():
        o = importlib.import_module("batch_invariant_ops.batch_invariant_ops")
    found = [
        ("log_softmax", lambda v: o.log_softmax(v, -1), lambda v: F.log_softmax(v, -1), ((3, 20),)),
        ("mean_dim", lambda v: o.mean_dim(v, 1), lambda v: v.mean(1), ((3, 20),)),
        ("matmul_persistent", lambda a, b: o.matmul_persistent(a, b), lambda a, b: a @ b, (((16, 16), "f16"), ((16, 16), "f16"))),
    ]
    return [Case("batch_invariant_ops", *case) for case in found]


def main() -> None:
    """Prints a table."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print("| project | kernel | verdict | seconds | note |\n|---|---|---|---|---|")
    for source in SOURCES:
        try:
            cases = source()
        except Exception as e:
            print(f"{source.__name__}: {e}", file=sys.stderr)
            continue
        for case in cases:
            if wanted in f"{case.project} {case.name}":
                verdict, seconds, note = run(case)
                print(f"| {case.project} | {case.name} | {verdict} | {seconds:.1f} | {' '.join(note.split())[:160].replace('|', '/')} |", flush=True)


SOURCES = [liger, attorch, flag_gems, batch_invariant]

if __name__ == "__main__":
    main()
