"""The passes, in the order in which they run."""

from __future__ import annotations

from passes.bytes import Bytes
from passes.technique import Technique

ORDER: tuple[Technique, ...] = (
    Bytes(),
)
