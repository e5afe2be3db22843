#!/usr/bin/env python3
"""Makes `lines.txt`: what ptxas says about the lines that `generate.py` draws.

    tests/corpus/judge.py --ptxas PATH > tests/corpus/lines.txt
    tests/corpus/judge.py --ptxas PATH --check tests/corpus/lines.txt

A line is accepted if ptxas takes it for one of TARGETS, and rejected if it does for none: volta is
asked about PTX ISA 9.0, not about one GPU. Many lines are judged in one module, whose errors name
their lines; what stands in a module that is refused without a line is judged alone.
"""
import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import generate

# The last one is for what newer versions of PTX have no more.
TARGETS = ["sm_100a", "sm_90a", "sm_120a", "sm_80", "sm_75", "sm_75@6.3"]
BATCH = 400


def compile(ptxas, target, lines):
    """Numbers of the lines that have errors; None if there are errors without a line of these."""
    target, _, version = target.partition("@")
    text = f".version {version or '9.0'}\n.target {target}\n.address_size 64\n" + generate.PROLOGUE
    first = text.count("\n") + 1
    text += "".join(line + "\n" for line in lines) + "ret;\n}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([ptxas, "-O0", f"-arch={target}", file.name, "-o", "/dev/null"], capture_output=True,
                              text=True, timeout=300)
    found = {int(n) - first for n in re.findall(r"line (\d+); (?:error|fatal)", done.stderr)}
    found = {n for n in found if 0 <= n < len(lines)}
    if done.returncode == 0:
        return set()
    return found or None


def accepted(ptxas, target, lines):
    """The lines that ptxas takes. A syntax error hides the lines behind it, so what is left is asked again."""
    if not lines:
        return set()
    todo = list(lines)
    while todo:
        bad = compile(ptxas, target, todo)
        if bad is None:
            if len(todo) == 1:
                return set()
            middle = len(todo) // 2
            return accepted(ptxas, target, todo[:middle]) | accepted(ptxas, target, todo[middle:])
        if not bad:
            return set(todo)
        todo = [line for i, line in enumerate(todo) if i not in bad]
    return set()


def judge(ptxas, lines):
    """Verdict of each line: the first target that takes it, or None."""
    lines = list(dict.fromkeys(lines))
    verdict = dict.fromkeys(lines)
    for target in TARGETS:
        todo = [line for line in lines if verdict[line] is None]
        batches = [todo[i:i + BATCH] for i in range(0, len(todo), BATCH)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for taken in pool.map(lambda batch: accepted(ptxas, target, batch), batches):
                for line in taken:
                    verdict[line] = target
    return verdict


def make(ptxas):
    rng = random.Random(9)
    ops, rows = generate.table()
    drawn = {}
    for op in ops:
        forms = []
        for form in rows[op]:
            forms.append(list(dict.fromkeys(generate.draw(op, form, rng) for _ in range(100))))
        drawn[op] = forms
    extra = {}
    for line in read("written.txt"):
        op, _, text = line.partition("\t")
        extra.setdefault(op, []).append(text)
    verdict = judge(ptxas, [line for forms in drawn.values() for form in forms for line in form]
                    + [line for lines in extra.values() for line in lines])
    all_words = sorted({w for forms in rows.values() for groups, _ in forms for choices, _ in groups for w in choices})
    chosen, broken = {}, {}
    for op in ops:
        words = sorted({w for groups, _ in rows[op] for choices, _ in groups for w in choices if not w.startswith("m64k")})
        chosen[op], broken[op] = list(extra.get(op, [])), []
        for lines in drawn[op]:
            good = [line for line in lines if verdict[line]]
            if not good:
                print(f"no accepted line of a form of {op}: {lines[:2]}", file=sys.stderr)
            chosen[op] += good[:4]
            bad = [line for line in lines if not verdict[line]]
            broken[op] += bad[:1]
            for line in (good * 2)[:2]:
                broken[op] += [mutant for _, mutant in generate.mutants(op, line, words, all_words, rng)]
    again = judge(ptxas, [line for lines in broken.values() for line in lines])
    verdict.update(again)
    listed = read("lenient.txt")
    for op in ops:
        known = {w for groups, _ in rows[op] for choices, _ in groups for w in choices}
        print(f"# {op}")
        for line in dict.fromkeys(chosen[op] + broken[op]):
            said = verdict[line] or "rejected"
            if verdict[line] and (line in listed or (line not in chosen[op] and lenient(op, line, known))):
                said = "lenient"
            print(f"{said}\t{line}")


def read(name):
    text = (pathlib.Path(__file__).parent / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def lenient(op, line, known):
    """ptxas overlooks a word that stands twice, and some that belong to other opcodes."""
    words = generate.split(line)[0][len(op):].split(".")[1:]
    plain = [w for w in words if w not in generate.TYPES and w not in ("row", "col")]
    foreign = [w for w in words if w not in known and not re.fullmatch(r"m\d+n\d+(k\d+)?", w)]
    return len(set(plain)) < len(plain) or bool(foreign)


def check(ptxas, path):
    given = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    verdict = judge(ptxas, [line for _, line in given])
    wrong = [line for was, line in given if (verdict[line] or "rejected") != was
             and not (was == "lenient" and verdict[line])]
    print(f"{len(given)} lines, {len(wrong)} with another verdict", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--check", type=pathlib.Path)
    args = parser.parse_args()
    sys.exit(check(args.ptxas, args.check) if args.check else make(args.ptxas))
