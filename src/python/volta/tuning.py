"""Autotuning among configurations that give the same bits.

@triton.autotune(configs=CONFIGS, key=["n"], prune_configs_by={"early_config_prune": volta.same_bits()})
@triton.jit
def kernel(...): ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import api, triton_kernels
from .calls import Args
from .errors import CompileError, InputError
from .keywords import Facts

if TYPE_CHECKING:
    from typing_extensions import Unpack

Prune = Callable[..., list[Any]]

#: What a tuner hands on of a launch that is no argument of the function.
_LAUNCH = frozenset(("grid", "warmup", "num_warps", "num_stages", "num_ctas", "maxnreg"))


def same_bits(
    reference: Any = None,
    *,
    args: Args | Callable[[], Args] | None = None,
    grid: Any = None,
    arch: int = 80,
    timeout: float | None = 60,
    budget: int | None = None,
    **options: Unpack[Facts],
) -> Prune:
    """A hook for `triton.autotune(prune_configs_by={"early_config_prune": ...})`: it keeps the configurations that are proved to
    give the same bits as `reference`, a `triton.Config`, or the first of all.

    The launch is the one that is tuned; `args` and `grid` (with the parameters that no configuration gives, by name or position)
    say another one to prove it at, a smaller one for example. What is not proved is left out; the reference itself never is.
    Raises `InputError` where the hook is called by something else than Triton's autotuner.
    """

    asked = {**options, "timeout": timeout, "budget": budget}

    def prune(configs: list[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        tuner = sys._getframe(1).f_locals.get("self")
        if tuner is None or not hasattr(tuner, "fn"):
            raise InputError("volta.same_bits is a hook of triton.autotune: prune_configs_by={'early_config_prune': ...}")
        first = configs[0] if reference is None else reference
        given: list[Any] = []
        named: dict[str, Any] = {}
        if args is None:
            named = {**named_args, **{k: v for k, v in kwargs.items() if k not in _LAUNCH}}
        else:
            chosen = args() if callable(args) else args
            given, named = ([], dict(chosen)) if isinstance(chosen, Mapping) else (list(chosen), {})
        extents: Any = kwargs.get("grid") if grid is None else grid

        def kernel(config: Any) -> Any:
            return triton_kernels.triton(tuner, *given, grid=extents, arch=arch, config=config, **named)

        wanted = kernel(first)
        return [c for c in configs if c is first or _is_same(wanted, kernel, c, asked)] or [first]

    return prune


def _is_same(wanted: Any, kernel: Callable[[Any], Any], config: Any, options: dict[str, Any]) -> bool:
    try:
        return api.check(wanted, kernel(config), bits=True, **options).ok
    except CompileError:
        return False
