#!/usr/bin/env python3
"""Compiles kernels.py to the PTX that is committed beside it, one file a configuration, without a GPU.

    python3 -m venv triton
    triton/bin/pip install triton==3.5.1
    triton/bin/python kernels/configurations/build.py [OUTPUT...]

Prints for each output the number of threads and the bytes of dynamic shared memory that its launch needs.
"""

import os
import re
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

P, H, I, C = "*fp32", "*fp16", "i32", "constexpr"
SIGNATURES = {
    "total": {"x": P, "y": P, "n": C, "step": C},
    "largest": {"x": P, "y": P, "n": C, "step": C},
    "softmax": {"x": P, "y": P, "n": C},
    "layernorm": {"x": P, "gamma": P, "beta": P, "y": P, "n": C},
    "columns": {"x": P, "y": P, "m": C, "n": C, "tile": C},
    "elementwise": {"x": P, "y": P, "n": C, "step": C},
    "product": {"a": H, "b": H, "c": P, "m": I, "n": I, "depth": C, "tile": C, "across": C, "step": C, "group": C},
    "scan": {"x": P, "y": P, "n": C},
}


def configurations():
    """Yields the name of an output, its kernel, constants, architecture, warps and stages."""
    for warps in (1, 2, 4, 8):
        yield f"largest_256_{warps}", "largest", dict(n=512, step=256), 80, warps, 1
        yield f"softmax_{warps}", "softmax", dict(n=256), 80, warps, 1
        yield f"layernorm_{warps}", "layernorm", dict(n=256), 80, warps, 1
        yield f"scan_{warps}", "scan", dict(n=256), 80, warps, 1
        for tile in (16, 32):
            yield f"columns_{tile}_{warps}", "columns", dict(m=64, n=32, tile=tile), 80, warps, 1
        yield f"elementwise_{warps * 64}_{warps}", "elementwise", dict(n=500, step=warps * 64), 80, warps, 1
    for step, warps in ((128, 1), (128, 2), (128, 4), (128, 8), (256, 1), (256, 4), (256, 8), (512, 2)):
        yield f"total_{step}_{warps}", "total", dict(n=512, step=step), 80, warps, 1
    for arch in (90, 100):
        yield f"total_256_4_sm_{arch}", "total", dict(n=512, step=256), arch, 4, 1
        yield f"softmax_4_sm_{arch}", "softmax", dict(n=256), arch, 4, 1
        yield f"layernorm_4_sm_{arch}", "layernorm", dict(n=256), arch, 4, 1
    for tile, across, step, group, warps, stages in (
        (32, 32, 32, 1, 4, 1),
        (32, 32, 32, 2, 4, 3),
        (32, 64, 32, 1, 4, 2),
        (64, 32, 16, 1, 4, 3),
        (64, 64, 64, 1, 8, 1),
        (64, 64, 32, 1, 2, 4),
    ):
        constants = dict(depth=64, tile=tile, across=across, step=step, group=group)
        yield f"product_{tile}_{across}_{step}_{group}_{warps}_{stages}", "product", constants, 80, warps, stages
    for tile, step, warps, stages in ((64, 32, 4, 1), (64, 64, 4, 3), (128, 32, 8, 2)):
        constants = dict(depth=64, tile=tile, across=64, step=step, group=1)
        yield f"product_{tile}_64_{step}_sm_90_{warps}_{stages}", "product", constants, 90, warps, stages


def compile(output, name, constants, arch, warps, stages):
    signature = SIGNATURES[name]
    attrs = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values()) if kind != C}
    names = list(signature)
    source = ASTSource(getattr(kernels, name), signature, {(names.index(k),): v for k, v in constants.items()}, attrs)
    built = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": warps, "num_stages": stages})
    # The entry gets the name of the output; no path of the machine that compiled it stays behind.
    text = re.sub(rf"\b{name}(_param_\d+)?\b", rf"configurations_{output}\1", built.asm["ptx"])
    text = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', text)
    with open(f"{output}.ptx", "w") as file:
        file.write(text)
    print(f"{output}: {warps * 32} threads, {built.metadata.shared} bytes")


if __name__ == "__main__":
    for output, *rest in configurations():
        if not sys.argv[1:] or output in sys.argv[1:]:
            compile(output, *rest)
