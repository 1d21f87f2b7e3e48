"""IA-64 files through the commands: tuned, verified, looked at by binutils, taken back."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fixtures import inputs
from rewriter.cli import main
from rewriter.elf import note
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import Image, load, parse

Run = Callable[..., Result]

NAME = "ia64-libjnidispatch"
FUNCS = "Java_com_sun_jna_Native_.*|callback_.*"


@pytest.fixture(scope="module")
def original() -> Path:
    return inputs.require(NAME)


@pytest.fixture(scope="module")
def tuned(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some functions of the library tuned."""
    path = tmp_path_factory.mktemp("ia64") / "tuned.so"
    arguments = ["patch", str(original), "-o", str(path), "--cpu", "itanium2", "--funcs", FUNCS]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return path


def test_no_gain_is_promised_for_bundles(original: Path, run: Run, tmp_path: Path) -> None:
    """Nothing says what such code executes fewer, so a wish for it is refused, with the reason."""
    options = ("--cpu", "itanium2", "--funcs", "callback_.*", "--min-gain", "1")
    done = run("patch", original, "-o", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert "--min-gain: nothing says what this code executes fewer" in done.stderr
    assert not (tmp_path / "out").exists()


def test_timings_charge_each_step(original: Path, run: Run) -> None:
    """What is shared is part of the whole, and the passes of bundles are steps as well."""
    options = ("--dry-run", "--cpu", "itanium2", "--funcs", "callback_.*", "--timings", "--json")
    told = json.loads(run("patch", original, *options).stdout)["timings"]
    steps = {step["step"]: step["processor"] for step in told["steps"]}
    assert min(steps["schedule"], steps["verify"]) > 0
    assert 0 < told["serial"] <= told["processor"]
    assert 0 < told["laid_out"]["8"] <= told["laid_out"]["1"] <= told["processor"] + 0.01


def test_every_changed_region_is_proved(tuned: Path, run: Run) -> None:
    document = json.loads(run("edits", tuned, "--json").stdout)
    grades = Counter(edit["grade"] for edit in document["edits"])
    assert grades.keys() == {"PROVED"}
    kinds = Counter(edit["kind"] for edit in document["edits"])
    assert kinds["straight region"] > 50
    assert kinds["layout"] > 5
    assert all(re.fullmatch(FUNCS, edit["function"]) for edit in document["edits"])


def test_verify_and_revert(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    verified = run("verify", original, tuned)
    assert (verified.exit_code, verified.stderr) == (0, "")
    assert "manifest: leads back to the original\nverified" in verified.stdout
    back = tmp_path / "back.so"
    assert run("revert", tuned, "-o", back).exit_code == 0
    assert back.read_bytes() == original.read_bytes()


def test_the_same_again(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    again = tmp_path / "again.so"
    run("patch", original, "-o", again, "--cpu", "itanium2", "--funcs", FUNCS)
    assert again.read_bytes() == tuned.read_bytes()


@pytest.mark.parametrize("name", ["ia64-libsigar", NAME, "ia64-libc"])
def test_no_pass_no_change(name: str, tmp_path: Path, run: Run) -> None:
    path, out = inputs.require(name), tmp_path / "out"
    result = run("patch", path, "-o", out, "--cpu", "itanium2", "--passes", "none")
    assert (result.exit_code, result.stdout) == (4, "nothing to do\n")
    assert out.read_bytes() == path.read_bytes()


def test_in_place_nothing_moves(original: Path, tmp_path: Path, run: Run) -> None:
    """Without `align` every region keeps its bundles."""
    out = tmp_path / "out.so"
    options = ("--cpu", "itanium2", "--funcs", FUNCS, "--passes", "schedule")
    assert run("patch", original, "-o", out, *options).exit_code == 0
    document = json.loads(run("edits", out, "--json").stdout)
    assert {edit["kind"] for edit in document["edits"]} <= {
        "straight region",
        "end of a group before one",
    }
    assert run("verify", original, out).exit_code == 0


def test_one_edit_by_its_id(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    document = json.loads(run("edits", tuned, "--json").stdout)
    layout = next(e for e in document["edits"] if e["kind"] == "layout")
    wanted = next(
        e["id"]
        for e in document["edits"]
        if e["function"] == layout["function"] and e["kind"] == "straight region"
    )
    out = tmp_path / "one.so"
    options = ("--cpu", "itanium2", "--only", wanted, "--only", layout["id"])
    assert run("patch", original, "-o", out, "--funcs", FUNCS, *options).exit_code == 0
    made = {edit["id"] for edit in json.loads(run("edits", out, "--json").stdout)["edits"]}
    assert {wanted, layout["id"]} <= made
    kinds = {edit.partition("+")[0] for edit in made}
    assert kinds == {f"schedule:{layout['function']}", f"align:{layout['function']}"}


def test_identify_and_explain(original: Path, run: Run) -> None:
    result = run("identify", original)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "ia64: 147 functions, 10432 bundles"
    assert "functions known by unwind table: 147" in lines
    shown = run("explain", original, "Java_com_sun_jna_Native_malloc", "--cpu", "itanium2")
    assert shown.exit_code == 0
    marks = Counter(line[0] for line in shown.stdout.splitlines() if line[:2] in ("- ", "+ "))
    assert marks["-"]
    assert marks["+"]
    assert "  evidence: PROVED" in shown.stdout


def test_passes_of_other_machines_are_refused(original: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    result = run("patch", original, "-o", out, "--cpu", "itanium2", "--passes", "bytes")
    assert result.exit_code == 2
    assert (
        "--passes bytes: not for ia64 (known for ia64: align, prefetch, schedule, substitute)"
        in result.stderr
    )
    assert not out.exists()


def test_known_routines_are_listed(original: Path, run: Run) -> None:
    result = run("identify", "--known", original)
    assert (result.exit_code, result.stdout) == (4, "ia64: no known routine\n")
    refused = run("identify", "--known", "--like", original)
    assert refused.exit_code == 2
    assert "--like: nothing is known of shapes of routines for ia64" in refused.stderr


def test_explain_shows_ports_and_cycles(original: Path, run: Run) -> None:
    """Every slot of the function's bundles, in both files, each unit's nops on a port of it."""
    arguments = ("explain", original, "Java_com_sun_jna_Native_malloc", "--cpu", "itanium2")
    document = json.loads(run(*arguments, "--cycles", "--json").stdout)
    assert (document["model"], document["machine"]) == ("itanium2", None)
    sizes = []
    for side in ("before", "after"):
        rows = [row for part in document[side] for row in part["instructions"]]
        sizes.append(len(rows))
        assert [row["fetch_block"] for row in rows] == [row["address"] % 16 == 0 for row in rows]
        for unit in "mi":
            ports = {row["pipe"][0] for row in rows if row["text"].startswith(f"nop.{unit}")}
            assert ports <= {unit.upper()}
        assert {row["pipe"][0] for row in rows if row["text"].startswith("br.")} == {"B"}
        for part in document[side]:
            assert part["cycles"] > max(row["cycle"] for row in part["instructions"])
    assert sizes[0] == sizes[1]  # whole bundles, none of them with a long instruction
    assert " in a " not in run(*arguments, "--cycles").stdout.splitlines()[0]


def test_signatures_are_made_and_found(tmp_path: Path, run: Run) -> None:
    """What a database from the C library finds in it has that name in its own symbols."""
    libc, database = inputs.require("ia64-libc"), tmp_path / "libc.json"
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    assert run("signatures", "make", libc, "-o", database).exit_code == 0
    found = run("identify", "--known", "--database", database, libc, "--json")
    findings = json.loads(found.stdout)["findings"]
    known = [finding for finding in findings if finding["status"] == "known"]
    assert len(known) > 15
    listed = subprocess.run(
        (readelf, "-Ws", "--dyn-syms", libc), check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split() for line in listed.splitlines() if len(line.split()) > 7]
    named = {(row[1], row[7].partition("@")[0].strip("_")) for row in rows}
    aliases = {"strchr": "index", "strrchr": "rindex"}
    for finding in known:
        at, name = f"{finding['address']:016x}", finding["routine"].strip("_")
        assert {(at, name), (at, aliases.get(name, name))} & named, finding


def test_an_object_gives_no_signatures(tmp_path: Path, run: Run) -> None:
    """What a linker has yet to fill in would be part of them."""
    assembler = inputs.require_tool("ia64-linux-gnu-as")
    text = ".global strlen#\n.proc strlen#\nstrlen:\n" + "nop.m 1\n" * 12 + "br.ret.sptk b0\n"
    source, made = tmp_path / "strlen.s", tmp_path / "strlen.o"
    source.write_text(text + ".endp strlen#\n")
    subprocess.run((assembler, source, "-o", made), check=True)
    assert run("signatures", "make", made, "-o", tmp_path / "db.json").exit_code == 4
    assert not (tmp_path / "db.json").exists()


def test_the_articles_suite_is_not_about_ia64(run: Run) -> None:
    refused = run("bench", inputs.require("ia64-libc"), "--cpu", "itanium2", "--json")
    assert refused.exit_code == 3
    assert "the suite article is about kernels for the machines" in refused.stderr
    assert "--suite itanium" in refused.stderr


# By binutils.

_INSN = re.compile(r"^\s+([0-9a-f]+):\t(?:[0-9a-f]{2} )*\s*(?:\[\w+\])?\s+(?:\(p\d+\) )?(\S+)")


def disassembled(path: Path) -> dict[str, Counter[str]]:
    """The mnemonics of each function but for nops, as objdump reads them."""
    objdump = inputs.require_tool("ia64-linux-gnu-objdump")
    run = subprocess.run((objdump, "-d", path), capture_output=True, text=True, check=True)
    found: dict[str, Counter[str]] = {}
    name = ""
    for line in run.stdout.splitlines():
        if line.endswith(">:"):
            name = line.partition(" ")[2]
            found[name] = Counter()
        elif (insn := _INSN.match(line)) and not insn[2].startswith("nop."):
            found[name][insn[2].removesuffix(";;")] += 1
    return found


def test_objdump_finds_the_same_instructions(original: Path, tuned: Path) -> None:
    before, after = disassembled(original), disassembled(tuned)
    assert len(before) > 100
    assert after == before


_WHEN = re.compile(r"P\d:(\w+_when|mem_stack_f)\(t=(\d+)")
_SAVES = {"pfs_when": "alloc", "rp_when": "mov", "lc_when": "mov", "mem_stack_f": "adds"}


def saves(path: Path) -> set[tuple[int, str]]:
    """Function and kind of each time of its first prologue that names such an instruction."""
    readelf = inputs.require_tool("ia64-linux-gnu-readelf")
    objdump = inputs.require_tool("ia64-linux-gnu-objdump")
    code = subprocess.run((objdump, "-d", path), capture_output=True, text=True, check=True).stdout
    at = {int(insn[1], 16): insn[2] for line in code.splitlines() if (insn := _INSN.match(line))}
    said = subprocess.run((readelf, "-u", path), capture_output=True, text=True, check=True).stdout
    found = set()
    for entry in said.split("\n<")[1:]:
        start = int(entry.partition("[0x")[2].partition("-")[0], 16)
        first = entry.partition("R1:body")[0].partition("R3:body")[0]
        for what, time in _WHEN.findall(first):
            slot = int(time)
            name = at.get(start + slot // 3 * 16 + slot % 3 * 6, "")
            if what in _SAVES and name.startswith(_SAVES[what]):
                found.add((start, what))
    return found


def test_readelf_finds_the_saves_where_they_are(original: Path, tuned: Path) -> None:
    """Each time that names the instruction that saves does so in the new file."""
    before = saves(original)
    assert len(before) > 200
    assert saves(tuned) == before


# Mutants: each must be found.


def bare(tuned: Path) -> bytes:
    return note.detach(tuned.read_bytes())


def changed_functions(original: Path, tuned: Path, run: Run) -> list[int]:
    document = json.loads(run("edits", tuned, "--json").stdout)
    return [edit["address"] for edit in document["edits"] if edit["kind"] == "layout"]


def refused(data: bytes, original: Path, tmp_path: Path, run: Run) -> str:
    path = tmp_path / "mutant.so"
    path.write_bytes(data)
    result = run("verify", original, path)
    assert result.exit_code == 1, result.stdout
    return result.stdout


def test_a_changed_time_is_found(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    image = parse(with_old_identity(load(original), bare(tuned)), "tuned")
    start = min(changed_functions(original, tuned, run))
    offset = described(image, start)
    data = bytearray(image.data)
    at = data.index(b"\xe4", offset) + 1  # P7 rp_when
    data[at] += 1
    assert "unwind information names" in refused(bytes(data), original, tmp_path, run)


def described(image: Image, start: int) -> int:
    """File offset of the descriptors of the function at `start`."""
    table = image.section(".IA_64.unwind")
    assert table is not None
    for at in range(table.sh_offset, table.sh_offset + table.sh_size, 24):
        row = image.data[at : at + 24]
        if int.from_bytes(row[:8], "little") == start:
            return image.offset_of(int.from_bytes(row[16:], "little")) + 8
    raise AssertionError(hex(start))


def test_a_moved_stop_is_found(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    image = parse(bare(tuned), "tuned")
    found = 0
    for address in changed_functions(original, tuned, run)[:6]:
        offset = image.offset_of(address)
        for n in range(4):
            data = bytearray(image.data)
            if data[offset + 16 * n] & 1:
                data[offset + 16 * n] ^= 1
                path = tmp_path / "mutant.so"
                path.write_bytes(data)
                found += run("verify", original, path).exit_code == 1
    assert found >= 5


def test_a_changed_constant_is_found(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    image = parse(bare(tuned), "tuned")
    edits = json.loads(run("edits", tuned, "--json").stdout)["edits"]
    for edit in [e for e in edits if e["kind"] == "layout"][:3]:
        offset = image.offset_of(edit["address"])
        data = bytearray(image.data)
        data[offset + 2] ^= 0x20  # an operand of the first instruction
        assert "found: " in refused(bytes(data), original, tmp_path, run)


def test_code_in_the_room_that_became_free_is_found(
    original: Path, tuned: Path, tmp_path: Path, run: Run
) -> None:
    image, before = parse(bare(tuned), "tuned"), load(original)
    table = before.section(".IA_64.unwind")
    assert table is not None
    start = min(changed_functions(original, tuned, run))
    ends = {
        int.from_bytes(before.data[at : at + 8], "little"): int.from_bytes(
            before.data[at + 8 : at + 16], "little"
        )
        for at in range(table.sh_offset, table.sh_offset + table.sh_size, 24)
    }
    last = image.offset_of(ends[start] - 16)
    data = bytearray(image.data)
    data[last : last + 16] = before.data[before.offset_of(start) :][:16]
    assert "found: " in refused(bytes(data), original, tmp_path, run)


def test_a_byte_elsewhere_is_found(original: Path, tuned: Path, tmp_path: Path, run: Run) -> None:
    image = parse(bare(tuned), "tuned")
    section = image.section(".rodata")
    assert section is not None
    data = bytearray(image.data)
    data[section.sh_offset] ^= 1
    assert "a byte changed outside all functions" in refused(bytes(data), original, tmp_path, run)


SWITCH, TABLE = "ffi_call", 0x2F740


def words(image: Image, count: int) -> list[int]:
    """Where the words of the table lead: each is a distance from itself."""
    return [
        (at + int.from_bytes(image.read(at, 8), "little")) % (1 << 64)
        for at in range(TABLE, TABLE + 8 * count, 8)
    ]


def test_a_jump_table_follows_and_a_wrong_word_is_found(
    original: Path, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "switch.so"
    run("patch", original, "-o", out, "--cpu", "itanium2", "--funcs", SWITCH)
    before = load(original)
    after = parse(with_old_identity(before, bare(out)), "tuned")
    old, new = words(before, 15), words(after, 15)
    assert old != new
    places = dict(zip(old, new, strict=True))
    assert [places[target] for target in old] == new  # one place for each
    assert sorted(places.values()) == [places[target] for target in sorted(places)]
    moved = next(n for n, target in enumerate(new) if target != old[n])
    data = bytearray(after.data)
    at = after.offset_of(TABLE + 8 * moved)
    data[at : at + 8] = (new[moved] + 16 - TABLE - 8 * moved).to_bytes(8, "little", signed=True)
    said = refused(bytes(data), original, tmp_path, run)
    assert f"the jump table's word at {TABLE + 8 * moved:#x} leads to" in said
