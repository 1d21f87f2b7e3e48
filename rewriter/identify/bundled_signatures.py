"""Signatures of routines in linked files whose text says what issues together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rewriter.analysis.functions import bundled_functions, function_symbols
from rewriter.core.code.program import Function
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.ident import type_of
from rewriter.elf.archive.members import Part
from rewriter.elf.archive.text import Texts, read
from rewriter.elf.headers import ET_REL, printable
from rewriter.elf.image import Image, parse
from rewriter.identify.search import Match, search, text_of
from rewriter.identify.signatures import (
    NO_FILE,
    SHORTEST,
    Database,
    Refused,
    Signature,
    Source,
    digest,
    start_of,
)
from rewriter.identify.signatures import parse as parse_database
from rewriter.identify.symbols import contract_of

NOT_LINKED = "not linked: what a linker fills in is known of linked files only"


class BundledCompiler:
    """Makes signatures of the functions that symbols name after contracts, file by file."""

    def __init__(self, target: Bundling, contracts: Collection[str]) -> None:
        self.target, self.contracts = target, contracts
        self.signatures: list[Signature] = []
        self.refused: list[Refused] = []
        self.functions = 0
        self.seen = False

    def add(self, part: Part, name: str) -> str:
        """Signatures of one ELF file; gives the compiler that it names."""
        found = read(part, name)
        if not self.target.fits(found.ident):
            return ""
        self.seen = self.seen or bool(found.texts)
        if type_of(part.data, found.ident) == ET_REL:
            self._leave(part, found)
        else:
            self._linked(part, parse(part.data, name))
        return found.compiler

    def _leave(self, part: Part, found: Texts) -> None:
        """An object: its routines are refused by name."""
        for text in found.texts:
            self.functions += len({symbol.offset for symbol in text.symbols})
            for symbol in text.symbols:
                if contract_of(symbol.name, self.contracts) is not None:
                    self.refused.append(Refused(part.inside, printable(symbol.name), NOT_LINKED))

    def _linked(self, part: Part, image: Image) -> None:
        """A linked file."""
        functions = {f.start: f for f in bundled_functions(image, self.target)}
        self.functions += len(functions)
        for symbol in function_symbols(image):
            contract = contract_of(symbol.name, self.contracts)
            function = functions.get(symbol.st_value)
            if contract is None or function is None:
                continue
            source = Source(NO_FILE, part.inside, printable(symbol.name))
            found = _signature(image, self.target, function, contract, source)
            if found.words < SHORTEST:
                reason = f"{found.words} words are too few to tell it from others"
                self.refused.append(Refused(part.inside, source.symbol, reason))
            else:
                self.signatures.append(found)


def _signature(
    image: Image, target: Bundling, function: Function, contract: str, source: Source
) -> Signature:
    spelling = target.substituting.spelling
    size = spelling.table.size
    words = image.words(function.start, function.end, size).astype(f"u{size}")
    normal = spelling.normal(words)
    start = start_of(spelling.coarse(words))
    return Signature(contract, len(words), start, digest(normal), (source,))


def shipped(target: Bundling) -> Database:
    """The signatures that come with retune; none where there is no such file."""
    path = target.substituting.signatures
    if not path.is_file():
        return Database.of(target.name, ())
    return parse_database(path.read_text(encoding="utf-8"), path.name)


def known(
    image: Image, target: Bundling, contracts: Collection[str], database: Database | None = None
) -> Iterator[Match]:
    """The places of a file that one signature fits, and no other place.

    `database` is used instead of the signatures that come with retune.
    """
    spelling = target.substituting.spelling
    used = database if database is not None else shipped(target)
    if used.signatures:
        for match in search(text_of(image, spelling), spelling, used):
            if match.unique and match.signature.routine in contracts:
                yield match
