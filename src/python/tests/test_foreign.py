"""Text of others in messages and reports: nothing that does not show, and no command of a CI service."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import volta
from volta import foreign, results
from volta.server import program

HOSTILE = "z\n::error file=x::y\r##[error]q\x1b[31m\x7f\x85\x9b2J\u061c\u200b\u2028\u202e\u2066\ufeff\ufffe\U000e0041"


def plain(text: str) -> bool:
    """Whether only lines are left that show and are no commands; Python's own table is the judge."""
    shows = all(c.isprintable() or c == "\n" or c.isspace() for c in text) and not set(text) & set(
        "\r\t\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
    )
    return shows and not any(line.lstrip().startswith("::") or "##[" in line for line in text.split("\n"))


def test_the_program_has_the_same_table() -> None:
    """Both write the same characters by their numbers, of all that there are."""
    characters = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000 and chr(n) not in "\n\t"]
    chunks = ["".join(characters[i : i + 200]) + "##[a]###x[" for i in range(0, len(characters), 200)]
    asked = "".join(json.dumps({"id": i, "op": "explain", "kind": c}) + "\n" for i, c in enumerate(chunks))
    said = subprocess.run([program(), "serve", "--jobs", "1"], input=asked, capture_output=True, text=True, check=True).stdout
    answers = {a["id"]: a["error"]["message"] for a in map(json.loads, said.splitlines())}
    assert len(answers) == len(chunks)
    for i, chunk in enumerate(chunks):
        assert answers[i].startswith(f"`{foreign.line(chunk)}` is not a kind"), hex(ord(chunk[0]))


def test_what_does_not_show() -> None:
    """What is written by its number is what Unicode's categories say, and what it ignores by default."""
    everything = "".join(map(chr, range(0x110000)))
    written = set(everything) - set(foreign.line(everything))
    unseen = {c for c in everything if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    # Signs that stand around numbers and hieroglyphs are seen.
    assert {hex(ord(c)) for c in unseen - written - {"\t"} if not _is_sign(ord(c))} == set()
    blanks = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
    other = {ord(c) for c in written - unseen} - blanks
    # What is left is not assigned: noncharacters, and what Unicode ignores by default for later use.
    assert {hex(n) for n in other if unicodedata.category(chr(n)) != "Cn" and not 0xE0100 <= n < 0xE01F0} == set()


def _is_sign(n: int) -> bool:
    signs = [range(0x600, 0x606), range(0x890, 0x892), range(0x13430, 0x13460)]
    return n in {0x6DD, 0x70F, 0x8E2, 0x110BD, 0x110CD} or any(n in r for r in signs)


def test_messages_of_several_lines() -> None:
    """Surrogates too, which names of files that are no text hold."""
    assert plain(foreign.lines(HOSTILE))
    assert plain(foreign.line(HOSTILE))
    assert foreign.line("a\udc80") == "a\\u{dc80}"
    assert foreign.lines("a\n   ::: k.ptx:3:1\n") == "a\n   ::: k.ptx:3:1\n"
    assert foreign.lines("a\n  ::error::b\nc::d") == "a\n  :\\u{3a}error::b\nc::d"


def test_errors_and_results(tmp_path: Path) -> None:
    """A name of a file, a compiler's message, a finding."""
    for error in (volta.InputError(HOSTILE, {"a": 1}), volta.CompileError(f"k: nvcc says\n{HOSTILE}")):
        assert plain(str(error))
        assert str(pickle.loads(pickle.dumps(error))) == str(error) == str(copy.copy(error))
    path = tmp_path / HOSTILE.replace("/", "")
    path.write_text(".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret \x9b\u202e;\n}\n")
    with pytest.raises(volta.InputError) as raised:
        volta.race(path, block=4)
    assert plain(str(raised.value))


@pytest.mark.skipif(sys.platform == "win32", reason="names of files are bytes elsewhere")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A message about a name with bytes that are no text can be printed."""
    with pytest.raises(volta.InputError) as raised:
        volta.race(tmp_path / os.fsdecode(b"\xff.ptx"), block=4)
    assert str(raised.value).encode()


def test_no_line_of_a_report_is_made_by_a_name() -> None:
    site = results.Site("k\nProved.\x1b[2J", 1, "", (), None)
    found = results.Finding("data-race", "a\nb\u202e", None, 1, (site,))
    for text in (str(site), str(found), repr(volta.ptx(".version 8.0\n", name="a\nb"))):
        assert not set(text) & set("\n\x1b\u202e")
    assert str(volta.CompileError("k.cu\n\x1b[31merror")) == "k.cu\n\\u{1b}[31merror"


def test_a_replay_prints_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mpmath")
    from volta.replay import __main__ as replay

    assert replay.main(["/nowhere/a\nconfirmed: \x1b\u202e.json"]) == 2
    said = capsys.readouterr()
    assert r"a\u{a}confirmed: \u{1b}\u{202e}" in said.err
    assert said.err.count("\n") == 1


def test_what_a_compiler_says_is_no_verdict() -> None:
    found = results.failed("compile", "k.cu: nvcc says\nk.cu(1): error: x\nequivalent: both kernels\x1b[2J")
    assert [text for text in str(found).splitlines() if not text.startswith(" ")] == ["k.cu: nvcc says"]
    assert found.hint == "k.cu(1): error: x"
    assert results.failed("compile", "").hint == "it does not compile"
