#!/usr/bin/env python3
"""Makes `modules.zst`: PTX that compilers emit for our own sources, and `modules.tsv`, what ptxas says of it.

    tests/corpus/make.py --cuda .../nvidia/cu13/bin --out DIR [--numba PYTHON] [--clang CLANG]
    VOLTA_PRINT=DIR.printed cargo test --test modules -- --nocapture    (prints each module again)
    tests/corpus/make.py --cuda .../nvidia/cu13/bin --out DIR --printed DIR.printed

The first call compiles `sources` and the CUDA sources of `kernels` for several GPUs with several options, and
packs what ptxas accepts, with the PTX that `kernels/triton` and `kernels/tilelang` make for themselves. The last one asks ptxas about what volta printed, and writes the second column.
"""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LISTINGS = [*ROOT.glob("kernels/*/build.list"), ROOT / "src/prove/reading/functions/idioms/build.list"]
ARCHS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
OPTIONS = {"o3": [], "fast": ["-use_fast_math"], "g": ["-G"], "o0": ["-Xcicc", "-O0", "-lineinfo"]}


def run(command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, **more)


def jobs(args):
    """Name, command and folder of each module."""
    nvcc = args.cuda / "nvcc"
    # Debug sections hold the folder's name, so the sources are compiled in one that is the same everywhere.
    folder = pathlib.Path("/tmp/corpus")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "sources", folder)
    for source in sorted(folder.glob("*.cu")):
        for arch in ARCHS:
            for name, flags in OPTIONS.items():
                if source.stem in ("halves", "floats") and name == "g" and arch not in ("sm_80", "sm_100a"):
                    continue  # the largest ones
                yield f"nvcc.{source.stem}.{arch}.{name}", [nvcc, "-ptx", f"-arch={arch}", *flags, source.name], source.parent
    # The kernels with their own options, each for another GPU.
    for i, listing in enumerate(sorted(LISTINGS, key=lambda listing: listing.parent.name)):
        lines = [line.split() for line in listing.read_text().splitlines() if line.strip() and line[0] != "#"]
        for j, (output, source, *flags) in enumerate(lines[:: max(1, len(lines) // 12)]):
            arch = ARCHS[(i + j) % len(ARCHS)]
            flags = ["-use_fast_math" if f == "FAST" else f for f in flags if not f.startswith("-arch") and f not in ("-G", "-lineinfo")]
            entry = f"-DENTRY={listing.parent.name}_{output}"
            path = listing.parent / f"{source}.cu"
            if path.exists():
                yield f"nvcc.{listing.parent.name}.{output}.{arch}", [nvcc, "-ptx", f"-arch={arch}", entry, *flags, path.name], path.parent
    if args.clang:
        for source in sorted(folder.glob("*.clang")):
            for arch in ["sm_75", "sm_80", "sm_90"]:
                for level in ["-O0", "-O2", "-O3 -g"]:
                    yield (f"clang.{source.stem}.{arch}.{level[1:].replace(' ', '')}",
                           [args.clang, "-x", "cuda", "--cuda-device-only", "-S", "-nocudainc", "-nocudalib",
                            f"--cuda-gpu-arch={arch}", "--cuda-feature=+ptx80", *level.split(), source.name], source.parent)


def compile(args, job):
    name, command, folder = job
    path = args.out / f"{name}.ptx"
    if not path.exists():
        made = run([*command, "-o", path], cwd=folder)
        if made.returncode:
            return name, (made.stderr or made.stdout)[-300:]
        # No path of the machine stays in the file.
        text = path.read_text()
        text = re.sub(r'(\.file\s+\d+ ")[^"]*/', r"\1", text)
        path.write_text(text)
    return name, None


def target(text):
    return re.search(r"^\.target\s+(\w+)", text, re.M)[1]


def accepts(ptxas, path):
    """Numba writes a `.version` that is newer than this ptxas; it is asked about the same text as 9.0."""
    text = path.read_text()
    text = re.sub(r"^\.version\s+9\.[1-9]", ".version 9.0", text, flags=re.M)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        done = run([ptxas, "-O0", f"-arch={target(text)}", file.name, "-o", "/dev/null"])
    return done.returncode == 0 or done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--numba", type=pathlib.Path)
    parser.add_argument("--clang")
    parser.add_argument("--printed", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    ptxas = args.cuda / "ptxas"
    if args.printed:
        rows = [line.split("\t") for line in (HERE / "modules.tsv").read_text().splitlines()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda row: accepts(ptxas, args.printed / f"{row[0]}.ptx"), rows))
        for row, verdict in zip(rows, said):
            if verdict is not True:
                print(row[0], verdict, file=sys.stderr)
        lines = [f"{row[0]}\taccepted\t{'accepted' if v is True else 'rejected'}" for row, v in zip(rows, said)]
        (HERE / "modules.tsv").write_text("\n".join(lines) + "\n")
        return
    if args.numba:
        print(run([args.numba, HERE / "sources" / "numba_modules.py", args.out]).stderr[-500:], file=sys.stderr)
    for compiler in ["triton", "tilelang"]:
        for path in (ROOT / "kernels" / compiler).glob("*.ptx"):
            shutil.copy(path, args.out / f"{compiler}.{path.name}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, error in pool.map(lambda job: compile(args, job), list(jobs(args))):
            if error:
                print(name, error, file=sys.stderr)
    paths = sorted(args.out.glob("*.ptx"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda path: accepts(ptxas, path), paths))
    packed, table = [], []
    for path, verdict in zip(paths, said):
        if verdict is not True:
            print(path.stem, verdict[:300], file=sys.stderr)
            continue
        packed.append(f"//@ {path.stem}\n" + path.read_text().rstrip("\n") + "\n")
        table.append(f"{path.stem}\taccepted\t?")
    (args.out / "modules").write_text("".join(packed))
    run(["zstd", "-19", "--long=23", "-f", args.out / "modules", "-o", HERE / "modules.zst"])
    (HERE / "modules.tsv").write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
