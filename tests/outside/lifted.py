#!/usr/bin/env python3
"""Counts how many outputs of the kernels of all manifests `volta lift` gives a formula, and why not for the others.

    tests/outside/lifted.py target/release/volta [--jobs 2] [--timeout 5] [--list]

Each kernel of an entry that must be `equivalent` (or `clean`) is lifted under the launch of the entry; a kernel that
several entries run alike counts once.  Outputs whose formula would hold bit operations or a sort are counted apart: reports
name them with the reasons below.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2] / "kernels"

# Reasons of `lift` that say that the values are made of bits, by what they contain.
BITS = re.compile(r"bit|integer operation|encod|mixed|sort", re.I)
# Outputs that an entry leaves to be guessed, of which `lift` says so.
UNBOUND = "not bound"


def manifests(path):
    """All entries that have to hold, with their folders."""
    manifest = tomllib.loads(path.read_text())
    for include in manifest.get("include", []):
        yield from manifests(path.parent / include)
    defaults = manifest.get("defaults", {})
    for table in ("check", "race"):
        for entry in manifest.get(table, []):
            if entry.get("expect") in ("equivalent", "clean") and "for" not in entry:
                yield path.parent, {**defaults, **entry, "args": {**defaults.get("args", {}), **entry.get("args", {})}}


def kernels(entry):
    """The kernels of an entry, each with the keys of its side."""
    for side in ("reference", "optimized", "kernel"):
        kernel = entry.get(side)
        if isinstance(kernel, str):
            kernel = {"file": kernel}
        if isinstance(kernel, dict) and "file" in kernel:
            yield {"file": kernel["file"], **{k: v for k, v in kernel.items() if k != "file"}}


def flags(folder, entry, kernel):
    """The command line of a lift."""
    out = [str(folder / kernel["file"])]
    if "entry" in kernel:
        out += ["--entry", kernel["entry"]]
    both = {**{k: entry[k] for k in ("threads", "block", "grid", "cta", "dynamic_shared") if k in entry}, **kernel}
    if "block" in kernel:
        both.pop("threads", None)
    for key in ("threads", "block", "grid", "cta", "dynamic_shared"):
        if key in both:
            value = both[key]
            value = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            out += ["--" + key.replace("_", "-"), value]
    for key, value in {**entry["args"], **kernel.get("args", {})}.items():
        out += ["--arg", f"{key}={value}"]
    for key, value in entry.get("buffers", {}).items():
        out += ["--buffer", f"{key}={value}"]
    for fact in entry.get("assume", []):
        out += ["--assume", fact]
    return out


def group_of(why):
    """What is not lifted: bits, outputs of which the entry does not say what they are, or what should be."""
    if why and all(UNBOUND in w for w in why):
        return "unbound"
    return "bits" if why and all(BITS.search(w) for w in why) else "open"


def lifted(volta, timeout, command):
    """The outputs of one lift: names, and whether each has a formula; and the reasons."""
    whole = [volta, "lift", *command, "--json", "--timeout", str(timeout)]
    try:
        done = subprocess.run(whole, capture_output=True, text=True, timeout=timeout + 60)
        report = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return 0, 1, ["no report"]
    if "error" in report:
        return 0, 0, []
    found = sum(1 for o in report.get("outputs", []) if o.get("formula"))
    reasons = [u["message"] for u in report.get("unknown", [])]
    open_ = 0 if report["verdict"] == "lifted" else max(1, len(report.get("outputs", [])) - found)
    return found, open_, reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("volta")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=5)
    parser.add_argument("--list", action="store_true", help="print what is not lifted")
    args = parser.parse_args()
    commands = {}
    for folder, entry in manifests(ROOT / "volta.toml"):
        for kernel in kernels(entry):
            commands.setdefault(tuple(flags(folder, entry, kernel)), entry["name"])
    total = collections.Counter()
    reasons = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = pool.map(lambda c: lifted(args.volta, args.timeout, c), commands)
        for (command, name), (found, open_, why) in zip(commands.items(), done):
            total["lifted"] += found
            if not open_:
                continue
            group = group_of(why)
            total[group] += open_
            if group == "unbound":
                continue
            for w in why or ["none given"]:
                reasons[re.sub(r"`[^`]*`|\b[\w.]+\[[^]]*\]|\d+", "..", w)[:100]] += 1
            if args.list:
                print(group, name, command[0].removeprefix(str(ROOT)), why[:1])
    known = total["lifted"] + total["open"]
    print(f"{len(commands)} kernels; outputs without bit operations: {total['lifted']} of {known} lifted"
          f" ({100 * total['lifted'] / max(known, 1):.1f} %); of bits: {total['bits']} not lifted;"
          f" left to be guessed: {total['unbound']}")
    for reason, n in reasons.most_common(20):
        print(f"{n:5} {reason}")


if __name__ == "__main__":
    main()
