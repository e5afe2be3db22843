"""How a kernel of the corpus is written down: its launch, what it computes, and its twin with one slip.

    case("softmax", softmax, lambda x: ..., [arg.input("f32", (5, 100)), arg.output("f32", (5, 100)), 100], grid=(5,), B=128)

The kernel has the constant `SLIP`: with 0 it is right, with 1 it has one mistake as hands make it, which some input of these sizes
shows. The reference is a function of NumPy, or a formula, from the definition. Sizes are such that no block divides them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import volta

#: What the program is told beside the launch, and not Triton.
OPTIONS = frozenset(("assume", "only", "masks_are_infinite", "exact_constants"))


@dataclass(frozen=True)
class Case:
    """A kernel with its launch and its reference."""

    name: str
    function: Any
    reference: Any
    args: Sequence[Any]
    grid: tuple[int, ...]
    options: dict[str, Any]
    constants: dict[str, Any]
    #: The versions of Triton that make a race of a kernel that has none.
    broken: tuple[str, ...]

    def verdict(self, version: str) -> str:
        """What it has to come to by a version of Triton."""
        return "defective" if version in self.broken else "equivalent"

    def kernel(self, arch: int, slip: int) -> volta.Kernel:
        """It, or its twin, as Triton compiles it for an architecture."""
        return volta.triton(self.function, *self.args, grid=self.grid, arch=arch, SLIP=slip, **self.constants)


CASES: dict[str, Case] = {}


def case(
    name: str,
    function: Any,
    reference: Callable[..., Any] | str,
    args: Sequence[Any],
    *,
    grid: tuple[int, ...],
    broken: tuple[str, ...] = (),
    **more: Any,
) -> None:
    """Adds a kernel; `more` are its constants, warps and stages as in a launch, and `assume` and others as those of a check."""
    assert name not in CASES, name
    options = {k: more.pop(k) for k in OPTIONS & more.keys()}
    wanted = volta.formula(reference) if isinstance(reference, str) else reference
    CASES[name] = Case(name, function, wanted, args, grid, options, more, broken)
