#!/usr/bin/env python3
"""Kernels of eight public projects under `volta race` and against formulas, as they are, each with what it gets and why.

    benches/measured/public.py VOLTA NVCC CHECKOUTS BUILD [--include DIRS] [--table F.tsv] [--only TEXT] [--timeout N] [--write]
    benches/measured/public.py VOLTA NVCC CHECKOUTS BUILD --draw [--seed N] > drawn.tsv
    benches/measured/public.py --summary [--table F.tsv]

CHECKOUTS holds a folder for each project (`git worktree` or an archive), which are fetched and never committed; BUILD receives the
PTX, by project. --include names folders with the headers of cuBLAS, cuSPARSE, cuRAND and the like. The draw: of each project all
`__global__` functions of its `.cu` and `.cuh` files by path and name, in an order that the seed gives; the first that compile,
as many as QUOTA says; of a template's instances one by the same seed. --draw proposes flags; the table has what was bound after the
source was read. A row is asked as the table says, one at a time; --write puts verdicts and seconds into the table.
"""
import collections
import json
import pathlib
import random
import re
import shlex
import statistics
import subprocess
import sys
import time

SEED = 20261201
TABLE = pathlib.Path(__file__).with_name("public.tsv")
COLUMNS = ["project", "path", "kernel", "entry", "question", "flags", "verdict", "cause", "seconds"]
# Kernels under `race`, folders of headers, definitions, what of the project is drawn from.
QUOTA = {
    "HeCBench": (36, ["src/include"], [], r"^src/[^/]*-cuda/"),
    "cuda-samples": (20, ["Common"], [], r"^Samples/"),
    "llm.c": (18, ["llmc"], [], r""),
    "gpu-rodinia": (14, ["cuda/util"], [], r"^cuda/"),
    "kaldi": (16, ["src"], ["-DHAVE_CUDA"], r"^src/"),
    "darknet": (14, ["include", "src"], ["-DGPU"], r"^src/"),
    "ggml": (18, ["include", "src", "src/ggml-cuda"], [], r"^src/ggml-cuda/"),
    "FasterTransformer": (14, [".", "3rdparty"], [], r"^src/"),
}
# Stand-ins for headers that no wheel has, and for names that CUDA 13 dropped.
SHIMS = {
    "fst/types.h": "#pragma once\n#include <cstdint>\n"
    + "".join(f"typedef {u}int{n}_t {u}int{n};\n" for u in ("", "u") for n in (8, 16, 32, 64)),
    "cuda_profiler_api.h": "#pragma once\nstatic inline void cudaProfilerStart() {}\nstatic inline void cudaProfilerStop() {}\n",
    "kaldi.h": "#pragma once\n#include <cub/cub.cuh>\nnamespace cub { struct Max { template <class T>\n"
    "__host__ __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; } }; }\n",
}
BOUND = r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)"
KERNEL = re.compile(rf"__global__(?:\s|{BOUND}|static|inline|extern)*\bvoid\s+(?:{BOUND}\s*)?(\w+)\s*\(")
SIZES = [
    (r"stride|pitch|^ld|ld$|lda|ldb|ldc", 64),
    (r"offset|start|begin|shift|seed|pad|^k0$|base", 0),
    (r"^(n|size|len|length|count|total)", 200),
]


def bare(text):
    """A source without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)


def parameters(text, at):
    """The parameters of a kernel, as written, from its opening parenthesis on."""
    depth, out = 1, [""]
    for c in text[at:]:
        depth += (c in "(<[{") - (c in ")>]}")
        if depth == 0:
            break
        if c == "," and depth == 1:
            out.append("")
        else:
            out[-1] += c
    return [p.strip() for p in out if p.strip()]


def drawn(root, project):
    """All kernels of a project, (path, name, parameters), in the order of the seed."""
    found = set()
    for f in root.rglob("*"):
        path = str(f.relative_to(root))
        if f.suffix in (".cu", ".cuh") and re.search(QUOTA[project][3], path):
            text = bare(f.read_text(errors="replace"))
            found |= {(path, m[1], tuple(parameters(text, m.end()))) for m in KERNEL.finditer(text)}
    found = sorted({(p, n): (p, n, a) for p, n, a in sorted(found, reverse=True)}.values())
    return random.Random(f"{SEED}:{project}").sample(found, len(found))


class Build:
    """Compiles files of checkouts to PTX, once."""

    def __init__(self, nvcc, checkouts, to, include):
        self.nvcc, self.checkouts, self.to, self.include = nvcc, checkouts, to, include
        for name, text in SHIMS.items():
            f = to / "shim" / name
            f.parent.mkdir(parents=True, exist_ok=True)
            f.write_text(text)

    def ptx(self, project, path):
        """The PTX of a file, or None where nvcc refuses it."""
        root, (_, include, define, _) = self.checkouts / project, QUOTA[project]
        to = self.to / project / (path.replace("/", "-") + ".ptx")
        to.parent.mkdir(parents=True, exist_ok=True)
        failed = to.with_suffix(".failed")
        if failed.exists():
            return None
        if not to.exists():
            shim = self.to / "shim"
            own = [f"-I{root / i}" for i in include] + [f"-I{shim}", f"-I{(root / path).parent}"] + [f"-I{i}" for i in self.include]
            before = ["-include", shim / f"{project}.h"] if f"{project}.h" in SHIMS else []
            flags = ["-x", "cu", "-ptx", "-arch=sm_80", "-w", "-std=c++17", "-lineinfo"]
            command = [self.nvcc, *flags, *before, *own, *define, root / path, "-o", to]
            try:
                done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=180)
                why = done.stderr + done.stdout if done.returncode else ""
            except subprocess.TimeoutExpired:
                why = "time"
            if why:
                failed.write_text(why)
                return None
        return to


def instances(ptx, kernel):
    """The entries of a file that are this function."""
    names = re.findall(r"\.entry\s+([\w$]+)", ptx.read_text(errors="replace"))
    name = re.compile(rf"(?<!\d){len(kernel)}{kernel}"), re.compile(rf"{len(kernel)}{kernel}")
    own = lambda e: e == kernel or name["_INTERNAL_" in e].search(e)
    return sorted({e for e in names if own(e)})


def proposed(ptx, entry, written):
    """Flags that a launch may have: the block from the dimensions that are used, integers from their names."""
    text = ptx.read_text(errors="replace")
    body = re.split(r"\.entry\s", text[text.index(f".entry {entry}(") + 7 :], maxsplit=1)[0]
    own = re.search(r"\.(?:max|req)ntid\s+([\d, ]+)", body[: body.index("{")]) if "{" in body else None
    y, z = "%tid.y" in body, "%tid.z" in body
    block = own[1].replace(" ", "") if own else "8,4,4" if z else "16,16" if y else "128"
    grid = "2,2,2" if "%ctaid.z" in body else "2,2" if "%ctaid.y" in body else "2"
    flags = ["--block", block, "--grid", grid]
    kinds = re.findall(r"\.param\s+(?:\.align \d+\s+)?(\.\w+)", body[: body.index(")")] if ")" in body else "")
    for i, (kind, p) in enumerate(zip(kinds, written)):
        name = re.sub(r"\[.*", "", p).split()[-1].lstrip("*&") if p.split() else ""
        if "*" in p or "[" in p or kind in (".b8", ".f32", ".f64") or re.search(r"\b(float|double|half|T|Real|scalar)\b", p):
            continue
        if kind in (".u64", ".b64", ".s64", ".u32", ".s32", ".b32", ".u16", ".u8", ".s8", ".s16"):
            flags += ["--arg", f"{i}={next((v for r, v in SIZES if re.search(r, name, re.I)), 1 if 'bool' in p else 32)}"]
    return " ".join(flags)


def draw(build, checkouts):
    """Prints the rows of the draw."""
    print("\t".join(COLUMNS))
    for project, (quota, *_) in QUOTA.items():
        taken = 0
        for path, kernel, written in drawn(checkouts / project, project):
            if taken == quota:
                break
            ptx = build.ptx(project, path)
            entries = instances(ptx, kernel) if ptx else []
            if entries:
                taken += 1
                entry = random.Random(f"{SEED}:{path}:{kernel}").choice(entries)
                print("\t".join([project, path, kernel, entry, "race", proposed(ptx, entry, written), "", "", ""]), flush=True)


def asked(volta, ptx, row, timeout):
    """Verdict, cause and seconds of a row."""
    if row["question"] == "race":
        command = [volta, "race", ptx, "--entry", row["entry"]]
    else:
        command = [volta, "check", "--formula", row["question"], ptx, "--opt-entry", row["entry"]]
    command += [*shlex.split(row["flags"]), "--json", "--timeout", timeout, "--jobs", 1]
    start = time.time()
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout + 15)
        r = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        r = {"verdict": "error", "error": {"kind": "no-answer", "message": ""}}
    seconds = f"{time.time() - start:.2f}"
    verdict = r.get("verdict", "error")
    found = (r.get({"defective": "defects"}.get(verdict, "unknown")) or [r.get("error") or {}])[0]
    if verdict == "not-equivalent":
        found = {"kind": "value", "message": json.dumps(r.get("counterexample") or {})[:160]}
    site = next((s for s in found.get("sites", []) if s.get("source")), None)
    line = f" (line {site['source']['line']} of {pathlib.Path(site['source']['file']).name})" if site else ""
    cause = "" if verdict in ("clean", "equivalent") else f"{found.get('kind')}: {found.get('message')}"[:200] + line
    return verdict, re.sub(r"\s+", " ", cause), seconds


def rows_of(table):
    lines = [x for x in table.read_text().splitlines() if not x.startswith("#")]
    return [dict(zip(COLUMNS, x.split("\t") + [""] * 9)) for x in lines[1:]]


def written(table, rows):
    head = [x for x in table.read_text().splitlines() if x.startswith("#")]
    body = ["\t".join(COLUMNS)] + ["\t".join(r[c] for c in COLUMNS) for r in rows]
    table.write_text("\n".join(head + body) + "\n")


def summary(rows):
    """Decided by project, and the unknowns by kind."""
    order = ["clean", "defective", "equivalent", "not-equivalent", "unknown", "error"]
    print("| project | question | " + " | ".join(order) + " |\n" + "|---" * (len(order) + 2) + "|")
    for kind in ("race", "formula"):
        mine = [r for r in rows if (r["question"] == "race") == (kind == "race")]
        for project in [*QUOTA, "all"]:
            of = collections.Counter(r["verdict"] for r in mine if project in ("all", r["project"]))
            if of:
                print(f"| {project} | {kind} | " + " | ".join(str(of[v]) for v in order) + " |")
        took = sorted(float(r["seconds"]) for r in mine if r["seconds"])
        decided = sum(r["verdict"] in order[:4] for r in mine)
        if took:
            print(f"{kind}: {decided} of {len(mine)} decided, median {statistics.median(took):.2f} s, longest {took[-1]:.1f} s")
    causes = collections.Counter(r["cause"].split(":")[0] for r in rows if r["verdict"] in ("unknown", "error"))
    print(", ".join(f"{k} {n}" for k, n in causes.most_common()))


def main():
    option = lambda name, default: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default
    table = pathlib.Path(option("--table", TABLE))
    if "--summary" in sys.argv:
        return summary(rows_of(table))
    volta, nvcc, checkouts, to = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    build = Build(nvcc, checkouts, to, [d for d in option("--include", "").split(":") if d])
    if "--draw" in sys.argv:
        global SEED
        SEED = int(option("--seed", SEED))
        return draw(build, checkouts)
    rows = rows_of(table)
    for row in rows:
        if option("--only", "") not in "\t".join(row.values()):
            continue
        ptx = build.ptx(row["project"], row["path"])
        timeout = float(option("--timeout", "30"))
        verdict, cause, seconds = asked(volta, ptx, row, timeout) if ptx else ("error", "no-compile: ", "0.00")
        row.update(verdict=verdict, cause=cause, seconds=seconds)
        print(f"{verdict:14} {seconds:>6} {row['project']} {row['path']} {row['kernel']}: {cause[:120]}", flush=True)
        if "--write" in sys.argv:
            written(table, rows)
    summary([r for r in rows if r["verdict"]])


if __name__ == "__main__":
    main()
