#!/usr/bin/env python3
"""Races in pipelines of sm_90 and sm_100 as they are shipped: compiled here, without a GPU, from checkouts that stay where
they are.

    python3 -m venv target/cute && target/cute/bin/pip install nvidia-cutlass-dsl numpy
    target/cute/bin/python benches/measured/shipped.py --volta target/release/volta --nvcc PATH --cutlass CHECKOUT --deepgemm CHECKOUT
        --kittens CHECKOUT [--only TEXT] [--timeout SECONDS]

Prints a row of sweep.md for each, of projects whose checkouts are given.  Of CuTe DSL the tutorials are imported and compiled for
tensors of numpy; of DeepGEMM each kernel is one command of nvcc; hosts of ThunderKittens are run as launches.py says, and
the last launch of theirs is taken.  Bindings of the first two say what the hosts of these kernels pass: boxes of tensor maps are the tiles
of one CTA, and a `TiledMma` that switches no lane off is zeros.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import launches

ZEROS = {f"0+{i}": "0:u8" for i in range(3)}
ONE = ZEROS | {f"0+{i}": "0:u32" for i in range(16, 32, 4)}
PAIR = ZEROS | {f"0+{i}": "0:u32" for i in range(32, 64, 4)}
HALF = {"1": "in:f16[256,128]/box[128,64]/swizzle128", "2+4": "128", "3": "in:f16[256,128]/box[128,64]/swizzle128"}
STORED = {"5": "out:f16[256,256]/box[128,32]/swizzle64"}

# Name: the shape that it is compiled for, more arguments of its host, the launch, its bindings.
CUTE = {
    "fp16_gemm_0": ("256,256,128", [], ["--grid", "2,1"], ONE | HALF
                    | {"3": "in:f16[256,128]/box[256,64]/swizzle128", "5+0": "out:f16[256,256]", "5+16": "256"}),
    "fp16_gemm_1": ("256,256,128", [], ["--grid", "2,1", "--cluster", "2"],
                    PAIR | HALF | {"5+0": "out:f16[256,256]", "5+16": "256"}),
    "fp16_gemm_2": ("512,512,128", [], ["--grid", "2,1", "--cluster", "2"], PAIR | HALF | STORED),
    "fp16_gemm_3_1": ("512,512,128", [1], ["--grid", "2,1", "--cluster", "2"], PAIR | HALF | STORED),
    "fp16_gemm_3_1, two tiles": ("512,512,128", [1], ["--grid", "4,1", "--cluster", "2"], PAIR | HALF | STORED | {
        "1": "in:f16[512,128]/box[128,64]/swizzle128", "5": "out:f16[512,256]/box[128,32]/swizzle64"}),
}


def matrix(rows, box, way="in"):
    return f"{way}:bf16[{rows},128]/box[{box},64]/swizzle128"


def gemm(m, a, b, d):
    return {"0": "0", "1": str(m), "2": "128", "3": "128", "4": matrix(m, a), "5": matrix(128, b), "6": matrix(m, d, "out")}


# Name: target, arguments of the template, the launch, bindings.
DEEP = {
    "sm90_bf16_gemm": ("sm_90a", "0, 128, 128, 1, 64, 64, 64, 128, 128, 128, 2, 128, 128, 1, false, 1", ["--grid", "1"],
                       gemm(128, 64, 64, 64)),
    "sm90_bf16_gemm, multicast": ("sm_90a", "0, 128, 128, 1, 64, 64, 64, 128, 128, 128, 2, 128, 128, 2, false, 2",
                                  ["--grid", "2", "--cluster", "2"], gemm(128, 64, 64, 64)),
    "sm100_bf16_gemm": ("sm_100a", "128, 128, 128, 128, 64, 64, 1, 128, 128, 128, 2, 128, 128, 1, false, 1, 128, false, false",
                        ["--grid", "1"], gemm(128, 128, 64, 128)),
    "sm100_bf16_gemm, pair": ("sm_100a", "256, 128, 128, 128, 64, 64, 1, 128, 128, 128, 2, 128, 128, 2, false, 1, 128, false, "
                              "false", ["--grid", "2", "--cluster", "2"], gemm(256, 128, 32, 128)),
}


# Name: target, file, what the host runs.
EDUCATIONAL = "__nv_bfloat16 *a, *b, *c; size_t n = {n}; for (auto p : {{&a, &b, &c}}) cudaMalloc((void**)p, 2 * n * n); matmul(a, b, c, n);"
KITTENS = {
    f"educational, level {level}, {gpu}": (target, f"educational_{gpu}/level_0{level}.cu", EDUCATIONAL.format(n=n))
    for gpu, target, levels in (("h100", "sm_90a", range(4, 9)), ("b200", "sm_100a", range(4, 10)))
    for level in levels
    for n in (512 if level == 9 else 256,)
} | {
    "bf16_h100_gemm": ("sm_90a", "bf16_h100/bf16_h100_gemm.cu", "run_benchmark<matmul_template<2, 4, 8>>(256, 256, 128);"),
    "fp8_h100_gemm": ("sm_90a", "fp8_h100/fp8_h100_gemm.cu", "run_benchmark<matmul_template<8>>(256, 256, 256);"),
    "fp8_h100_gemm_scaled": ("sm_90a", "fp8_h100_scaled/fp8_h100_gemm_scaled.cu", "run_benchmark<matmul_template<8>>(256, 256, 256);"),
    "bf16_b200_gemm": ("sm_100a", "bf16_b200/bf16_b200_gemm.cu", "run_benchmark<config<256, 64, 128, 4, true, 5, 2>>(512, 64, 256);"),
    "fp8_b200_gemm": ("sm_100a", "fp8_b200/fp8_b200_gemm.cu", "run_benchmark<config<256, 64, 256, 4, true, 5, 2>>(512, 64, 512);"),
    "mxfp8_b200_gemm": ("sm_100a", "mxfp8_b200/mxfp8_b200_gemm.cu",
                        "run_benchmark<mxfp8_gemm::config<128, 5, 4, 12, 2, true>>(256, 128, 256);"),
    "nvfp4_b200_gemm": ("sm_100a", "nvfp4_b200/nvfp4_b200_gemm.cu",
                        "run_benchmark<nvfp4_gemm::config<128, 5, 4, 12, 2, true>>(256, 128, 512);"),
}


def kittens(options, name, folder):
    """The PTX of a kernel of ThunderKittens, and the flags for the last launch of its host."""
    target, path, call = KITTENS[name]
    source = folder / "kernel.cu"
    source.write_text(f'#define main other_main\n#include "kernels/gemm/{path}"\n#undef main\nint main() {{ {call} return 0; }}\n')
    gpu = "KITTENS_HOPPER" if target == "sm_90a" else "KITTENS_BLACKWELL"
    places = [options.kittens, options.kittens / "include", options.kittens / "prototype", (options.kittens / "kernels/gemm" / path).parent]
    flags = ["-std=c++20", "-O3", "--use_fast_math", "--expt-extended-lambda", "--expt-relaxed-constexpr", "-DNDEBUG", f"-D{gpu}"]
    ptx, host = launches.compiled(options.nvcc, source, target, flags + [f"-I{p}" for p in places], folder)
    launch = launches.launches(host, ptx, [], {})[-1]
    return ptx, launches.launch_flags(launch) + launches.bindings(launch, [])


def cute(options, name, folder):
    """The PTX of a tutorial, by a process of its own."""
    shape, more = CUTE[name][:2]
    env = os.environ | {"CUTE_DSL_ARCH": "sm_100a", "CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_NO_CACHE": "1", "CUTE_DSL_DUMP_DIR": str(folder)}
    path = options.cutlass / "examples/python/CuTeDSL/cute/blackwell/tutorial/tutorial_gemm" / (name.split(",")[0] + ".py")
    subprocess.run([sys.executable, __file__, "--compile", path, shape, *map(str, more)], env=env, check=True, timeout=300)
    return next(folder.glob("*.ptx"))


def compile_cute(path, shape, *more):
    import cutlass.cute as dsl
    import numpy as np
    from cutlass.cute.runtime import from_dlpack

    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("tutorial", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    m, n, k = map(int, shape.split(","))

    def tensor(rows, columns):
        room = np.zeros(rows * columns + 64, np.float16)
        first = (-room.ctypes.data & 63) // 2
        whole = room[first : first + rows * columns].reshape(rows, columns)
        made = from_dlpack(whole, assumed_align=32).mark_layout_dynamic(leading_dim=1)
        return made.mark_compact_shape_dynamic(mode=1, divisibility=columns)

    dsl.compile(module.host_function, tensor(m, k), tensor(n, k), tensor(m, n), *map(int, more))


def deep(options, name, folder):
    """The PTX of an instance of a template of DeepGEMM."""
    target, values = DEEP[name][:2]
    kernel = name.split(",")[0]
    last = ", 100" if target == "sm_100a" else ""
    source = folder / "instance.cu"
    source.write_text(
        f"#include <deep_gemm/impls/{kernel}.cuh>\nusing namespace deep_gemm;\nstatic void __instantiate_kernel() {{\n"
        f"    auto ptr = reinterpret_cast<void*>(&{kernel}_impl<cute::UMMA::Major::K, cute::UMMA::Major::K, {values}, "
        f"GemmType::Normal, false, cutlass::bfloat16_t{last}>);\n}}\n"
    )
    out = folder / "instance.ptx"
    places = [options.deepgemm / "deep_gemm/include", options.cutlass / "include", options.cutlass / "tools/util/include"]
    flags = ["-std=c++20", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-w"]
    subprocess.run([options.nvcc, "-ptx", f"-arch={target}", *flags, *(f"-I{p}" for p in places), source, "-o", out], check=True)
    return out


def judge(options, name, project, ptx, flags):
    begun = time.monotonic()
    command = [options.volta, "race", ptx, "--json", "--timeout", str(options.timeout), *flags]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=options.timeout + 60).stdout)
    found = {f["kind"] for f in report["defects"] + report["unknown"]} | {
        w["kind"] for w in report["warnings"] if w["kind"].startswith(("missing", "same-value"))
    }
    print(f"| {project} | {name} | {report['verdict']} | {time.monotonic() - begun:.1f} | {', '.join(sorted(found))} |", flush=True)


def bound(made, table):
    """A kernel whose launch and bindings a table gives."""

    def both(options, name, folder):
        *_, launch, args = table[name]
        bindings = [word for key, value in args.items() for word in ("--arg", f"{key}={value}")]
        block = ["--block", "256"] if table is DEEP else []
        return made(options, name, folder), ["--dynamic-shared", "232448", *block, *launch, *bindings]

    return both


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--volta", "--nvcc", "--cutlass"):
        parser.add_argument(flag, type=pathlib.Path, required=True)
    for flag in ("--deepgemm", "--kittens"):
        parser.add_argument(flag, type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=int, default=900)
    options = parser.parse_args()
    projects = [("CuTe DSL", CUTE, bound(cute, CUTE), True), ("DeepGEMM", DEEP, bound(deep, DEEP), options.deepgemm),
                ("ThunderKittens", KITTENS, kittens, options.kittens)]
    for project, table, made, given in projects:
        for name in table if given else ():
            if options.only in f"{project} {name}":
                with tempfile.TemporaryDirectory() as folder:
                    judge(options, name, project, *made(options, name, pathlib.Path(folder)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        compile_cute(*sys.argv[2:])
    else:
        main()
