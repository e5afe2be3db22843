"""Text of others as it may be shown: names, lines of files, what compilers say.

The rules are those of the program (`src/foreign.rs`): a character that does not show as itself is written as `\\u{...}`,
and no line is a command of a CI service. A lone surrogate, as Python has it in names of files, does not show either.
"""

from __future__ import annotations

import re

#: Characters of a name that are shown.
NAME = 240

#: Controls, directions, separators, what Unicode ignores by default, surrogates, and noncharacters.
_HIDDEN = (
    "\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff"
    "\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(f"{chr(p | 0xFFFE)}{chr(p | 0xFFFF)}" for p in range(0x10000, 0x110000, 0x10000))
_STRAY = re.compile(f"[{_HIDDEN}]")
_STRAY_IN_LINES = re.compile(f"(?!\n)[{_HIDDEN}]")
_BRACKET = re.compile(r"(##[A-Za-z]*)\[")
#: A further place of a finding is marked by three colons.
_COLONS = re.compile(r"^(?! +::: )([^\S\n]*:):", re.MULTILINE)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"


def line(text: object) -> str:
    """A name or a sentence on one line."""
    return _BRACKET.sub(r"\1\\u{5b}", _STRAY.sub(_escaped, str(text).replace("\t", " ")))


def sentence(text: object) -> str:
    """A message of several lines on one."""
    return line(re.sub(r"\s*\n\s*", " ", str(text).strip()))


def name(text: object) -> str:
    """A name or a path as a part of one line, of bounded length."""
    whole = str(text)
    return line(whole) if len(whole) <= NAME else f"{line(whole[:NAME])}..."


def lines(text: object) -> str:
    """A message of several lines."""
    shown = _STRAY_IN_LINES.sub(_escaped, str(text).replace("\r\n", "\n").replace("\t", "    "))
    return _COLONS.sub(r"\1\\u{3a}", _BRACKET.sub(r"\1\\u{5b}", shown))


def indented(text: object) -> str:
    """A message of several lines, of which only the first stands at the margin, where verdicts do."""
    return lines(text).replace("\n", "\n  ")
