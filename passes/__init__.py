"""The passes, in the order in which they run."""

from __future__ import annotations

from passes.align import Align
from passes.bitscan import BitScan
from passes.bytes import Bytes
from passes.technique import Technique

ORDER: tuple[Technique | Align, ...] = (
    Bytes(),
    BitScan(),
    # After all that drop instructions: it spends the room that they leave.
    Align(),
)
