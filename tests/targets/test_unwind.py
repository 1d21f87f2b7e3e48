"""Unwind tables against pyelftools, which shares nothing with ours; and what a change does."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from elftools.dwarf.callframe import FDE, ZERO
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures import inputs
from rewriter.core.errors import BadInput
from rewriter.elf import emit
from rewriter.elf.image import Image, load, parse
from rewriter.elf.unwind import entries as unwind
from rewriter.elf.unwind import lsda
from rewriter.elf.unwind import rows as unwind_rows
from rewriter.elf.unwind.entries import Fde
from rewriter.elf.unwind.rewritten import rewritten

LIBRARIES = ["alpha-libc", "ppc-libc", "ppc64-libc"]

# (input, one FDE in how many has its rows compared: pyelftools takes 1 ms for each)
SAMPLED = {"alpha-libc": 1, "ppc-libc": 6, "ppc64-libc": 6, "alpha-libstdc++": 8}


@functools.cache
def image(name: str) -> Image:
    return load(inputs.require(name))


@functools.cache
def frames(name: str) -> tuple[Fde, ...]:
    return unwind.frames(image(name))


@functools.cache
def oracle(name: str) -> list[FDE]:
    elf = ELFFile(io.BytesIO(image(name).data))
    entries = elf.get_dwarf_info(relocate_dwarf_sections=False).EH_CFI_entries()
    return [e for e in entries if not isinstance(e, ZERO) and isinstance(e, FDE)]


@pytest.mark.parametrize("name", SAMPLED)
def test_ranges_are_those_of_pyelftools(name: str) -> None:
    expected = [(e["initial_location"], e["address_range"]) for e in oracle(name)]
    assert [(f.start, f.end - f.start) for f in frames(name)] == expected
    assert len(expected) > 3000


@pytest.mark.parametrize("name", SAMPLED)
def test_lsda_pointers_are_those_of_pyelftools(name: str) -> None:
    expected = [e.lsda_pointer for e in oracle(name)]
    assert [f.lsda for f in frames(name)] == expected
    assert any(expected)


@pytest.mark.parametrize("name", SAMPLED)
def test_rows_are_those_of_pyelftools(name: str) -> None:
    step = SAMPLED[name]
    compared = 0
    for fde, entry in zip(frames(name)[::step], oracle(name)[::step], strict=True):
        assert list(_ours(fde)) == _theirs(entry), f"{fde.start:#x}"
        compared += 1
    assert compared > 500


def _ours(fde: Fde) -> Iterator[tuple[int, object, dict[int, object]]]:
    for address, rules in unwind_rows.rows(fde):
        registers: dict[int, object] = {
            r: rule for r, rule in rules.registers if rule[0] != "same_value"
        }
        yield address, rules.cfa, registers


def _theirs(entry: FDE) -> list[tuple[int, object, dict[int, object]]]:
    """Rows of pyelftools in our words; of several rows at one address the last one counts."""
    names = {"OFFSET": "offset", "VAL_OFFSET": "val_offset", "REGISTER": "register"}
    names |= {"UNDEFINED": "undefined", "EXPRESSION": "expression"}
    rows: dict[int, tuple[int, object, dict[int, object]]] = {}
    for line in entry.get_decoded().table or [_initial(entry)]:
        cfa = line["cfa"]
        ours = ("expression", 0, bytes(cfa.expr)) if cfa.expr else ("register", cfa.reg, cfa.offset)
        registers: dict[int, object] = {}
        for number, rule in line.items():
            if not isinstance(number, int) or rule.type == "SAME_VALUE":
                continue
            value = bytes(rule.arg) if rule.type == "EXPRESSION" else rule.arg
            registers[number] = (names[rule.type], value)
        rows[line["pc"]] = (line["pc"], ours, registers)
    return list(rows.values())


def _initial(entry: FDE) -> dict[Any, Any]:
    """The row of an FDE without instructions, which pyelftools leaves out: that of its CIE."""
    assert entry.cie is not None
    return {**entry.cie.get_decoded().table[-1], "pc": entry["initial_location"]}


@pytest.mark.parametrize("name", LIBRARIES)
def test_search_table_points_at_the_records(name: str) -> None:
    table = unwind.search_table(image(name))
    assert table is not None
    assert np.all(table.starts[:-1] < table.starts[1:])
    records = {image(name).address_of(f.offset): f.start for f in frames(name)}
    assert dict(zip(table.fdes.tolist(), table.starts.tolist(), strict=True)) == records
    offset = table.offset + 2 * table.width * 7
    word = image(name).data[offset : offset + table.width]
    displacement = int.from_bytes(word, image(name).byteorder, signed=True)
    assert table.base + displacement == int(table.starts[7])


def test_the_kernel_of_alpha_has_a_table_and_those_of_others_none() -> None:
    kernel = image("alpha-vmlinux")
    fdes = unwind.frames(kernel)
    assert len(fdes) > 20_000
    ranges = kernel.executable_ranges()
    assert all(any(a <= f.start < f.end <= b for a, b in ranges) for f in fdes)
    assert unwind.search_table(kernel) is None
    for other in ("ia64-libc", "ppc32-vmlinux"):
        assert unwind.frames(load(inputs.require(other))) == ()


@pytest.mark.parametrize("name", [*LIBRARIES, "alpha-libstdc++"])
def test_call_sites_lie_in_their_function(name: str) -> None:
    starts = {f.start: f.end for f in frames(name)}
    seen = pads = 0
    for fde in frames(name):
        for site in lsda.lsda_ranges(image(name), fde):
            assert fde.start <= site.start <= site.end <= fde.end
            if site.landing_pad is not None:
                assert site.landing_pad in range(fde.start, fde.end)
                pads += 1
            seen += 1
    assert starts
    assert seen > pads > 50


@pytest.mark.parametrize("name", LIBRARIES)
def test_advances_are_the_row_boundaries(name: str) -> None:
    for fde in frames(name)[::5]:
        moved = {a.after for a in unwind_rows.advances(fde) if a.after != a.before}
        assert moved == {address for address, _ in unwind_rows.rows(fde)[1:]}


def _swap_advance(data: bytes, advance: unwind_rows.Advance) -> bytes:
    """Return `data` with a six-bit advance one unit longer, or shorter at the limit."""
    opcode = data[advance.offset]
    changed = opcode + (1 if opcode & 0x3F < 0x3F else -1)
    return data[: advance.offset] + bytes((changed,)) + data[advance.offset + 1 :]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_changed_advance_is_seen(name: str) -> None:
    original = image(name)
    candidates = [(i, a) for i, f in enumerate(frames(name)) for a in unwind_rows.advances(f)[:1]]
    seen = 0
    for index, advance in candidates[:: len(candidates) // 8]:
        if advance.bits != 6:
            continue
        mutant = parse(_swap_advance(original.data, advance), "mutant")
        fde = unwind.frames(mutant)[index]
        try:
            rows = unwind_rows.rows(fde)
        except BadInput:
            continue
        assert rows != unwind_rows.rows(frames(name)[index])
        seen += 1
    assert seen > 2


def _retimed(name: str, fde: Fde, patches: list[emit.Patch]) -> Fde:
    whole = emit.apply(image(name).data, patches)
    changed = parse(whole, "retimed")
    return next(f for f in unwind.frames(changed) if f.start == fde.start)


@settings(max_examples=25)
@given(st.data(), st.sampled_from(LIBRARIES))
def test_retime_moves_rows_as_told(draw: st.DataObject, name: str) -> None:
    fde = draw.draw(st.sampled_from(frames(name)))
    unit = fde.cie.code_alignment_factor
    addresses = range(fde.start, fde.end + 1, unit)
    rows = unwind_rows.rows(fde)
    targets = sorted(
        draw.draw(st.lists(st.sampled_from(addresses), min_size=len(rows), max_size=len(rows)))
    )
    mapping = {address: new for (address, _), new in zip(rows, targets, strict=True)}
    mapping[fde.start] = fde.start
    patches = unwind_rows.retime(fde, mapping.__getitem__)
    if patches is None:
        advances = unwind_rows.advances(fde)
        deltas = [(mapping[a.after] - mapping[a.before]) // unit for a in advances]
        assert any(d >> a.bits for d, a in zip(deltas, advances, strict=True))
        return
    again = _retimed(name, fde, sorted(patches, key=lambda p: p.offset))
    expected = {mapping[address]: rules for address, rules in rows}
    assert dict(unwind_rows.rows(again)) == expected


def test_retime_takes_the_room_of_nops_behind() -> None:
    """The last row goes to the end of its function, farther than its advance can say."""
    moved = 0
    for fde in frames("alpha-libc")[::16]:
        found = unwind_rows.advances(fde)
        if found and (fde.end - found[-1].before) // found[-1].factor >= 1 << found[-1].bits:
            rows = unwind_rows.rows(fde)
            places = {address: address for address, _ in rows} | {found[-1].after: fde.end}
            patches = unwind_rows.retime(fde, places.__getitem__)
            if patches is not None:
                again = unwind_rows.rows(_retimed("alpha-libc", fde, patches))
                assert again == [(places[at], rules) for at, rules in rows]
                moved += 1
    assert moved >= 3


@pytest.mark.parametrize("name", LIBRARIES)
def test_retime_with_the_identity_changes_nothing(name: str) -> None:
    assert all(unwind_rows.retime(f, lambda address: address) == [] for f in frames(name)[::4])


def test_retime_refuses_a_mapping_that_falls_or_leaves() -> None:
    fde = next(f for f in frames("alpha-libc") if len(unwind_rows.rows(f)) > 2)
    with pytest.raises(ValueError, match="goes to"):
        unwind_rows.retime(fde, lambda address: 2 * fde.start - address)
    with pytest.raises(ValueError, match="goes to"):
        unwind_rows.retime(fde, lambda address: address + fde.end)
    assert unwind_rows.retime(fde, lambda address: min(address + 1, fde.end)) is None


def _found(read: Callable[[], Mapping[int, Fde]]) -> dict[int, Fde] | str:
    try:
        return dict(read())
    except BadInput as error:
        return str(error)


@settings(max_examples=200)
@given(st.data())
def test_entries_read_again_are_those_read_anew(data: st.DataObject) -> None:
    """Whatever differs: an entry's instructions, with which they are as they were, or the rest."""
    old, known = image("alpha-sample"), frames("alpha-sample")
    section = old.section(".eh_frame")
    assert section is not None
    inside = data.draw(st.booleans())
    chosen = data.draw(st.sampled_from(known)).instructions
    first, end = chosen if inside else (section.sh_offset, section.file_end)
    at = data.draw(st.integers(first, end - 1))
    byte = data.draw(st.integers(0, 255))
    new = replace(old, data=old.data[:at] + bytes((byte,)) + old.data[at + 1 :])
    before = {frame.start: frame for frame in known}
    anew = _found(lambda: {frame.start: frame for frame in unwind.frames(new)})
    again = _found(lambda: unwind.frames_again(new, before))
    assert again == anew
    assert isinstance(again, str) or all(frame.image is new for frame in again.values())
    if inside:
        assert again == before


# Rows in another sequence --------------------------------------------------------------------


def with_patches(frame: Fde, patches: Iterable[emit.Patch]) -> Fde:
    """An entry in a file with some bytes that are others."""
    data = bytearray(frame.image.data)
    for patch in patches:
        assert data[patch.offset : patch.offset + len(patch.old)] == patch.old
        data[patch.offset : patch.offset + len(patch.new)] = patch.new
    return replace(frame, image=replace(frame.image, data=bytes(data)))


@pytest.mark.parametrize("name", LIBRARIES)
def test_rows_are_written_in_any_sequence(name: str) -> None:
    """They are read as they were told, or there was no room for them."""
    random, fitting = Random(1), 0
    tried = [frame for frame in frames(name)[::40] if len(unwind_rows.rows(frame)) > 3]
    for frame in tried:
        places, rules = zip(*unwind_rows.rows(frame), strict=True)
        for mixed in (rules, random.sample(rules, len(rules))):
            table = [(at, what) for at, what in zip(places, mixed, strict=True)]
            told = [one for n, one in enumerate(table) if not n or table[n - 1][1] != one[1]]
            patches = rewritten(frame, told)
            if patches is not None:
                fitting += 1
                assert unwind_rows.rows(with_patches(frame, patches)) == told, hex(frame.start)
    assert fitting > len(tried) > 10


def test_what_no_row_says_is_not_written_anew() -> None:
    """How many bytes of arguments are pushed has no spelling of ours."""
    sizes = b"\x2e\x08"
    for frame in frames("ppc-libc"):
        end = frame.instructions[1]
        if frame.image.data[end - 2 : end] == b"\0\0" and len(unwind_rows.rows(frame)) > 1:
            break
    told = unwind_rows.rows(frame)
    assert rewritten(frame, told) is not None
    sized = with_patches(frame, [emit.Patch(end - 2, b"\0\0", sizes)])
    last, rules = told[-1]
    assert unwind_rows.rows(sized) == [*told[:-1], (last, rules._replace(pushed=8))]
    assert rewritten(sized, told) is None
