"""`python -m volta.replay CERTIFICATE.json`: exit status 0 confirmed, 1 refuted, 2 usage or unreadable, 3 cannot replay."""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

try:
    from . import certificate as files
    from .checker import Checker
    from .values import Cannot, Refuted
except ModuleNotFoundError as e:
    print(f"error: {e}; the replay needs mpmath: pip install './src/python[replay]'", file=sys.stderr)
    sys.exit(2)


EXCUSED = {
    "same-value-write": "they write equal numbers here",
    "real-equal-write": "they write equal numbers here",
    "unused-read": "what is read after the write is taken away here",
    "ordered-by-value": "not checked",
}


def say(text: str, to: TextIO | None = None) -> None:
    """A line: what a certificate says is text of others, of which a terminal or a log could take a part for a command."""
    shown = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
    print(shown.replace("#[", "#\\u{5b}"), file=to)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m volta.replay", description="Checks a certificate of volta by other means.")
    parser.add_argument("certificate", type=Path)
    parser.add_argument("--reference", type=Path, metavar="FILE", help="the PTX of the reference, where it is not at its path")
    parser.add_argument("--optimized", type=Path, metavar="FILE", help="the PTX of the optimized kernel")
    parser.add_argument("--field", action="store_true", help="over prime fields, with a stated probability; only + - * / may occur")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    try:
        return replay(args)
    except Refuted as e:
        say(f"refuted: {e}")
        return 1
    except Cannot as e:
        say(f"cannot replay: {e}")
        return 3
    except (ValueError, OSError) as e:
        say(f"error: {e}", to=sys.stderr)
        return 2
    except Exception as e:
        # Exit status 1 says that the certificate is wrong: a mistake of this program is not that.
        place = traceback.extract_tb(e.__traceback__)[-1]
        say(f"cannot replay: {type(e).__name__} ({e}) in {Path(place.filename).name}, line {place.lineno}")
        return 3


def replay(args: argparse.Namespace) -> int:
    certificate = files.load(args.certificate)
    files.check(certificate)
    beside = args.certificate.parent
    sides = {"reference": args.reference, "optimized": args.optimized}
    texts = {side: files.text_of(certificate, side, given, beside) for side, given in sides.items()}
    checker = Checker(certificate, texts, args.seed)
    result = checker.check_field() if args.field else checker.check()
    say(f"confirmed: {result.elements} elements agree on {result.runs} inputs ({result.steps} instructions of threads)")
    if result.probability:
        say(f"  over a prime field: {result.probability}")
    else:
        samples = len(certificate["regions"]["samples"])
        say(f"  {samples} regions" + (f", {result.borders} of them on a border of tests" if result.borders else ""))
    if result.undefined:
        say(f"  {result.undefined} other inputs lie outside of what the reference is defined for")
    if result.beyond:
        say(f"  {result.beyond} inputs are left out, on which a function leaves the range that the machine has for it")
    for side in ("reference", "optimized"):
        say(f"  of the {side}: {launched(certificate, side)}")
    for kind in sorted(result.excused):
        say(f"  unordered accesses are excused as {kind}, in the lines that the certificate names ({EXCUSED[kind]})")
    for said in not_checked(certificate):
        say(f"  not checked: {said}")
    for a in certificate["assumptions"]:
        say(f"  assuming: {a['message']}")
    return 0


def launched(certificate: dict[str, Any], side: str) -> str:
    """The launch of a kernel, with the numbers that its parameters are bound to."""
    c = certificate[side]
    block, grid = ("x".join(map(str, c[key])) for key in ("block", "grid"))
    bound = [f"parameter {p['parameter']} at byte {p['offset']} is 0x{p['bits']}" for p in c["parameters"] if "bits" in p]
    return ", ".join([f"entry {c['entry']}", f"grid {grid}", f"block {block}", *bound])


def not_checked(certificate: dict[str, Any]) -> list[str]:
    """What a certificate says, and a replay takes from it."""
    out = [
        "inputs that were not tried, other sizes, schedules in which a test goes another way, and rounding",
        f"that samples reach all regions of the {certificate['regions']['tests']} tests",
        "shapes and alignments",
    ]
    for side in ("reference", "optimized"):
        if certificate[side]["ctas"] is not None:
            out.append(f"CTAs of the {side} other than {certificate[side]['ctas']}")
    for a in certificate["arrays"]:
        out += [f"{a['name']} outside of the bytes that are listed"] * a["partial"]
        out += [f"that {a['name']} holds the bytes that are given"] * (a["contents"] is not None)
        out += [f"what {a['name']} holds in the end, which is scratch"] * (a["role"] == "scratch")
    for f in [*certificate["facts"], *certificate["floats"]]:
        also = "".join(f", {word}" for word in ("distinct", "sorted", "pow2") if f.get(word))
        out.append(f"that {certificate['arrays'][f['array']]['name']} holds numbers from {f['least']} to {f['greatest']}{also}")
    return out


if __name__ == "__main__":
    sys.exit(main())
