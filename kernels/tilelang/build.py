#!/usr/bin/env python3
"""Compiles kernels.py to the PTX that is committed beside it, without a GPU.

    python3 -m venv tilelang
    tilelang/bin/pip install tilelang==0.1.15
    NVCC=/path/to/nvcc tilelang/bin/python kernels/tilelang/build.py [OUTPUT...]

TileLang writes CUDA, which nvcc 13.0 (see ../build.sh) compiles with the headers that TileLang brings.  TileLang orders
the parameters of a kernel by name and takes its shared memory from a dynamic array.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import kernels
import tilelang
from tvm.target import Target

ROOT = os.path.dirname(tilelang.__file__)
INCLUDES = [ROOT + "/src", *glob.glob(ROOT + "/3rdparty/cutlass/include")]

BUILDS = {
    "product_32": kernels.product(32, 32, 64, 32, 32, 0),
    "product_32_pipelined": kernels.product(32, 32, 64, 32, 32, 2),
    "product_32_relu": kernels.product(32, 32, 64, 32, 32, 2, relu=True),
    "product_32_late": kernels.product(32, 32, 64, 32, 32, 0, late=1),
    "product_64_pipelined": kernels.product(64, 64, 64, 64, 32, 2),
    "product_64": kernels.product(64, 64, 64, 64, 32, 0),
    "product_64_sm_90": (kernels.product(64, 64, 64, 64, 32, 0), "sm_90a"),
    "product_64_boxes": (kernels.product(64, 64, 64, 64, 32, 2), "sm_90a"),
    "product_64_refilled": (kernels.product(64, 64, 128, 64, 32, 2), "sm_90a"),
    "product_doubled_64": kernels.product_doubled(64, 64, 64, 64, 32, 0),
    "product_doubled_64_roles": (kernels.product_doubled(64, 64, 64, 64, 32, 2), "sm_90a"),
    "product_128_pipelined": kernels.product(128, 128, 64, 128, 32, 2),
    "product_128": kernels.product(128, 128, 64, 128, 32, 0),
    "product_32_table": kernels.product(32, 32, 4096, 32, 32, 2),
    "product_64_table": kernels.product(64, 64, 2048, 64, 32, 2),
    "product_128_table": kernels.product(128, 128, 1024, 128, 32, 2),
    "product_scalar_32": kernels.product_scalar(32, 32, 32, 32, 16, 0),
    "product_scalar_32_pipelined": kernels.product_scalar(32, 32, 32, 32, 16, 2),
    "product_scalar_64": kernels.product_scalar(64, 64, 16, 64, 8, 0),
    "product_scalar_64_pipelined": kernels.product_scalar(64, 64, 16, 64, 8, 2),
    "product_scalar_128": kernels.product_scalar(128, 128, 8, 128, 4, 0),
    "product_scalar_128_pipelined": kernels.product_scalar(128, 128, 8, 128, 4, 2),
    "product_scalar_128_late": kernels.product_scalar(128, 128, 8, 128, 4, 2, late=1),
    "softmax_128": kernels.softmax(4, 128),
    "softmax_128_wrong_sum": kernels.softmax(4, 128, twice=True),
    "rms_norm_128": kernels.rms_norm(4, 128),
    "scaled_rows_256": kernels.scaled_rows(2, 256),
    "scaled_rows_256_signed": kernels.scaled_rows(2, 256, signed=True),
    "attention_64": kernels.attention(64, 16, 64, 32, 0),
    "attention_64_pipelined": kernels.attention(64, 16, 64, 32, 1),
    "convolution_8": kernels.convolution(8, 16, 32, 64, 0),
    "convolution_8_pipelined": kernels.convolution(8, 16, 32, 32, 2),
    "convolution_8_narrow": kernels.convolution(8, 16, 32, 64, 0, narrow=1),
    "product_shared_out_3": kernels.product_shared_out(64, 96, 32, 32, 3),
    "product_shared_out_5": kernels.product_shared_out(64, 96, 32, 32, 5),
    "product_shared_out_less": kernels.product_shared_out(64, 96, 32, 32, 3, less=1),
    "product_of_nibbles": kernels.product_of_nibbles(32, 32, 64, 32, 32, 0),
    "product_of_nibbles_pipelined": kernels.product_of_nibbles(32, 32, 64, 32, 32, 2),
    "product_of_nibbles_scale": kernels.product_of_nibbles(32, 32, 64, 32, 32, 0, scale=8192.0),
    "attention_64_no_rescale": kernels.attention(64, 16, 64, 32, 0, rescale=False),
}


def build(name, program, arch="sm_80"):
    target = Target({"kind": "cuda", "arch": arch})
    with target:
        source = tilelang.lower(program, target=target).kernel_source
    with tempfile.TemporaryDirectory() as folder:
        cuda = os.path.join(folder, name + ".cu")
        with open(cuda, "w") as f:
            f.write(source.replace("main_kernel", name))
        flags = ["-ptx", "-std=c++17", "-arch=" + arch, "--expt-relaxed-constexpr", "-diag-suppress", "177,1444,20013,20015"]
        output = os.path.join(HERE, name + ".ptx")
        command = [os.environ.get("NVCC", "nvcc"), *flags, *("-I" + i for i in INCLUDES), cuda, "-o", output]
        subprocess.run(command, check=True)
    with open(output) as f:
        text = f.read()
    with open(output, "w") as f:
        f.write(re.sub(r'"/[^"]*/([^/"]+)"', r'"\1"', text))
    print(output, os.path.getsize(output))


for name, program in BUILDS.items():
    if not sys.argv[1:] or name in sys.argv[1:]:
        build(name, *(program if isinstance(program, tuple) else (program,)))

# Mutants of outputs: what matches is left out, the one of the given number, from 0, or all.
WAIT = r"mbarrier\.try_wait[^;]*;\s*@P1 bra DONE;\s*bra\s+LAB_WAIT;"
MUTANTS = {
    "product_64_early_refill": ("product_64_refilled", WAIT, 2),
    "product_64_no_wait": ("product_64_refilled", WAIT, 4),
    "product_doubled_64_no_fence": ("product_doubled_64_roles", r"fence\.proxy\.async[^;]*;", None),
}

for name, (original, pattern, number) in MUTANTS.items():
    if not sys.argv[1:] or name in sys.argv[1:]:
        with open(os.path.join(HERE, original + ".ptx")) as f:
            text = f.read().replace(original, name)
        for i, found in reversed(list(enumerate(re.finditer(pattern, text)))):
            if number in (None, i):
                text = text[: found.start()] + text[found.end() :]
        with open(os.path.join(HERE, name + ".ptx"), "w") as f:
            f.write(text)
        print(name)
