"""volta proves that a GPU kernel computes what its reference computes, or shows the input, race or deadlock that says otherwise.

    import volta

    r = volta.check(reference, optimized, args=[volta.arg.input("f32", (4,)), volta.arg.output("f32", (4,))], block=4)
    r.verdict           # "equivalent" | "not-equivalent" | "defective" | "unknown"
    r.counterexample    # its inputs as NumPy arrays

No GPU is needed.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

# What a name is comes from its module when it is asked for: the replay of certificates imports nothing of all this.
if TYPE_CHECKING:
    from . import arg, ray, recording
    from .answers import BitClass, Classes, Lifted, Rows, Slack, Sync
    from .api import check, classes, explain, lift, race, rows, run, slack
    from .errors import CompileError, Error, InputError, KeywordError, NotProved, ServerError
    from .host import Judgement, extension, judge
    from .kernels import Formula, Kernel, formula, ptx
    from .nvcc import cuda
    from .prepared import Prepared, prepare
    from .recording import Recording, fake, record
    from .results import Counterexample, Finding, Replay, Result, Site
    from .trace import function
    from .triton_kernels import every as triton_configs
    from .triton_kernels import triton
    from .tuning import same_bits
    from .verification import verify

try:
    __version__ = metadata.version("volta-prover")
except metadata.PackageNotFoundError:  # A checkout that is on the path, not installed.
    __version__ = "0"

__all__ = [
    "BitClass",
    "Classes",
    "CompileError",
    "Counterexample",
    "Error",
    "Finding",
    "Formula",
    "InputError",
    "Judgement",
    "Kernel",
    "KeywordError",
    "Lifted",
    "NotProved",
    "Prepared",
    "Recording",
    "Replay",
    "Result",
    "Rows",
    "ServerError",
    "Site",
    "Slack",
    "Sync",
    "arg",
    "check",
    "classes",
    "cuda",
    "explain",
    "extension",
    "fake",
    "formula",
    "function",
    "judge",
    "lift",
    "prepare",
    "ptx",
    "race",
    "ray",
    "record",
    "recording",
    "rows",
    "run",
    "same_bits",
    "slack",
    "triton",
    "triton_configs",
    "verify",
]

_MODULES = {
    "BitClass": "answers",
    "Classes": "answers",
    "CompileError": "errors",
    "Counterexample": "results",
    "Error": "errors",
    "Finding": "results",
    "Formula": "kernels",
    "InputError": "errors",
    "Judgement": "host",
    "Kernel": "kernels",
    "KeywordError": "errors",
    "Lifted": "answers",
    "NotProved": "errors",
    "Prepared": "prepared",
    "Recording": "recording",
    "Replay": "results",
    "Result": "results",
    "Rows": "answers",
    "ServerError": "errors",
    "Site": "results",
    "Slack": "answers",
    "Sync": "answers",
    "check": "api",
    "classes": "api",
    "cuda": "nvcc",
    "explain": "api",
    "extension": "host",
    "fake": "recording",
    "formula": "kernels",
    "function": "trace",
    "judge": "host",
    "lift": "api",
    "prepare": "prepared",
    "ptx": "kernels",
    "race": "api",
    "record": "recording",
    "rows": "api",
    "run": "api",
    "same_bits": "tuning",
    "slack": "api",
    "triton": "triton_kernels",
    "verify": "verification",
}
_RENAMED = {"triton_configs": ("triton_kernels", "every")}


def __getattr__(name: str) -> Any:
    if name in __all__:
        module, own = _RENAMED.get(name, (_MODULES.get(name, name), name))
        found = importlib.import_module(f".{module}", __name__)
        value = getattr(found, own) if name in _MODULES or name in _RENAMED else found
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
