"""Signatures of IA-64 routines: what they are made of, and what they find in stripped files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import inputs
from rewriter.analysis.functions import find_functions
from rewriter.contracts import CONTRACTS
from rewriter.elf.image import Image, load
from rewriter.identify.bundled_signatures import known
from rewriter.identify.compiler import compile_file
from rewriter.identify.signatures import parse
from rewriter.verify.routines.bundled_known import KnownBundled, identified
from rewriter.verify.routines.known import Status
from targets.ia64 import Ia64
from targets.ia64.image import layout
from targets.ia64.isa.fields import BUNDLE

TARGET = Ia64()
SPELLING = TARGET.substituting.spelling


@pytest.fixture(scope="module")
def libc() -> Image:
    return load(inputs.require("ia64-libc"))


def words(code: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.frombuffer(code, dtype="<u8").astype(np.uint64)


def test_the_libcs_own_are_in_the_database(libc: Image) -> None:
    path = TARGET.substituting.signatures
    shipped = parse(path.read_text(encoding="utf-8"), path.name)
    keys = {(s.routine, s.words, s.start, s.digest) for s in shipped.signatures}
    made = compile_file(libc.data, "libc", TARGET, CONTRACTS).signatures
    assert len(made) > 15
    assert {(s.routine, s.words, s.start, s.digest) for s in made} <= keys


def test_names_are_found_without_symbols(libc: Image) -> None:
    """Of functions that the unwind table has; nothing else is taken for a routine."""
    hidden = replace(libc, symbols=())
    functions = find_functions(hidden, TARGET.described(hidden))
    code = TARGET.code(hidden, functions)
    known_of = KnownBundled(hidden, TARGET, code)
    listed = list(identified(known_of))
    assert len(listed) > 15
    # glibc's memchr loads behind the end where the machine defers a speculative load.
    refused = {one.routine for one in listed if one.status is not Status.KNOWN}
    assert refused <= {"memchr"}
    found = {n.contracts: n for n, _ in known_of.within()}
    assert {n.provenance for n in found.values()} == {"signature"}
    exported = {s.st_value: s.name.partition("@")[0] for s in libc.symbols if s.dynamic}
    starts = {s.st_value: s.name for s in libc.symbols if s.name.startswith("__mpn")} | exported
    wanted = {"memchr", "memcmp", "memcpy", "memmove", "memset", "strlen"}
    assert wanted <= {name for names in found for name in names}
    for (name,), named in found.items():
        assert starts[named.address].lstrip("_") in (name, "index", "rindex")


def test_place_and_link_do_not_matter(libc: Image) -> None:
    """A routine with calls, moved: the distances change, and what signatures are made of not."""
    strcat = next(s for s in libc.symbols if s.name == "strcat" and s.st_size)
    old = libc.read(strcat.st_value, strcat.st_size // BUNDLE * BUNDLE)
    new = layout.moved(old, strcat.st_value, strcat.st_value + 0x4560, lambda target: target)
    assert new != old
    assert (SPELLING.normal(words(new)) == SPELLING.normal(words(old))).all()


def test_what_a_routine_does_matters(libc: Image) -> None:
    """Every bit of a routine that is not of a branch's target."""
    strlen = next(s for s in libc.symbols if s.name == "strlen" and s.st_size)
    old = libc.read(strlen.st_value, 4 * BUNDLE)
    normal = SPELLING.normal(words(old)).tobytes()
    kept = 0
    for bit in range(8 * len(old)):
        changed = bytearray(old)
        changed[bit // 8] ^= 1 << bit % 8
        kept += SPELLING.normal(words(bytes(changed))).tobytes() != normal
    assert kept > 8 * len(old) - 4 * 25


def test_a_file_without_such_routines() -> None:
    assert not list(known(load(inputs.require("ia64-libsigar")), TARGET, CONTRACTS))
