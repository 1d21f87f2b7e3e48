"""The passes, in the order in which they run."""

from __future__ import annotations

from passes.align import Align
from passes.bitscan import BitScan
from passes.bytes import Bytes
from passes.insert import Inserter
from passes.prefetch import Prefetch
from passes.replay import Replay
from passes.schedule import Schedule
from passes.substitute import Substitute
from passes.technique import Technique

Pass = Technique | Inserter | Align | Schedule | Substitute

ORDER: tuple[Pass, ...] = (
    # First: what becomes another routine is left alone by all that follow.
    Substitute(),
    Bytes(),
    BitScan(),
    # After the bytes pass, which turns wide loads of narrow stores into narrow ones; before the
    # layout, which has the room for it.
    Replay(),
    # In a loop that has become as short as it gets: how far ahead is a matter of its cycles.
    Prefetch(),
    # After all that drop instructions: it spends the room that they leave.
    Align(),
    # Last: which fetch block an instruction stands in decides what order is good.
    Schedule(),
)
