"""Text of others as it may be shown: a name or a message holds whatever its author wrote into it.

Control characters (escape sequences of terminals among them), those that change the direction of text (Unicode Standard Annex 9,
section 2), halves of surrogate pairs and noncharacters are written as `\\u{...}`, as the program writes them.
"""

from __future__ import annotations

import re

#: Characters of a name that are shown.
NAME = 240

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_DIRECTIONS = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_NONE = r"\ud800-\udfff\ufdd0-\ufdef" + "".join(rf"\U{plane:04x}fffe-\U{plane:04x}ffff" for plane in range(17))
_STRANGE = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_NONE}]")
_LINES = re.compile(f"[\\n\\t{_CONTROLS}{_DIRECTIONS}{_NONE}]")


def _escaped(found: re.Match[str]) -> str:
    return rf"\u{{{ord(found[0]):x}}}"


def shown(text: object) -> str:
    """A text of several lines, which stay."""
    return _STRANGE.sub(_escaped, str(text).replace("\r\n", "\n"))


def indented(text: object) -> str:
    """A text of several lines, of which only the first stands at the margin, where verdicts do."""
    return shown(text).replace("\n", "\n  ")


def line(text: object) -> str:
    """A text as a line, which its own line ends would turn into several."""
    return _LINES.sub(lambda c: " " if c[0] == "\t" else _escaped(c), str(text))


def name(text: object) -> str:
    """A name or path as a part of a line, of bounded length."""
    whole = str(text)
    return line(whole) if len(whole) <= NAME else f"{line(whole[:NAME])}..."
