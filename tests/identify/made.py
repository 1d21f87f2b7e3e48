"""The types of this folder's fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rewriter.identify.signatures import Database

Places = dict[str, int]
Made = Callable[[Path], Database]
