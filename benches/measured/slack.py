#!/usr/bin/env python3
"""`volta slack` over all manifests, and every spare operation taken out of the text.

    python3 benches/measured/slack.py VOLTA [PREFIX] [--timeout 20] [--skip N]

Each kernel of each entry of kernels/*/*.toml that synchronises is asked at its launch. Then the line of each spare operation is taken out of
the PTX, and `race` judges that text at the same launch, where it must be as clean as before, and at all other launches of the same kernel,
where a defect is what the scope of the report leaves open. What may go together is taken out together. A race at the same launch is
a wrong `spare` and ends with exit status 1. It is no test of CI: it takes an hour.
"""

import argparse
import collections
import functools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
SYNCHRONISES = re.compile(r"^[ \t{]*(@\S+[ \t]+)?(bar|barrier|mbarrier|membar|fence|cp\.async|wgmma|tcgen05)[.\w:]*", re.M)
ORDERS = re.compile(
    r"\s*(@!?%\w+\s+)?(bar|barrier|membar|fence|cp\.async|wgmma|tcgen05)[.\w:]*[^;{}]*;\s*(//.*)?"
)
#: Keys of an entry that say how its kernels are launched.
LAUNCH = ("args", "block", "grid", "threads", "cluster", "dynamic-shared", "assume", "buffers", "for", "names", "alias", "warp-sync", "wmma-layout")


def toml(value):
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


@functools.cache
def synchronises(source):
    """True for a file that has an operation which orders others."""
    return bool(SYNCHRONISES.search((KERNELS / source).read_text()))


def launches():
    """Every kernel with a launch, once: its file, entry and the keys of a `[[race]]`."""
    found = {}
    for path in sorted(KERNELS.glob("*/*.toml")):
        manifest = tomllib.loads(path.read_text())
        defaults = manifest.get("defaults", {})
        for section in ("race", "check"):
            for entry in manifest.get(section, []):
                for side in ("kernel", "reference", "optimized"):
                    kernel = entry.get(side)
                    if isinstance(kernel, str):
                        kernel = {"file": kernel}
                    if not isinstance(kernel, dict) or "file" not in kernel or (defaults | entry).get("any"):
                        continue
                    keys = {k: v for k, v in (defaults | entry).items() if k in LAUNCH}
                    for k in LAUNCH:
                        keys |= {k: v for name, v in entry.items() if name == f"{side[:3]}-{k}"}
                    keys |= {k: v for k, v in kernel.items() if k in LAUNCH and k != "args"}
                    if "threads" in kernel or "block" in kernel:
                        keys.pop("block" if "threads" in kernel else "threads", None)
                    args = defaults.get("args", {}) | entry.get("args", {}) | kernel.get("args", {})
                    keys["args"] = {k: v for k, v in args.items()}
                    source = kernel["file"]
                    if "{" in source or not synchronises(source):
                        continue
                    said = tuple((k, toml(v)) for k, v in keys.items())
                    found.setdefault((source, kernel.get("entry"), said), f"{entry['name']}-{side}")
    return [(name, *key) for key, name in found.items()]


def gate(volta, timeout, cases, slack):
    """The results of races by name; a case is a name, the text of a kernel, its entry and its keys."""
    if not cases:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        lines = [f"[defaults]\ntimeout = {timeout}\n"]
        for i, (name, text, entry, keys) in enumerate(cases):
            (folder / f"{i}.ptx").write_text(text)
            kernel = {"file": f"{i}.ptx"} | ({"entry": entry} if entry else {})
            lines += ["[[race]]", f"name = {toml(name)}", f"kernel = {toml(kernel)}", f"slack = {toml(slack)}"]
            # What an entry says of its kernels may name parameters that this one lacks.
            lines += [f"{k} = {v}" for k, v in keys.items()] + [""]
        (folder / "all.toml").write_text("\n".join(lines))
        command = [volta, "gate", str(folder / "all.toml"), "--json", "--no-cache", "--jobs", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "entries" not in answer:
        sys.exit(f"no gate: {answer.get('error')}")
    return {e["name"]: (e["result"], e["seconds"]) for e in answer["entries"]}


def lines_of(sync, text):
    """The lines of an operation: of a barrier of a cluster both halves."""
    first = sync["site"]["line"]
    if sync["op"] != "barrier.cluster":
        return [first]
    after = text.split("\n")[first:]
    return [first, *(first + 1 + i for i, line in enumerate(after) if "barrier.cluster.wait" in line)][:2]


def without(text, lines):
    """A text without some of its lines; `None` where a line says more than one operation that orders others."""
    all_lines = text.split("\n")
    for line in lines:
        if not ORDERS.fullmatch(all_lines[line - 1]):
            return None
        all_lines[line - 1] = ""
    return "\n".join(all_lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("volta")
    parser.add_argument("prefix", nargs="*", default=[""])
    parser.add_argument("--timeout", type=int, default=20)
    options = parser.parse_args()
    every = [e for e in launches() if e[1].startswith(tuple(options.prefix))]
    text = {source: (KERNELS / source).read_text() for _, source, _, _ in every}
    keys = {name: k for name, _, _, k in every}
    counts = collections.Counter()
    asked = gate(options.volta, options.timeout, [(n, text[s], e, dict(k)) for n, s, e, k in every], True)
    cut = []
    for name, source, entry, _ in every:
        result, seconds = asked[name]
        counts[f"launches {result.get('verdict', 'with an error')}"] += 1
        if result.get("verdict") != "clean":
            continue
        sync, together = result.get("sync") or [], result.get("together") or []
        counts["operations"] += len(sync)
        counts["milliseconds"] += int(seconds * 1000)
        counts.update(s["state"] for s in sync)
        counts.update(f"{s['state']} {s['op']}" for s in sync)
        counts.update(f"unjudged because {s['why']['kind']}: {s['why']['message'][:70]}" for s in sync if s.get("why"))
        at = [lines_of(s, text[source]) for s in sync]
        groups = [(s["op"], lines) for s, lines in zip(sync, at) if s["state"] == "spare"]
        if len(together) > 1:
            groups.append(("together", [line for i in together for line in at[i]]))
        for op, lines in groups:
            left = without(text[source], lines)
            if left is None:
                counts["not cut out of the text"] += 1
                continue
            counts["cut out"] += 1
            what = f"{source} {op} {lines}"
            for other, s, e, k in every:
                if (s, e) == (source, entry) and asked[other][0].get("verdict") == "clean":
                    cut.append((f"{name}|{other}|{what}", left, entry, dict(k)))
    wrong = 0
    for full, (result, _) in gate(options.volta, options.timeout, cut, False).items():
        name, other, what = full.split("|")
        verdict = result.get("verdict")
        counts[f"without it, at {'the same' if name == other else 'another'} launch: {verdict}"] += 1
        if name == other and verdict == "defective":
            wrong += 1
            print("WRONG", what, keys[name])
        elif verdict != "clean":
            print("same launch" if name == other else "another launch", verdict, what, other)
    for what, n in sorted(counts.items()):
        print(f"{n:7} {what}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
