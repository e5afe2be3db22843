"""A real GPU as the judge of `volta run`: rows of the value tables and whole kernels, executed on both, bit by bit.

    python benches/measured/gpu.py --volta target/release/volta [--ptxas PTXAS] [--libcuda FILE] [--only values|kernels]
                                [--filter TEXT] [--most N] [--build sm_NN] [--out FILE.json]

`ptxas` is that of PyPI's `nvidia-cuda-nvcc`, the driver is called by ctypes. The inputs of a kernel are drawn once, and both sides
start from the same bytes. Exact instructions must leave the same bits; approximations, and sums of matrix instructions, which
no manual gives bit by bit, are counted with their largest distance in units of the last place. Without a device the exit status is
2; `--build` needs none: everything is built, run by volta and, for the rows, compared with the table.

Exit status: 0 all the same, 1 some differ, 2 no device or a usage error.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cuda_driver import LIBRARY, Driver, DriverError, NoDevice, Parameter, parameters
from models import ROOT, Unfit, command, entries

WIDTH = {"p": 4, "h": 2, "r": 4, "l": 8}
"""Bytes of a register as it is stored, by the letter of its name in the tables."""

INEXACT = re.compile(r"\.approx|\bex2\b|\blg2\b|\btanh\b|\bmma\b|\bwgmma\b|\btcgen05\b|\.full\.")
"""Instructions of which the manual bounds the error, or leaves the order of a sum open."""

LARGEST_ARRAY = 1 << 24


# The tables.


@dataclass
class Section:
    """A template of the tables with its rows."""

    file: str
    text: str
    outs: list[str]
    ins: list[str]
    wanted: list[list[int | None]] = field(default_factory=list)
    given: list[list[int]] = field(default_factory=list)


def sections(folder: Path = ROOT / "tests" / "values") -> list[Section]:
    out: list[Section] = []
    for path in sorted(folder.glob("*.txt")):
        if path.name == "symbolic.txt":
            continue
        lines = iter(path.read_text().splitlines())
        for line in lines:
            if line.startswith(": "):
                outs, ins = next(lines).partition(" : ")[0].split(" <-")
                out.append(Section(path.name, line[2:], outs.split(), ins.split()))
            elif line and not line.startswith("#"):
                left, right = line[2:].split(" <-")
                out[-1].wanted.append([None if w == "?" else int(w, 16) for w in left.split()])
                out[-1].given.append([int(w, 16) for w in right.split()])
    return out


def text_of(section: Section, target: str) -> str:
    """One thread for each row: it loads its operands, and stores what the template leaves, 8 bytes for each."""
    load = {"p": "ld.global.b32 %r10, [%a2]; setp.eq.u32 {}, %r10, 1;"}
    store = {"p": "selp.b32 %r11, 1, 0, {}; st.global.b32 [%l11+{}], %r11;"}
    body = []
    for k, name in enumerate(section.ins):
        body.append(f"add.s64 %a2, %a1, {8 * k};")
        body.append(load.get(name[1], f"ld.global.b{8 * WIDTH[name[1]]} {{}}, [%a2];").format(name))
    body.append(section.text)
    for k, name in enumerate(section.outs):
        body.append(store.get(name[1], f"st.global.b{8 * WIDTH[name[1]]} [%l11+{{1}}], {{0}};").format(name, 8 * k))
    return f""".version 9.0
.target {target}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 scratch)
{{
.reg .pred %p<12>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 %l<12>; .reg .b64 %a<3>;
ld.param.u64 %a1, [in];
ld.param.u64 %l11, [out];
ld.param.u64 %l10, [scratch];
mov.u32 %r11, %tid.x;
mad.wide.u32 %a1, %r11, {8 * len(section.ins)}, %a1;
mad.wide.u32 %l11, %r11, {8 * len(section.outs)}, %l11;
mad.wide.u32 %l10, %r11, 64, %l10;
{chr(10).join(body)}
ret;
}}
"""


# Launches, of rows and of kernels.


@dataclass
class Launch:
    """A kernel with all that both sides start from."""

    name: str
    path: Path
    entry: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    layout: list[Parameter]
    arguments: list[bytes | bytearray]
    """In the order of the parameters; a `bytearray` is what the memory holds to which one points."""
    kinds: list[str | None]
    """The element types of memories."""
    run: list[str]
    """The same for volta; what memories hold afterwards is saved as `KEY.npy` in the folder of the text."""

    def saved(self, k: int) -> Path:
        return self.path.parent / f"{self.name}.{k}.npy"


def of_section(section: Section, number: int, folder: Path, args: argparse.Namespace, target: str) -> Launch:
    name = f"row{number}"
    path = folder / f"{name}.ptx"
    path.write_text(text_of(section, target))
    rows = len(section.given)
    words = [w for row in section.given for w in row]
    memories = [bytearray(struct.pack(f"<{len(words)}Q", *words)), bytearray(8 * rows * len(section.outs)), bytearray(64 * rows)]
    launch = Launch(name, path, "k", (1, 1, 1), (rows, 1, 1), 0, parameters(path.read_text(), "k"), [*memories], ["u64"] * 3, [])
    launch.run = [str(args.volta), "run", str(path), "--threads", str(rows), *bound(launch)]
    return launch


NUMPY = {"f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8", "e4m3": "u1", "e5m2": "u1"}


def numpy_type(kind: str) -> str:
    """How an array of a type is kept in a file; bf16 and fp8 as their bits."""
    return NUMPY.get(kind) or f"<{'u' if kind[0] == 'u' else 'i'}{int(kind[1:]) // 8}"


def bound(launch: Launch) -> list[str]:
    """The bindings of the memories for `volta run`, with their contents in files."""
    out = []
    for k, (x, kind) in enumerate(zip(launch.arguments, launch.kinds)):
        if isinstance(x, bytearray) and kind:
            data = np.frombuffer(bytes(x), numpy_type(kind))
            path = launch.path.parent / f"{launch.name}.in{k}.npy"
            np.save(path, data)
            out += ["--arg", f"{k}=inout:{kind}[{len(data)}]=@{path}", "--save", f"{k}={launch.saved(k)}"]
    return out


ARRAY = re.compile(r"(?:(?:in|out|inout|scratch):)?([a-z]\w*)\[([\d, ]*)\](?:=(-?[\d.]+|iota))?")


def memory(value: str, rng: np.random.Generator) -> tuple[str, bytearray] | None:
    """An array of a binding, with contents; None for a number."""
    found = ARRAY.fullmatch(value)
    if not found:
        return None
    kind = re.sub(r"^i(?=\d)", "s", found[1])
    shape = [int(n) for n in found[2].split(",") if n.strip()]
    count = int(np.prod(shape, dtype=np.int64))
    ty = np.dtype(numpy_type(kind))
    if count * ty.itemsize > LARGEST_ARRAY:
        raise Unfit("an array of many bytes")
    if kind in ("e4m3", "e5m2"):
        data = rng.integers(0x20, 0x40, size=count)
    elif found[3]:
        data = np.arange(count) if found[3] == "iota" else np.full(count, float(found[3]))
    elif kind[0] in "us":
        data = rng.integers(0 if kind[0] == "u" else -4, 5, size=count)
    else:
        data = rng.normal(size=count)
    if kind == "bf16":
        data = (data.astype("<f4").view("<u4") >> 16).astype("<u2")
    return kind, bytearray(data.astype(ty).tobytes())


def number(value: str, p: Parameter) -> bytes:
    """A scalar as the bytes of its parameter."""
    if p.type is None:
        raise Unfit("a parameter of bytes")
    if p.type[0] == "f" or not re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", value):
        form = {2: "<e", 4: "<f", 8: "<d"}.get(p.bytes)
        if form is None:
            raise Unfit(f"{value!r} in a parameter of {p.bytes} bytes")
        return struct.pack(form, float(value))
    return (int(value, 0) & ((1 << 8 * p.bytes) - 1)).to_bytes(p.bytes, "little")


def three(text: str) -> tuple[int, ...]:
    """The three sizes of a grid or block of which some are written."""
    return (*(int(n) for n in text.split(",")), 1, 1)[:3]


def of_entry(base: Path, entry: dict[str, Any], side: str, folder: Path, args: argparse.Namespace) -> Launch:
    """A launch of one side of an entry of a manifest."""
    if entry.keys() & {"for", "map", "cluster", "buffers", "assume", "alias", "names"}:
        raise Unfit("sizes, clusters, sequences, facts")
    kernel = entry.get(side)
    run = command(args.volta, base, entry, kernel, {})
    kernel = {"file": kernel} if isinstance(kernel, str) else kernel
    path = folder / "kernel.ptx"
    text = (base / kernel["file"]).read_text()
    path.write_text(text)
    names = re.findall(r"\.entry\s+([\w$]+)", text)
    name = kernel.get("entry") or (names[0] if len(names) == 1 else "")
    if name not in names:
        raise Unfit("the name of its entry")
    layout = parameters(text, name)
    flags = {run[i]: run[i + 1] for i in range(3, len(run) - 1) if run[i].startswith("--")}
    flags = {k: v for k, v in flags.items() if k in ("--threads", "--block", "--grid", "--dynamic-shared")}
    triple = [three(flags.get(f, "1")) for f in ("--grid", "--block")]
    if "--threads" in flags:
        triple[1] = (int(flags["--threads"]), 1, 1)
    elif "--block" not in flags:
        fixed = re.search(r"\.reqntid\s+([\d, ]+)", text)
        if not fixed:
            raise Unfit("a block that nothing gives")
        triple[1] = three(fixed[1])
    given = {**entry["args"], **kernel.get("args", {})}
    values = [given.get(str(k), given.get(p.name)) for k, p in enumerate(layout)]
    shared = int(flags.get("--dynamic-shared", 0))
    launch = Launch(kernel["file"], path, name, *triple, shared, layout, [], [], [])
    launch.name = re.sub(r"\W", "-", f"{entry['name']}-{side}")
    rng, numbers = np.random.default_rng(0), []
    for k, (p, value) in enumerate(zip(layout, values)):
        if value is None:
            # A pointer that nothing binds is one that nothing follows: volta refuses to follow it.
            value = {"f32": "1.5", "f64": "1.5", "u64": "0", "b64": "0"}.get(p.type or "")
        if value is None:
            raise Unfit("a parameter that nothing binds")
        array = memory(str(value), rng)
        launch.kinds.append(array[0] if array else None)
        launch.arguments.append(array[1] if array else number(str(value), p))
        numbers += [] if array else ["--arg", f"{k}={value}"]
    launch.run = [str(args.volta), "run", str(path), "--entry", name, *numbers, *bound(launch)]
    launch.run += [x for pair in flags.items() for x in pair]
    return launch


# Both sides of a launch.


def by_volta(launch: Launch) -> list[bytes | None]:
    """What memories hold after the run of volta."""
    ran = subprocess.run([*launch.run, "--json", "--timeout", "120"], capture_output=True, text=True)
    if ran.returncode != 0:
        try:
            report = json.loads(ran.stdout)
            why = [x["message"] for k in ("unknown", "defects") for x in report.get(k, [])] or [report["error"]["message"]]
        except (ValueError, KeyError):
            why = [ran.stderr or ran.stdout]
        raise Unfit(f"volta does not run it: {why[0][:120]}")
    kinds = zip(launch.arguments, launch.kinds)
    return [np.load(launch.saved(k)).tobytes() if kind else None for k, (_, kind) in enumerate(kinds)]


def built(launch: Launch, ptxas: str, target: str) -> bytes:
    """The code of a launch; its text is for this target or for one before it."""
    cubin = launch.path.with_suffix(".cubin")
    done = subprocess.run([ptxas, f"-arch={target}", str(launch.path), "-o", str(cubin)], capture_output=True, text=True)
    if done.returncode:
        raise Unfit(f"ptxas: {((done.stderr or done.stdout).strip().splitlines() or ['it fails'])[0][:120]}")
    return cubin.read_bytes()


def by_gpu(driver: Driver, launch: Launch, cubin: bytes) -> list[bytes | None]:
    try:
        module = driver.module(cubin)
        try:
            sizes = (launch.grid, launch.block, launch.shared)
            return driver.run(module, launch.entry, sizes, launch.layout, launch.arguments)
        finally:
            driver.unload(module)
    except DriverError as e:
        driver.reset()
        raise Unfit(f"the device: {e}") from e


FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def is_nan(bits: int, kind: str) -> bool:
    width = 8 * np.dtype(numpy_type(kind)).itemsize
    top = ((1 << width - 1) - 1) >> FRACTION[kind] << FRACTION[kind]
    return bits & ((1 << width - 1) - 1) > top


@dataclass
class Difference:
    """How many elements differ, the largest distance in units of the last place where they are floats, and the first."""

    count: int = 0
    ulps: int | None = 0
    first: str = ""

    def note(self, where: str, a: int, b: int, kind: str | None) -> None:
        self.count += 1
        self.first = self.first or f"{where}: {a:#x} on the device, {b:#x} by volta"
        if kind not in FRACTION or is_nan(a, kind) != is_nan(b, kind):
            self.ulps = None
        elif self.ulps is not None:
            half = 1 << (8 * np.dtype(numpy_type(kind)).itemsize - 1)
            # Encodings count the floats of one sign in their order.
            places = [-(x & (half - 1)) if x & half else x for x in (a, b)]
            self.ulps = max(self.ulps, abs(places[0] - places[1]))


def compared(launch: Launch, device: list[bytes | None], volta: list[bytes | None]) -> Difference:
    """Elements that differ; any NaN is any other."""
    out = Difference()
    for k, (x, y, kind) in enumerate(zip(device, volta, launch.kinds)):
        if x is None or y is None or x == y:
            continue
        assert kind
        size = np.dtype(numpy_type(kind)).itemsize
        for at in range(0, len(x), size):
            a, b = (int.from_bytes(v[at : at + size], "little") for v in (x, y))
            if a != b and not (kind in FRACTION and is_nan(a, kind) and is_nan(b, kind)):
                out.note(f"element {at // size} of parameter {k}", a, b, kind)
    return out


def rows_compared(section: Section, device: bytes, volta: bytes) -> tuple[Difference, Difference]:
    """How rows of the device differ from those of volta, and from what the table wants; what PTX leaves open does not count."""
    from_volta, from_table = Difference(), Difference()
    kind = next((t for t in ("bf16", "f16", "f32", "f64") if re.search(rf"\.{t}\b", section.text)), None)
    for i, wanted in enumerate(section.wanted):
        for k, (w, name) in enumerate(zip(wanted, section.outs)):
            size, at = WIDTH[name[1]], 8 * (i * len(section.outs) + k)
            a, b = (int.from_bytes(v[at : at + size], "little") for v in (device, volta))
            is_float = kind is not None and np.dtype(numpy_type(kind)).itemsize == size
            both_nan = kind is not None and is_float and is_nan(a, kind) and is_nan(b, kind)
            if w is not None and a != b and not both_nan:
                from_volta.note(f"row {i} of {section.text!r}", a, b, kind if is_float else None)
            if w is not None and a != w:
                from_table.note(f"row {i} of {section.text!r}", a, w, kind if is_float else None)
    return from_volta, from_table


# The whole.


class Judge:
    """What was found, by words, and the launches that differ."""

    def __init__(self, args: argparse.Namespace, driver: Driver | None, target: str) -> None:
        self.args, self.driver, self.target = args, driver, target
        self.counts: Counter[str] = Counter()
        self.found: dict[str, dict[str, Any]] = {}

    def left(self, name: str, why: str) -> None:
        self.counts["left out"] += 1
        self.found[name] = {"left": why}

    def judged(self, name: str, text: str, difference: Difference) -> None:
        word = "same"
        if difference.count:
            word = "near" if INEXACT.search(text) and difference.ulps is not None else "differ"
            self.found[name] = {"word": word, "elements": difference.count, "ulps": difference.ulps, "first": difference.first}
        self.counts[word] += 1
        if word == "differ":
            print(f"{name}: {difference.count} differ, {difference.first}", flush=True)

    def section(self, section: Section, number: int) -> None:
        name = f"{section.file} {section.text}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                launch = of_section(section, number, Path(folder), self.args, self.target)
                cubin = built(launch, self.args.ptxas, self.target)
                volta = by_volta(launch)[1] or b""
                device = by_gpu(self.driver, launch, cubin)[1] or b"" if self.driver else volta
            except Unfit as e:
                return self.left(name, str(e))
        from_volta, from_table = rows_compared(section, device, volta)
        self.counts["rows"] += len(section.wanted)
        if self.driver:
            self.judged(name, section.text, from_volta)
        if from_table.count or not self.driver:
            self.judged(f"{name} (the table)", section.text, from_table)
        return None

    def entry(self, base: Path, entry: dict[str, Any], side: str) -> None:
        name = f"{entry['name']}, {side}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                launch = of_entry(base, entry, side, Path(folder), self.args)
                cubin = built(launch, self.args.ptxas, self.target)
                volta = by_volta(launch)
                device = by_gpu(self.driver, launch, cubin) if self.driver else volta
            except (Unfit, ValueError) as e:
                return self.left(name, str(e))
            if self.driver:
                self.judged(name, launch.path.read_text(), compared(launch, device, volta))
            else:
                self.counts["built"] += 1
        return None

    def kernels(self) -> Iterator[tuple[Path, dict[str, Any], str]]:
        """Each side of each right entry once."""
        seen = set()
        for base, entry in entries():
            if entry.get("expect", "equivalent") != "equivalent" or self.args.filter not in entry["name"]:
                continue
            for side in ("reference", "optimized"):
                launch = {k: v for k, v in entry.items() if k not in ("name", "reference", "optimized")}
                key = json.dumps([str(base), entry.get(side), launch], sort_keys=True)
                if key not in seen:
                    seen.add(key)
                    yield base, entry, side

    def run(self) -> None:
        most = self.args.most or None
        if self.args.only != "kernels":
            chosen = [s for s in sections() if self.args.filter in s.text]
            for number, section in enumerate(chosen[:most]):
                self.section(section, number)
        if self.args.only != "values":
            for base, entry, side in list(self.kernels())[:most]:
                self.entry(base, entry, side)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compares `volta run` with a GPU, bit by bit.")
    parser.add_argument("--volta", type=Path, required=True)
    parser.add_argument("--ptxas", default=shutil.which("ptxas"))
    parser.add_argument("--libcuda", default=LIBRARY)
    parser.add_argument("--only", choices=["values", "kernels"])
    parser.add_argument("--filter", default="", help="a part of the template or of the name of the entry")
    parser.add_argument("--most", type=int, default=0, help="so many templates and so many kernels")
    parser.add_argument("--build", metavar="TARGET", help="build and run without a device, for this target")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(argv)
    if not args.ptxas:
        print("error: no ptxas; it is in PyPI's nvidia-cuda-nvcc: name it with --ptxas", file=sys.stderr)
        return 2
    driver = None
    try:
        driver = None if args.build else Driver(args.libcuda)
    except NoDevice as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    target = args.build or (driver.target() if driver else "")
    judge = Judge(args, driver, target)
    judge.run()
    device = {"name": driver.name(), "driver": driver.version()} if driver else None
    summary = {"device": device, "target": target, "counts": dict(sorted(judge.counts.items())), "found": judge.found}
    if args.out:
        args.out.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n")
    print(", ".join(f"{n} {word}" for word, n in sorted(judge.counts.items())), f"on {device['name'] if device else 'no device'}")
    return int(judge.counts["differ"] > 0)


if __name__ == "__main__":
    sys.exit(main())
