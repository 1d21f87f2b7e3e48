"""Writes kallsyms tables as scripts/kallsyms.c documents them, for kernels that no image is of.

An encoder of its own: it shares nothing with the decoder. A table is a list of assembler
directives; `assembled` lays them out here, `source` gives them to a real assembler.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

Symbol = tuple[int, str, str]
Directive = tuple[str, list[int] | list[bytes]]


@dataclass(frozen=True)
class Form:
    """One kernel's way: see FORMS."""

    relative: bool = False
    percpu: bool = False
    narrow: bool = True
    power: bool = False
    sequence: int = 0
    addresses_last: bool = False


FORMS = {
    "2.6, align is bytes": Form(narrow=False),
    "2.6, align is a power": Form(narrow=False, power=True),
    "4.6": Form(relative=True, narrow=False),
    "4.6, percpu": Form(relative=True, percpu=True, narrow=False),
    "4.20": Form(relative=True),
    "6.1, IA-64": Form(sequence=3),
    "6.1": Form(relative=True, sequence=3),
    "6.2": Form(relative=True, sequence=4),
    "6.4": Form(relative=True, sequence=3, addresses_last=True),
    "6.4, absolute": Form(sequence=3, addresses_last=True),
    "6.4, percpu": Form(relative=True, percpu=True, sequence=3, addresses_last=True),
}


@dataclass(frozen=True)
class Written:
    """The bytes, the address of their first, and the address of each table by its name."""

    data: bytes
    start: int
    labels: dict[str, int]


def some_symbols(count: int, seed: int, base: int, percpu: int = 0) -> list[Symbol]:
    """Symbols that rise from `base` on, the first `percpu` of them at small absolute addresses."""
    draw = random.Random(seed)
    parts = ("sys", "do", "get", "page", "inode", "lock", "irq", "ev6", "memcpy", "x.1", "tty")
    names = {f"__per_cpu_{n}" for n in range(percpu)}
    while len(names) < count:
        names.add("_".join(draw.choices(parts, k=draw.randint(1, 5))) + f"{draw.randrange(10**4)}")
    names_in_order = sorted(names, key=lambda name: (not name.startswith("__per"), draw.random()))
    found, address = [], 0
    for number, name in enumerate(names_in_order):
        if number == percpu:
            address = base
        letter = "A" if number < percpu else draw.choice("TtTtTtW")
        found.append((address, letter, name))
        address += draw.choice((0, 4, 16, 32, 400))
    return found


def tokens_for(symbols: Sequence[Symbol]) -> list[bytes]:
    """Each character that occurs at its code; pieces that occur often in the free codes."""
    used = {byte for _, letter, name in symbols for byte in (letter + name).encode()}
    pieces = [b"_", b"sys_", b"get_", b"page", b"Tdo_", b"tlock", b"memcpy_ev6", b"in", b"od"]
    free = iter([p for p in pieces if len(p) > 1] + [b"%c%c" % (97 + n // 26, 97 + n % 26)
                for n in range(300)])  # fmt: skip
    return [bytes((code,)) if code in used else next(free) for code in range(256)]


def packed(text: bytes, tokens: Sequence[bytes]) -> bytes:
    """The longest tokens first, from the left; a length of one byte or two."""
    known = {token: code for code, token in enumerate(tokens)}
    codes, at = [], 0
    while at < len(text):
        piece = next(text[at : at + n] for n in range(12, 0, -1) if text[at : at + n] in known)
        codes.append(known[piece])
        at += len(piece)
    size = len(codes)
    head = [size] if size < 0x80 else [size & 0x7F | 0x80, size >> 7]
    return bytes(head + codes)


def tables(symbols: Sequence[Symbol], form: Form, word: int) -> Iterator[tuple[str, Directive]]:
    """Every table by its label, in the order of that kernel."""
    tokens = tokens_for(symbols)
    texts = [(letter + name).encode() for _, letter, name in symbols]
    rows = [packed(text, tokens) for text in texts]
    markers = [sum(map(len, rows[:n])) for n in range(0, len(rows), 256)]
    pointer = "quad" if word == 8 else "long"
    count = "long" if form.narrow else pointer
    if not form.addresses_last:
        yield from _addresses(symbols, form, pointer)
    yield "num_syms", (count, [len(symbols)])
    yield "names", ("byte", list(b"".join(rows)))
    yield "markers", (count, markers)
    if not form.addresses_last:
        yield from _sequence(symbols, form)
    index = [sum(len(token) + 1 for token in tokens[:n]) for n in range(256)]
    yield "token_table", ("asciz", tokens)
    yield "token_index", ("short", index)
    if form.addresses_last:
        yield from _addresses(symbols, form, pointer)
        yield from _sequence(symbols, form)


def _addresses(
    symbols: Sequence[Symbol], form: Form, pointer: str
) -> Iterator[tuple[str, Directive]]:
    addresses = [address for address, _, _ in symbols]
    if not form.relative:
        yield "addresses", (pointer, addresses)
        return
    absolute = [form.percpu and letter == "A" for _, letter, _ in symbols]
    base = next(a for a, is_absolute in zip(addresses, absolute, strict=True) if not is_absolute)
    offsets = [a - base for a in addresses]
    if form.percpu:
        offsets = [
            a if fixed else base - 1 - a for a, fixed in zip(addresses, absolute, strict=True)
        ]
    yield "offsets", ("long", [offset & 0xFFFFFFFF for offset in offsets])
    yield "relative_base", (pointer, [base])


def _sequence(symbols: Sequence[Symbol], form: Form) -> Iterator[tuple[str, Directive]]:
    order = sorted(range(len(symbols)), key=lambda n: (symbols[n][2].encode(), symbols[n][0], n))
    if form.sequence == 4:
        yield "seqs_of_names", ("long", order)
    elif form.sequence == 3:
        yield "seqs_of_names", ("byte", [b for n in order for b in n.to_bytes(3, "big")])


def assembled(
    symbols: Sequence[Symbol], form: Form, word: int, byteorder: str, start: int
) -> Written:
    """The tables as an assembler lays them out, from `start` on."""
    order = "<" if byteorder == "little" else ">"
    align = 1 << word if form.power else word
    out, labels = bytearray(), {}
    for label, (directive, values) in tables(symbols, form, word):
        out += bytes(-(start + len(out)) % align)
        labels[label] = start + len(out)
        if directive == "asciz":
            out += b"".join(bytes(value) + b"\0" for value in values)  # type: ignore[arg-type]
        else:
            kind = {"byte": "B", "short": "H", "long": "I", "quad": "Q"}[directive]
            out += struct.pack(f"{order}{len(values)}{kind}", *values)
    return Written(bytes(out), start, labels)


def source(symbols: Sequence[Symbol], form: Form, word: int) -> str:
    """The same for the GNU assembler: `.align` is what it is for the machine."""
    lines = ["\t.section .rodata"]
    for label, (directive, values) in tables(symbols, form, word):
        lines += [f"\t.{'align' if form.power else 'balign'} {word}", f"kallsyms_{label}:"]
        for value in values:
            shown = f'"{value.decode()}"' if isinstance(value, bytes) else f"{value:#x}"
            lines.append(f"\t.{directive}\t{shown}")
    return "\n".join([*lines, ""])


def elf(written: Written, word: int, byteorder: str, code: int, machine: int) -> bytes:
    """An executable that loads the bytes, and `code` bytes of nothing before them."""
    order = "<" if byteorder == "little" else ">"
    start = written.start - code
    data = bytes(code) + written.data
    head, segment = (64, 56) if word == 8 else (52, 32)
    ident = b"\x7fELF" + bytes((word // 4, 1 if byteorder == "little" else 2, 1)) + bytes(9)
    form = "HHIQQQIHHHHHH" if word == 8 else "HHIIIIIHHHHHH"
    ehdr = struct.pack(order + form, 2, machine, 1, start, head, 0, 0, head, segment, 1, 0, 0, 0)
    offset = head + segment
    if word == 8:
        fields = (1, 5, offset, start, start, len(data), len(data), 16)
        phdr = struct.pack(order + "IIQQQQQQ", *fields)
    else:
        fields = (1, offset, start, start, len(data), len(data), 5, 16)
        phdr = struct.pack(order + "IIIIIIII", *fields)
    return ident + ehdr + phdr + data


def damaged(written: Written, changes: dict[int, int]) -> Written:
    """The same with other bytes at some places, by offset."""
    data = bytearray(written.data)
    for at, value in changes.items():
        data[at] = value
    return replace(written, data=bytes(data))
