"""Signatures of routines in linked files of grouped code."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rewriter.analysis.functions import find_functions, function_symbols
from rewriter.core.code.program import Function
from rewriter.core.target.bundling import Bundling
from rewriter.elf.image import Image
from rewriter.identify.search import Match, search, text_of
from rewriter.identify.signatures import (
    Database,
    File,
    Signature,
    Source,
    digest,
    parse,
    start_of,
)
from rewriter.identify.symbols import contract_of


def compiled(image: Image, target: Bundling, contracts: Collection[str], file: File) -> Database:
    """The signatures of the functions that symbols name after contracts."""
    functions = {f.start: f for f in find_functions(image, target.described(image))}
    found = []
    for symbol in function_symbols(image):
        contract = contract_of(symbol.name, contracts)
        if contract is not None and symbol.st_value in functions:
            source = Source(file, "", symbol.name)
            found.append(_signature(image, target, functions[symbol.st_value], contract, source))
    return Database.of(target.name, found)


def _signature(
    image: Image, target: Bundling, function: Function, contract: str, source: Source
) -> Signature:
    spelling = target.substituting.spelling
    size = spelling.table.size
    words = image.words(function.start, function.end, size).astype(f"u{size}")
    normal = spelling.normal(words)
    start = start_of(spelling.coarse(words))
    return Signature(contract, len(words), start, digest(normal), (source,))


def known(image: Image, target: Bundling, contracts: Collection[str]) -> Iterator[Match]:
    """The places of a file that one of the target's own signatures fits, and no other place."""
    path = target.substituting.signatures
    if path.is_file():
        database = parse(path.read_text(encoding="utf-8"), path.name)
        spelling = target.substituting.spelling
        for match in search(text_of(image, spelling), spelling, database):
            if match.unique and match.signature.routine in contracts:
                yield match
