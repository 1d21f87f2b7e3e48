"""The sample library with code of a test's own in its largest function."""

from __future__ import annotations

from dataclasses import dataclass, replace

import targets
from fixtures import inputs
from rewriter.analysis.program import analyse
from rewriter.core.code.program import Function
from rewriter.elf import image
from rewriter.elf.image import Image
from targets.alpha import Alpha
from targets.alpha.assembler import assemble


@dataclass(frozen=True)
class Room:
    """A function of the sample that is long enough for a test of code."""

    image: Image
    place: Function

    def holding(self, target: Alpha, text: str) -> Image:
        """The sample with other code in the function, the rest of it nops; `;` ends a line."""
        place, data = self.place, self.image.data
        code = assemble(text.replace(";", "\n"), place.start).code
        size = place.end - place.start
        nops = b"".join(map(target.encode, target.nops(size - len(code))))
        at = self.image.offset_of(place.start)
        return replace(self.image, data=data[:at] + code + nops + data[at + size :])


def sample_room() -> Room:
    """The sample and its largest function that is understood."""
    loaded = image.load(str(inputs.require("alpha-sample")))
    program = analyse(loaded, targets.of(loaded))
    understood = (f for f in program.functions if not program.not_understood(f))
    return Room(loaded, max(understood, key=lambda f: f.end - f.start))
