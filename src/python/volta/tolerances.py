"""The tolerances of `torch.testing.assert_close` for a test of a kernel, from what rounding was measured to do to it.

A test draws its inputs from a normal or a uniform distribution, so that the measurements on such inputs count, and those on inputs
that were searched for do not. A test draws other inputs than these, too: twice the least tolerance that passed is taken, and never
less than torch's default. Of the two ways to be more tolerant the one that leaves its default by the smaller factor is taken: of
values that cross 0 that is `atol`, of values of any size `rtol`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

#: As the report calls inputs that tests draw.
_DRAWN = ("normal", "uniform")
#: Defaults of torch by type, rtol and atol; a report has them only where both sides were executed.
_DEFAULTS = {"f16": (1e-3, 1e-5), "bf16": (1.6e-2, 1e-5), "f32": (1.3e-6, 1e-5), "f64": (1e-7, 1e-7)}
_MARGIN = 2.0


def tolerances(measured: Iterable[Mapping[str, Any]]) -> tuple[float, float] | str:
    """rtol and atol that all measured outputs pass, or why there are none."""
    rtol = atol = 0.0
    for output in measured:
        kinds = [kind for kind in output["inputs"] if kind["name"] in _DRAWN]
        if not kinds:
            return f"`{output['name']}` was not measured on inputs as tests draw them"
        for kind in kinds:
            found = _of_kind(kind, str(output["type"]))
            if found is None:
                return f"no tolerance passes for `{output['name']}` on {kind['name']} inputs: a value is infinite or NaN"
            rtol, atol = max(rtol, found[0]), max(atol, found[1])
    return (rtol, atol) if rtol or atol else "no output of a float type was measured"


def _of_kind(kind: Mapping[str, Any], type_: str) -> tuple[float, float] | None:
    close = kind.get("close")
    if close is not None:
        rtol, atol, least_rtol, least_atol = (close[k] for k in ("rtol", "atol", "least_rtol", "least_atol"))
    else:
        # Beside a formula the errors are those against its real value, each of which bounds all elements.
        spread = kind["errors"].get("optimized") or kind["errors"]["kernel"]
        rtol, atol = _DEFAULTS.get(type_, (0.0, 0.0))
        finite = not spread["overflows"] and not spread["nans"]
        least_rtol, least_atol = (spread["relative"], spread["absolute"]) if finite else (None, None)
    ways = [(math.inf if least is None else _MARGIN * least, own) for least, own in ((least_rtol, rtol), (least_atol, atol))]
    by_rtol, by_atol = (max(0.0 if wanted == 0 else math.inf if own == 0 else wanted / own, 1.0) for wanted, own in ways)
    if math.isinf(min(by_rtol, by_atol)):
        # Types without defaults are compared bit for bit; one tolerance is as good as the other.
        return None if least_atol is None else (rtol, _up(_MARGIN * least_atol))
    return (_up(rtol * by_rtol), atol) if by_rtol <= by_atol else (rtol, _up(atol * by_atol))


def _up(x: float) -> float:
    """A number of two digits that is no smaller; a default stays itself."""
    if x <= 0:
        return 0.0
    near = float(f"{x:.1e}")
    return near if near >= x * (1 - 1e-12) else float(f"{x + 0.05 * 10 ** math.floor(math.log10(x)):.1e}")
