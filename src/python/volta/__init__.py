"""volta proves that a GPU kernel computes what its reference computes, or shows the input, race or deadlock that says otherwise.

    import volta

    r = volta.check(reference, optimized, args=[volta.arg.input("f32", (4,)), volta.arg.output("f32", (4,))], block=4)
    r.verdict           # "equivalent" | "not-equivalent" | "defective" | "unknown"
    r.counterexample    # its inputs as NumPy arrays

No GPU is needed.
"""

from __future__ import annotations

from importlib import metadata

from . import arg, recording
from .answers import BitClass, Classes, Lifted, Rows, Slack, Sync
from .api import check, classes, explain, lift, race, rows, run, slack
from .errors import CompileError, Error, InputError, NotProved, ServerError
from .kernels import Formula, Kernel, formula, ptx
from .nvcc import cuda
from .prepared import Prepared, prepare
from .recording import Recording, fake, record
from .results import Counterexample, Finding, Replay, Result, Site
from .trace import function
from .triton_kernels import every as triton_configs
from .triton_kernels import triton
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
    "Kernel",
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
    "fake",
    "formula",
    "function",
    "lift",
    "prepare",
    "ptx",
    "race",
    "record",
    "recording",
    "rows",
    "run",
    "slack",
    "triton",
    "triton_configs",
    "verify",
]
