#!/usr/bin/env python3
"""`volta slack` over all manifests, and every spare operation taken out of the text.

    python3 tests/outside/slack.py VOLTA [PREFIX] [--timeout 20] [--skip N]

Each kernel of each entry of kernels/*.toml that synchronises is asked at its launch. Then the line of each spare operation is taken out of
the PTX, and `race` judges that text at the same launch, where it must be as clean as before, and at all other launches of the same kernel,
where a defect is what the scope of the report leaves open. What may go together is taken out together. A race at the same launch is
a wrong `spare` and ends with exit status 1. It is no test of CI: it takes an hour.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
SYNCHRONISES = re.compile(r"^\s*(@\S+\s+)?(bar|barrier|mbarrier|membar|fence|cp\.async|wgmma|tcgen05)[.\w:]*", re.M)
#: Keys of an entry that say how its kernels are launched.
LAUNCH = ("args", "block", "grid", "threads", "cluster", "dynamic-shared", "assume", "buffers", "for", "names", "alias", "warp-sync", "wmma-layout")


def toml(value):
    """A value as TOML in one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def launches():
    """Every kernel with a launch, once: its file, entry and the keys of a `[[race]]`."""
    found = {}
    for path in sorted(KERNELS.glob("*.toml")):
        manifest = tomllib.loads(path.read_text())
        defaults = manifest.get("defaults", {})
        for section in ("race", "check"):
            for entry in manifest.get(section, []):
                for side in ("kernel", "reference", "optimized"):
                    kernel = entry.get(side)
                    if isinstance(kernel, str):
                        kernel = {"file": kernel}
                    if not isinstance(kernel, dict) or "file" not in kernel or entry.get("any"):
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
                    if "{" in source or not SYNCHRONISES.search((KERNELS / source).read_text()):
                        continue
                    found.setdefault((source, kernel.get("entry"), toml(keys)), f"{entry['name']}-{side}")
    return [(name, *key) for key, name in found.items()]


def gate(volta, timeout, folder, cases, slack):
    """The results of races by name; a case is a name, the text of a kernel, its entry and its keys."""
    lines = [f"[defaults]\ntimeout = {timeout}\n"]
    for i, (name, text, entry, keys) in enumerate(cases):
        (folder / f"{i}.ptx").write_text(text)
        kernel = {"file": f"{i}.ptx"} | ({"entry": entry} if entry else {})
        lines += ["[[race]]", f"name = {toml(name)}", f"kernel = {toml(kernel)}", f"slack = {toml(slack)}"]
        lines += [f"{k} = {toml(v)}" for k, v in keys.items()] + [""]
    (folder / "all.toml").write_text("\n".join(lines))
    command = [volta, "gate", str(folder / "all.toml"), "--json", "--no-cache", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "entries" not in answer:
        print("  no gate:", str(answer.get("error"))[:300], cases[0][0], file=sys.stderr)
        return {}
    return {e["name"]: (e["result"], e["seconds"]) for e in answer["entries"]}


def without(text, lines):
    """A text without some of its lines; `None` where a line says more than one operation that orders others."""
    all_lines = text.split("\n")
    for line in lines:
        if not re.fullmatch(r"\s*(@!?%\w+\s+)?(bar|barrier|membar|fence|cp\.async|wgmma|tcgen05)[.\w:]*[^;{}]*;\s*(//.*)?", all_lines[line - 1]):
            return None
        all_lines[line - 1] = ""
    return "\n".join(all_lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("volta")
    parser.add_argument("prefix", nargs="?", default="")
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--skip", type=int, default=0)
    options = parser.parse_args()
    every = launches()
    counts, wrong = collections.Counter(), 0
    for name, source, entry, keys in every[options.skip :]:
        if not source.startswith(options.prefix):
            continue
        text = (KERNELS / source).read_text()
        parsed = tomllib.loads(f"keys = {keys}")["keys"]
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            asked = gate(options.volta, options.timeout, folder, [(name, text, entry, parsed)], True)
            if name not in asked:
                counts["not asked"] += 1
                continue
            result, seconds = asked[name]
            counts[f"launches {result.get('verdict')}"] += 1
            if result.get("verdict") != "clean":
                continue
            sync = result.get("sync") or result.get("slack", {}).get("sync", [])
            together = result.get("together") or result.get("slack", {}).get("together", [])
            counts["operations"] += len(sync)
            counts["milliseconds"] += int(seconds * 1000)
            for s in sync:
                counts[s["state"]] += 1
            # The texts without what is spare, alone and together, at this launch and at all others of the kernel.
            spare = [(s["op"], [s["site"]["line"]]) for s in sync if s["state"] == "spare"]
            if len(together) > 1:
                spare.append(("together", [sync[i]["site"]["line"] for i in together]))
            others = [(n, k) for n, s, e, k in every if (s, e) == (source, entry) and k != keys]
            for op, lines in spare:
                cut = without(text, lines)
                if cut is None:
                    counts["not cut out of the text"] += 1
                    continue
                cases = [(name, cut, entry, parsed)]
                cases += [(n, cut, entry, tomllib.loads(f"keys = {k}")["keys"]) for n, k in others]
                judged = gate(options.volta, options.timeout, folder, cases, False)
                before = gate(options.volta, options.timeout, folder, [(n, text, e, k) for n, _, e, k in cases[1:]], False) if others else {}
                counts["cut out"] += 1
                for n, (r, _) in judged.items():
                    verdict = r.get("verdict")
                    if n == name:
                        bad = verdict == "defective"
                        wrong += bad
                        counts[f"without it, same launch: {verdict}"] += 1
                        if verdict != "clean":
                            print("WRONG" if bad else "open", source, op, lines, keys, flush=True)
                    elif before.get(n, ({},))[0].get("verdict") == "clean":
                        counts[f"without it, another launch: {verdict}"] += 1
                        if verdict != "clean":
                            print("scope", source, op, lines, n, flush=True)
        print(name, {s["op"]: s["state"] for s in sync}, f"{seconds:.2f} s", flush=True)
    for what, n in sorted(counts.items()):
        print(f"{n:7} {what}")
    sys.exit(1 if wrong else 0)


main()
