"""Runs `race` and `check` over damaged kernels of the manifests, and looks for what no input may do.

    python3 benches/measured/mutants.py VOLTA [--seconds N] [--seed N] [--keep FOLDER]

One entry of a manifest is taken after another at random; one of its kernels is damaged so that it mostly stays PTX (a
constant, a register, an opcode or a line is exchanged, doubled, dropped or moved), and `gate` runs the entry
with it under `--timeout 2 --memory-limit 1G` on one core. A finding is: a signal or a panic, an exit status other than
0, 1 and 2, an answer that is not JSON, more than a second of processor time beyond the limit, more memory than the limit and 64 MiB.
Each finding is printed with the seed that makes it, and its files stay in FOLDER. Standard library alone.
"""

import argparse
import collections
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 2.0
MEMORY = 1 << 30
NUMBERS = [
    *["0", "1", "-1", "2", "3", "4", "7", "8", "16", "31", "32", "33", "63", "64", "127", "128", "255", "256"],
    *["1024", "4095", "4096", "65535", "65536", "2147483647", "-2147483648", "4294967295", "4294967296"],
    *["0x7fffffffffffffff", "0xffffffffffffffff", "1099511627776", "4398046511104"],
    *["0f00000000", "0f80000000", "0f3F800000", "0f7F800000", "0fFF800000", "0f7FC00000", "0f00000001", "0f7F7FFFFF"],
]
NUMBER = re.compile(r"(?<![\w%.$])-?(?:0[xX][0-9a-fA-F]+|0[fFdD][0-9a-fA-F]{8,16}|\d+)(?![\w.])")
REGISTER = re.compile(r"%[a-zA-Z]+\d+")
OPCODE = re.compile(r"^(\s*(?:@!?%\w+\s+)?)([a-z][\w.:]*)(?=\s)", re.MULTILINE)


def entries() -> list[tuple[str, dict]]:
    """Kind and keys of each entry of a check or a race, with what its manifest has for all of them; paths are absolute."""
    found = []
    for manifest in sorted((ROOT / "kernels").glob("*/*.toml")):
        with open(manifest, "rb") as f:
            table = tomllib.load(f)
        for kind in ("check", "race"):
            for entry in table.get(kind, []):
                keys = {k: v for k, v in table.get("defaults", {}).items() if kind == "check" or k != "reference"}
                keys |= entry
                for key in ("reference", "optimized", "kernel"):
                    if isinstance(keys.get(key), str):
                        keys[key] = str((manifest.parent / keys[key]).resolve())
                for key in ("expect", "defects", "timeout"):
                    keys.pop(key, None)
                found.append((kind, keys))
    return found


def toml(value: object) -> str:
    """A value as TOML of one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def replaced(text: str, what: re.Match, by: str) -> str:
    return text[: what.start()] + by + text[what.end() :]


def damaged(text: str, dice: random.Random, opcodes: list[str]) -> str:
    """The text with one to four things changed."""
    head, brace, body = text.partition("{")
    for _ in range(dice.choice([1, 1, 1, 2, 3, 4])):
        way = dice.randrange(12)
        lines = body.split("\n")
        at = dice.randrange(len(lines))
        if way <= 2 and (found := list(NUMBER.finditer(body))):
            body = replaced(body, dice.choice(found), dice.choice(NUMBERS))
        elif way <= 4 and (found := list(REGISTER.finditer(body))):
            where = dice.choice(found)
            kind = where.group().rstrip("0123456789")
            others = [m.group() for m in found if m.group().rstrip("0123456789") == kind]
            body = replaced(body, where, dice.choice(others))
        elif way == 5 and (found := list(OPCODE.finditer(body))):
            where = dice.choice(found)
            ending = where.group(2).rpartition(".")[2]
            alike = [o for o in opcodes if o.rpartition(".")[2] == ending]
            body = replaced(body, where, where.group(1) + dice.choice(alike))
        elif way == 6 and (found := list(OPCODE.finditer(body))):
            # A modifier by one that stands at the same place of the same operation elsewhere.
            where = dice.choice(found)
            parts = where.group(2).split(".")
            k = dice.randrange(len(parts))
            apart = [other.split(".") for other in opcodes]
            parts[k] = dice.choice([o for o in apart if o[0] == parts[0] and len(o) == len(parts)])[k]
            body = replaced(body, where, where.group(1) + ".".join(parts))
        elif way == 7:
            del lines[at]
            body = "\n".join(lines)
        elif way == 8:
            lines.insert(dice.randrange(len(lines)), lines[at])
            body = "\n".join(lines)
        elif way == 9:
            lines.insert(dice.randrange(len(lines)), lines.pop(at))
            body = "\n".join(lines)
        elif way == 10:
            if guard := re.match(r"\s*@(!?)(%\w+)", lines[at]):
                other = f"@{'' if guard.group(1) else '!'}{guard.group(2)}"
                lines[at] = replaced(lines[at], guard, dice.choice(["", other]))
                body = "\n".join(lines)
        else:
            # A block of lines once more: loops, barriers and labels come twice.
            to = min(len(lines), at + dice.randrange(1, 40))
            lines[to:to] = [line for line in lines[at:to] if not line.rstrip().endswith(":")]
            body = "\n".join(lines)
    return head + brace + body


def run(volta: str, manifest: Path) -> tuple[str, str]:
    """What is wrong with the run, and its verdict."""

    def limits() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))

    command = [volta, "gate", str(manifest), "--no-cache", "--jobs", "1", "--json"]
    command += ["--timeout", str(TIMEOUT), "--memory-limit", str(MEMORY)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=limits)  # noqa: PLW1509
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read().decode(errors="replace")
    seconds = used.ru_utime + used.ru_stime
    trouble = []
    if code not in (0, 1, 2):
        trouble.append(f"exit {code}" + (f" ({signal.Signals(-code).name})" if code < 0 else ""))
    if "panicked" in complained or "panicked" in said.decode(errors="replace"):
        trouble.append(f"panic: {complained[:300]!r}")
    if seconds > TIMEOUT + 1:
        trouble.append(f"{seconds:.1f} s of processor time")
    if used.ru_maxrss > (MEMORY >> 10) + (64 << 10):
        trouble.append(f"{used.ru_maxrss >> 10} MiB")
    verdict = "input error"
    try:
        answer = json.loads(said)
        for entry in answer.get("entries") or []:
            verdict = entry["result"].get("verdict") or "input error"
            if any("internal" in (u.get("kind") or "") for u in entry["result"].get("unknown", [])):
                trouble.append(f"internal: {entry['result']['unknown'][0]['message'][:300]}")
    except ValueError:
        trouble.append("no JSON")
    return "; ".join(trouble), verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volta")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "volta-mutants")
    args = parser.parse_args()
    all_entries = entries()
    texts = {p: Path(p).read_text() for _, e in all_entries for k in ("optimized", "kernel") if (p := e.get(k)) and isinstance(p, str)}
    opcodes = sorted({m.group(2) for text in texts.values() for m in OPCODE.finditer(text)})
    args.keep.mkdir(parents=True, exist_ok=True)
    verdicts: collections.Counter[str] = collections.Counter()
    findings, seed = 0, args.seed
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        dice = random.Random(seed)
        kind, keys = dice.choice(all_entries)
        key = "optimized" if kind == "check" else "kernel"
        if len(texts.get(str(keys[key]), "x" * 200_000)) < 200_000:
            kernel, manifest = args.keep / f"{seed}.ptx", args.keep / f"{seed}.toml"
            kernel.write_text(damaged(texts[keys[key]], dice, opcodes))
            lines = [f"{json.dumps(k)} = {toml(v)}" for k, v in (keys | {key: str(kernel)}).items()]
            manifest.write_text(f"[[{kind}]]\n" + "\n".join(lines) + "\n")
            trouble, verdict = run(args.volta, manifest)
            verdicts[f"{kind} {verdict}"] += 1
            if trouble:
                findings += 1
                print(f"{seed}: {keys['name']}: {trouble}", flush=True)
            else:
                kernel.unlink()
                manifest.unlink()
        seed += 1
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{sum(verdicts.values())} runs, {used.ru_utime + used.ru_stime:.0f} s of processor time, {findings} findings")
    for verdict, count in sorted(verdicts.items()):
        print(f"  {verdict}: {count}")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
