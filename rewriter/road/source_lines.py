"""What debug information, in the file or in one of its own, says of functions that would move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rewriter.core.code.program import Function
from rewriter.core.errors import BadInput
from rewriter.elf.debug_identity import has_identity, with_new_identity
from rewriter.elf.image import Image
from rewriter.elf.lines.file import LineTable, Part, line_table, with_lines
from rewriter.elf.lines.moves import Places, moved
from rewriter.elf.lines.table import NAME, Lines

DESCRIBED = "debug information describes it"
_STRANGE = "debug information that is not understood may describe it"
_UNWRITTEN = "debug information describes it in ways that cannot follow"
_PARTLY = "its lines are those of a part of it"
NO_LONGER_FITS = "a debug file of the original no longer fits"
REFUSED_BY_ID = "debuggers refuse it, by a new build-id"
_STALE = (".debug_info", ".debug_loc", ".debug_loclists", ".debug_ranges", ".debug_rnglists")


@dataclass(frozen=True)
class Described:
    """The debug information of a file; with `follows` its lines go where instructions go.

    Lines in a file of its own never follow: what that describes keeps its place.
    """

    image: Image
    follows: bool = False
    _stays: dict[Function, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def table(self) -> LineTable | BadInput | None:
        """The file's lines, or why they are not understood."""
        try:
            return line_table(self.image if self.image.debug is None else self.image.debug)
        except BadInput as strange:
            return strange

    def names(self, function: Function) -> bool:
        """Whether it may say anything of a function."""
        table = self.table
        if table is None:
            return False
        return isinstance(table, BadInput) or bool(table.touching(function.start, function.end))

    def replaces(self, function: Function) -> str:
        """Why no other routine may stand for a function, or nothing."""
        if not self.names(function):
            return ""
        return _STRANGE if isinstance(self.table, BadInput) else DESCRIBED

    def stays(self, function: Function) -> str:
        """Why a function's instructions keep their places, or nothing."""
        if function not in self._stays:
            self._stays[function] = self._reason(function)
        return self._stays[function]

    def _reason(self, function: Function) -> str:
        table = self.table
        if table is None or isinstance(table, BadInput) or not self._writes:
            return self.replaces(function)
        found = table.touching(function.start, function.end)
        if found and table.unwritten:
            return _UNWRITTEN
        whole = all(x.start <= function.start and function.end <= x.end for _, x in found)
        return "" if whole else _PARTLY

    def followed(self, function: Function) -> bool:
        """Whether lines are to go where the function's instructions go."""
        return self._writes and isinstance(self.table, LineTable) and self.names(function)

    @property
    def _writes(self) -> bool:
        return self.follows and self.image.debug is None

    def written(self, data: bytes, functions: Iterable[tuple[Function, Places]]) -> bytes:
        """A file whose functions are in new places, with their lines there."""
        table = self.table
        if not isinstance(table, LineTable):
            return data
        by_part: dict[Part, list[tuple[Function, Places]]] = {}
        parts: dict[Part, Lines] = {}
        for function, places in sorted(functions, key=lambda one: one[0].start):
            for part, lines in table.touching(function.start, function.end):
                parts[part] = lines
                by_part.setdefault(part, []).append((function, places))
        new = {part: moved(lines, by_part[part]) for part, lines in parts.items()}
        return with_lines(data, table, new)

    def apart(self, data: bytes, functions: Sequence[Function]) -> bytes:
        """A file in which these functions are in new places; debuggers refuse what does not fit."""
        return with_new_identity(self.image, data) if self.astray(functions) else data

    def astray(self, functions: Sequence[Function]) -> bool:
        """Whether a debug file that is not here no longer fits when these functions moved."""
        here = self.image.debug is not None or self.table is not None
        return bool(functions) and not here and has_identity(self.image)

    def told(self, functions: Sequence[Function]) -> tuple[str, ...]:
        """What to say of debug information when these functions are in new places."""
        count = len(functions)
        if not count:
            return ()
        many = f"{count} function{'s' * (count != 1)}"
        found = [f for f in functions if self.names(f)]
        if found:
            said = [s.name for s in self.image.sections if s.name in _STALE]
            stale = f"; what {', '.join(said)} say inside of these is as it was" if said else ""
            return (f"debug information: {NAME} follows {len(found)} of {many} that moved{stale}",)
        if self.astray(functions):
            return (f"debug information: {NO_LONGER_FITS} {many} that moved; {REFUSED_BY_ID}",)
        return ()
