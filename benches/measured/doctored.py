"""Doctors certificates of real checks in many ways; a replay must refuse each, unless what it then says is true.

    python benches/measured/doctored.py --volta target/release/volta [--most N] [--seconds N] [--seed N] [--keep FOLDER]

For each entry of the manifests that is `equivalent` and replays: every change of `CHANGES` where it applies, with the digest of
the new content, and mutants of the text of the optimized kernel, with hash and digest. A change makes the certificate say
something false or leave something out, so that it must not be confirmed; a mutant may be equal to what it was made of, so
that one that is confirmed is put before `volta check`, which must not refute it.
"""

from __future__ import annotations

import argparse
import collections
import copy
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from replay import ROOT, certified, command, cost, entries, replay
from volta.replay import certificate as files

Json = dict[str, Any]

SIDES = ("reference", "optimized")


def each(all: Callable[[Json], int], change: Callable[[Json, int], str | None]) -> Callable[[Json], Iterator[tuple[str, Json]]]:
    """The doctored copies: a change of each of so many things."""

    def made(whole: Json) -> Iterator[tuple[str, Json]]:
        for i in range(all(whole)):
            c = copy.deepcopy(whole)
            said = change(c, i)
            if said is not None and c != whole:
                yield said, c

    return made


def once(change: Callable[[Json], None]) -> Callable[[Json], Iterator[tuple[str, Json]]]:
    def one(c: Json, _: int) -> str:
        change(c)
        return change.__name__

    return each(lambda _: 1, one)


def without(key: str) -> Callable[[Json], Iterator[tuple[str, Json]]]:
    def change(c: Json, i: int) -> str:
        del c[key][i]
        return f"{key} without its entry {i}"

    return each(lambda c: len(c[key]), change)


def arrays(c: Json) -> int:
    return len(c["arrays"])


def matched_arrays(c: Json) -> list[int]:
    return [m["array"] for m in c["matched"]]


def other_origin(word: str) -> Callable[[Json], Iterator[tuple[str, Json]]]:
    def change(c: Json, i: int) -> str:
        c["arrays"][i]["origin"] = word
        return f"array {i} of origin {word}"

    return each(arrays, change)


def output_of_role(c: Json, i: int) -> str:
    c["arrays"][matched_arrays(c)[i]]["role"] = "scratch"
    return f"output {i} is scratch"


def fewer_bytes(c: Json, i: int) -> str | None:
    first, _, last = c["matched"][i]["bytes"].rpartition("..")
    if c["arrays"][c["matched"][i]["array"]]["partial"]:
        return None
    c["matched"][i]["bytes"] = f"{first}..{int(last) - 1}"
    return f"output {i} is matched without its last byte"


def more_bytes(c: Json, i: int) -> str:
    first, _, last = c["matched"][i]["bytes"].rpartition("..")
    c["matched"][i]["bytes"] = f"{first}..{int(last) + 64}"
    return f"output {i} is matched beyond its end"


def contents(c: Json, i: int) -> str:
    c["arrays"][i]["contents"] = "0000803f"
    return f"array {i} has other contents"


def part(c: Json, i: int) -> str:
    c["arrays"][matched_arrays(c)[i]]["partial"] = True
    return f"output {i} is compared in part"


def open_extent(c: Json, i: int) -> str | None:
    if c["arrays"][i]["origin"] != "pointer":
        return None
    c["arrays"][i]["bytes"] = None
    return f"the extent of array {i} is open"


def named(a: Json) -> bool:
    """Whether the claim is not made without an assumption."""
    needed = ("no-overlap", "extent", "left-out", "initial-value")
    own = (" lie in ", "` holds the bytes ")
    is_reading = a["kind"] == "constant" and "product of constants" not in a["message"]
    return a["kind"] in needed or is_reading or (a["kind"] == "fact" and any(w in a["message"] for w in own))


def assumption_less(c: Json, i: int) -> str | None:
    a = c["assumptions"].pop(i)
    return f"without the assumption {a['kind']}: {a['message'][:50]}" if named(a) else None


def assumption_of_other(c: Json, i: int) -> str | None:
    a = c["assumptions"][i]
    if not named(a):
        return None
    a["message"] = "something else"
    return f"with another sentence for {a['kind']}"


def moved_pointer(c: Json, i: int) -> str | None:
    p = c["optimized"]["parameters"][i]
    if "pointer" not in p or p["pointer"]["array"] not in matched_arrays(c):
        return None
    p["pointer"]["at"] += 1
    return f"parameter {i} points one byte further"


def limited(c: Json, i: int) -> str:
    c["floats"] = [{"array": i, "least": "0.0", "greatest": "0.0"}, *(f for f in c["floats"] if f["array"] != i)]
    return f"numbers of array {i} are 0"


def limited_integers(c: Json, i: int) -> str:
    fact = {"array": i, "bits": 32, "least": "0", "greatest": "0", "distinct": False, "sorted": False, "pow2": False}
    c["facts"] = [fact, *(f for f in c["facts"] if f["array"] != i)]
    return f"integers of array {i} are 0"


def one_cta(c: Json) -> None:
    for side in SIDES:
        c[side]["ctas"] = [[0, 0, 0]]


def another_verdict(c: Json) -> None:
    c["verdict"] = "clean"


def another_schema(c: Json) -> None:
    c["schema"] = "volta-certificate/2"


def another_hash(c: Json) -> None:
    c["optimized"]["sha256"] = hashlib.sha256(c["optimized"]["sha256"].encode()).hexdigest()


def another_entry(c: Json) -> None:
    c["optimized"]["entry"] += "_"


def another_test(c: Json) -> None:
    c["regions"]["tests"] += 1


def no_samples(c: Json) -> None:
    c["regions"]["samples"] = []


def no_threads(c: Json) -> None:
    c["optimized"]["block"][0] = 0


def a_reading(c: Json) -> None:
    c["readings"].append({"format": "f32", "bits": "0x3fb8aa3c", "reading": "log2(e)", "reciprocal": False})


def another_scope(c: Json) -> None:
    c["covers"] = c["covers"].replace("one launch", "every launch")


def an_own_key(c: Json) -> None:
    c["trusted"] = True


CHANGES = [
    *[other_origin(w) for w in ("pointer", "scalar", "global", "const", "shared", "local", "")],
    without("matched"),
    without("arrays"),
    each(lambda c: len(c["matched"]), output_of_role),
    each(lambda c: len(c["matched"]), fewer_bytes),
    each(lambda c: len(c["matched"]), more_bytes),
    each(lambda c: len(c["matched"]), part),
    *[each(arrays, f) for f in (contents, open_extent, limited, limited_integers)],
    each(lambda c: len(c["assumptions"]), assumption_less),
    each(lambda c: len(c["assumptions"]), assumption_of_other),
    each(lambda c: len(c["optimized"]["parameters"]), moved_pointer),
    *map(once, (one_cta, another_verdict, another_schema, another_hash, another_entry)),
    *map(once, (another_test, no_samples, no_threads, a_reading, an_own_key, another_scope)),
]


SWAPS = {"add": "sub", "sub": "add", "mul": "add", "max": "min", "min": "max", "lt": "le", "gt": "ge", "ge": "gt", "le": "lt"}


def mutant(text: str, rng: random.Random) -> str:
    """One opcode, comparison or constant of floats is another."""
    places = list(re.finditer(r"\.?\b(add|sub|mul|max|min|lt|gt|ge|le)(?=\.(?:rn\.)?f(?:32|16)\b)|\b0f[0-9A-F]{8}\b", text))
    if not places:
        return text
    m = rng.choice(places)
    word = m.group()
    if word.startswith("0f"):
        new = f"0f{int(word[2:], 16) ^ 1 << rng.choice((0, 12, 20, 23, 31)):08X}"
    else:
        new = word.replace(m.group(1), SWAPS[m.group(1)])
    return text[: m.start()] + new + text[m.end() :]


def is_refuted(args: argparse.Namespace, run: list[str], wrong: Path) -> bool:
    """What the program says of a mutant."""
    run = [*run[:3], str(wrong), *run[4:]]
    ran = subprocess.run([r for r in run if r != "--json"], capture_output=True, text=True, cwd=ROOT, check=False)
    return ran.returncode == 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--volta", type=Path, required=True)
    parser.add_argument("--filter", default="")
    parser.add_argument("--most", type=int, default=40, help="certificates, drawn by the seed among the smallest tenfold")
    parser.add_argument("--seconds", type=float, default=5, help="most processor time of one replay")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mutants", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    rng, counts, bad = random.Random(args.seed), collections.Counter[str](), 0
    right = [(f, e) for f, e in entries() if e.get("expect", "equivalent") == "equivalent" and args.filter in e["name"]]
    right = sorted(right, key=lambda e: cost(*e))[: 10 * args.most]
    with tempfile.TemporaryDirectory() as folder:
        work = args.keep or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        doctored = Path(folder) / "doctored.json"
        for where, entry in rng.sample(right, min(args.most, len(right))):
            path, _, _ = certified(args, work, where, entry)
            if path is None or replay(path, args.seconds)[0] != 0:
                counts["certificates without a replay"] += 1
                continue
            counts["certificates"] += 1
            whole = json.loads(path.read_text())
            for change in CHANGES:
                for said, c in change(whole):
                    c["digest"] = files.digest(c)
                    doctored.write_text(json.dumps(c))
                    code, text = replay(doctored, args.seconds)
                    counts[("confirmed", "refuted", "unreadable", "not replayed")[code]] += 1
                    if code == 0:
                        bad += 1
                        print(f"{entry['name']}: {said}: {text.splitlines()[0]}", flush=True)
            run = command(args.volta, where, entry, Path(folder), Path(folder) / "none.json")
            text = Path(whole["optimized"]["file"]).read_text()
            for _ in range(args.mutants):
                wrong = Path(folder) / "mutant.ptx"
                wrong.write_text(mutant(text, rng))
                c = copy.deepcopy(whole)
                c["optimized"] |= {"file": str(wrong), "sha256": hashlib.sha256(wrong.read_bytes()).hexdigest()}
                c["digest"] = files.digest(c)
                doctored.write_text(json.dumps(c))
                code, said = replay(doctored, args.seconds)
                counts["mutants " + ("confirmed", "refuted", "unreadable", "not replayed")[code]] += 1
                if code == 0 and run is not None and is_refuted(args, run, wrong):
                    bad += 1
                    shown = next((a for a, b in zip(wrong.read_text().splitlines(), text.splitlines()) if a != b), "")
                    print(f"{entry['name']}: a wrong mutant ({shown.strip()}): {said.splitlines()[0]}", flush=True)
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())) + f"; {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
