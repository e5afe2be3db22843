#!/usr/bin/env python3
"""The public GPUVerify tests under `volta race --any`, as a table by label and verdict.

    benches/measured/gpuverify.py VOLTA NVCC TESTSUITE/CUDA BUILD [--include DIRS] [--timeout N] [--only SUBSTRING] [--table]

TESTSUITE/CUDA is that folder of mc-imperial/gpuverify, which is fetched and never committed; BUILD receives the PTX. Each `.cu`
is compiled with the header below, which reads GPUVerify's annotations: a requirement is a condition that a thread ends
without, an assertion one that it traps without, an invariant nothing, and what a thread
or an array is said to have in general is not asked. Block, grid and definitions are those of the second
line of a test; a block above the limit of the machine is
left open. --include names the folder of `curand_kernel.h`. With --table only the table is printed.
"""
import json
import pathlib
import re
import subprocess
import sys
import time

HEADER = r"""
#pragma once
#ifdef GROUPS
#include <cooperative_groups.h>
#endif
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
#ifdef CURAND
#include <curand_kernel.h>
#endif
#define __requires(x) do { if (!(x)) asm volatile("exit;"); } while (0)
#define __assume(x) __requires(x)
#define __assert(x) do { if (!(x)) __trap(); } while (0)
#define __implies(a, b) (!(a) || (b))
#define __enabled() true
#define __invariant(...) ((void)0)
#define __global_invariant(...) ((void)0)
#define __function_wide_invariant(...) ((void)0)
#define __function_wide_candidate_invariant(...) ((void)0)
#define __candidate_invariant(...) ((void)0)
#define __ensures(...) ((void)0)
#define __global_ensures(...) ((void)0)
#define __requires_fresh_array(...) ((void)0)
#define __global_requires(x) __requires(x)
#define __global_assert(x) __assert(x)
#define __axiom(...)
#define synchronize(g) (g).sync()
#define __non_temporal(x) x
#define __no_read(...) true
#define __no_write(...) true
#define __uniform_bool(x) true
#define __uniform_int(x) true
#define __distinct_int(x) true
"""
LABEL = {"pass": "pass", "xfail": "xfail"}


def flags(line):
    """Block, grid and definitions of the second line of a test."""
    out = {"block": None, "grid": None, "define": re.findall(r"-D\S+", line)}
    for name, key in (("blockDim", "block"), ("gridDim", "grid")):
        found = re.search(rf"--{name}=\[?([\d,]+)\]?", line)
        if found:
            sizes = [int(n) for n in found[1].split(",")] + [1, 1]
            out[key] = sizes[:3]
    b = out["block"]
    if b and (b[0] * b[1] * b[2] > 1024 or b[0] > 1024 or b[1] > 1024 or b[2] > 64):
        out["block"] = None
    return out


def compiled(nvcc, source, to, header, define, include):
    """The PTX of a test, or what the compiler says first."""
    if not to.exists():
        if "cooperative_groups" in source.read_text(errors="replace"):
            define = [*define, "-DGROUPS"]
        if "curand" in source.read_text(errors="replace"):
            define = [*define, "-DCURAND"]
        command = [nvcc, "-ptx", "-arch=sm_80", "-w", "-include", header, "-I", header.parent, *include, *define, source, "-o", to]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode:
            lines = (done.stderr + done.stdout).splitlines()
            return None, next((line.split("error:")[-1].strip() for line in lines if "error" in line), "?")
    return to, None


def judged(volta, ptx, f, timeout):
    """The verdict, the first reason, and the seconds that it took; the worst of all entries of a module."""
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx.read_text(errors="replace"))
    rank = ["defective", "error", "unknown", "clean"]
    worst = ("no-entry", "", 0.0)
    for e in entries:
        command = [volta, "race", ptx, "--entry", e, "--any", "--json", "--timeout", timeout]
        for key in ("block", "grid"):
            if f[key]:
                command += [f"--{key}", ",".join(map(str, f[key]))]
        start = time.time()
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout + 20)
            r = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            r = {"verdict": "error", "error": {"message": "no answer"}}
        seconds = time.time() - start
        verdict = r.get("verdict", "error")
        list_of = {"defective": "defects", "unknown": "unknown"}.get(verdict)
        reason = r[list_of][0]["message"] if list_of and r.get(list_of) else r.get("error", {}).get("message", "")
        if verdict == "defective":
            reason = r["defects"][0]["kind"] + ": " + reason
        if worst[0] == "no-entry" or rank.index(verdict) < rank.index(worst[0]):
            worst = (verdict, reason, seconds)
    return worst


def main():
    volta, nvcc, root, build = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    option = lambda name, default: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default
    timeout, only = float(option("--timeout", "20")), option("--only", "")
    build.mkdir(parents=True, exist_ok=True)
    for name in ("gpuverify.h", "cuda.h"):
        if not (build / name).exists():
            (build / name).write_text(HEADER if name == "gpuverify.h" else "#pragma once\n")
    table, seconds = {}, []
    for source in sorted(root.rglob("*.cu")):
        name = str(source.parent.relative_to(root)) if source.name == "kernel.cu" else str(source.relative_to(root))
        if only not in name:
            continue
        text = source.read_text(errors="replace").splitlines()
        label = re.sub(r"\W.*", "", text[0].lstrip("/ ").lower())
        f = flags(text[1] if len(text) > 1 else "")
        ptx, why = compiled(nvcc, source, build / (name.replace("/", "-") + ".ptx"), build / "gpuverify.h", f["define"], [f"-I{d}" for d in option("--include", "").split(":") if d])
        verdict, reason, took = ("no-compile", why, 0.0) if ptx is None else judged(volta, ptx, f, timeout)
        if ptx is not None:
            seconds.append(took)
        table[(label, verdict)] = table.get((label, verdict), 0) + 1
        if "--table" not in sys.argv:
            print(f"{label:6} {verdict:10} {took:5.1f} {name}: {reason[:110]}", flush=True)
    columns = ["clean", "defective", "unknown", "error", "no-entry", "no-compile"]
    print("| label | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for label in ("pass", "xfail"):
        print(f"| {label} | " + " | ".join(str(table.get((label, c), 0)) for c in columns) + " |")
    seconds.sort()
    if seconds:
        print(f"median {seconds[len(seconds) // 2]:.2f} s, longest {seconds[-1]:.1f} s")


if __name__ == "__main__":
    main()
