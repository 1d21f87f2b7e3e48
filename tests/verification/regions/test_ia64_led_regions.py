"""Regions of a real file to which nothing but the words of a jump table lead; what data names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import targets
from fixtures.inputs import require
from rewriter.core.target.bundling import Bundling
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load, parse
from rewriter.road.bundled.road import BundledRoad, prepared
from rewriter.road.options import Options
from rewriter.verify.regions.check import compare
from targets.ia64.image import tables
from targets.ia64.image.text import read

NAME, FUNCTION = "ia64-libsigar", "sigar_getline"


@pytest.fixture(scope="module")
def image() -> Image:
    return load(require(NAME))


@pytest.fixture(scope="module")
def target(image: Image) -> Bundling:
    found = targets.of(image).bundling
    assert found is not None
    return found


@pytest.fixture(scope="module")
def road(image: Image, target: Bundling) -> tuple[BundledRoad, bytes]:
    options = Options(passes=("align", "schedule"), funcs=(FUNCTION,))
    road = BundledRoad(prepared(image, target, target.cpus["itanium2"], options))
    return road, with_old_identity(image, road.run(road.functions, lambda *progress: None))


def _findings(image: Image, data: bytes, target: Bundling) -> Sequence[str]:
    return compare(image, replace(image, data=data), target, lambda *progress: None).findings


def test_a_function_with_such_regions_moves(
    image: Image, target: Bundling, road: tuple[BundledRoad, bytes]
) -> None:
    (placing,) = road[0].placings.values()
    assert placing.moved
    led = {to for _, to in placing.routine.words}
    assert led & {place.old for place in placing.laid.places if place.old != place.new}
    assert not _findings(image, road[1], target)


def test_a_word_that_leads_elsewhere_is_found(
    image: Image, target: Bundling, road: tuple[BundledRoad, bytes]
) -> None:
    """Each of some words leads one bundle further on."""
    (placing,) = road[0].placings.values()
    places = [place for place, _ in placing.routine.words]
    for place in places[:: len(places) // 5]:
        wrong, offset = bytearray(road[1]), image.offset_of(place)
        to = tables.led(parse(road[1], NAME), place) + target.bundle
        wrong[offset : offset + tables.WORD] = tables.word(place, to)
        assert _findings(image, bytes(wrong), target)


@pytest.mark.parametrize(("table", "e_type", "is_named"), [
    (".rodata", 3, False), (".rodata", 2, True), (".got", 3, True),
])  # fmt: skip
def test_only_what_the_loader_changes_names_code_of_a_library(
    image: Image, table: str, e_type: int, is_named: bool
) -> None:
    """A word that reads like an address: in a library it is one where a relocation stands."""
    relocated = {r.r_offset for r in image.relocations}
    places = range(image.table(table).start, image.table(table).stop - 7, 8)
    place = next(p for p in places if (p in relocated) == (table == ".got"))
    inside = next(s.st_value for s in image.symbols if s.name == FUNCTION) + 16
    data, offset = bytearray(image.data), image.offset_of(place)
    data[offset : offset + 8] = inside.to_bytes(8, "little")
    text = read(image)
    assert inside not in tables.pointed(image, text)
    made = replace(image, data=bytes(data), e_type=e_type)
    assert (inside in tables.pointed(made, text)) == is_named


@pytest.mark.parametrize("sh_type", [1, 7, 0x6FFFFFF0], ids=["data", "a note", "anything"])
def test_what_is_loaded_names_code_of_a_program(image: Image, sh_type: int) -> None:
    """Of whatever type the section is, and at any byte, in what is packed."""
    table = image.table(".rodata")
    inside = next(s.st_value for s in image.symbols if s.name == FUNCTION) + 16
    text = read(image)
    sections = tuple(
        replace(one, sh_type=sh_type) if one.name == ".rodata" else one for one in image.sections
    )
    for place in (table.start + 16, table.start + 21):
        data, offset = bytearray(image.data), image.offset_of(place)
        data[offset : offset + 8] = inside.to_bytes(8, "little")
        made = replace(image, data=bytes(data), e_type=2, sections=sections)
        assert inside in tables.pointed(made, text)


@pytest.mark.parametrize("tag", [tables.DT_INIT, tables.DT_FINI])
def test_what_the_loader_calls_is_named(image: Image, tag: int) -> None:
    """Code that only the dynamic section names."""
    inside = next(s.st_value for s in image.symbols if s.name == FUNCTION) + 16
    text, data = read(image), bytearray(image.data)
    table = image.table(".dynamic")
    tags = image.words(table.start, table.stop // 16 * 16, 8).tolist()[::2]
    at = image.offset_of(table.start) + 16 * tags.index(tag)
    data[at + 8 : at + 16] = inside.to_bytes(8, "little")
    assert inside not in tables.pointed(image, text)
    assert inside in tables.pointed(replace(image, data=bytes(data)), text)
