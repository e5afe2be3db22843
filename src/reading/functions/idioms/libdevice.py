#!/usr/bin/env python3
"""Compiles functions of libdevice, the bitcode library that Triton links, as patterns: see kernels/triton/build.py.

    triton/bin/python src/reading/functions/idioms/libdevice.py

The code of these differs from what nvcc writes.  Each kernel computes the function of one product, without `.reqntid`.
"""

import os
import re

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


for function in (erf, erfc, normcdf, tanh, sinh, expm1, sin, cos):
    name = function.__name__
    source = ASTSource(function, signature={"a": "*fp32", "b": "*fp32", "out": "*fp32"}, constexprs={})
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 1})
    ptx = compiled.asm["ptx"].replace(".reqntid 32\n", "")
    # The name of the function is also that of instructions.
    ptx = re.sub(rf"(\.entry |\.globl\s+){name}\b", rf"\1idioms_libdevice_{name}", ptx)
    ptx = re.sub(rf"\b{name}_param_", f"idioms_libdevice_{name}_param_", ptx)
    ptx = re.sub(r'(\.file\s+\d+\s+)"[^"]*/([^/"]+)"', r'\1"\2"', ptx)
    with open(os.path.join(HERE, f"libdevice_{name}.ptx"), "w") as file:
        file.write(ptx)
