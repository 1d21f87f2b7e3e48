"""What is known of all code of a file at once, bundle by bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewriter.core.addresses import NOWHERE, Addresses, addresses
from rewriter.core.code.program import Function
from rewriter.core.target.bundling import Linked
from targets.ia64.image import jumps, tables, unwind
from targets.ia64.image.text import Text, read
from targets.ia64.isa.bundles import SLOTS
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.isa.rows import TABLE

_NO_CODE = "it holds no instruction"
_OWN_ADDRESS = "it reads its own address"
_FORETOLD = "a branch prediction names a bundle"
PROBED = "a debugger's probe is in it"
_READS_IP = [n for n, op in enumerate(TABLE.rows) if op.sched == "FRIP"]


@dataclass(frozen=True)
class Facts:
    """What is known of a file's code; each answer is found once."""

    image: Linked
    functions: Sequence[Function]

    @cached_property
    def text(self) -> Text:
        """All slots."""
        return read(self.image)

    @cached_property
    def gp(self) -> int | None:
        """What gp holds."""
        return tables.shared_pointer(self.image)

    @cached_property
    def described(self) -> dict[int, unwind.Entry]:
        """The rows of the unwind table by where their code starts."""
        return {entry.start: entry for entry in unwind_entries(self.image)}

    @cached_property
    def pointed(self) -> NDArray[np.int64]:
        """The bundles that data, symbols or constants in the text may mean."""
        found = (tables.pointed(self.image, self.text), self.text.constants(self.gp))
        return self.text.indices(np.concatenate(found))

    @cached_property
    def distances(self) -> tuple[Addresses, Addresses]:
        """Words of data that may be of jump tables: where, and where to, by that in order."""
        places, targets = tables.distances(self.image, self.text)
        order = np.argsort(targets, kind="stable")
        return places[order], targets[order]

    @cached_property
    def entered(self) -> NDArray[np.bool_]:
        """Whether a region begins at a bundle: there, or behind a transfer of control."""
        flags = self.labelled.copy()
        flags[1:] |= self.text.transfers
        return flags

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """Whether control may come to a bundle by something else than the bundle before it."""
        text = self.text
        flags = np.zeros(text.bundles + 1, dtype=np.bool_)
        flags[text.indices(text.targets[text.targets != NOWHERE])] = True
        flags[self.pointed] = True
        flags[text.indices(self.distances[1])] = True
        flags[1:-1] |= np.diff(text.starts) != BUNDLE
        return flags

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Whether control is seen to come to a bundle: by a branch, or from the one before it."""
        text = self.text
        flags = np.zeros(text.bundles, dtype=np.bool_)
        flags[text.indices(text.targets[text.targets != NOWHERE])] = True
        flags[1:] |= ~text.final[:-1] & (np.diff(text.starts) == BUNDLE)
        return flags

    @cached_property
    def crossed(self) -> NDArray[np.int64]:
        """The bundles inside functions that code of another function branches to."""
        text = self.text
        starts = addresses(function.start for function in self.functions)
        at = np.flatnonzero(text.targets != NOWHERE)
        to = text.targets[at]
        source = np.searchsorted(starts, text.addresses[at], side="right")
        owner = np.searchsorted(starts, to, side="right")
        inside = (owner > 0) & (starts[np.maximum(owner, 1) - 1] != to)
        return text.indices(to[inside & (source != owner)])

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The reasons that `held` numbers."""
        return ("", *dict.fromkeys((_NO_CODE, _OWN_ADDRESS, _FORETOLD, *_texts(self.image))))

    @cached_property
    def held(self) -> NDArray[np.uint8]:
        """For each bundle the number of the reason why it stays as it is; 0 if it may change."""
        text = self.text
        number = {reason: n for n, reason in enumerate(self.reasons)}
        flags = np.zeros(text.bundles, dtype=np.uint8)
        foretold = np.flatnonzero(text.foretold != NOWHERE)
        flags[foretold // SLOTS] = number[_FORETOLD]
        flags[text.indices(text.foretold[foretold])] = number[_FORETOLD]
        for row in _READS_IP:
            flags[text.of_row(row) // SLOTS] = number[_OWN_ADDRESS]
        for one in tables.held(self.image):
            low, high = np.searchsorted(text.starts, np.array([one.start, one.end], np.uint64))
            flags[low:high] = number[one.reason]
        flags[text.bad] = number[_NO_CODE]
        return flags

    def is_probed(self, function: Function) -> bool:
        """Whether debuggers stop in the middle of a function to look at registers."""
        return any(function.start <= place < function.end for place in self._probes)

    @cached_property
    def _probes(self) -> Sequence[int]:
        return self.image.probes

    @cached_property
    def computed(self) -> list[int]:
        """The positions of computed branches."""
        return jumps.indirect(self.text)

    @cached_property
    def slots(self) -> dict[int, int]:
        """What the loader makes of words of data."""
        return tables.relocated(self.image)


def unwind_entries(image: Linked) -> tuple[unwind.Entry, ...]:
    """The rows of the unwind table."""
    table = image.table(".IA_64.unwind")
    segment = image.segment_of(table.start)
    if segment is None:
        return ()
    return unwind.entries(image, table, segment.p_vaddr)


def _texts(image: Linked) -> list[str]:
    return [one.reason for one in tables.held(image)]
