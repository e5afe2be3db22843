"""Text of others: what a terminal, a log or a reader would take for something else is written out."""

from __future__ import annotations

import unicodedata

import pytest

import volta
from volta import escapes, results, server

STRANGE = [chr(c) for c in (*range(9), *range(11, 32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F))]
STRANGE += [chr(c) for c in (*range(0x2066, 0x206A), 0xD800, 0xDFFF, 0xFDD0, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF)]
PLAIN = 'a "\\{}é\u0301 \u00a0 \u4e2d \U0001f600 \ufffd \u2027'


def test_characters_that_are_no_plain_text_are_written_out() -> None:
    for c in STRANGE:
        for show in (escapes.shown, escapes.line, escapes.name):
            assert show(f"a{c}b") == f"a\\u{{{ord(c):x}}}b"
    for c in map(chr, range(0x110000)):
        is_strange = unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(c) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        )
        assert (escapes.shown(c) == c) or is_strange or c in STRANGE or ord(c) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(c) < 0xFDF0
        assert not is_strange or c in "\n\t" or escapes.shown(c) != c


def test_plain_text_is_as_it_is() -> None:
    for show in (escapes.shown, escapes.line, escapes.name):
        assert show(PLAIN) == PLAIN
    assert escapes.shown("a\r\n\tb\n") == "a\n\tb\n"
    assert escapes.line("a\n\tb") == "a\\u{a} b"
    assert escapes.name("x" * 241) == "x" * 240 + "..."


@pytest.mark.parametrize("c", ["\x1b", "\x7f", "\x9b", "\n", "\u202e", "\u2066", "\u061c", "\u2028"])
def test_the_program_writes_them_alike(c: str) -> None:
    with pytest.raises(volta.InputError) as e:
        server.ask({"op": "race", "kernel": {"path": f"/nowhere/a{c}b"}})
    assert e.value.details["message"].count(escapes.name(f"/nowhere/a{c}b")) == 1


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
