"""Debug information in the file: functions keep their places, or their lines follow them."""

from __future__ import annotations

import random
import subprocess
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.core.isa.instruction import Insn
from rewriter.elf import manifest
from rewriter.elf.image import load
from rewriter.elf.lines.file import line_table
from rewriter.elf.unwind.entries import frames
from targets.alpha.image.pointers import is_nop
from targets.alpha.isa.rows import TABLE
from tests.support.depth import depth

SOURCES = Path(__file__).parents[2] / "fixtures"
Run = Callable[..., Result]
Where = tuple[str, int]
"""Name of a source file, and line."""


def built(folder: Path, *flags: str) -> Path:
    """A library of two units with debug information."""
    compiler, library = inputs.require_tool("alpha-linux-gnu-gcc"), folder / "lines.so"
    sources = (SOURCES / "corners" / "p01.c", SOURCES / "lines_other.c")
    # What calls do is of no interest: `main` is another function.
    command = (compiler, "-g", "-O2", "-w", "-fPIC", "-shared", *flags, *sources, "-o", library)
    subprocess.run(command, check=True)
    return library


class Lines:
    """What pyelftools reads of a file's lines."""

    def __init__(self, path: Path) -> None:
        self.found: list[tuple[int, Where | None]] = []
        with path.open("rb") as stream:
            dwarf = ELFFile(stream).get_dwarf_info()
            for unit in dwarf.iter_CUs():
                self._unit(dwarf.line_program_for_CU(unit))
        self.found.sort(key=lambda one: one[0])
        self.addresses = [address for address, _ in self.found]

    def _unit(self, program: object) -> None:
        header = program.header  # type: ignore[attr-defined]
        first = 0 if header["version"] >= 5 else 1
        names = [entry.name.decode() for entry in header["file_entry"]]
        for entry in program.get_entries():  # type: ignore[attr-defined]
            state = entry.state
            if state is not None:
                where = (names[state.file - first], state.line)
                self.found.append((state.address, None if state.end_sequence else where))

    def at(self, address: int) -> Where | None:
        at = bisect_right(self.addresses, address) - 1
        return self.found[at][1] if at >= 0 else None


def functions(path: Path) -> Iterator[tuple[int, list[tuple[int, Insn]]]]:
    """The instructions of each function, nops apart."""
    image = load(str(path))
    for frame in frames(image):
        words = image.words(frame.start, frame.end, 4).tolist()
        insns = ((frame.start + 4 * n, TABLE.decode(word)) for n, word in enumerate(words))
        yield frame.start, [(at, i) for at, i in insns if i is not None and not is_nop(i)]


def spelled(insn: Insn) -> tuple[str, tuple[int, ...]]:
    """An instruction without what depends on its place."""
    return insn.name, insn.placeless


def tuned(run: Run, library: Path, *options: str) -> tuple[Path, Result]:
    new = library.with_name("new.so")
    done = run("patch", library, "-o", new, "--cpu", "ev67", "-v", *options)
    assert done.exit_code == 0, done.output
    assert run("verify", library, new).exit_code == 0
    return new, done


def readable(path: Path) -> str:
    """What binutils decode; they have nothing to complain of."""
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    found = subprocess.run(
        (objdump, "--dwarf=decodedline", "--dwarf=info", path),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stderr == ""
    return found.stdout


MOVING = ("--passes", "bytes,bitscan,align,schedule")
"""Passes after which lines must follow; those that time loops over memory would take long."""

FORMS = ("-gdwarf-2", "-gdwarf-4", "-gdwarf-5", "-gno-column-info")
OTHERS = ("-gdwarf-3", "-ffunction-sections")


@pytest.mark.parametrize("form", FORMS)
def test_lines_follow_a_layout(form: str, run: Run, tmp_path: Path) -> None:
    """A layout keeps the order: the n-th instruction is the n-th, and of the line it was of."""
    library = built(tmp_path, form)
    new, done = tuned(run, library, "--debug", "lines", "--passes", "align")
    before, after, moved = Lines(library), Lines(new), 0
    for (start, old), (again, now) in zip(functions(library), functions(new), strict=True):
        assert start == again
        assert [insn.name for _, insn in old] == [insn.name for _, insn in now]
        for (was, _), (at, _) in zip(old, now, strict=True):
            assert after.at(at) == before.at(was), hex(was)
            moved += was != at
    assert moved > 50
    assert "debug information: .debug_line follows" in done.stdout
    readable(new)


@pytest.mark.parametrize("form", (*FORMS, *OTHERS)[:: depth(2, 1)])
def test_lines_follow_all_passes(form: str, run: Run, tmp_path: Path) -> None:
    """Instructions that there is one of in a function, before and after, are of the same line.

    And the file comes back byte for byte.
    """
    library = built(tmp_path, form)
    new, done = tuned(run, library, "--debug", "lines")
    before, after, moved = Lines(library), Lines(new), 0
    for (_, old), (_, now) in zip(functions(library), functions(new), strict=True):
        sides = [{spelled(insn): at for at, insn in side} for side in (old, now)]
        counts = [Counter(spelled(insn) for _, insn in side) for side in (old, now)]
        for insn in sides[0].keys() & sides[1].keys():
            if counts[0][insn] == counts[1][insn] == 1:
                was, at = sides[0][insn], sides[1][insn]
                assert after.at(at) == before.at(was), hex(was)
                moved += was != at
    assert moved > 50
    assert "schedule:" in done.stdout
    readable(new)
    # Every line that there is code of is still one that there is code of.
    assert {where for _, where in before.found} == {where for _, where in after.found}
    back = tmp_path / "back.so"
    assert run("revert", new, "-o", back).exit_code == 0
    assert back.read_bytes() == library.read_bytes()


def test_addr2line(run: Run, tmp_path: Path) -> None:
    """What people use says the same of every function's instructions, one by one."""
    tool = inputs.require_tool("alpha-linux-gnu-addr2line")
    library = built(tmp_path)
    new, _ = tuned(run, library, "--debug", "lines", "--passes", "align")
    places = [[hex(at) for _, f in functions(path) for at, _ in f] for path in (library, new)]
    said = [
        subprocess.run((tool, "-e", path, *at), capture_output=True, text=True, check=True).stdout
        for path, at in zip((library, new), places, strict=True)
    ]
    # Discriminators are of rows, and so they follow too.
    assert said[0] == said[1]


def test_what_is_described_keeps_its_place(run: Run, tmp_path: Path) -> None:
    """The default: no row changes, and every instruction that is left is where it was."""
    library = built(tmp_path)
    new, done = tuned(run, library, *MOVING)
    section = load(str(library)).section(".debug_line")
    assert section is not None
    part = slice(section.sh_offset, section.file_end)
    assert new.read_bytes()[part] == library.read_bytes()[part]
    assert "left alone: debug information describes it" in done.stdout
    edits = manifest.read(new.read_bytes())
    assert edits is not None
    assert {edit.technique for edit in edits.edits} == {"bytes"}
    for (_, old), (_, now) in zip(functions(library), functions(new), strict=True):
        assert {at for at, _ in now} <= {at for at, _ in old}


def test_with_nothing_to_do_nothing_changes(run: Run, tmp_path: Path) -> None:
    library, same = built(tmp_path), tmp_path / "same.so"
    for options in (("--passes", "none"), ("--cpu", "ev67", *MOVING, "--max-edits", "0")):
        done = run("patch", library, "-o", same, "--debug", "lines", *options)
        assert done.exit_code == 4
        assert same.read_bytes() == library.read_bytes()


def test_any_number_of_processes_gives_the_same(run: Run, tmp_path: Path) -> None:
    library, files = built(tmp_path, "-gno-column-info"), []
    for jobs in ("1", "2"):
        files.append(tmp_path / f"{jobs}.so")
        options = ("--cpu", "ev67", "--debug", "lines", *MOVING, "-j", jobs)
        assert run("patch", library, "-o", files[-1], *options).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_table_that_grows_is_at_the_end(run: Run, tmp_path: Path) -> None:
    """And the second unit's offset follows; its old bytes stay in place."""
    library = built(tmp_path, "-gno-column-info")
    new, _ = tuned(run, library, "--debug", "lines", *MOVING)
    tables = [line_table(load(str(path))) for path in (library, new)]
    old, now = tables
    assert old is not None and now is not None
    assert [offset for _, offset in now.named] == [unit.offset for unit in now.units]
    assert [at for at, _ in now.named] == [at for at, _ in old.named]
    section = now.image.section(".debug_line")
    assert section is not None and section.sh_offset >= library.stat().st_size
    assert now.units[1].offset > old.units[1].offset
    strip = inputs.require_tool("alpha-linux-gnu-objcopy")
    copy = tmp_path / "copy.so"
    subprocess.run((strip, "--remove-section=.note.retune", new, copy), check=True)
    assert Lines(copy).found == Lines(new).found


@pytest.mark.parametrize("flag", ("-g", "-gno-column-info")[: depth(1, 2)])
def test_a_wrong_line_is_found(flag: str, run: Run, tmp_path: Path) -> None:
    """Any change of the table is refused that pyelftools sees."""
    library, bad = built(tmp_path, flag), tmp_path / "bad.so"
    new = tmp_path / "new.so"
    options = ("--debug", "lines", *MOVING, "--manifest", tmp_path / "manifest")
    assert run("patch", library, "-o", new, "--cpu", "ev67", *options).exit_code == 0
    table, right = line_table(load(str(new))), Lines(new).found
    assert table is not None
    section = table.image.section(".debug_line")
    assert section is not None
    draw, seen = random.Random(17), 0
    for _ in range(24):
        data = bytearray(new.read_bytes())
        unit = draw.choice(table.units)
        at = section.sh_offset + draw.randrange(unit.program, unit.end)
        data[at] ^= 1 << draw.randrange(8)
        bad.write_bytes(data)
        try:
            same = Lines(bad).found == right
        except Exception:  # pyelftools has many for damage
            same = False
        verdict = run("verify", library, bad)
        assert verdict.exit_code in (0, 1), verdict.output
        assert same or verdict.exit_code == 1, hex(at)
        seen += not same
    assert seen > 12


def test_lines_that_did_not_follow_are_found(run: Run, tmp_path: Path) -> None:
    """The old table in the new file, whose functions moved."""
    library, bad = built(tmp_path), tmp_path / "bad.so"
    options = ("--debug", "lines", "--passes", "align", "--manifest", tmp_path / "manifest")
    new, _ = tuned(run, library, *map(str, options))
    image = load(str(library))
    data = bytearray(new.read_bytes()[: len(image.data)])
    for name in (".debug_line", ".debug_info"):
        section = image.section(name)
        assert section is not None
        part = slice(section.sh_offset, section.file_end)
        data[part] = image.data[part]
    headers = slice(int.from_bytes(image.data[40:48], "little"), None)
    data[headers] = image.data[headers]
    bad.write_bytes(data)
    verdict = run("verify", library, bad)
    assert verdict.exit_code == 1
    assert "is of another line" in verdict.stdout


def test_what_is_not_understood_stays(run: Run, tmp_path: Path) -> None:
    """A version that nobody knows: nothing moves, whatever was asked for."""
    library = built(tmp_path)
    data = bytearray(library.read_bytes())
    section = load(str(library)).section(".debug_line")
    assert section is not None
    data[section.sh_offset + 4] = 9
    library.write_bytes(data)
    for debug in ("keep", "lines"):
        options = ("--cpu", "ev67", "-v", "--debug", debug, *MOVING)
        done = run("patch", library, "--dry-run", *options)
        assert done.exit_code == 0
        assert "left alone: debug information that is not understood may describe it" in done.stdout
        assert "align:" not in done.stdout and "schedule:" not in done.stdout


def test_what_cannot_follow_stays(run: Run, tmp_path: Path) -> None:
    """Macros name line tables too, and are not written."""
    library = built(tmp_path, "-g3")
    options = ("--cpu", "ev67", "-v", "--debug", "lines", *MOVING)
    done = run("patch", library, "--dry-run", *options)
    assert done.exit_code == 0
    assert "left alone: debug information describes it in ways that cannot follow" in done.stdout
    assert "align:" not in done.stdout and "schedule:" not in done.stdout
    kept, _ = tuned(run, library, *MOVING)
    assert Lines(kept).found == Lines(library).found


GROUPED = """
        .text
        .align 16
        .global one#
        .proc one#
one:    .prologue
        .body
        .mmi
        ld8 r14=[r32]
        add r8=r14,r33
        nop.i 0
        .mmi
        add r9=1,r33
        add r8=r8,r9
        nop.i 0
        .mib
        nop.m 0
        nop.i 0
        br.ret.sptk.many b0
        .endp one#
"""


def grouped(folder: Path, name: str, *flags: str) -> Path:
    """A small IA-64 library, in more bundles than it needs."""
    gas, linker = (inputs.require_tool(f"ia64-linux-gnu-{tool}") for tool in ("as", "ld"))
    source, made, library = folder / "one.s", folder / "one.o", folder / name
    source.write_text(GROUPED)
    subprocess.run((gas, *flags, source, "-o", made), check=True)
    subprocess.run((linker, "-shared", made, "-o", library), check=True)
    return library


def test_grouped_code_that_is_described_stays(run: Run, tmp_path: Path) -> None:
    plain, described = grouped(tmp_path, "plain.so"), grouped(tmp_path, "described.so", "-g")
    for debug in ("keep", "lines"):
        done = run("patch", plain, "--dry-run", "--cpu", "itanium2", "--debug", debug)
        assert done.exit_code == 0, done.output
        done = run("patch", described, "--dry-run", "--cpu", "itanium2", "--debug", debug)
        assert done.exit_code == 4
        assert "left alone: 1 function: debug information describes it" in done.stdout


def test_grouped_code_whose_lines_did_not_follow_is_found(run: Run, tmp_path: Path) -> None:
    """The code of a tuned library without lines, in the same library with lines."""
    plain, described = grouped(tmp_path, "plain.so"), grouped(tmp_path, "described.so", "-g")
    new, bad = tmp_path / "new.so", tmp_path / "bad.so"
    assert run("patch", plain, "-o", new, "--cpu", "itanium2").exit_code == 0
    assert run("verify", plain, new).exit_code == 0
    data, parts = bytearray(described.read_bytes()), []
    for path in (new, described):
        section = load(str(path)).section(".text")
        assert section is not None
        parts.append(slice(section.sh_offset, section.file_end))
    data[parts[1]] = new.read_bytes()[parts[0]]
    bad.write_bytes(data)
    verdict = run("verify", described, bad)
    assert verdict.exit_code == 1
    assert "changed, but debug information describes what it was" in verdict.stdout


def test_a_file_of_its_own(run: Run, tmp_path: Path) -> None:
    """Debug information elsewhere cannot follow: the summary says how many functions moved."""
    library, strip = built(tmp_path), inputs.require_tool("alpha-linux-gnu-strip")
    apart = tmp_path / "apart.so"
    subprocess.run((strip, "-g", library, "-o", apart), check=True)
    done = run("patch", apart, "--dry-run", "--cpu", "ev67", *MOVING)
    assert "a debug file of the original no longer fits" in done.stdout
    assert "functions that moved" in done.stdout
