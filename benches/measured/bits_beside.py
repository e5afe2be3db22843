#!/usr/bin/env python3
"""Side by side with `bitequiv`, the checker of configurations in the fork of Triton facebookexperimental/triton, on its own corpus.

    bits_beside.py compile CHECKOUT OUT [--kernels a,b] [--arch 90]      every configuration to PTX, without a GPU
    bits_beside.py compare CHECKOUT OUT VOLTA [--kernels a,b]            classes of both, and of execution, as a table

CHECKOUT is a folder with the fork's `bitequiv/`; OUT keeps PTX files with their launches. Needs fbtriton 3.7 (the fork as
a wheel, which alone has `reduction_ordering`), pyptx 0.1.1 and torch; nothing of either project is kept here. One process at a time.

Configurations of a kernel differ in the order of reductions, warps, fusion of products and sums, and the tiles of products.
Execution is `volta run` on SEEDS inputs, such as cancel among them; it merges what no input told apart. What bitequiv merges and execution
tells apart is a wrong merge of its; what volta merges and execution tells apart is a wrong `equivalent` and ends with exit status 1.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Classes = list[tuple[int, ...]]

SEEDS = 4
#: (rows, columns) of reductions, (m, n, k) of products: small, since all classes are asked at each.
SIZES = {"reduction": (2, 1024), "product": (128, 128, 64), "gemm_kgroup_precision": (128, 128, 128)}
#: What is varied of a configuration, where its kernel has that axis.
AXES: dict[str, tuple[Any, ...]] = {
    "reduction_ordering": ("unordered", "inner_tree"),
    "num_warps": (1, 4),
    "num_stages": (2,),
    "enable_fp_fusion": (True, False),
    "block_n": (256, 1024),
    "gemm_block_m": (64, 128),
    "gemm_block_n": (64, 128),
    "gemm_block_k": (16, 32),
    "input_precision": ("ieee", "tf32"),
    "max_num_imprecise_acc": (32,),
    "gemm_num_splits": (1, 2, 4),
    "gemm_num_ctas": (1,),
    "gemm_combine": ("seq", "strided"),
}
MOST = 12
OUTPUT = re.compile(r"out|dst|mean|var|c_ptr|c$|.*out.*", re.IGNORECASE)
TYPES = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "fp8e4nv": "e4m3", "i32": "s32", "i64": "s64", "fp64": "f64"}


def without_gpu(arch: int) -> None:
    """Lets Triton compile for an architecture that this machine lacks."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    class Driver:
        def __getattr__(self, _: str) -> Any:
            return lambda *_: 0

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", arch, 32)

    driver.set_active(Driver())


def chosen(spec: Any, dtype: str) -> list[Any]:
    """Some configurations of a kernel, spread over all that its axes give."""
    configs = [c for c in spec.max_config_space() if all(getattr(c, a) in (None, *v) for a, v in AXES.items())]
    configs = [c for c in configs if c.dtype in (None, dtype)]
    step = max(1, -(-len(configs) // MOST))
    return configs[::step]


def launch(kernel: Any, args: tuple[Any, ...], options: Json) -> Json:
    """How a compiled kernel is launched."""
    grid = options["grid"]
    given = dict(zip([p.name for p in kernel.src.fn.params], args)) | options
    bound: Json = {}
    outputs = []
    names = [n for n, t in kernel.src.signature.items() if t != "constexpr"]
    for i, name in enumerate(names):
        value, type_ = given[name], str(kernel.src.signature[name])
        if type_.startswith("*"):
            bound[str(i)] = f"{TYPES[type_[1:]]}[{value.numel()}]"
            outputs += [str(i)] if OUTPUT.fullmatch(name) else []
        else:
            bound[str(i)] = str(value)
    return {"grid": [*grid, 1, 1][:3], "args": bound, "outputs": outputs}


def compile_all(checkout: Path, out: Path, only: set[str], arch: int) -> None:
    sys.path.insert(0, str(checkout))
    without_gpu(arch)
    corpus = importlib.import_module("bitequiv.evaluation.eval_kernels")
    corpus.DEVICE = "cpu"
    from triton.runtime.jit import JITFunction

    warmup = JITFunction.warmup
    launches: list[Json] = []

    def recorded(self: Any, *args: Any, grid: Any, **options: Any) -> Any:
        kernel = warmup(self, *args, grid=grid, **options)
        launches.append(launch(kernel, args, options | {"grid": grid}))
        return kernel

    JITFunction.warmup = recorded
    for name, spec in corpus.REGISTRY.items():
        if only and name not in only:
            continue
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        size = SIZES.get(name, SIZES["product" if len(spec.precision_size) == 3 else "reduction"])
        size = (1, *size[1:]) if not re.match("sum_dim1|welford|sum$|dot$|cond|gemm", name) else size
        dtype = spec.valid_dtypes[0] if spec.valid_dtypes and "f32" not in spec.valid_dtypes else "f32"
        for i, config in enumerate(chosen(spec, dtype)):
            if (folder / f"{i}.json").exists():
                continue
            launches.clear()
            try:
                kernel = spec.compile(config, size)
            except Exception as e:  # the fork refuses some of its own configurations
                print(name, i, type(e).__name__, str(e)[:200], flush=True)
                continue
            said = [f"{a}={v}" for a, v in config._asdict().items() if v is not None]
            (folder / f"{i}.ptx").write_text(kernel.asm["ptx"])
            (folder / f"{i}.json").write_text(json.dumps({"config": " ".join(said), **launches[-1]}))
        print(name, len(list(folder.glob("*.json"))), flush=True)


def grouped(keys: list[Any]) -> Classes:
    """The positions of equal keys."""
    found: dict[Any, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    return [tuple(c) for c in found.values()]


def wrong_merges(of: Classes, truth: Classes) -> int:
    """Pairs of one class that execution tells apart."""
    place = {i: n for n, c in enumerate(truth) for i in c}
    known = [[i for i in c if i in place] for c in of]
    return sum(place[a] != place[b] for c in known for a, b in itertools.combinations(c, 2))


def values(text: str, kind: int, dice: Any, numpy: Any) -> Any:
    """Numbers of one magnitude, of several, and such as cancel."""
    type_, count = text[:-1].split("[")
    shape = int(count)
    if kind == 0:
        x = dice.uniform(-1, 1, shape)
    elif kind == 1:
        x = numpy.ldexp(dice.uniform(-1, 1, shape), dice.integers(-10, 10, shape))
    else:
        x = dice.choice([4096.0, -4096.0, 1.0, 0.1, -0.3, 2.0**-9], shape)
    if type_ == "bf16":
        return (x.astype("f4").view("u4") >> 16).astype("u2")
    return x.astype({"f16": "f2", "f64": "f8"}.get(type_, "f4"))


def executed(volta: str, cases: list[Json]) -> Classes:
    """The classes into which the bits of `volta run` fall; what it says nothing of is left out."""
    import numpy

    dice = numpy.random.default_rng(1)
    keys: list[list[Any]] = [[] for _ in cases]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for seed in range(SEEDS):
            inputs = {k: v for k, v in cases[0]["args"].items() if "[" in v and k not in cases[0]["outputs"]}
            for key, text in inputs.items():
                numpy.save(folder / f"{key}.npy", values(text, seed % 3, dice, numpy))
            for case, key in zip(cases, keys):
                command = [volta, "run", case["file"], "--timeout", "120", "--grid", ",".join(map(str, case["grid"]))]
                for k, v in case["args"].items():
                    if k in case["outputs"]:
                        command += ["--arg", f"{k}=out:{v}", "--save", f"{k}={folder / f'out{k}.npy'}"]
                    else:
                        command += ["--arg", f"{k}=in:{v}=@{folder / f'{k}.npy'}" if k in inputs else f"{k}={v}"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    key.append(None)
                else:
                    key.append(b"".join(numpy.load(folder / f"out{k}.npy").tobytes() for k in case["outputs"]))
    known = [i for i, key in enumerate(keys) if None not in key]
    return [tuple(known[i] for i in c) for c in grouped([tuple(keys[i]) for i in known])]


def asked(volta: str, cases: list[Json], timeout: int) -> tuple[str, Classes, int]:
    """What `volta classes` says: the verdict, the classes, and pairs of classes that are not shown to differ."""
    manifest = ["[[classes]]", 'name = "all"', f"timeout = {timeout}", "kernels = ["]
    for case in cases:
        roles = {k: (("out:" if k in case["outputs"] else "in:") + v) if "[" in v else v for k, v in case["args"].items()}
        args = ", ".join(f'"{k}" = "{v}"' for k, v in roles.items())
        manifest.append(f'  {{ file = "{case["file"]}", grid = {case["grid"]}, args = {{ {args} }} }},')
    manifest.append("]")
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("\n".join(manifest))
        file.flush()
        done = subprocess.run([volta, "classes", file.name, "--json"], capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "entries" in answer:
        answer = answer["entries"][0]["result"]
    if "classes" not in answer:
        return str(answer.get("error", answer.get("verdict"))), [], 0
    classes = [tuple(c["members"]) for c in answer["classes"]]
    opened = sum(1 for c in answer["classes"] for d in c["differs"].values() if d is None)
    why = ",".join(sorted({u["kind"] for u in answer.get("unknown", [])}))
    return f"{answer['verdict']} {why}".strip(), classes, opened // 2


def children() -> float:
    """Seconds of processor that processes which ended have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(checkout: Path, out: Path, volta: str, only: set[str], timeout: int) -> int:
    sys.path.insert(0, str(checkout))
    # What the fork's autotuner takes, and the one that follows control flow and memory.
    checkers = [
        importlib.import_module("bitequiv.ptx_reduction").ptx_reduction_descriptor,
        importlib.import_module("bitequiv.ptx.forward.interp").forward_module_descriptor,
    ]
    wrong = 0
    head = "| kernel | configurations | PTX files | bitequiv: classes, wrong merges | forward: classes, wrong merges"
    print(head, "| volta: classes | s | verdict | open | execution: classes |")
    for folder in sorted(p for p in out.iterdir() if p.is_dir() and (not only or p.name in only)):
        files = sorted(folder.glob("*.ptx"), key=lambda f: int(f.stem))
        # Configurations of one text are one.
        texts: dict[str, Json] = {}
        for f in files:
            case = json.loads(f.with_suffix(".json").read_text()) | {"file": str(f)}
            texts.setdefault(re.sub(r"^//.*$", "", f.read_text(), flags=re.M) + str(case["grid"]), case)
        cases = list(texts.values())
        if len(cases) < 2:
            continue
        theirs = [grouped([describe(Path(c["file"]).read_text()) for c in cases]) for describe in checkers]
        start = children()
        verdict, ours, opened = asked(volta, cases, timeout)
        seconds = children() - start
        truth = executed(volta, cases)
        bad = wrong_merges(ours, truth)
        wrong += bad
        row = [folder.name, len(files), len(cases), *(f"{len(t)}, {wrong_merges(t, truth)}" for t in theirs), len(ours)]
        row += [f"{seconds:.1f}", verdict + (f" WRONG {bad}" if bad else ""), opened, len(truth)]
        print("|", " | ".join(map(str, row)), "|", flush=True)
    return 1 if wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("compile", "compare"))
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("volta", nargs="?", default="volta")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--timeout", type=int, default=120)
    options = parser.parse_args()
    only = set(filter(None, options.kernels.split(",")))
    if options.what == "compile":
        compile_all(options.checkout, options.out, only, options.arch)
    else:
        sys.exit(compare(options.checkout, options.out, options.volta, only, options.timeout))


if __name__ == "__main__":
    main()
