"""PowerPC files go down the whole road: understood, patched, taken back, accepted."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fixtures import inputs, powerpc
from rewriter.analysis.program import Program, analyse
from rewriter.cli import main
from rewriter.core.code.listing import UNKNOWN
from rewriter.core.edit import Edit, Evidence, Grade
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.registers import register_mask
from rewriter.elf import manifest
from rewriter.elf.emit import difference
from targets.ppc.abi import STANDARDS, Standard
from targets.ppc.image.pointers import OPD
from tests.support.depth import DEEP
from tests.targets.ppc.ppc_files import LIBCS, compiled, disassembly, image, target_of, words

CPUS = {"ppc": "7450", "ppc64": "970", "ppc64el": "power9"}
NAMES = [name for abi in powerpc.ABIS for name in powerpc.names(abi)]
SMALL = [name for name in NAMES if "-libnss" in name or name.endswith(("-libnsl", "-libresolv"))]
FEW = SMALL if DEEP else ["ppc-libnss_dns", "ppc64-libnsl", "ppc64el-libresolv"]
_TOC_BIAS = 0x8000
"""What r2 points to lies so far behind the start of `.got` (both 64-bit ABIs, the TOC base)."""


@cache
def program(name: str) -> Program:
    return analyse(image(name), target_of(image(name)))


# Functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIBCS)
def test_nearly_all_functions_are_understood(name: str) -> None:
    """The reasons of the others are words that are no instructions, and computed jumps."""
    found = program(name)
    reasons = Counter(filter(None, map(found.not_understood, found.functions)))
    assert set(reasons) <= {"data in text", "computed jump not understood"}
    assert sum(reasons.values()) < 0.005 * len(found.functions)


@pytest.mark.parametrize("name", LIBCS)
def test_every_word_of_code_is_read(name: str) -> None:
    """What is no instruction is a word of zeros, but for one that the linker writes."""
    listing = program(name).listing
    unknown = listing.words[listing.rows == UNKNOWN]
    assert np.count_nonzero(unknown) <= 1


@pytest.mark.parametrize("name", LIBCS)
def test_symbols_name_functions(name: str) -> None:
    """Each symbol of a function names code, through its descriptor where there are such."""
    found, file = program(name), image(name)
    starts = {function.start for function in found.functions}
    named = [s for s in file.symbols if s.st_type == 2 and s.st_shndx and s.st_size]
    assert len(named) > 2500
    assert all(file.code_address(symbol) in starts for symbol in named)


@pytest.mark.parametrize("name", LIBCS[1:])
def test_every_function_has_the_one_toc(name: str) -> None:
    got = image(name).table(".got")
    shared = program(name).references.shared
    assert set(shared.values()) == {got.start + _TOC_BIAS}
    assert len(shared) == len(program(name).functions)


def test_descriptors_are_pins() -> None:
    """What `.opd` names is an entry: objdump calls it by the function's name and a dot."""
    name = "ppc64-libc"
    pins = {pin.address for pin in program(name).pins}
    file = image(name)
    entries = [int.from_bytes(file.read(at, 8), "big") for at in file.table(OPD)[::24]]
    assert len(entries) > 3000
    assert set(entries) - {0} <= pins


def test_local_entries_follow_the_set_up_of_r2() -> None:
    """A caller of the same file enters 8 bytes on: st_other says so (64-Bit ELF V2 ABI, 3.4.1)."""
    found, file = program("ppc64el-libc"), image("ppc64el-libc")
    functions = {function.start: function for function in found.functions}
    said = {s.st_value: s.st_other >> 5 for s in file.symbols if s.st_type == 2 and s.st_shndx}
    for start, code in said.items():
        entries = found.target.entries(found.listing, functions[start])
        assert entries == ((start + 8,) if code == 3 else ())


@pytest.mark.parametrize("name", LIBCS)
def test_direct_calls_lead_to_entries(name: str) -> None:
    """Where objdump sees `bl`, a function begins, or the part of it that keeps r2."""
    found, entries = program(name), set[int]()
    for function in found.functions:
        entries.update((function.start, *found.target.entries(found.listing, function)))
    calls = [text for text in disassembly(name).values() if text.startswith("bl ")]
    goals = {int(text.split()[1], 16) for text in calls}
    assert len(goals) > 1400
    assert len(goals - entries) < 30  # inside hand-written code


# Computed jumps ----------------------------------------------------------------------------

SWITCH = """
int chosen(int which, int a, int b) {
    switch (which) {
    %s
    default: return b;
    }
}
"""


def _cases(count: int) -> str:
    kinds = ("a + b * %d", "a - b ^ %d", "a * a + %d", "(a >> 3) + b * %d", "a & b + %d")
    return "\n    ".join(
        f"case {n}: return {kinds[n % 5] % (7 * n * n + 3)};" for n in range(count)
    )


@pytest.mark.parametrize("abi", powerpc.ABIS)
@pytest.mark.parametrize("count", [7, 31, 200])
def test_a_switch_has_as_many_entries_as_cases(abi: str, count: int, tmp_path: Path) -> None:
    file = compiled(abi, SWITCH % _cases(count), tmp_path)
    found = analyse(file, target_of(file))
    (table,) = found.references.tables
    function = next(f for f in found.functions if f.name == "chosen")
    assert table.exact
    assert len(table.targets) == count
    assert all(target in function for target in table.targets)
    assert found.not_understood(function) == ""


@pytest.mark.parametrize("abi", powerpc.ABIS)
def test_a_switch_without_its_bound_is_not_exact(abi: str, tmp_path: Path) -> None:
    """What the compiler is told to be in range it does not check."""
    source = SWITCH.replace("return b;\n", "__builtin_unreachable();\n") % _cases(31)
    file = compiled(abi, source, tmp_path)
    found = analyse(file, target_of(file))
    assert not any(table.exact for table in found.references.tables)


# The road ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEW)
def test_a_file_is_patched_and_taken_back(name: str, tmp_path: Path) -> None:
    """With all passes: it verifies, and `revert` gives the same bytes."""
    path, out, back = inputs.require(name), tmp_path / "out", tmp_path / "back"
    arguments = ["patch", str(path), "-o", str(out), "--cpu", CPUS[name.partition("-")[0]]]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code in (0, 4), result.output
    if result.exit_code == 4:
        assert out.read_bytes() == path.read_bytes()
        return
    for command in (["verify", str(path), str(out)], ["revert", str(out), "-o", str(back)]):
        done = CliRunner().invoke(main, command, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert back.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_edit_is_taken_back(name: str, tmp_path: Path) -> None:
    """Of every file: a word of its text is another one, and the manifest says which it was."""
    path, back, changed = inputs.require(name), tmp_path / "back", tmp_path / "changed"
    file, (places, text) = image(name), words(name)
    at = int(places[text == 0x60000000][0])
    data = bytearray(file.data)
    offset = file.offset_of(at)
    data[offset : offset + 4] = (0x60210000).to_bytes(4, file.byteorder)
    edit = Edit("one", "made", "f", "f", at, "nop", "ori 1,1,0", Evidence(Grade.TESTED), 0)
    record = manifest.record(
        file.data, bytes(data), target="ppc", cpu=CPUS[name.partition("-")[0]], edits=[edit],
        patches=difference(file.data, bytes(data)),
    )  # fmt: skip
    changed.write_bytes(manifest.attach(bytes(data), record, name))
    result = CliRunner().invoke(main, ["revert", str(changed), "-o", str(back)])
    assert result.exit_code == 0, result.output
    assert back.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("row", ["addi", "ori"])
@pytest.mark.parametrize("name", ["ppc-libnsl", "ppc64-libnsl", "ppc64el-libnsl"])
def test_another_instruction_is_not_accepted(name: str, row: str, tmp_path: Path) -> None:
    """`verify` refuses every single word of a function that has another number.

    With all numbers zero ORI is a nop, and with others it is none.
    """
    file, found = image(name), program(name)
    listing, additions = found.listing, found.listing.table.find(row)
    number = listing.table.rows.index(additions)
    where = (listing.rows == number) & (listing.words & 0xFFFF != 0)
    at = [int(n) for n in np.flatnonzero(where)]
    at = at[:: max(1, len(at) // 8)]
    assert at
    for position in at:
        data = bytearray(file.data)
        offset = file.offset_of(int(listing.addresses[position]))
        word = int(listing.words[position]) ^ 4
        data[offset : offset + 4] = word.to_bytes(4, file.byteorder)
        out = tmp_path / "out"
        out.write_bytes(data)
        done = CliRunner().invoke(main, ["verify", str(inputs.find(name)), str(out)])
        assert done.exit_code == 1, (hex(int(listing.addresses[position])), done.output)


# Calling standards -------------------------------------------------------------------------


@pytest.mark.parametrize("standard", STANDARDS.values(), ids=STANDARDS)
def test_a_saved_register_is_no_argument(standard: Standard) -> None:
    """Nor a result; and each is a register of that width."""
    assert not standard.saved & ~standard.everything
    assert not standard.saved & (standard.arguments | standard.results)


RETURNED = """
typedef struct { double a[8]; } doubles;
typedef struct { float a[8]; } floats;
typedef struct { long double a[4]; } longs;
typedef struct { long a[2]; } pair;
typedef struct { char a[3]; } bytes;
typedef int vector __attribute__((vector_size(16)));
typedef struct { vector a[8]; } vectors;
typedef _Complex float cfloat; typedef _Complex double cdouble; typedef _Complex long double clong;
typedef _Complex long long cwide; typedef long double quad; typedef long long wide;
#ifdef __powerpc64__
typedef __int128 huge; typedef _Complex __int128 chuge;
RETURNS(huge) RETURNS(chuge)
#endif
RETURNS(doubles) RETURNS(floats) RETURNS(longs) RETURNS(pair) RETURNS(bytes) RETURNS(vector)
RETURNS(vectors) RETURNS(cfloat) RETURNS(cdouble) RETURNS(clong) RETURNS(cwide) RETURNS(quad)
RETURNS(wide) RETURNS(float) RETURNS(double) RETURNS(char)
"""


@pytest.mark.parametrize("abi", powerpc.ABIS)
def test_what_a_caller_reads_may_be_returned(abi: str, tmp_path: Path) -> None:
    """Whatever C can return: what gcc's code takes over from a call is read behind a return."""
    returns = "#define RETURNS(t) t make_##t(void); void keep_##t(t *p) { *p = make_##t(); }\n"
    file = compiled(abi, returns + RETURNED, tmp_path, "-maltivec", "-Wl,-z,undefs")
    target = target_of(file)
    found = analyse(file, target)
    (back,) = (op for op in target.table.rows if op.name == "bclr" and op.flow is Flow.RETURN)
    live = target.live_after(Insn(back, (0,) * len(back.format.operands)))
    names = target.table.register_names
    read: dict[str, int] = {}
    for function in found.functions:
        if not function.name.startswith("keep_"):
            continue
        span = range(*found.listing.span(function.start, function.end))
        insns = [found.listing.insn(n) for n in span]
        call = next(n for n, insn in enumerate(insns) if insn and insn.op.flow is Flow.CALL)
        taken = written = 0
        for insn in insns[call + 1 :]:
            assert insn is not None
            if insn.op.flow is not Flow.NEXT:
                break
            taken |= target.table.uses(insn) & ~written
            written |= target.table.defs(insn)
        wrong = [names[n] for n in range(len(names)) if (taken & ~live) >> n & 1]
        assert wrong == [], function.name
        read[function.name] = taken
    assert len(read) > 15
    results = register_mask(range(3, 11)) & read["keep_clong"]
    assert bool(results) == (abi == "ppc")  # elsewhere they are floating-point registers
