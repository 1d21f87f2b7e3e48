"""Symbols out of a kernel's own table, kallsyms, without section headers or symbol tables.

Formats of Linux 2.6.10 and later. What is returned has passed these checks:

- the token index counts the texts of the token table, and no character has another's code;
- each marker is where the names, walked from the first, put every 256th; the number of symbols is
  theirs, and nothing but padding is left over;
- each name begins with a letter of nm;
- the sequence, where there is one, is a permutation that sorts the names;
- the addresses rise, those in code are loaded, and the relative base, where there is one, is the
  lowest of those that are relative to it.

What these cannot see: a byte that changes a name into another in a kernel without a sequence, and
an address that is wrong but still between its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewriter.core.errors import BadInput
from rewriter.elf.headers import PT_LOAD
from rewriter.elf.image import Image
from rewriter.identify.kallsyms.addresses import check_sequence, find_addresses, sequence_before
from rewriter.identify.kallsyms.bounds import bounds
from rewriter.identify.kallsyms.tables import (
    Layout,
    Names,
    Refused,
    Span,
    Tokens,
    find_names,
    find_tokens,
    layouts,
)
from rewriter.identify.kernel_symbols import KernelSymbol, as_symbols


class NoKallsyms(BadInput):
    """A file without a table that passes every check; the message says how far one came."""


@dataclass(frozen=True)
class Kallsyms:
    """The symbols of a kernel's table, in its order (by address), and where its parts begin.

    `form` says how the addresses are kept: "absolute", "relative" (to a base), or "relative but
    for percpu" (symbols of per-CPU data are absolute). `sequenced`: the names' order confirmed
    them.
    """

    symbols: tuple[KernelSymbol, ...]
    addresses: int
    names: int
    tokens: int
    form: str
    sequenced: bool


def decode(image: Image) -> Kallsyms:
    """The table of a kernel image, from its loaded bytes; NoKallsyms when none passes."""
    found: list[Kallsyms] = []
    refused: list[Refused] = []
    for span in _spans(image):
        for result in _tables(image, span):
            if isinstance(result, Refused):
                refused.append(result)
            else:
                found.append(result)
    if not found:
        reason = max(refused, key=lambda r: r.depth, default="no token index")
        raise NoKallsyms(f"{image.name}: has no kallsyms that passes: {reason}")
    if len({table.symbols for table in found}) > 1:
        places = ", ".join(f"{table.names:#x}" for table in found)
        raise NoKallsyms(f"{image.name}: several tables pass as kallsyms, names at {places}")
    return found[0]


def with_kallsyms(image: Image) -> Image:
    """The image with its kallsyms as symbols, where it has no symbols of its own but a table.

    Bounds of tables that kallsyms does not name are added where they are known.
    """
    if any(symbol.st_shndx for symbol in image.symbols):
        return image
    try:
        found = decode(image).symbols
    except NoKallsyms:
        return image
    listed = as_symbols(found, image)
    return replace(image, symbols=(*listed, *as_symbols(bounds(image, listed), image)))


def _spans(image: Image) -> Iterator[Span]:
    for segment in image.segments:
        if segment.p_type == PT_LOAD and segment.p_filesz:
            data = image.data[segment.p_offset : segment.p_offset + segment.p_filesz]
            yield Span(segment.p_vaddr, data, image.byteorder)


def _tables(image: Image, span: Span) -> Iterator[Kallsyms | Refused]:
    for tokens in find_tokens(span):
        if isinstance(tokens, Refused):
            yield tokens
            continue
        yield Refused(1, f"token table at {tokens.start:#x}: no markers and names before it")
        for layout in layouts(image.bits // 8):
            for names in find_names(span, tokens, layout):
                if isinstance(names, Refused):
                    yield names
                else:
                    yield from _addressed(image, span, tokens, names, layout)


def _addressed(
    image: Image, span: Span, tokens: Tokens, names: Names, layout: Layout
) -> Iterator[Kallsyms | Refused]:
    try:
        sequenced = sequence_before(span, tokens, names, layout)
    except Refused as refused:
        yield refused
        return
    for found in find_addresses(image, span, tokens, names, layout):
        if isinstance(found, Refused):
            yield found
            continue
        try:
            if found.start > tokens.start:
                check_sequence(span, layout.up(found.end), 3, names)
                sequenced = True
        except Refused as refused:
            yield refused
            continue
        yield Kallsyms(
            symbols=tuple(_symbols(found.values.tolist(), names.texts)),
            addresses=found.start,
            names=names.start,
            tokens=tokens.start,
            form=found.form,
            sequenced=sequenced,
        )


def _symbols(addresses: list[int], texts: tuple[bytes, ...]) -> Iterator[KernelSymbol]:
    for address, text in zip(addresses, texts, strict=True):
        yield KernelSymbol(address, chr(text[0]), text[1:].decode("ascii"))
