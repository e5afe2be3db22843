#!/usr/bin/env python3
"""Compiles functions of libdevice, the bitcode library that Triton links, as patterns: see kernels/triton/build.py.

    triton/bin/python src/prove/reading/functions/idioms/libdevice.py
    later/bin/python src/prove/reading/functions/idioms/libdevice.py 13 erf ...

The second takes the library of CUDA 13 (Triton 3.9), in which some functions are other polynomials, and names the outputs so.

The code of these differs from what nvcc writes.  Each kernel computes the function of one product, without `.reqntid`.
"""

import os
import re
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
HERE = os.path.dirname(os.path.abspath(__file__))

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice


@triton.jit
def erf(a, b, out):
    tl.store(out, libdevice.erf(tl.load(a) * tl.load(b)))


@triton.jit
def erfc(a, b, out):
    tl.store(out, libdevice.erfc(tl.load(a) * tl.load(b)))


@triton.jit
def normcdf(a, b, out):
    tl.store(out, libdevice.normcdf(tl.load(a) * tl.load(b)))


@triton.jit
def tanh(a, b, out):
    tl.store(out, libdevice.tanh(tl.load(a) * tl.load(b)))


@triton.jit
def sinh(a, b, out):
    tl.store(out, libdevice.sinh(tl.load(a) * tl.load(b)))


@triton.jit
def expm1(a, b, out):
    tl.store(out, libdevice.expm1(tl.load(a) * tl.load(b)))


@triton.jit
def sin(a, b, out):
    tl.store(out, libdevice.sin(tl.load(a) * tl.load(b)))


@triton.jit
def cos(a, b, out):
    tl.store(out, libdevice.cos(tl.load(a) * tl.load(b)))


@triton.jit
def sincos(a, b, out):
    x = tl.load(a) * tl.load(b)
    tl.store(out, libdevice.sin(x))
    tl.store(out + 1, libdevice.cos(x))


@triton.jit
def log10(a, b, out):
    tl.store(out, libdevice.log10(tl.load(a) * tl.load(b)))


@triton.jit
def cosh(a, b, out):
    tl.store(out, libdevice.cosh(tl.load(a) * tl.load(b)))


@triton.jit
def asinh(a, b, out):
    tl.store(out, libdevice.asinh(tl.load(a) * tl.load(b)))


@triton.jit
def acosh(a, b, out):
    tl.store(out, libdevice.acosh(tl.load(a) * tl.load(b)))


@triton.jit
def atanh(a, b, out):
    tl.store(out, libdevice.atanh(tl.load(a) * tl.load(b)))


@triton.jit
def tan(a, b, out):
    tl.store(out, libdevice.tan(tl.load(a) * tl.load(b)))


@triton.jit
def cbrt(a, b, out):
    tl.store(out, libdevice.cbrt(tl.load(a) * tl.load(b)))


@triton.jit
def pow_2(a, b, out):
    tl.store(out, libdevice.pow(tl.load(a) * tl.load(b), 2.0))


@triton.jit
def pow_3(a, b, out):
    tl.store(out, libdevice.pow(tl.load(a) * tl.load(b), 3.0))


functions = [erf, erfc, normcdf, tanh, sinh, expm1, sin, cos, sincos, log10, cosh, asinh, acosh, atanh, tan, cbrt, pow_2, pow_3]
library, wanted = "".join(f"{v}_" for v in sys.argv[1:2]), sys.argv[2:]
for function in functions:
    name = function.__name__
    if wanted and name not in wanted:
        continue
    source = ASTSource(function, signature={"a": "*fp32", "b": "*fp32", "out": "*fp32"}, constexprs={})
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 1})
    ptx = compiled.asm["ptx"].replace(".reqntid 32\n", "")
    # The name of the function is also that of instructions.
    ptx = re.sub(rf"(\.entry |\.globl\s+){name}\b", rf"\1idioms_libdevice_{library}{name}", ptx)
    ptx = re.sub(rf"\b{name}_param_", f"idioms_libdevice_{library}{name}_param_", ptx)
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', ptx)
    with open(os.path.join(HERE, f"libdevice_{library}{name}.ptx"), "w") as file:
        file.write(ptx)
