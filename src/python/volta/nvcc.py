"""CUDA in strings and files, to PTX by nvcc. No GPU is needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import processes, waits
from .errors import CompileError
from .files import text_of
from .foreign import name as shown_name
from .kernels import Kernel

_WHEELS = "nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl"


def find() -> str:
    """The path of nvcc: `NVCC`, `CUDA_HOME`, `CUDA_PATH`, `PATH`, the wheels of this environment, /usr/local/cuda."""
    candidates = [os.environ.get("NVCC")]
    candidates += [f"{home}/bin/nvcc" for key in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(key))]
    candidates.append(shutil.which("nvcc"))
    for folder in sys.path:
        candidates += sorted(map(str, Path(folder or ".").glob("nvidia/cu*/bin/nvcc")), reverse=True)
        candidates.append(f"{folder}/nvidia/cuda_nvcc/bin/nvcc")
    candidates.append("/usr/local/cuda/bin/nvcc")
    for path in candidates:
        if path and os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise CompileError(
        "nvcc was not found: put it on PATH, name its folder in CUDA_HOME, or install its wheels "
        f"(pip install './src/python[cuda]': {_WHEELS})"
    )


_cache: dict[str, str] = {}


def cuda(
    source: str | Path,
    entry: str | None = None,
    arch: str = "sm_80",
    options: Sequence[str] = (),
    name: str | None = None,
    timeout: float | None = 120,
) -> Kernel:
    """A kernel from CUDA: a text, or the path of a `.cu` file.

    `entry` is needed where it holds several kernels. `options` go to nvcc, such as `-use_fast_math`, `-DN=64`, `-Iinclude`.
    Raises `CompileError` with nvcc's messages.
    """
    timeout = None if timeout is None else waits.seconds(timeout)
    if isinstance(source, Path) or ("\n" not in source and source.endswith((".cu", ".cuh"))):
        path = Path(source)
        text, folder, name = text_of(path), path.parent, name or str(path)
    else:
        text, folder, name = source, None, name or "kernel.cu"
    flags = ["-ptx", f"-arch={arch}", "-lineinfo", *options]
    if folder is not None:
        flags.append(f"-I{folder}")
    compiler = find()
    key = hashlib.sha256("\0".join([compiler, name, *flags, text]).encode()).hexdigest()
    # Headers of the user's own may change between two calls, so that only what stands alone is kept.
    keep = folder is None and not any(o.startswith(("-I", "-include", "--include", "-isystem")) for o in options)
    if not keep or key not in _cache:
        compiled = _compile(compiler, text, Path(name).name, flags, timeout)
        if not keep:
            return Kernel(compiled, f"{name}.ptx", entry)
        _cache[key] = compiled
    return Kernel(_cache[key], f"{name}.ptx", entry)


def _compile(compiler: str, text: str, name: str, flags: Sequence[str], timeout: float | None) -> str:
    with tempfile.TemporaryDirectory(prefix="volta-") as folder:
        file = Path(folder) / (name if name.endswith(".cu") else "kernel.cu")
        file.write_text(text)
        out = Path(folder) / "out.ptx"
        command = [compiler, *flags, "-o", str(out), str(file)]
        try:
            done = processes.run(command, timeout)
        except processes.Late as e:
            raise CompileError(f"{name}: nvcc took more than {timeout:g} s") from e
        except OSError as e:
            raise CompileError(f"cannot run {shown_name(compiler)}: {e}") from e
        if done.status != 0 or not out.exists():
            raise CompileError(f"{name}: nvcc says\n{done.said.replace(str(file), name).strip()}")
        if ".entry" not in out.read_text():
            raise CompileError(f"{name}: there is no kernel (a __global__ function that is instantiated) in it")
        # Line information names the file as the user does, not where it was compiled.
        return out.read_text().replace(str(file), name)
