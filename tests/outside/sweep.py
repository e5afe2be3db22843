"""Public Triton kernels, unmodified: from the function that launches them to a verdict in one call, without a GPU.

    PYTHONPATH=src/python python tests/outside/sweep.py [FILTER] > tests/outside/sweep.md

It reads Liger-Kernel where pip puts it (`pip install --no-deps liger-kernel`), and the repositories of Triton, FlagGems and
attorch from the folders that LIGER, TRITON, FLAGGEMS and ATTORCH name; what is not there is left out. Nothing of theirs is kept here.
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


SOURCES = [liger, attorch]

if __name__ == "__main__":
    main()
