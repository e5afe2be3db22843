"""Handlers of a candidate: what it catches while it is recorded, a GPU may never raise.

Host code often says `try: return kernel(x)` and `except Exception: return torch_version(x)`. An exception that the recorder or a
stand-in raised would then lead to launches that are not those of a GPU, so that each handler of the candidate's text first notes
that it was reached. That nvcc rejects the extension is caught on a GPU as well, since a text is rejected here only where torch's
own headers reject it too.

Not claimed: that exceptions which are swallowed without a handler (`contextlib.suppress`, a `return` in `finally`) are seen.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

#: The name that noted handlers call; a candidate that has it itself is not run.
NAME = "_volta_reached_a_handler"

#: What was caught, as sentences.
caught: list[str] = []
#: What the compiler said of extensions whose failure was caught.
rejected: list[str] = []


class _Noting(ast.NodeTransformer):
    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """A handler that notes what it caught first."""
        self.generic_visit(node)
        note = ast.Expr(ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(node.lineno)], []))
        node.body.insert(0, ast.fix_missing_locations(ast.copy_location(note, node.body[0])))
        return node


def noting(text: str, path: str) -> ast.Module:
    """A text whose handlers note that they were reached."""
    tree: ast.Module = _Noting().visit(ast.parse(text, path))
    return tree


def note(is_rejection: Callable[[BaseException], bool]) -> Callable[[int], None]:
    """What noted handlers call, with their line; `is_rejection` tells a compiler's error from all others."""

    def reached(line: int) -> None:
        e = sys.exc_info()[1]
        if e is None:
            return
        if is_rejection(e):
            rejected.append(str(e)[:2000])
        else:
            caught.append(f"line {line} caught {type(e).__name__}: {e}"[:400])

    return reached
