"""Runs kernels of the manifests on numbers (`volta run`) beside models in numpy, which share nothing with volta.

    python benches/measured/models.py --volta target/release/volta [--filter TEXT]

Every entry that must be `equivalent` and whose name a model knows: both kernels are executed on inputs that numpy drew, and
what they leave must be what the model says in f64, up to what its number of operations may lose in f32 (f16 and the
approximations of -use_fast_math more). Integers must be equal.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
Arrays = dict[str, Any]
"""Arrays and numbers by the position of their parameter; outputs are those that a model gives."""


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def erf(x: Any) -> Any:
    """By its series, which is exact enough for the inputs that are drawn here."""
    total, term = np.zeros_like(x), 2 / np.sqrt(np.pi) * x
    for n in range(80):
        total = total + term / (2 * n + 1)
        term = -term * x * x / (n + 1)
    return total


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def normalized(x: Any) -> Any:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def attention(q: Any, k: Any, v: Any, scale: float = 1) -> Any:
    return softmax(scale * q @ k.T) @ v


def convolved(x: Any, w: Any) -> Any:
    rows, columns = x.shape[-2] - w.shape[-2] + 1, x.shape[-1] - w.shape[-1] + 1
    out = np.zeros((w.shape[0], rows, columns))
    for i in range(rows):
        for j in range(columns):
            part = x[:, i : i + w.shape[-2], j : j + w.shape[-1]]
            out[:, i, j] = (part[None] * w).sum(axis=(1, 2, 3))
    return out




Model = Callable[[Arrays], Arrays]

MODELS: list[tuple[str, Model]] = [
    (r"softmax-log-", lambda a: {"1": np.log(softmax(a["0"]))}),
    (r"softmax-masked-32", lambda a: {"2": softmax(np.where(a["1"] != 0, a["0"], -np.inf))}),
    (r"(triton-|tilelang-)?softmax-(naive|max-sub|online|n|warp|tree|128|32|masked-100)", lambda a: {"1": softmax(a["0"])}),
    (r"reduction-", lambda a: {"1": a["0"].sum(keepdims=True)}),
    (r"(triton-)?matmul-(?!grid|relu|silu)", lambda a: {"2": a.get("3", 1) * a["0"] @ a["1"]}),
    (r"launches-", lambda a: {"2": a["0"] @ a["1"] + 0 * a["2"]}),
    (r"strassen-", lambda a: {"2": a["0"] @ a["1"]}),
    (r"(triton-)?layernorm-(two|moments|welford|64)", lambda a: {"3": normalized(a["0"]) * a["1"] + a["2"]}),
    (r"rmsnorm-", lambda a: {"2": a["0"] / np.sqrt((a["0"] ** 2).mean() + 1e-6) * a["1"]}),
    (r"activation-gelu-(tanh|sigmoid)", lambda a: {"1": gelu_tanh(a["0"])}),
    (r"activation-gelu-erf|triton-gelu", lambda a: {"1": 0.5 * a["0"] * (1 + erf(a["0"] / np.sqrt(2)))}),
    (r"activation-silu", lambda a: {"1": a["0"] * sigmoid(a["0"])}),
    (r"activation-sigmoid", lambda a: {"1": sigmoid(a["0"])}),
    (r"activation-softplus", lambda a: {"1": np.log1p(np.exp(a["0"]))}),
    (r"activation-leaky", lambda a: {"1": np.where(a["0"] > 0, a["0"], a["0"] / 64)}),
    (r"activation-relu", lambda a: {"1": np.maximum(a["0"], 0)}),
    (r"activation-hard-swish", lambda a: {"1": a["0"] * np.clip(a["0"] + 3, 0, 6) / 6}),
    (r"cross-entropy-(plain|online)", lambda a: {"1": np.array([np.log(np.exp(a["0"]).sum()) - a["0"][a["2"]]])}),
    (r"conv2d-", lambda a: {"2": convolved(a["0"], a["1"])}),
    (r"pooling-average", lambda a: {"1": a["0"].reshape(4, 2, 4, 2).mean(axis=(1, 3))}),
    (r"pooling-maximum", lambda a: {"1": a["0"].reshape(4, 2, 4, 2).max(axis=(1, 3))}),
    (r"matmul-relu", lambda a: {"3": np.maximum(a["0"] @ a["1"] + a["2"], 0)}),
    (r"matmul-silu", lambda a: {"3": (y := a["0"] @ a["1"] + a["2"]) * sigmoid(y)}),
    (r"scan-", lambda a: {"1": a["0"].cumsum()}),
    (r"int8-sums", lambda a: {"2": a["0"].astype(np.int64) @ a["1"].astype(np.int64).T}),
    (r"int64-matmul", lambda a: {"2": a["0"] @ a["1"].T}),
    (r"fft8", lambda a: {"1": np.stack([(f := np.fft.fft(a["0"] @ [1, 1j])).real, f.imag], axis=1)}),
    (r"softmax-backward", lambda a: {"2": (y := softmax(a["0"])) * (a["1"] - (y * a["1"]).sum())}),
    (r"form-sigmoid", lambda a: {"1": sigmoid(a["0"])}),
    (r"form-sinh", lambda a: {"1": np.tanh(a["0"])}),
    (r"form-elu", lambda a: {"1": np.where(a["0"] > 0, a["0"], np.expm1(a["0"]))}),
    (r"form-log-sigmoid", lambda a: {"1": np.log(sigmoid(a["0"]))}),
    (r"triton-product-(32|64)", lambda a: {"2": a["0"] @ a["1"]}),
    (r"(triton-)?attention-(flash|64-sm|64-1|64-stages)", lambda a: {"3": attention(a["0"], a["1"], a["2"], 0.25)}),
]

TYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64} | {
    f"{s}{w}": getattr(np, f"{n}{w}") for s, n in (("s", "int"), ("i", "int"), ("u", "uint")) for w in (8, 16, 32, 64)
}
TOLERANCE = {"f16": 5e-3, "f32": 2e-5, "f64": 1e-12}
FLAGS = {"threads", "block", "grid", "cluster", "dynamic-shared", "dynamic_shared"}
ROLE = re.compile(r"(?:(in|out|inout|scratch):)?(\w+?)\[([\d, ]*)\]")


def entries() -> list[tuple[Path, dict[str, Any]]]:
    """All checks of the manifests, with the defaults of their own."""
    out, todo = [], [ROOT / "kernels" / "volta.toml"]
    while todo:
        path = todo.pop(0)
        manifest = tomllib.loads(path.read_text())
        todo += [path.parent / i for i in manifest.get("include", [])]
        for entry in manifest.get("check", []):
            defaults = manifest.get("defaults", {})
            args = {**defaults.get("args", {}), **entry.get("args", {})}
            out.append((path.parent, {**defaults, **entry, "args": args}))
    return out


class Unfit(Exception):
    """An entry that this program does not run."""


def drawn(args: dict[str, str], folder: Path, rng: np.random.Generator) -> tuple[dict[str, str], Arrays, dict[str, str]]:
    """Bindings with contents, the arrays and numbers in them, and the types of all arrays."""
    bound, arrays, types = {}, {}, {}
    for key, value in args.items():
        value = str(value)
        found = ROLE.fullmatch(value)
        if not found:
            bound[key], arrays[key] = value, float(value) if "." in value else int(value)
            continue
        role, kind, shape = found[1], found[2], tuple(int(n) for n in found[3].split(",") if n.strip())
        if kind not in TYPES:
            raise Unfit(kind)
        types[key], bound[key] = kind, value
        if role in ("in", "inout", None):
            is_float = kind.startswith("f")
            data = rng.normal(size=shape) if is_float else rng.integers(-4 if kind[0] in "si" else 0, 5, size=shape)
            # What is read and written starts from zeros: the products here leave out what they add to.
            data = (0 * data if role == "inout" else data).astype(TYPES[kind])
            np.save(folder / f"{key}.npy", data)
            bound[key] = f"{value}=@{folder / key}.npy"
            arrays[key] = data.astype(np.float64) if is_float else data.astype(np.int64)
    return bound, arrays, types


def command(volta: Path, base: Path, entry: dict[str, Any], kernel: Any, bound: dict[str, str]) -> list[str]:
    kernel = {"file": kernel} if isinstance(kernel, str) else kernel
    if not isinstance(kernel, dict) or "file" not in kernel or "for" in entry or "map" in entry:
        raise Unfit("a formula, a sequence, or several sizes")
    out = [str(volta), "run", str(base / kernel["file"]), "--timeout", "60", "--format", "json"]
    if "entry" in kernel:
        out += ["--entry", kernel["entry"]]
    launch = {k: v for k, v in entry.items() if k in FLAGS}
    if "block" in kernel or "threads" in kernel:
        launch = {k: v for k, v in launch.items() if k not in ("block", "threads")}
    launch |= {k: v for k, v in kernel.items() if k in FLAGS}
    for flag, value in launch.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        out += [f"--{flag.replace('_', '-')}", text]
    for key, value in {**bound, **kernel.get("args", {})}.items():
        out += ["--arg", f"{key}={value}"]
    return out


def scalars(run: list[str]) -> dict[str, float]:
    """Numbers for parameters that nothing binds, by what `run` says that it needs."""
    ran = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
    if ran.returncode != 2:
        return {}
    positions = re.findall(r"--arg (\d+)=VALUE", ran.stdout)
    return {p: 2.0 / (1 + 3 * i) for i, p in enumerate(positions)}


def differing(wanted: Any, found: Any, kind: str) -> str | None:
    found = found.reshape(wanted.shape) if found.size == wanted.size else found
    if wanted.shape != found.shape:
        return f"{found.shape} elements in place of {wanted.shape}"
    if kind not in TOLERANCE:
        wrong = wanted != found
    else:
        wrong = ~(np.abs(wanted - found) <= TOLERANCE[kind] * np.maximum(np.abs(wanted), np.abs(wanted).max()))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} elements differ, {list(at)} is {found[at]} where the model has {wanted[at]}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--volta", type=Path, required=True)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    seen: dict[str, str | None] = {}
    for base, entry in entries():
        model = next((m for pattern, m in MODELS if re.match(pattern, entry["name"])), None)
        if model is None or args.filter not in entry["name"] or entry.get("expect", "equivalent") != "equivalent":
            continue
        with tempfile.TemporaryDirectory() as name:
            folder, rng = Path(name), np.random.default_rng(len(seen))
            for side in ("reference", "optimized"):
                try:
                    bound, arrays, types = drawn(entry["args"], folder, rng)
                    run = command(args.volta, base, entry, entry.get(side), bound)
                    if not {"0", "1"} <= types.keys():
                        raise Unfit("its parameters have names")
                except Unfit:
                    continue
                key = " ".join(run).replace(str(folder), "")
                for position, value in scalars(run).items():
                    arrays[position] = value
                    run += ["--arg", f"{position}={value}"]
                wanted = model(arrays)
                if key in seen:
                    continue
                saved = {k: folder / f"{k}.{side}.npy" for k in wanted}
                run += [x for k, path in saved.items() for x in ("--save", f"{k}={path}")]
                ran = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
                why = None if ran.returncode == 0 else f"exit status {ran.returncode}: {ran.stdout[:300]}{ran.stderr[:300]}"
                for k, w in wanted.items():
                    why = why or differing(np.asarray(w), np.load(saved[k]), types[k])
                seen[key] = why
                if why:
                    print(f"{entry['name']}, {side}: {why}", flush=True)
    wrong = sum(why is not None for why in seen.values())
    print(f"{len(seen)} kernels, {wrong} differ from their models")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
