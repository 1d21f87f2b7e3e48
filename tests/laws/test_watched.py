"""Law 3 for what stops control by an address: debuggers' probes and restartable sequences.

Nothing in the text reads what they read, so their functions stay as they are, and callers keep what
they pass there.  A file in which the section has another name is the same code without them.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import targets
from fixtures import inputs, members
from passes import ORDER
from rewriter.analysis.functions import bundled_code
from rewriter.analysis.program import Program, analyse
from rewriter.core.code.program import Function, Pin
from rewriter.core.errors import BadInput
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.bundling import Bundling, Code
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.image import Image, load, parse
from rewriter.elf.pins import relocated
from rewriter.elf.probes import NOTES
from rewriter.elf.sequences import DESCRIPTORS, POINTERS, Sequence, sequences
from rewriter.road.options import Options
from rewriter.road.pipeline import Tuned, tune
from rewriter.verify.check import verify
from targets.alpha import Alpha
from targets.alpha.cpus import CPUS

CALLED = """
typedef unsigned char byte;
long low(byte *p) { return p[1] + 3; }
static __attribute__((noinline)) long told(long *p, long from, byte *q)
{
    WATCHED(p, from);
    return *p + q[3];
}
long telling(long *p, byte *q) { return told(p, q[2] * 5L, q) + q[1]; }
"""

PROBE = (
    r"""
#define WATCHED(p, from) __asm__ volatile ( \
    "1: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n" \
    ".4byte 3f-2f, 5f-4f, 3\n2: .asciz \"stapsdt\"\n3: .balign 4\n" \
    "4: " WORD " 1b\n " WORD " base\n " WORD " 0\n.asciz \"made\"\n.asciz \"told\"\n" \
    ".asciz \"8@%0\"\n5: .balign 4\n.popsection\n" \
    ".pushsection .stapsdt.base,\"a\"\nbase: .space 1\n.popsection" :: "nor"(from))
"""
    + CALLED
)

SEQUENCE = (
    r"""
#define WATCHED(p, from) __asm__ volatile ( \
    ".globl first, behind, aborted\nnop\nfirst: " STEP "\nbehind:\n" \
    ".pushsection __rseq_cs,\"aw\"\n.balign 32\n7: .4byte 0, 0\n" \
    PAD WORD " first\n.8byte behind-first\n" PAD WORD " aborted\n.popsection\n" \
    ".pushsection __rseq_cs_ptr_array,\"aw\"\n" PAD WORD " 7b\n.popsection\n" \
    ".pushsection __rseq_failure,\"ax\"\n.4byte 0xf1e2d3c4\naborted: " AGAIN "\n.popsection" \
    :: "r"(p), "r"(from) : "memory", SCRATCH)
"""
    + CALLED
)
"""Where it was interrupted it goes back, with the second operand in the first one's place."""

_POWER = {
    "STEP": '"lwz 9,0(%0)\\naddi 9,9,1\\nstw 9,0(%0)"',
    "AGAIN": '"stw %1,0(%0)\\nb first"',
    "SCRATCH": '"r9"',
}
ABIS = {
    "alpha": {
        "WORD": '".8byte"',
        "PAD": '""',
        "STEP": '"ldq $1,0(%0)\\naddq $1,1,$1\\nstq $1,0(%0)"',
        "AGAIN": '"stq %1,0(%0)\\nbr $31,first"',
        "SCRATCH": '"$1"',
    },
    "powerpc": {"WORD": '".4byte"', "PAD": '".4byte 0\\n"', **_POWER},
    "powerpc64": {"WORD": '".8byte"', "PAD": '""', **_POWER},
    "powerpc64le": {"WORD": '".8byte"', "PAD": '""', **_POWER},
}
NAMES = tuple(map(str.encode, (NOTES, DESCRIPTORS, POINTERS)))
FROM = register_mask([17])
"""The register in which the second argument is passed."""


def _compiled(abi: str, source: str, folder: Path) -> Path:
    text, library = folder / "made.c", folder / f"{abi}.so"
    text.write_text(source, encoding="utf-8")
    named = (f"-D{name}={value}" for name, value in ABIS[abi].items())
    gcc = inputs.require_tool(f"{abi}-linux-gnu-gcc")
    flags = ("-O2", "-fPIC", "-shared", "-nostdlib", "-fno-ipa-sra", "-Wl,-Bsymbolic", *named)
    subprocess.run((gcc, *flags, str(text), "-o", str(library)), check=True)
    return library


@pytest.fixture(scope="module", params=[(PROBE, NOTES), (SEQUENCE, DESCRIPTORS)])
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """A library for Alpha, and what it is without the section's name."""
    source, _ = request.param
    return parse(_compiled("alpha", source, tmp_path_factory.mktemp("watched")).read_bytes(), "it")


def _hidden(data: bytes) -> bytes:
    """The file without the names by which such sections are found."""
    for name in NAMES:
        data = data.replace(b"\0%b\0" % name, b"\0%b\0" % name.upper())
    return data


def _shown(data: bytes) -> bytes:
    """The same file with them."""
    for name in NAMES:
        data = data.replace(b"\0%b\0" % name.upper(), b"\0%b\0" % name)
    return data


def _tuned(image: Image) -> Tuned:
    options = Options(tuple(one.name for one in ORDER))
    return tune(image, Alpha(), CPUS["ev67"], options, lambda *_: None)


def _functions(tuned: Tuned) -> set[str]:
    return {edit.routine for edit in tuned.edits}


def _table(image: Image) -> str:
    return NOTES if image.section(NOTES) else DESCRIPTORS


@pytest.mark.parametrize("abi", ABIS)
def test_probes_are_where_readelf_finds_them(abi: str, tmp_path: Path) -> None:
    library = _compiled(abi, PROBE, tmp_path)
    said = subprocess.run(("readelf", "-n", library), capture_output=True, text=True, check=True)
    places = [int(place, 16) for place in re.findall(r"Location: 0x([0-9a-f]+)", said.stdout)]
    image = parse(library.read_bytes(), "it")
    assert len(places) == 1
    assert list(image.probes) == places
    target = targets.of(image).sequential
    assert target is not None
    assert Pin(places[0], "probe") in analyse(image, target).pins


def test_probes_move_with_their_base(tmp_path: Path) -> None:
    """What prelink does: it moves the file, and does not know what is in the note."""
    image = parse(_compiled("alpha", PROBE, tmp_path).read_bytes(), "it")
    moved = tuple(
        replace(s, sh_addr=s.sh_addr + 0x3000) if s.name == ".stapsdt.base" else s
        for s in image.sections
    )
    assert [place - 0x3000 for place in replace(image, sections=moved).probes] == [*image.probes]


@pytest.mark.parametrize("abi", ABIS)
def test_sequences_are_where_their_symbols_are(abi: str, tmp_path: Path) -> None:
    image = parse(_compiled(abi, SEQUENCE, tmp_path).read_bytes(), "it")
    at = {s.name: s.st_value for s in image.symbols}
    target = targets.of(image).sequential
    assert target is not None
    found = sequences(image, relocated(image, target))
    assert found == (Sequence(at["first"], at["behind"], at["aborted"]),)


def test_a_sequence_that_only_debuggers_name(tmp_path: Path) -> None:
    """A descriptor in another section, with its address in the array."""
    source = SEQUENCE.replace(".pushsection __rseq_cs,", ".pushsection elsewhere,")
    image = parse(_compiled("alpha", source, tmp_path).read_bytes(), "it")
    assert image.section(DESCRIPTORS) is None
    assert len(sequences(image, relocated(image, Alpha()))) == 1


def test_such_functions_are_left_alone(watched: Image) -> None:
    without = parse(_hidden(watched.data), "it")
    assert _functions(_tuned(without)) == {"low", "told", "telling"}
    tuned = _tuned(watched)
    assert _functions(tuned) == {"low", "telling"}
    reason = f"its code is known by address at run time: {_table(watched)}"
    assert [(one.function.name, one.reason) for one in tuned.refusals] == [("told", reason)]


def test_what_is_changed_there_is_not_accepted(watched: Image) -> None:
    """The very edits that are right where nobody looks."""
    new = parse(_shown(_tuned(parse(_hidden(watched.data), "it")).data), "new")
    found = verify(analyse(watched, Alpha()), new, lambda *_: None)
    assert not found.ok
    assert any("told changed, but cannot be followed" in finding for finding in found.findings)


def test_callers_keep_what_is_only_looked_at(watched: Image) -> None:
    """Of `told` no instruction reads the second argument."""

    def passed(program: Program) -> int:
        told = next(f for f in program.functions if f.name == "told")
        return program.live_into(told.start)

    assert passed(analyse(watched, Alpha())) & FROM
    assert not passed(analyse(parse(_hidden(watched.data), "it"), Alpha())) & FROM


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_a_damaged_note_is_refused(cut: int, tmp_path: Path) -> None:
    image = parse(_compiled("alpha", PROBE, tmp_path).read_bytes(), "it")
    damaged = tuple(
        replace(s, sh_size=s.sh_size - cut) if s.name == NOTES else s for s in image.sections
    )
    with pytest.raises(BadInput, match=r"it: \.note\.stapsdt: a note ends behind it"):
        analyse(replace(image, sections=damaged), Alpha())


def test_a_sequence_outside_of_the_code_is_refused(tmp_path: Path) -> None:
    source = SEQUENCE.replace(".8byte behind-first", ".8byte 0x100000")
    image = parse(_compiled("alpha", source, tmp_path).read_bytes(), "it")
    with pytest.raises(BadInput, match=r"it: the sequence described at 0x[0-9a-f]+ is not in its"):
        analyse(image, Alpha())


def _noted(source: Path, folder: Path, objcopy: str, place: int) -> bytes:
    """A real file with a note that names a place."""
    number = partial(int.to_bytes, byteorder="little")
    description = b"".join(number(n, 8) for n in (place, 0, 0)) + b"made\0" + bytes(3)
    head = b"".join(number(n, 4) for n in (8, len(description), 3))
    note, made = folder / "note", folder / "noted"
    note.write_bytes(head + b"stapsdt\0" + description)
    command = (inputs.require_tool(objcopy), f"--add-section={NOTES}={note}", source, made)
    subprocess.run(command, check=True)
    return made.read_bytes()


def test_a_routine_with_a_probe_is_not_replaced(tmp_path: Path) -> None:
    def replaced(data: bytes) -> Tuned:
        options = Options(("substitute",), funcs=("strlen",))
        return tune(parse(data, "it"), Alpha(), CPUS["ev67"], options, lambda *_: None)

    library = inputs.or_skip(members.library, "libroutines.so")
    (edit,) = replaced(library.read_bytes()).edits
    noted = _noted(library, tmp_path, "alpha-linux-gnu-objcopy", edit.address + 8)
    tuned = replaced(_hidden(noted))
    assert _functions(tuned) == {edit.routine}
    assert not replaced(noted).edits
    program = analyse(parse(noted, "it"), Alpha())
    assert not verify(program, parse(_shown(tuned.data), "new"), lambda *_: None).ok


def test_a_probe_in_bundles(tmp_path: Path) -> None:
    """IA-64: the function stays as it is, and is no place for a routine."""
    image = load(inputs.require("ia64-libsigar"))
    target = targets.of(image).bundling
    assert target is not None
    code = bundled_code(image, target)
    function = next(f for f in code.functions if f.end - f.start > 64 and _is_free(target, code, f))
    noted = _noted(
        inputs.require("ia64-libsigar"), tmp_path, "ia64-linux-gnu-objcopy", function.start + 16
    )
    code = bundled_code(parse(noted, "it"), target)
    assert code.routine(function).reason == "a debugger's probe is in it"
    assert not _is_free(target, code, function)


def _is_free(target: Bundling, code: Code, function: Function) -> bool:
    try:
        target.substituting.room(code, function)
    except CannotMove:
        return False
    return not code.routine(function).reason
