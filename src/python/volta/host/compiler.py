"""Extensions compiled for the recorder: device code to PTX, host code for the CPU against the stand-ins.

The compilers read foreign text (`#include "/etc/passwd"`, `.incbin`), so they run confined, in a folder of their own, without
network and with an emptied environment. What they made is kept under a hash of everything that went in, in a folder of the
user's own that no confined process can write.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import nvcc, processes
from ..errors import Error, InputError
from . import confine, standin

Json = dict[str, Any]
_HERE = Path(__file__).parent
_INCLUDE = _HERE / "include"
#: The form of what is kept of a build.
_FORM = 3
#: What compilers may read beside their own folder.
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null", "/dev/urandom")
_DEVICE_FLAG = re.compile(
    r"-D\w+(=[\w.+-]*)?|-U\w+|-std=(c|gnu)\+\+\d\w|--std=c\+\+\d\w|-O[0-3s]|--?use_fast_math|--?ftz=(true|false)|--?prec-(div|sqrt)=(true|false)|--?fmad=(true|false)"
    r"|--?expt-(relaxed-constexpr|extended-lambda)|--extended-lambda|-?-maxrregcount=?\d*|--?extra-device-vectorization|-default-stream=\w+"
)
_SILENT_FLAG = re.compile(
    r"-restrict|--restrict|-lineinfo|--generate-line-info|-g|-G|-w|-W.*|--?ptxas-options=?.*|-Xptxas=?.*|-Xcompiler=?.*|--compiler-options=?.*|-res-usage|--resource-usage|-l.*|-L.*|-I.*"
    r"|--?threads=?\d*|-t=?\d*|-m64|-diag-suppress=?.*|-Xcudafe=?.*|-f[a-z-]+|-march=\S+|-mtune=\S+|-dc|--?verbose|-v|-ccbin.*|--keep|--?(suppress|disable).*|-ldflags.*|-rdc=\w+|-O|\d+"
)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?(.*?)\{", re.S)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)*?(?:\.align\s+\d+\s+)?)?([\w$]+)(?:\[(\d+)\])?"
)
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


class Failed(Error):
    """A compilation that did not succeed: the candidate's mistake (`compile`), or a gap of the stand-ins (`unsupported`)."""

    def __init__(self, category: str, message: str) -> None:
        super().__init__(message)
        self.category = category

    def __reduce__(self) -> tuple[Any, ...]:
        return (Failed, (self.category, *self.args))


@dataclass(frozen=True)
class Built:
    """An extension: the file of its module, its device code, and its kernels by their names in PTX."""

    module: str
    file: str
    ptx: dict[str, str]
    kernels: dict[str, Json]
    #: The symbols that the candidate's own objects need.
    symbols: tuple[str, ...] = ()

    def answer(self, file: str) -> Json:
        """It as a job is told of it."""
        return {"module": self.module, "file": file, "kernels": self.kernels}


def kernels_of(ptx: str, file: str) -> dict[str, Json]:
    """The kernels of a PTX text: the type and size of each parameter, static shared memory, most threads."""
    out: dict[str, Json] = {}
    shared = {
        m[2]: int(m[3] or 1) * _size(m[1])
        for m in re.finditer(r"\.shared\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?\s*;", ptx)
    }
    for entry in _ENTRY.finditer(re.sub(r"//[^\n]*", "", ptx)):
        name, parameters, head = entry[1], entry[2] or "", entry[3]
        listed = [(kind, _size(kind) * int(count or 1)) for kind, _, count in _PARAMETER.findall(parameters)]
        body = ptx[ptx.find(name) :]
        body = body[: body.find("\n}")]
        static = sum(n for s, n in shared.items() if re.search(rf"(?<![\w$]){re.escape(s)}(?![\w$])", body))
        most = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", head)
        threads = int(most[1]) * int(most[2] or 1) * int(most[3] or 1) if most else None
        out[name] = {"parameters": listed, "shared": static, "threads": threads, "file": file}
    return out


def _size(kind: str) -> int:
    return _SIZES.get(kind.lstrip("bsuf"), 4)


def cache() -> Path:
    """The folder for what was compiled: of this user alone."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(root) / "volta" / "host"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise InputError(f"{folder} can be written by others than you: compiled extensions are not kept there")
    return folder


def run_confined(
    folder: Path, commands: Sequence[Sequence[str]], read: Sequence[str], seconds: float, unconfined: bool
) -> tuple[int, str]:
    """Compilers, confined to a folder: their status and what they said."""
    asked = {
        "folder": str(folder),
        "commands": [list(map(str, c)) for c in commands],
        "read": [*_SYSTEM, sys.prefix, sys.base_prefix, *read],
        "limits": asdict(confine.Limits(cpu=int(seconds) + 1, memory=16 << 30, file=512 << 20)),
        "unconfined": unconfined,
    }
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": str(folder), "HOME": str(folder)}
    command = [sys.executable, "-I", "-S", str(_HERE / "confine.py"), json.dumps(asked)]
    try:
        ended = processes.run(command, seconds, environment)
    except processes.Late as e:
        raise Failed("limit", f"the compiler took more than {seconds:g} s") from e
    said = [f.read_text(errors="replace") for at in range(len(commands)) if (f := folder / f"out{at}.txt").exists()]
    return ended.status, "\n".join([*said, ended.said]).strip()


@functools.cache
def packages() -> list[str]:
    """Folders of installed packages that this process imports torch and NumPy from, beside those of the interpreter: of a user's
    own, or named by a path file. A folder that holds other things than packages is none of them."""
    found = [importlib.util.find_spec(name) for name in ("torch", "numpy")]
    folders = [Path(spec.origin).resolve().parent.parent for spec in found if spec is not None and spec.origin]
    return list(dict.fromkeys(str(f) for f in folders if f.name in ("site-packages", "dist-packages")))


def _python_include() -> str:
    return sysconfig.get_paths()["include"]


@functools.cache
def _toolkit() -> tuple[str, str]:
    """nvcc, and the folder of its headers."""
    compiler = os.path.realpath(nvcc.find())
    return compiler, str(Path(compiler).parent.parent)


def _torch_version() -> str:
    """The version of torch, which is not imported for it."""
    found = importlib.util.find_spec("torch")
    text = (Path(found.origin).parent / "version.py").read_text() if found is not None and found.origin else ""
    named = re.search(r"__version__ = '([^']+)'", text)
    if named is None:
        raise InputError("host code needs torch in this environment: its operators are what the stand-in offers")
    return named[1]


@functools.cache
def _stand_in(unconfined: bool) -> Path:
    """The generated headers and the objects that every extension links; made once for each version of torch and of this package."""
    texts = [p.read_bytes() for p in (*sorted(_INCLUDE.rglob("*.*")), _HERE / "standin.py")]
    version = _torch_version()
    compiler, root = _toolkit()
    key = hashlib.sha256(b"\0".join([version.encode(), compiler.encode(), sys.version.encode(), *texts])).hexdigest()[:24]
    folder = cache() / f"standin-{key}"
    if (folder / "done").exists():
        return folder
    made = Path(tempfile.mkdtemp(prefix="standin-", dir=cache()))
    code = "import json, sys, torch; print(json.dumps([str(s) for s in torch._C._jit_get_all_schemas()]))"
    schemas = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    for name, text in standin.generate(schemas).items():
        _write(made / "volta" / name, text)
    for name in standin.FORWARDED:
        _write(made / name, "#pragma once\n#include <volta/host.h>\n")
    flags = [*_host_flags(made, root), "-ffunction-sections", "-fdata-sections"]
    sources = {
        "definitions": made / "volta/definitions.cpp",
        "host": _INCLUDE / "volta/host.cpp",
        "runtime": _INCLUDE / "volta/runtime.cpp",
    }
    commands = [["g++", *flags, "-c", str(s), "-o", f"{n}.o"] for n, s in sources.items()]
    status, said = run_confined(made, commands, [root, str(_INCLUDE), _python_include()], 300, unconfined)
    if status:
        raise InputError(f"the stand-in of torch does not compile here:\n{said[-2000:]}")
    (made / "done").touch()
    with contextlib.suppress(OSError):
        os.rename(made, folder)
    if made.exists():
        shutil.rmtree(made)  # Another process was first.
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _host_flags(stand_in: Path, root: str) -> list[str]:
    includes = [f"-I{stand_in}", f"-I{_INCLUDE}", f"-I{root}/include", f"-I{root}/include/cccl", f"-I{_python_include()}"]
    return ["-std=c++17", "-O0", "-fPIC", "-fvisibility=hidden", "-w", *includes]


def _device_flags(flags: Sequence[str]) -> tuple[list[str], str | None]:
    """The flags of a candidate that change what its kernels compute, and the target that it asks for."""
    kept, target, skip = [], None, False
    for at, flag in enumerate(flags):
        if skip:
            skip = False
            continue
        if flag in ("-gencode", "-arch", "--gpu-architecture", "--generate-code"):
            value, skip = (flags[at + 1] if at + 1 < len(flags) else ""), True
        elif flag.startswith(("-gencode", "-arch", "--gpu-architecture", "--generate-code")):
            value = flag
        elif flag in (
            "-Xptxas",
            "-Xcompiler",
            "-I",
            "-L",
            "-l",
            "-Xcudafe",
            "-diag-suppress",
            "--threads",
            "-ccbin",
            "--compiler-options",
            "--ptxas-options",
        ):
            skip = True
            continue
        elif flag in ("-maxrregcount", "--maxrregcount", "-D", "-U", "-std", "--std"):
            kept += [flag, flags[at + 1]] if at + 1 < len(flags) else []
            skip = True
            continue
        elif _DEVICE_FLAG.fullmatch(flag):
            kept.append(flag)
            continue
        elif _SILENT_FLAG.fullmatch(flag):
            continue
        else:
            raise Failed("unsupported", f"the flag {flag} of nvcc is not known here")
        number = re.search(r"(?:sm|compute)_(\d+a?)", value)
        target = number[1] if number else target
    return kept, target


def build(asked: Mapping[str, Any], *, seconds: float = 120, unconfined: bool = False) -> Built:
    """An extension of `cpp` and `cuda` texts; `functions` are bound where no text has a PYBIND11_MODULE."""
    compiler, _ = _toolkit()
    stand_in = _stand_in(unconfined)
    flags, target = _device_flags(asked.get("flags", ()))
    text = "\n".join([*asked["cuda"], *asked["cpp"]])
    hopper = target in ("90", "90a") or re.search(r"\bwgmma\b|cp\.async\.bulk|\bmbarrier\b|__cluster_dims__|this_cluster", text)
    arch = "90a" if hopper else "80"
    key = hashlib.sha256(
        json.dumps(
            [_FORM, str(stand_in), compiler, arch, flags, asked["cpp"], asked["cuda"], asked["functions"], asked.get("program")]
        ).encode()
    )
    module = f"volta_{key.hexdigest()[:20]}"
    folder = cache() / module
    if not (folder / "done.json").exists():
        _build(folder, asked, flags, arch, stand_in, seconds, unconfined)
    done = json.loads((folder / "done.json").read_text())
    if "failed" in done:
        raise Failed(*done["failed"])
    ptx = {name: (folder / name).read_text() for name in done["ptx"]}
    kernels: dict[str, Json] = {}
    for name, device in ptx.items():
        for kernel, described in kernels_of(device, name).items():
            if kernel in kernels:
                raise Failed("unsupported", f"two files define the kernel {kernel}")
            kernels[kernel] = described
    return Built(module, str(folder / f"{module}.so"), ptx, kernels, tuple(done["symbols"]))


def _build(
    folder: Path, asked: Mapping[str, Any], flags: list[str], arch: str, stand_in: Path, seconds: float, unconfined: bool
) -> None:
    made = Path(tempfile.mkdtemp(prefix="build-", dir=cache()))
    try:
        try:
            done: Json = {"ptx": _compile(made, folder.name, asked, flags, arch, stand_in, seconds, unconfined)}
            done["symbols"] = (made / "symbols").read_text().split()
        except Failed as e:
            if e.category == "limit":
                raise
            done = {"failed": [e.category, str(e)], "ptx": []}
        for junk in made.iterdir():
            if junk.name not in done["ptx"] and junk.suffix != ".so":
                shutil.rmtree(junk) if junk.is_dir() and not junk.is_symlink() else junk.unlink()
        (made / "done.json").write_text(json.dumps(done))
        with contextlib.suppress(OSError):
            os.rename(made, folder)
    finally:
        if made.exists():
            shutil.rmtree(made, ignore_errors=True)


def _compile(
    made: Path, module: str, asked: Mapping[str, Any], flags: list[str], arch: str, stand_in: Path, seconds: float, unconfined: bool
) -> list[str]:
    compiler, root = _toolkit()
    name = f"-DTORCH_EXTENSION_NAME={module}"
    host = [*_host_flags(stand_in, root), name]
    includes = [f for f in host if f.startswith("-I")]
    program = ["-Dmain=volta_main"] if asked.get("program") else []
    device = [
        compiler,
        *([] if any("std" in f for f in flags) else ["-std=c++17"]),
        "--expt-relaxed-constexpr",
        "-lineinfo",
        "-w",
        *flags,
        *includes,
        name,
        *program,
    ]
    if not asked.get("whole") and not program:
        # torch's own build of inline sources says the same.
        device += [
            "-D__CUDA_NO_HALF_OPERATORS__",
            "-D__CUDA_NO_HALF_CONVERSIONS__",
            "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
            "-D__CUDA_NO_HALF2_OPERATORS__",
        ]
    device += [
        "-gencode",
        f"arch=compute_{arch},code=compute_{arch}",
        "-Xcompiler",
        "-fPIC,-O0,-w" if program else "-fPIC,-fvisibility=hidden,-O0,-w",
    ]
    commands, objects = [], []
    for at, text in enumerate(asked["cuda"]):
        head = (
            ""
            if asked.get("whole") or program
            else "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n#line 1\n"
        )
        (made / f"cuda{at}.cu").write_text(head + text)
        (made / f"keep{at}").mkdir()
        commands.append([*device, "-c", "--keep", "--keep-dir", f"keep{at}", f"cuda{at}.cu", "-o", f"cuda{at}.o"])
        objects.append(f"cuda{at}.o")
    for at, text in enumerate(_host_texts(asked)):
        (made / f"host{at}.cpp").write_text(text)
        commands.append(["g++", *host, "-c", f"host{at}.cpp", "-o", f"host{at}.o"])
        objects.append(f"host{at}.o")
    read = [root, str(_INCLUDE), str(stand_in), _python_include()]
    status, said = run_confined(made, commands, read, seconds, unconfined)
    if status:
        raise _failure(said)
    ptx = []
    for at in range(len(asked["cuda"])):
        # Lines are those of the source as it was given, wherever it was compiled.
        text = (made / f"keep{at}" / f"cuda{at}.ptx").read_text()
        (made / f"cuda{at}.ptx").write_text(text.replace(f"{made}/", ""))
        ptx.append(f"cuda{at}.ptx")
    (made / "exports").write_text("{ global: PyInit_*; volta_main; _Z10volta_main*; local: *; };")
    linked = [str(stand_in / f"{n}.o") for n in ("definitions", "host", "runtime")]
    link = [
        "g++",
        "-shared",
        *objects,
        *linked,
        "-o",
        f"{module}.so",
        "-Wl,-Bsymbolic",
        "-Wl,--gc-sections",
        "-Wl,--version-script=exports",
        "-Wl,--warn-unresolved-symbols",
        "-Wl,-z,defs",
    ]
    # Both run at once: what the objects need is a matter of the objects.
    status, said = run_confined(made, [link, ["nm", "-P", *objects]], read, seconds, unconfined)
    listed = (made / "out1.txt").read_text(errors="replace")
    (made / "symbols").write_text("\n".join(needed(listed)))
    said = said.replace(listed.strip(), "")
    _unresolved(said)
    if status:
        raise Failed("compile", _errors(said))
    return ptx


def needed(listed: str) -> list[str]:
    """The symbols that objects need from elsewhere, by `nm -P` of them all. One that another of them defines is their own:
    strongly, since the stand-in could hold what a weak definition gives way to, and by its plain name, since a version of
    a name is a library's."""
    rows = re.findall(r"^([\w.$]+)(@\S*)? ([A-Za-z?])\b", listed, re.M)
    own = {name for name, version, kind in rows if kind in "TDBR" and not version}
    return sorted({name for name, version, kind in rows if kind in "Uwv" and (version or name not in own)})


def _host_texts(asked: Mapping[str, Any]) -> list[str]:
    if asked.get("whole") or asked.get("program"):
        return list(asked["cpp"])
    text = "#include <torch/extension.h>\n" + "\n".join(asked["cpp"])
    if asked["functions"] is not None:
        bound = "\n".join(f'm.def("{f}", torch::wrap_pybind_function({f}), "{f}");' for f in asked["functions"])
        text += f"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bound}\n}}\n"
    return [text]


def _unresolved(said: str) -> None:
    """Symbols that nothing defines: Python's come from the interpreter, the toolkit's are gaps, others are the candidate's."""
    missing = sorted({m[1] for m in re.finditer(r"undefined reference to `([^']+)'", said)})
    mine = [m for m in missing if not re.match(r"_?Py", m)]
    gaps = [m for m in mine if re.match(r"(cuda|cu[A-Z]|cublas|cudnn|curand|cufft|cusolver|cusparse|nvrtc|__cuda)", m)]
    if gaps:
        raise Failed("unsupported", f"the stand-in of the CUDA runtime has no {', '.join(gaps)}")
    if mine:
        raise Failed("compile", f"undefined symbol: {', '.join(mine)}")


def _errors(said: str) -> str:
    lines = [line for line in said.splitlines() if re.search(r"\berror\b|undefined|fatal", line)]
    return "\n".join(lines[:12] or said.splitlines()[-12:])[:3000]


def _failure(said: str) -> Failed:
    """A compiler's errors: a gap where one is about a name that torch or the toolkit has and the stand-in lacks."""
    text = _errors(said)
    header = re.search(r"fatal error: ([\w./+-]+): No such file", text) or re.search(r'cannot open source file "([^"]+)"', text)
    if header and re.match(
        r"(torch|ATen|c10|cub|thrust|cutlass|cute|cudnn|curand|cusparse|cufft|cusolver|pybind11|nvtx|nccl|mma)", header[1]
    ):
        return Failed("unsupported", f"the stand-in has no header {header[1]}")
    plain = text.translate({0x2018: "'", 0x2019: "'", ord('"'): "'"})
    lacks = re.search(r"class '?at::Tensor'? has no member (?:named )?'?(\w+)", plain)
    lacks = lacks or re.search(r"namespace '(?:at|torch|c10|pybind11)[\w:]*' has no member '(\w+)'", plain)
    lacks = lacks or re.search(r"'(\w+)' is not a member of '(?:at|torch|c10|pybind11)", plain)
    if lacks and in_torch(lacks[1]):
        return Failed("unsupported", f"the stand-in lacks {lacks[1]}:\n{text}")
    return Failed("compile", text)


@functools.cache
def in_torch(word: str) -> bool:
    """Whether torch's own headers have a word, so that its lack is a gap and no mistake."""
    import importlib.util

    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        return False
    include = Path(found.submodule_search_locations[0]) / "include"
    pattern = re.compile(rf"\b{re.escape(word)}\b".encode())
    return any(pattern.search(p.read_bytes()) for sub in ("ATen", "c10", "torch", "pybind11") for p in (include / sub).rglob("*.h"))
