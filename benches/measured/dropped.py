#!/usr/bin/env python3
"""Kernels that are right, with one line of their synchronisation removed at a time: what is then found, and what is not.

    python3 benches/measured/dropped.py --volta target/release/volta [--write] [--only TEXT] [--timeout SECONDS] MANIFEST...

Takes each `[[race]]` entry that expects `clean`, and the optimized kernel of each `[[check]]` that expects `equivalent` where that
kernel has an mbarrier, wgmma, tcgen05, a barrier of a cluster or `setmaxnreg`.  A line is removed if it is of an mbarrier, a barrier, a fence, a commit, a wait,
`setmaxnreg` or `griddepcontrol`; a wait that gives a predicate gives true at once instead, so that its loop ends.  What gives
another result is left alone.  A removal is found if the verdict is `defective`, or if there is a warning that the kernel as it
stands does not get.  One that is not found needs a reason in dropped.toml, by the entry and the line in its file (5.2 is
the second statement of line 5, 5-7 both halves of a barrier of the cluster):

    [name-of-the-entry]
    "12, 15" = "redundant: ..."

A reason begins with `redundant`, with `launch` (it matters in another launch, which is named) or with `hole` (volta ought to find it).  The
exit status is 1 if a line that is not found has no reason, and if one with a reason is found after all.
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

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SYNCHRONISES = re.compile(
    r"(mbarrier|barrier|bar|membar|griddepcontrol|setmaxnreg)\b|fence\.|\w[\w.:]*\.(commit|wait|fence)\w*\b|cp\.async\.mbarrier\.arrive"
)
ASYNCHRONOUS = re.compile(r"\b(mbarrier|wgmma|tcgen05|setmaxnreg|barrier\.cluster)\.")
ASKS = re.compile(r"mbarrier\.(?:test|try)_wait\S*\s+([%$\w]+)\s*,")
GIVES = re.compile(r"(?:bar|barrier)\.(?:cta\.)?red|mbarrier\.pending_count")
STATEMENT = re.compile(r"(?P<lead>(?:\s|//[^\n]*\n|\.(?:loc|file)\b[^\n]*\n|/\*.*?\*/|[{}]|[$%\w]+\s*:(?!:))*)(?P<guard>@!?[%$\w]+\s+)?(?P<text>[^;{}]*(?:\{[^{};]*\}[^;{}]*)*);", re.S)


def statements(ptx):
    """Where a statement begins and ends in the text, its guard and its text without comments."""
    at = 0
    while found := STATEMENT.search(ptx, at):
        begin = found.start("guard") if found["guard"] else found.start("text")
        yield begin, found.end(), found["guard"] or "", re.sub(r"//[^\n]*\n|/\*.*?\*/", " ", found["text"]).strip()
        at = found.end()


def removals(ptx, entry):
    """The line, the text and the changed kernel of each line of synchronisation, but for those of other entries than the one named."""
    seen = collections.Counter()
    starts = [(m.start(), m[1]) for m in re.finditer(r"\.entry\s+([$\w]+)", ptx)]
    for begin, end, guard, text in statements(ptx):
        if not SYNCHRONISES.match(text) or GIVES.match(text):
            continue
        inside = [name for start, name in starts if start < begin]
        if entry and inside and entry not in inside[-1]:
            continue
        asks = ASKS.match(text)
        instead = f"{guard}setp.eq.u32 {asks[1]}, 0, 0;" if asks else ""
        line = ptx.count("\n", 0, begin) + 1
        text = guard + re.sub(r"\s+", " ", text)
        # What follows keeps its line.
        without = ptx[:begin] + instead + "\n" * ptx.count("\n", begin, end) + ptx[end:]
        seen[line] += 1
        yield f"{line}.{seen[line]}" if seen[line] > 1 else str(line), text, without
        # Both halves of a barrier of the cluster: an arrival alone only lacks its wait.
        if "barrier.cluster.arrive" in text and (half := re.compile(r"barrier\.cluster\.wait[^;]*;").search(without, begin)):
            last = without.count("\n", 0, half.start()) + 1
            yield f"{line}-{last}", f"{text} and {half[0][:-1]}", without[: half.start()] + without[half.end() :]


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(str(k))} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def files(kernel):
    """The files of an entry, each with the function that it names: one, or one for each launch of a sequence."""
    launches = kernel if isinstance(kernel, list) else [kernel]
    return list(dict.fromkeys((x, "") if isinstance(x, str) else (x["file"], x.get("entry", "")) for x in launches))


def moved(kernel, folder, file=None, to=None):
    """The kernel of an entry with absolute paths; one of its files is another."""
    if isinstance(kernel, list):
        return [moved(x, folder, file, to) for x in kernel]
    if isinstance(kernel, str):
        return str(to if kernel == file else (folder / kernel).resolve())
    return kernel | {"file": moved(kernel["file"], folder, file, to)}


def entries(manifests, only):
    """The entries that expect no finding, each with what its manifest says for all."""
    for manifest in manifests:
        table = tomllib.loads(manifest.read_text())
        for entry in table.get("race", []):
            whole = table.get("defaults", {}) | entry
            if whole.get("expect") == "clean" and only in whole["name"]:
                yield manifest, {k: v for k, v in whole.items() if k not in ("reference", "optimized", "expect", "timeout", "deny")}
        for entry in table.get("check", []):
            whole = table.get("defaults", {}) | entry
            kernel = whole.get("optimized")
            if whole.get("expect") != "equivalent" or only not in whole["name"] or not isinstance(kernel, dict | str):
                continue
            kernel = {"file": kernel} if isinstance(kernel, str) else kernel
            if not ASYNCHRONOUS.search((manifest.parent / kernel["file"]).read_text()):
                continue
            names = whole.get("map", {})
            given = {names.get(k, k): v for k, v in whole.get("args", {}).items()} | kernel.get("args", {})
            keys = {k: whole[k] for k in ("threads", "block", "grid", "cluster", "dynamic_shared", "cta", "assume", "alias") if k in whole}
            yield manifest, {"name": whole["name"], **keys, "kernel": {**kernel, "args": given}}


def outcome(report):
    """The verdict, the kinds of findings, and the warnings by kind and place."""
    result = report.get("result") or {}
    found = {f["kind"] for part in ("defects", "unknown") for f in result.get(part, [])}
    # The lines of the reads and writes that a warning names: one that moves is another warning.
    warned = {
        (w["kind"], *(s["line"] for s in w["sites"])) for w in result.get("warnings", []) if w["kind"] not in ("note", "thin-coverage")
    }
    assumed = {json.dumps(a) for a in result.get("assumptions", [])}
    return result.get("verdict", "error"), found, warned, assumed


def judge(options, manifest, entry):
    """The outcome of an entry as it stands and of each removal: file, line, text, outcome."""
    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        made = [entry | {"kernel": moved(entry["kernel"], manifest.parent)}]
        for file, function in files(entry["kernel"]):
            for line, text, ptx in removals((manifest.parent / file).read_text(), function or entry.get("entry", "")):
                path = scratch / f"{len(cases)}.ptx"
                path.write_text(ptx)
                cases.append((file, line, text))
                made.append(entry | {"name": f"removed {len(cases)}", "kernel": moved(entry["kernel"], manifest.parent, file, path)})
        if not cases:
            return None, []
        spec = scratch / "removals.toml"
        spec.write_text("\n".join("[[race]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in one.items()) for one in
                                  ({**m, "expect": "clean"} for m in made)))
        words = [options.volta, "gate", spec, "--no-cache", "--json", "--timeout", str(options.timeout)]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        try:
            reports = {e["name"]: outcome(e) for e in json.loads(done.stdout)["entries"]}
        except (ValueError, KeyError):
            sys.exit(f"{entry['name']}: {done.stdout[:2000]}{done.stderr[:2000]}")
    return reports[entry["name"]], [(*case, reports[f"removed {i + 1}"]) for i, case in enumerate(cases)]


def reasons():
    """Of entries and lines."""
    path = HERE / "dropped.toml"
    table = tomllib.loads(path.read_text()) if path.exists() else {}
    return {(name, line.strip()): why for name, lines in table.items() for key, why in lines.items() for line in key.split(",")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifests", nargs="+", type=pathlib.Path)
    parser.add_argument("--volta", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the tables into dropped.md")
    options = parser.parse_args()
    why, failed = reasons(), []
    rows, missed, undecided = collections.Counter(), [], []
    by_entry = []
    for manifest, entry in entries([m.resolve() for m in options.manifests], options.only):
        whole, cases = judge(options, manifest, entry)
        if not cases:
            continue
        if whole[0] != "clean":
            failed.append(f"{entry['name']}: {whole[0]} as it stands ({', '.join(sorted(whole[1]))})")
            continue
        count = collections.Counter()
        for file, line, text, (verdict, found, warned, assumed) in cases:
            key, new = (entry["name"], line), sorted({w[0] for w in warned - whole[2]})
            more = sorted(a for a in assumed - whole[3])
            if verdict == "defective":
                how = ", ".join(sorted(found))
            elif verdict == "clean" and new:
                how = "warning " + ", ".join(new)
            elif verdict == "clean":
                how = "not found"
            else:
                how = f"{verdict}: {', '.join(sorted(found))}" if found else verdict
            count["defective" if verdict == "defective" else "warning" if how.startswith("warning") else how if verdict == "clean" else "undecided"] += 1
            print(f"{entry['name']}:{line}: {text[:90]}: {how}{' (assumes: ' + '; '.join(more)[:160] + ')' if more and how == 'not found' else ''}", flush=True)
            if how == "not found":
                missed.append((entry["name"], line, text, why.get(key, "")))
                if key not in why:
                    failed.append(f"{entry['name']}:{line}: {text}: not found, without a reason")
            else:
                if verdict not in ("defective", "clean"):
                    undecided.append((entry["name"], line, text, how))
                if key in why:
                    failed.append(f"{entry['name']}:{line}: {text}: {how}, but dropped.toml has a reason why not")
        by_entry.append((manifest.name, entry["name"], count))
        rows.update({(manifest.name, k): v for k, v in count.items()} | {(manifest.name, "entries"): 1})
    if options.write:
        write(options, by_entry, missed, undecided)
    print("\n".join(failed))
    sys.exit(bool(failed))


def write(options, by_entry, missed, undecided):
    """The record: what comes before the first table stays."""
    columns = ["defective", "warning", "undecided", "not found"]
    totals = collections.defaultdict(collections.Counter)
    for manifest, _, count in by_entry:
        totals[manifest].update(count)
        totals[manifest]["entries"] += 1
    whole = sum(totals.values(), collections.Counter())
    lines = ["## By manifest", "", "| manifest | entries | removals | defective | warning | undecided | not found |", "|---|---|---|---|---|---|---|"]
    for name, c in [*totals.items(), ("all", whole)]:
        lines.append(f"| {name} | {c['entries']} | {sum(c[x] for x in columns)} | " + " | ".join(str(c[x]) for x in columns) + " |")
    kinds = collections.Counter(w.split(":")[0].split(" ")[0] or "no reason" for *_, w in missed)
    lines += ["", "Not found, by reason: " + ", ".join(f"{k} {v}" for k, v in sorted(kinds.items())) + "." if kinds else "", "", "## Not found", ""]
    lines += ["| entry | line | statement | reason |", "|---|---|---|---|"]
    lines += [f"| {n} | {l} | `{t[:70]}` | {w} |" for n, l, t, w in missed]
    lines += ["", "## Undecided", "", "| entry | line | statement | what is said |", "|---|---|---|---|"]
    lines += [f"| {n} | {l} | `{t[:70]}` | {w} |" for n, l, t, w in undecided]
    lines += ["", "## By entry", "", "| manifest | entry | defective | warning | undecided | not found |", "|---|---|---|---|---|---|"]
    lines += [f"| {m} | {n} | " + " | ".join(str(c[x]) for x in columns) + " |" for m, n, c in by_entry]
    path = HERE / "dropped.md"
    head = path.read_text().split("## By manifest")[0] if path.exists() else "# Lines of synchronisation, removed one at a time\n\n"
    path.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
