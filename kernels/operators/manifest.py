#!/usr/bin/env python3
"""Makes `volta.toml` of the operators: `PYTHONPATH=src/python kernels/operators/manifest.py`, in an environment with NumPy.

An operator has six entries: the plain kernel and the tuned one against the formula of its function, and its wrong twin, which
must be refuted, each without and with -use_fast_math. With `--open` it prints the entries that `volta.toml` leaves out.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from operators import OPERATORS, Operator  # noqa: E402

from volta import arg  # noqa: E402
from volta.trace import formula_of  # noqa: E402

HEAD = """\
# Operators of networks against functions of NumPy: plain, tuned and wrong, without and with -use_fast_math.
# manifest.py makes this file of operators.py.
"""
KINDS = {"in": arg.input, "out": arg.output, "inout": arg.inout}

#: Spellings whose entries, with the flags beside them, are not decided as they should be: the manifest leaves these out.
OPEN: frozenset[str] = frozenset(
    f"operator-{name}-{flags}"
    for name, each in {
        "dropout-tuned": ("ieee", "fast"),
        "cross-entropy-naive": ("ieee",),
        "cross-entropy-tuned": ("ieee", "fast"),
        "cross-entropy-wrong": ("ieee",),
        "cross-entropy-ignored-wrong": ("ieee", "fast"),
        "kl-div-tuned": ("ieee", "fast"),
        "attention-tuned": ("ieee", "fast"),
        "adam-tuned": ("ieee", "fast"),
        "cross-entropy-rows-tuned": ("ieee", "fast"),
        "rope-computed-naive": ("ieee", "fast"),
        "rope-computed-tuned": ("ieee", "fast"),
        "adam-by-step-naive": ("ieee", "fast"),
        "adam-by-step-tuned": ("ieee", "fast"),
        "quantise-unguarded-naive": ("ieee", "fast"),
        "quantise-unguarded-tuned": ("ieee", "fast"),
        "max-with-index-taken-naive": ("ieee", "fast"),
        "max-with-index-taken-tuned": ("ieee", "fast"),
    }.items()
    for flags in each
)


def formula(operator: Operator) -> str:
    """What the tracer makes of the function, unless the formula is given."""
    if operator.formula is not None:
        return operator.formula
    inputs, outputs = {}, {}
    for name, what in operator.args.items():
        if not isinstance(what, str):
            continue
        kind, element, shape = re.fullmatch(r"(\w+):(\w+)\[(.*)\]", what).groups()  # type: ignore[union-attr]
        array = KINDS[kind](element, tuple(int(n) for n in shape.split(",")))
        if kind != "out":
            inputs[name] = array
        if kind != "in":
            outputs[name] = array
    return formula_of(operator.function, inputs, outputs, library="numpy").text


def shape(size: int | tuple[int, ...]) -> str:
    return str(list(size)) if isinstance(size, tuple) else str(size)


def entries(operator: Operator) -> Iterator[tuple[str, str]]:
    """Each entry by its name."""
    reference = formula(operator)
    names = ", ".join(f'"{i}" = "{n}"' for i, n in enumerate(operator.args))
    args = ", ".join(f'{n} = "{a}"' for n, a in operator.args.items())
    for spelling in ("naive", "tuned", "wrong"):
        block, grid = operator.tuned if spelling == "tuned" else operator.naive
        for flags in ("", "_fast"):
            name = f"operator-{operator.name.replace('_', '-')}-{spelling}{'-fast' if flags else '-ieee'}"
            yield (
                name,
                "\n".join(
                    [
                        "[[check]]",
                        f'name = "{name}"',
                        f'reference = {{ formula = "{reference}" }}',
                        f'optimized = {{ file = "{operator.source}{flags}.ptx", entry = "{operator.entry}_{spelling}" }}',
                        f"block = {shape(block)}",
                        f"grid = {shape(grid)}",
                        f"names = {{ {names} }}",
                        f"args = {{ {args} }}",
                        *([f"assume = {list(operator.assume)}".replace("'", '"')] if operator.assume else []),
                        f'expect = "{"not-equivalent" if spelling == "wrong" else "equivalent"}"',
                        "",
                    ]
                ),
            )


def manifest(is_open: bool = False) -> str:
    """The text of the manifest; `is_open` gives the entries that it leaves out."""
    every = [e for o in OPERATORS for e in entries(o)]
    return "\n".join([HEAD, *(text for name, text in every if (name in OPEN) == is_open)])


if __name__ == "__main__":
    if "--open" in sys.argv:
        print(manifest(is_open=True), end="")
    else:
        (HERE / "volta.toml").write_text(manifest())
