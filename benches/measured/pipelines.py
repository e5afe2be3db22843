#!/usr/bin/env python3
"""Races in pipelines that Triton makes of our own kernels for sm_90 and sm_100, compiled here, without a GPU.

    python3 -m venv target/triton && target/triton/bin/pip install triton==3.9.0
    target/triton/bin/python benches/measured/pipelines.py --volta target/release/volta [--only TEXT] [--build FOLDER] [--timeout SECONDS]
        [--races] [--write]

pipelines_kernels.py holds the kernels.  Each is compiled for both targets, 2 to 4 stages, 4 and 8 warps; `volta race` runs a few CTAs
of it, every one of the grid, with as many steps as fill the stages and use the first of them again.  `volta check` compares with a
plain kernel of the same file where that is cheap, and with one that leaves out a step: the first must be proved, the second refuted.

Prints a row for each: verdict, kinds of findings and warnings, seconds of the process.  PTX and reports stay in the folder.  The bindings
are made from the signature, and for tensor maps of the host from what the compiler says of them.  What one compiler refuses is a row.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = 2  # of a persistent kernel
SWIZZLES = ["", "/swizzle32", "/swizzle64", "/swizzle128"]
# Nothing about the protocol: what every kernel of Triton has.
QUIET = {"note", "thin-coverage"}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A function of pipelines_kernels.py, its constants, the sizes of its arrays, and the plain kernel of the same result."""

    name: str
    function: str
    constants: dict
    arrays: dict
    sizes: dict
    grid: int
    plain: str | None = None
    mapped: bool = False


def product(name, function, ending, m, n, k, persistent, mapped=False, **more):
    tile = {"rows": 128, "columns": 64, "step": 64}
    arrays = {"a": f"in:f16[{m},{k}]", "b": f"in:f16[{n},{k}]", "c": f"out:f16[{m},{n}]", "bias": f"in:f16[{n}]"}
    tiles = (m // 128) * (n // 64)
    grid = PROGRAMS if persistent else tiles
    return Kernel(name, function, tile | {"ending": ending} | more, arrays, {"m": m, "n": n, "k": k}, grid, f"plain/{ending}", mapped)


def attention(name, function, n=256, **more):
    arrays = {a: f"{'out' if a == 'o' else 'in'}:f16[{n},16]" for a in "qkvo"}
    return Kernel(name, function, {"d": 16, "rows": 128, "step": 32} | more, arrays, {"n": n}, n // 128, "attention")


LOOP = 320  # five steps of a sum
TILES = (256, 128, 192)  # four tiles for two programs, three steps each

KERNELS = [
    product("product", "plain", "none", 128, 64, LOOP, False, late=0),
    product("persistent", "persistent", "none", *TILES, True, flat=False),
    product("persistent, one loop", "persistent", "none", *TILES, True, flat=True),
    product("persistent, maps of the device", "persistent_described", "none", *TILES, True, flat=False, roles=False),
    product("persistent, maps of the device, one loop", "persistent_described", "none", *TILES, True, flat=True, roles=False),
    product("persistent, maps of the host", "persistent_mapped", "none", *TILES, True, True, flat=False, roles=False),
    product("persistent, maps of the host, one loop", "persistent_mapped", "none", *TILES, True, True, flat=True, roles=False),
    product("persistent by roles, maps of the device", "persistent_described", "relu", *TILES, True, flat=False, roles=True),
    product("persistent by roles, maps of the host", "persistent_mapped", "relu", *TILES, True, True, flat=False, roles=True),
    product("by roles", "by_roles", "none", 128, 64, LOOP, False, stored=False),
    product("by roles, bias", "by_roles", "bias", 128, 64, LOOP, False, stored=False),
    product("by roles, relu", "by_roles", "relu", 128, 64, LOOP, False, stored=False),
    product("by roles, bias, stored by a copy", "by_roles", "bias", 128, 64, LOOP, False, stored=True),
    attention("attention", "attention"),
    attention("attention, copies", "attention_described", roles=False, stored=False),
    attention("attention, copies, stored by a copy", "attention_described", roles=False, stored=True),
    attention("attention by roles", "attention_described", roles=True, stored=False),
    attention("attention by roles, stored by a copy", "attention_described", roles=True, stored=True),
]
# What the kernels are compared with: one program a tile and no stages; `late` makes it another function.
PLAIN = {
    **{f"plain/{e}": ("plain", {"ending": e, "late": 0}) for e in ("none", "bias", "relu")},
    **{f"plain/{e}/late": ("plain", {"ending": e, "late": 64}) for e in ("none", "bias", "relu")},
    "attention": ("attention", {}),
}
CHECKED = 3  # the number of stages for which kernels are compared
VARIANTS = [(arch, stages, warps) for arch in (90, 100) for stages in (2, 3, 4) for warps in (4, 8)]


@dataclasses.dataclass
class Built:
    """PTX of a kernel and its launch."""

    ptx: pathlib.Path
    threads: int
    grid: int
    shared: int
    bindings: dict  # by position
    names: dict  # of arrays and sizes, to positions


def build(kernel, arch, stages, warps, folder):
    """Compiles a kernel; its parameters are bound by their positions."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import pipelines_kernels

    function = getattr(pipelines_kernels, kernel.function)
    boxes = {"a": ("rows", "step"), "b": ("columns", "step"), "c": ("rows", "columns")}
    signature, aligned = {}, {}
    for i, name in enumerate(function.arg_names):
        if name in kernel.constants:
            signature[name] = "constexpr"
        elif name in kernel.sizes:
            signature[name] = "i32"
        elif kernel.mapped and name in boxes:
            signature[name] = "tensordesc<fp16[{}, {}]>".format(*(kernel.constants[x] for x in boxes[name]))
        else:
            signature[name] = "*fp16"
        if signature[name] in ("i32", "*fp16"):
            aligned[(i,)] = [["tt.divisibility", 16]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = triton.compile(
            ASTSource(function, signature=signature, constexprs=kernel.constants, attrs=aligned),
            target=GPUTarget("cuda", arch, 32),
            options={"num_warps": warps, "num_stages": stages},
        )
    path = folder / (re.sub(r"\W+", "_", kernel.name) + f"_{arch}_{stages}_{warps}.ptx")
    path.write_text(made.asm["ptx"])
    metadata = made.metadata
    described = list(getattr(metadata, "tensordesc_meta", None) or [])
    bindings, at = {}, 0
    names = {}
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        if kind.startswith("tensordesc"):
            meta = described.pop(0)
            box = ",".join(map(str, meta["block_size"]))
            bindings[at] = f"{kernel.arrays[name]}/box[{box}]{SWIZZLES[meta['swizzle']]}"
            names[name], at = at, at + 5  # the map, two sizes, two strides
            continue
        bindings[at] = str(kernel.sizes[name]) if kind == "i32" else kernel.arrays[name]
        names[name], at = at, at + 1
    bindings[at] = f"scratch:u8[{max(16, metadata.global_scratch_size * kernel.grid)}]"
    bindings[at + 1] = "scratch:u8[16]"
    ptx = made.asm["ptx"]
    threads = int(re.search(r"\.reqntid (\d+)", ptx)[1])
    return Built(path, threads, kernel.grid, metadata.shared, bindings, names)


def ask(options, path, command, *words):
    """A report of volta and the seconds that it took; one that did not come is a verdict of its own."""
    begun = time.monotonic()
    out = path.with_suffix(f".{command}.json")
    words = [options.volta, command, *words, "--json", "--timeout", str(options.timeout)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=options.timeout + 60)
    out.write_text(done.stdout)
    out.with_suffix(".command").write_text(" ".join(f"'{w}'" if "[" in str(w) else str(w) for w in words) + "\n")
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = {"verdict": "error: " + done.stderr.strip().splitlines()[0][:80] if done.stderr.strip() else "error"}
    return report, time.monotonic() - begun


def kinds(report):
    found = [f["kind"] for part in ("defects", "unknown") for f in report.get(part, [])]
    warned = collections.Counter(w["kind"] for w in report.get("warnings", []) if w["kind"] not in QUIET)
    return ", ".join(sorted(set(found))), ", ".join(sorted(warned))


def args(bindings):
    return [word for key, value in bindings.items() for word in ("--arg", f"{key}={value}")]


def race(options, built):
    launch = ["--threads", built.threads, "--grid", built.grid, "--dynamic-shared", built.shared]
    return ask(options, built.ptx, "race", built.ptx, *launch, *args(built.bindings))


def compare(options, kernel, built, plain, folder):
    """Against a plain kernel with one program for each tile, through a manifest of one entry."""
    function, constants = PLAIN[plain]
    tiles = (kernel.sizes["m"] // 128) * (kernel.sizes["n"] // 64) if "m" in kernel.sizes else kernel.grid
    whole = dataclasses.replace(
        kernel,
        name=f"plain {plain} of {kernel.name}",
        function=function,
        constants={k: v for k, v in kernel.constants.items() if k in ("rows", "columns", "step", "d")} | constants,
        grid=tiles,
        mapped=False,
    )
    reference = build(whole, 80, 1, 4, folder)
    # Paired parameters are bound alike, the two that Triton adds at the end too.
    for i in (1, 2):
        reference.names[i], built.names[i] = len(reference.bindings) - i, max(built.bindings) + 1 - i
        reference.bindings[reference.names[i]] = built.bindings[built.names[i]]

    def side(made):
        values = ", ".join(f'"{k}" = "{v}"' for k, v in made.bindings.items())
        return (
            f'{{ file = "{made.ptx}", threads = {made.threads}, grid = {made.grid}, dynamic_shared = {made.shared}, '
            f"args = {{ {values} }} }}"
        )

    pairs = ", ".join(f'"{at}" = "{built.names[a]}"' for a, at in reference.names.items())
    spec = built.ptx.with_suffix(f".{re.sub(r'[^a-z]+', '_', plain)}.toml")
    spec.write_text(
        f'[[check]]\nname = "pair"\nreference = {side(reference)}\noptimized = {side(built)}\nmap = {{ {pairs} }}\n'
        'expect = "equivalent"\n'
    )
    report, seconds = ask(options, spec, "gate", spec, "--no-cache")
    entry = (report.get("entries") or [{}])[0]
    return entry.get("result", report).get("verdict", "error"), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--volta", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "target/pipelines")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--races", action="store_true", help="compare nothing")
    parser.add_argument("--write", action="store_true", help="put the rows into pipelines.md")
    options = parser.parse_args()
    options.build.mkdir(parents=True, exist_ok=True)
    os.environ["TRITON_CACHE_DIR"] = str(options.build / "cache")
    sys.path.insert(0, str(HERE))
    rows = []
    for kernel in KERNELS:
        for arch, stages, warps in VARIANTS:
            if options.only in f"{kernel.name} sm_{arch} {stages} {warps}":
                rows.append((kernel.name, f"sm_{arch}", stages, warps, *row(options, kernel, arch, stages, warps)))
                print(rows[-1], flush=True)
    if options.write:
        write(rows)


def row(options, kernel, arch, stages, warps):
    """Threads, verdict, findings, warnings, seconds, and what the comparisons say."""
    try:
        built = build(kernel, arch, stages, warps, options.build)
    except Exception as error:  # the compiler says no in many ways
        return "", "not compiled", (str(error).strip().splitlines() or [type(error).__name__])[0][:100], "", 0.0, "", ""
    report, seconds = race(options, built)
    same = ["", ""]
    if stages == CHECKED and not options.races:
        for i, plain in enumerate((kernel.plain, f"{kernel.plain}/late")):
            if plain in PLAIN:
                verdict, took = compare(options, kernel, built, plain, options.build)
                same[i] = f"{verdict}, {took:.1f} s"
    return built.threads, report["verdict"], *kinds(report), seconds, *same


def write(rows):
    """The table of pipelines.md: stages that differ in nothing but seconds are one row, with the largest number of them."""
    merged = {}
    for name, target, stages, warps, threads, verdict, found, warned, seconds, same, late in rows:
        one = merged.setdefault((name, target, warps, threads, verdict, found, warned), [[], 0.0, "", ""])
        one[0].append(str(stages))
        one[1:] = [max(one[1], seconds), one[2] or same, one[3] or late]
    lines = [
        "| kernel | target | warps | threads | stages | verdict | found | warnings | s | as the plain kernel | as one that begins late |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, target, warps, threads, verdict, found, warned), (stages, seconds, same, late) in merged.items():
        cells = name, target, warps, threads, ", ".join(stages), verdict, found, warned, f"{seconds:.1f}", same, late
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    path = HERE / "pipelines.md"
    text = path.read_text()
    head, rest = text.split("<!-- rows -->\n")[0], text.split("<!-- end -->\n")[-1]
    path.write_text(head + "<!-- rows -->\n" + "\n".join(lines) + "\n<!-- end -->\n" + rest)


if __name__ == "__main__":
    main()
