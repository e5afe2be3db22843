"""Launches of kernels by their own hosts, without a device, as bindings of volta.

A host is compiled by nvcc and linked with launched.cpp, which stands where the CUDA runtime would: what it allocates, the
tensor maps that it makes and the launches are written down.  Parameters are bytes then; `bindings` says what they are: a
number that lies in an allocation is its array, 128 bytes that a tensor map left are that map, the rest are numbers.
"""

import json
import os
import pathlib
import re
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TENSOR = b"\xff\x7etensor"
# CUtensorMapDataType, CUtensorMapSwizzle
TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32", "f32", "f32", "u8", "u8", "u8"]
BYTES = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "s64": 8, "f64": 8}
SWIZZLES = ["", "/swizzle32", "/swizzle64", "/swizzle128", "/swizzle128"]


def parameters(ptx):
    """Sizes of the parameters of each entry."""
    found = {}
    for name, text in re.findall(r"\.entry\s+(\S+?)\s*\((.*?)\)", ptx, re.DOTALL):
        sizes = []
        for kind, size in re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)[^,\[]*(?:\[(\d+)\])?", text):
            sizes.append(int(size) if size else int(kind[1:]) // 8)
        found[name] = sizes
    return found


def compiled(nvcc, source, target, flags, folder):
    """The PTX of a source and its host, linked with the recorder."""
    include = pathlib.Path(nvcc).parent.parent / "include"
    recorder = folder / "launched.o"
    subprocess.run(["g++", "-O1", "-c", "-std=c++17", f"-I{include}", HERE / "launched.cpp", "-o", recorder], check=True)
    arch = target.replace("sm_", "compute_")
    subprocess.run([nvcc, "-w", *flags, "-gencode", f"arch={arch},code={arch}", "-cudart", "none", "-keep", "-keep-dir", folder,
                    "-Xlinker", "--unresolved-symbols=ignore-all", source, recorder, "-o", folder / "host"], check=True)
    return folder / (source.stem + ".ptx"), folder / "host"


def launches(host, ptx, arguments, env):
    """What the host does: lists of memory, tensor maps and launches, each with the memory at its time."""
    folder = ptx.parent
    sizes = parameters(ptx.read_text())
    (folder / "sizes").write_text("".join(f"{n} {' '.join(map(str, s))}\n" for n, s in sizes.items()))
    env = os.environ | {"LAUNCHED": str(folder / "launches"), "SIZES": str(folder / "sizes")} | env
    subprocess.run([host, *arguments], env=env, check=False, stdout=subprocess.DEVNULL, timeout=120)
    maps, memory, out = {}, {}, []
    for line in (folder / "launches").read_text().splitlines():
        one = json.loads(line)
        if "map" in one:
            maps[one["map"]] = one
        elif "memory" in one:
            memory[one["memory"]] = one
        else:
            out.append(one | {"maps": dict(maps), "memory": memory})
            memory = {}
    return out


def described(found):
    """A tensor map as volta writes it: dimensions outermost first."""
    ty = TYPES[found["type"]]
    dims = found["dims"][::-1]
    packed, strides = BYTES[ty], []
    for d in found["dims"][:-1]:
        packed *= d
        strides.append(packed)
    text = f"inout:{ty}[{','.join(map(str, dims))}]/box[{','.join(map(str, found['box'][::-1]))}]{SWIZZLES[found['swizzle']]}"
    if found["strides"] != strides:
        text += f"/strides[{','.join(str(s // BYTES[ty]) for s in found['strides'][::-1])},1]"
    return text


def bindings(launch, types):
    """Flags of volta for a launch; `types` are the element types of the allocations in their order, u8 for others."""
    memory = sorted(launch["memory"].items())
    kinds = {at: types[i] if i < len(types) else "u8" for i, (at, _) in enumerate(memory)}
    flags, arrays, buffers = [], {}, []

    def array(at):
        one = launch["memory"][at]
        held = bytes.fromhex(one["holds"])
        words = [int.from_bytes(held[i : i + 8], "little") for i in range(0, len(held) - 7, 8)]
        targets = [next((m for m, _ in memory if m <= w < m + max(launch["memory"][m]["bytes"], 1)), None) for w in words]
        if any(t is not None for t in targets):
            inner = []
            for word, target in zip(words, targets):
                if target is None:
                    inner.append("0")
                else:
                    name = f"m{[m for m, _ in memory].index(target)}"
                    if name not in arrays:
                        arrays[name] = None
                        buffers.extend(["--buffer", f"{name}={array(target)}"])
                    inner.append(f"${name}+{word - target}" if word != target else f"${name}")
            return f"in:ptr[{len(words)}]=[{','.join(inner)}]"
        ty = kinds[at]
        count = one["bytes"] // BYTES.get(ty, 1)
        if any(held) and ty in ("u32", "s32", "u64", "s64"):
            n = BYTES[ty]
            values = ",".join(str(int.from_bytes(held[i : i + n], "little", signed=ty[0] == "s")) for i in range(0, count * n, n))
            return f"inout:{ty}[{count}]=[{values}]"
        return f"inout:{ty}[{count}]"

    for i, text in enumerate(launch["parameters"]):
        held = bytes.fromhex(text)
        at = 0
        while at < len(held):
            key = f"{i}+{at}" if len(held) > 8 or at else str(i)
            if held[at : at + 8] == TENSOR:
                number = struct.unpack_from("<I", held, at + 8)[0]
                flags += ["--arg", f"{key}={described(launch['maps'][number])}"]
                at += 128
                continue
            if at % 8 == 0 and at + 8 <= len(held):
                word = struct.unpack_from("<Q", held, at)[0]
                home = next((m for m, one in memory if m <= word < m + max(one["bytes"], 1)), None)
                if home == word:
                    flags += ["--arg", f"{key}={array(home)}"]
                    at += 8
                    continue
            size = min(4, len(held) - at)
            size = size if size in (1, 2, 4) else 1
            value = int.from_bytes(held[at : at + size], "little")
            suffix = f":u{8 * size}" if len(held) > 4 else ""
            flags += ["--arg", f"{key}={value}{suffix}"]
            at += size
    return flags + buffers


def launch_flags(launch):
    flags = ["--entry", launch["entry"], "--dynamic-shared", str(launch["shared"])]
    for name in ("grid", "block"):
        flags += [f"--{name}", ",".join(map(str, launch[name]))]
    if launch["cluster"] != [1, 1, 1]:
        flags += ["--cluster", ",".join(map(str, launch["cluster"]))]
    return flags
