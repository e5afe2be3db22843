#!/usr/bin/env python3
"""Counts how many outputs of the kernels of all manifests `volta lift` gives a formula, and why not for the others.

    benches/measured/lifted.py target/release/volta [--timeout 20] [--filter NAME] [--list] [--again] [--page FILE]

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
NAMED = """activation attention backward convolution fusion loss matmul normalization optimizer pooling quantized reduction scan
softmax tensor tilelang transform triton""".split()
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
    """What became of a kernel: the formulas of its outputs, and the reasons of those that have none."""

    def __init__(self, answer):
        result = answer.get("result", {})
        self.error = answer.get("error", {}).get("message")
        self.seconds = result.get("stats", {}).get("seconds", {}).get("total", 0.0)
        self.is_whole = result.get("verdict") == "lifted"
        self.is_defective = result.get("verdict") == "defective"
        self.formulas = [o["formula"] for o in result.get("outputs", []) if o.get("formula")]
        self.reasons = [u["message"] for u in result.get("unknown", [])]
        self.reasons += [d["message"] for d in result.get("defects", [])]

    def counts(self):
        """How many outputs are lifted, of bits, left to be guessed by the entry, not run alone, or open.

        A kernel with a race or another defect has no values, and so no formula.
        """
        if self.error:
            return collections.Counter({"not run": 1})
        if self.is_defective:
            return collections.Counter({"defective": 1})
        out = collections.Counter({"lifted": len(self.formulas)})
        for reason in [] if self.is_whole else self.reasons or ["none given"]:
            out["unbound" if UNBOUND in reason else "bits" if BITS.search(reason) else "open"] += 1
        return out

    def said(self):
        """The formulas, or the first reason."""
        if self.formulas:
            return "`" + "; ".join(self.formulas) + "`"
        return "no formula: " + (self.error or next(iter(self.reasons), "none given"))


def without(launch, resisting):
    """A launch in which some outputs are not compared; none if one of them is read too."""
    args = dict(launch["args"])
    names = {name: key for key, name in launch.get("names", {}).items()}
    for name in resisting:
        number = re.search(r"_param_(\d+)$", name)
        keys = [name, names.get(name), number and number[1]]
        key = next((k for k in keys if k in args), None)
        if key is None or not str(args[key]).startswith("out:"):
            return None
        args[key] = "scratch:" + args[key].removeprefix("out:")
    return {**launch, "args": args}


def again(volta, asked, lifted):
    """True if the formulas are proved as references, what resists left out."""
    launch = asked["launch"]
    if not lifted.is_whole:
        named = (re.match(r"(\S+) has no formula|.*: (\w+)\[[^]]*\] = ", r) for r in lifted.reasons)
        launch = without(launch, [m[1] or m[2] for m in named if m])
    if launch is None:
        return True
    reference = {"formula": "; ".join(lifted.formulas)}
    answer = volta.ask("check", reference=reference, optimized=asked["kernel"], launch=launch)
    return answer.get("result", {}).get("verdict") == "equivalent"


def page(named, total):
    """What became of each entry of the named families, by its reference."""
    out = ["# Formulas of the entries\n", "Made by `benches/measured/lifted.py --page`: the formula of the first kernel of each entry, proved under its launch,"]
    out += ["or why it has none.  A wrong twin has the formula of its reference.\n", total + "\n"]
    for family, lines in named.items():
        out += [f"## {family}\n", "| entry | formula |", "|---|---|"]
        out += [f"| {name} | {said.replace('|', chr(92) + '|')} |" for name, said in lines.items()]
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volta")
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--filter", default="", help="only entries whose family or name contains this")
    parser.add_argument("--list", action="store_true", help="print what is not lifted")
    parser.add_argument("--again", action="store_true", help="prove each formula once more, as a reference")
    parser.add_argument("--page", type=pathlib.Path, help="where to write what became of each entry")
    args = parser.parse_args()
    volta = Volta(str(pathlib.Path(args.volta).resolve()), args.timeout)
    done, named = {}, {name: {} for name in NAMED}
    total, reasons, unproved = collections.Counter(), collections.Counter(), []
    for manifest, entry in entries(ROOT / "volta.toml"):
        if args.filter not in f"{manifest.parent.name}/{entry['name']}" or not {"for", "any"}.isdisjoint(entry):
            continue
        holds = entry.get("expect", "equivalent") in ("equivalent", "clean")
        for i, kernel in enumerate(kernels(entry)):
            is_named = i == 0 and manifest.parent.name in named
            if not holds and not is_named:
                continue
            asked = request(manifest.parent, entry, kernel)
            # The same launch under other names is the same kernel.
            bare = {k: v for k, v in asked["launch"].items() if k != "names"}
            key = json.dumps({**asked, "launch": bare}, sort_keys=True)
            if key not in done:
                done[key] = lifted = Lifted(volta.ask("lift", **asked))
                counts = lifted.counts()
                total += counts
                if args.again and lifted.formulas and not again(volta, asked, lifted):
                    unproved.append(f"{entry['name']} {kernel['file']}")
                if counts["open"] or counts["bits"]:
                    for r in lifted.reasons or ["none given"]:
                        reasons[re.sub(r"`[^`]*`|\b[\w.]+\[[^]]*\]|\d+", "..", r)[:100]] += 1
                if args.list and not lifted.is_whole:
                    print(*counts, entry["name"], kernel["file"], lifted.said()[:400], flush=True)
                if args.list and lifted.seconds > 2:
                    print("slow", entry["name"], kernel["file"], f"{lifted.seconds:.1f} s", flush=True)
            if is_named:
                named[manifest.parent.name][entry["name"]] = done[key].said()
    known = total["lifted"] + total["open"]
    summary = (
        f"{len(done)} kernels; outputs without bit operations: {total['lifted']} of {known} lifted"
        f" ({100 * total['lifted'] / max(known, 1):.1f} %); of bits: {total['bits']} not lifted;"
        f" left to be guessed: {total['unbound']}; kernels with defects: {total['defective']}."
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
