#!/usr/bin/env python3
"""Counts how many outputs of the kernels of all manifests `volta lift` gives a formula, and why not for the others.

    tests/outside/lifted.py target/release/volta [--timeout 20] [--filter NAME] [--list] [--again] [--page FILE]

Each kernel of an entry that must be `equivalent` (or `clean`) is lifted under the launch of the entry; a kernel that
several entries run alike counts once.  Outputs whose formula would hold bit operations or a sort are counted apart: reports
name them with the reasons below.  `--again` gives each formula back to `check`, which has to prove it.  `--page` writes
what became of each entry of the manifests of networks, tensor cores, Triton and TileLang.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2] / "kernels"

# Manifests of which each entry is named on the page.
NAMED = ("nn", "tensor", "triton", "tilelang")
# Reasons of `lift` that say that the values are made of bits, by what they contain.
BITS = re.compile(r"bit|integer operation|encod|mixed|sort", re.I)
# Outputs that an entry leaves to be guessed, of which `lift` says so.
UNBOUND = "shape are not bound"
# Keys of a launch that belong to one kernel, and those of an entry that `lift` needs.
ONE = ("entry", "threads", "block", "grid", "cta", "dynamic_shared", "cluster", "warp_sync")
LAUNCH = (*ONE, "buffers", "assume", "names", "alias", "masks_are_infinite", "wmma_layout")
# Lines of output that are shown at most.
REASONS = 30


def entries(path):
    """All entries of a manifest and of those that it includes: the manifest, and the entry with its defaults."""
    manifest = tomllib.loads(path.read_text())
    for include in manifest.get("include", []):
        yield from entries(path.parent / include)
    defaults = manifest.get("defaults", {})
    for table in ("check", "race"):
        for entry in manifest.get(table, []):
            yield path, {**defaults, **entry, "args": {**defaults.get("args", {}), **entry.get("args", {})}}


def kernels(entry):
    """The kernels of an entry, each with the keys of its side."""
    for side in ("reference", "optimized", "kernel"):
        kernel = entry.get(side)
        if isinstance(kernel, str):
            kernel = {"file": kernel}
        if isinstance(kernel, dict) and "file" in kernel:
            yield kernel


def request(folder, entry, kernel):
    """What `serve` is asked for a kernel of an entry."""
    launch = {k: entry[k] for k in LAUNCH if k in entry} | {k: kernel[k] for k in ONE if k in kernel}
    if "block" in kernel:
        launch.pop("threads", None)
    launch["args"] = {**entry["args"], **kernel.get("args", {})}
    return {"kernel": {"path": str(folder / kernel["file"])}, "launch": launch}


class Volta:
    """One `volta serve`, asked one thing after the other."""

    def __init__(self, path, timeout):
        self.process = subprocess.Popen(
            [path, "serve", "--jobs", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        self.timeout = timeout

    def ask(self, op, **what):
        line = json.dumps({"id": 1, "op": op, "timeout": self.timeout, **what})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Lifted:
    """What became of a kernel: formulas, outputs without one, and the reasons."""

    def __init__(self, answer):
        result = answer.get("result", {})
        self.error = answer.get("error", {}).get("message")
        self.seconds = result.get("stats", {}).get("seconds", {}).get("total", 0.0)
        self.formulas = [o["formula"] for o in result.get("outputs", []) if o.get("formula")]
        self.reasons = [u["message"] for u in result.get("unknown", [])]
        self.reasons += [d["message"] for d in result.get("defects", [])]
        resisting = sum(1 for r in self.reasons if "has no formula" in r or "seems to be" in r)
        self.open = 0 if self.formulas else max(1, resisting)

    def group(self):
        """Lifted, of bits, left to be guessed by the entry, not run alone under one launch, or open."""
        if self.formulas:
            return "lifted"
        if self.error:
            return "not run"
        why = [r for r in self.reasons if "seems to be" not in r]
        if why and all(UNBOUND in w for w in why):
            return "unbound"
        return "bits" if why and all(BITS.search(w) for w in why) else "open"

    def said(self):
        """The formulas, or the first reason."""
        if self.formulas:
            return "`" + "; ".join(self.formulas) + "`"
        return "no formula: " + (self.error or next(iter(self.reasons), "none given"))


def again(volta, asked, lifted):
    """True if the formulas are proved as references."""
    optimized = asked["kernel"]
    answer = volta.ask(
        "check", reference={"formula": "; ".join(lifted.formulas)}, optimized=optimized, launch=asked["launch"]
    )
    return answer.get("result", {}).get("verdict") == "equivalent"


def page(named, total):
    """What became of each entry of the named manifests, by its reference."""
    out = ["# Formulas of the entries\n", "Made by `tests/outside/lifted.py --page`: the formula of the first kernel of each entry, proved under its launch,"]
    out += ["or why it has none.  A wrong twin has the formula of its reference.\n", total + "\n"]
    for manifest, lines in named.items():
        out += [f"## {manifest}.toml\n", "| entry | formula |", "|---|---|"]
        out += [f"| {name} | {said.replace('|', chr(92) + '|')} |" for name, said in lines.items()]
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volta")
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--filter", default="", help="only entries whose manifest or name contains this")
    parser.add_argument("--list", action="store_true", help="print what is not lifted")
    parser.add_argument("--again", action="store_true", help="prove each formula once more, as a reference")
    parser.add_argument("--page", type=pathlib.Path, help="where to write what became of each entry")
    args = parser.parse_args()
    volta = Volta(str(pathlib.Path(args.volta).resolve()), args.timeout)
    done, named = {}, {name: {} for name in NAMED}
    total, reasons, unproved = collections.Counter(), collections.Counter(), []
    for manifest, entry in entries(ROOT / "volta.toml"):
        if args.filter not in f"{manifest.stem}/{entry['name']}" or not {"for", "any"}.isdisjoint(entry):
            continue
        holds = entry.get("expect", "equivalent") in ("equivalent", "clean")
        for i, kernel in enumerate(kernels(entry)):
            is_named = i == 0 and manifest.stem in named
            if not holds and not is_named:
                continue
            asked = request(manifest.parent, entry, kernel)
            key = json.dumps(asked, sort_keys=True)
            if key not in done:
                done[key] = lifted = Lifted(volta.ask("lift", **asked))
                group = lifted.group()
                total[group] += len(lifted.formulas) or lifted.open
                if args.again and lifted.formulas and not again(volta, asked, lifted):
                    unproved.append(f"{entry['name']} {kernel['file']}")
                if group in ("open", "bits"):
                    for r in lifted.reasons or ["none given"]:
                        reasons[re.sub(r"`[^`]*`|\b[\w.]+\[[^]]*\]|\d+", "..", r)[:100]] += 1
                if args.list and group != "lifted":
                    print(group, entry["name"], kernel["file"], lifted.said()[:400], flush=True)
                if args.list and lifted.seconds > 2:
                    print("slow", entry["name"], kernel["file"], f"{lifted.seconds:.1f} s", flush=True)
            if is_named:
                named[manifest.stem][entry["name"]] = done[key].said()
    known = total["lifted"] + total["open"]
    summary = (
        f"{len(done)} kernels; outputs without bit operations: {total['lifted']} of {known} lifted"
        f" ({100 * total['lifted'] / max(known, 1):.1f} %); of bits: {total['bits']} not lifted;"
        f" left to be guessed: {total['unbound']}."
    )
    print(summary)
    for reason, n in reasons.most_common(REASONS):
        print(f"{n:5} {reason}")
    for name in unproved:
        print("printed, and then not proved:", name)
    if args.page:
        args.page.write_text(page(named, summary))
    return 1 if unproved else 0


if __name__ == "__main__":
    sys.exit(main())
