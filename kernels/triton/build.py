#!/usr/bin/env python3
"""Compiles kernels.py to the PTX that is committed beside it, for sm_80, without a GPU.

    python3 -m venv triton
    triton/bin/pip install triton==3.5.1
    triton/bin/python kernels/triton/build.py

Prints for each output the number of threads and the bytes of dynamic shared memory that its launch needs.
"""

import os
import re

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

P, F, I, C = "*fp32", "fp32", "i32", "constexpr"
ROW = {"x": P, "y": P, "n": C}
MASKED = {"x": P, "y": P, "size": I, "n": C}
NORM = {"x": P, "gamma": P, "beta": P, "y": P, "n": C}
PRODUCT = {"a": P, "b": P, "c": P, "alpha": F, "beta": F, "k": C, "tile": C, "step": C}
TILE = {"k": 32, "tile": 16, "step": 16}

# output, kernel, signature, constants, warps
BUILDS = [
    ("softmax_32", kernels.softmax, ROW, {"n": 32}, 1),
    ("softmax_128", kernels.softmax, ROW, {"n": 128}, 4),
    ("softmax_128_one_warp", kernels.softmax, ROW, {"n": 128}, 1),
    ("softmax_masked_128", kernels.softmax_masked, MASKED, {"n": 128}, 4),
    ("softmax_128_wrong_coefficient", kernels.softmax_wrong_coefficient, ROW, {"n": 128}, 4),
    ("layernorm_64", kernels.layernorm, NORM, {"n": 64}, 2),
    ("layernorm_64_one_warp", kernels.layernorm, NORM, {"n": 64}, 1),
    ("layernorm_64_no_epsilon", kernels.layernorm_no_epsilon, NORM, {"n": 64}, 2),
    ("matmul_16", kernels.matmul, PRODUCT, TILE, 1),
    ("matmul_16_four_warps", kernels.matmul, PRODUCT, TILE, 4),
    ("matmul_16_no_beta", kernels.matmul_no_beta, PRODUCT, TILE, 1),
]

for output, kernel, signature, constants, warps in BUILDS:
    source = ASTSource(kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": warps, "num_stages": 1})
    ptx = compiled.asm["ptx"]
    # The entry gets the name of the output; no path of the machine that compiled it stays behind.
    ptx = re.sub(rf"\b{kernel.__name__}\b", f"triton_{output}", ptx)
    ptx = re.sub(rf"\b{kernel.__name__}_param_", f"triton_{output}_param_", ptx)
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', ptx)
    with open(f"{output}.ptx", "w") as file:
        file.write(ptx)
    print(f"kernels/triton/{output}.ptx", 32 * warps, "threads", compiled.metadata.shared, "bytes")
