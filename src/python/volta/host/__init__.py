"""Host code of CUDA extensions, recorded without a GPU: `volta.extension`, `volta.judge`."""

from __future__ import annotations

from .extensions import Extension, extension
from .judging import Judgement, judge

__all__ = ["Extension", "Judgement", "extension", "judge"]
