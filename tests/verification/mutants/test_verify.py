"""`retune verify`: what it accepts, and that one wrong bit is enough for it to refuse."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import targets
from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.api.choose import target_of
from rewriter.cli import main
from rewriter.core.code.program import Function
from rewriter.core.errors import RetuneError
from rewriter.elf import image, manifest
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.headers import read_headers
from rewriter.elf.image import Image
from rewriter.report.verdict import compare
from rewriter.verify.check import Verdict, verify
from targets.alpha.assembler import assemble
from targets.alpha.cpus import CPUS
from targets.alpha.isa.rows import TABLE
from tests.support.depth import DEEP, depth
from tests.support.mutants.random_runs import Code, Start, World
from tests.verification.mutants.mutants import Bench
from tests.verification.mutants.run_oracle import SEEDS, Oracle

EV67 = CPUS["ev67"]
RANDOM_BITS = 300
ELFS = [name for name in inputs.elf_names() if DEEP or name != "alpha-libgo"]  # the longest
FLIPS = depth(200, 1500)  # of the 17,000 bits of the sample's changed bytes


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def _bench(program: Program, tuned: Path) -> Bench:
    right = manifest.detach(tuned.read_bytes())[0]
    return Bench(program, with_old_identity(program.image, right))


@pytest.fixture(scope="module")
def sample() -> Path:
    return inputs.require("alpha-sample")


@pytest.fixture(scope="module")
def sample_ev67(patched: Callable[..., Path]) -> Path:
    return patched("alpha-sample", "ev67")


@pytest.fixture(scope="module")
def bench(sample: Path, patched: Callable[..., Path]) -> Bench:
    """Of the original's size: what `substitute` adds has tests of its own."""
    options = ("--passes", "bytes,bitscan,align,schedule")
    loaded = image.load(str(sample))
    program = analyse(loaded, targets.of(loaded))
    return _bench(program, patched("alpha-sample", "ev67", options))


@pytest.fixture(scope="module")
def libc_bench(libc_program: Program, libc_proved: Path) -> Bench:
    return _bench(libc_program, libc_proved)


def command(old: Path, new: Path, *options: str) -> int:
    """The exit status of `retune verify`."""
    arguments = ["verify", str(old), str(new), *options]
    return CliRunner().invoke(main, arguments, prog_name="retune", catch_exceptions=False).exit_code


def _verified(bench: Bench, data: bytes) -> Verdict:
    return verify(bench.program, replace(bench.program.image, data=data), _quiet, cpu=EV67)


def refused(bench: Bench, data: bytes) -> bool:
    """Whether the verifier itself refuses a file without a note."""
    try:
        return not _verified(bench, data).ok
    except RetuneError:
        return True


def flipped(data: bytes, bit: int) -> bytes:
    """`data` with one bit changed, counted from the first byte's lowest."""
    changed = bytearray(data)
    changed[bit >> 3] ^= 1 << (bit & 7)
    return bytes(changed)


# Accepted ---------------------------------------------------------------------------------


def test_a_tuned_file_is_verified(sample: Path, sample_ev67: Path, tmp_path: Path) -> None:
    """With its note; without it where the CPU is named."""
    assert command(sample, sample_ev67) == 0
    bare = tmp_path / "bare"
    bare.write_bytes(manifest.detach(sample_ev67.read_bytes())[0])
    assert command(sample, bare) == 1
    assert command(sample, bare, "--cpu", "ev67") == 0


@pytest.mark.parametrize("name", ELFS)
def test_a_file_is_equal_to_itself(name: str) -> None:
    old = image.load(str(inputs.require(name)))
    found = compare(old, old, target_of, _quiet)
    assert found.ok
    assert (found.functions, found.changed_bytes) == (0, 0)


# Refused: a single bit --------------------------------------------------------------------


def test_a_bit_of_a_changed_byte(bench: Bench) -> None:
    """Flipped in the file without its note: refused, unless the code does the same all the same.

    Such there are (`mov a,b` is `bis zero,a,b`, and one bit away `cmoveq zero,a,b`): each must
    come to the same end on numbers.
    """
    old, right = bench.program.image.data, bench.right
    changed = np.flatnonzero(np.frombuffer(old, np.uint8) != np.frombuffer(right, np.uint8))
    every = [8 * int(offset) + bit for offset in changed for bit in range(8)]
    bits = random.Random(5).sample(every, min(len(every), FLIPS))
    accepted = _accepted(bench, bits)
    wrong = [bit for bit in accepted if _wrong(bench, bit)]
    print(f"{len(bits)} of {len(every)} bits, {len(accepted)} accepted, {len(wrong)} of them wrong")
    shown = "\n".join(_described(bench, bit) for bit in wrong[:20])
    assert not wrong, f"{len(wrong)} wrong bits accepted:\n{shown}"
    assert len(accepted) <= 0.02 * len(bits)


def _accepted(bench: Bench, bits: list[int]) -> list[int]:
    """The bits whose flip the verifier accepts; one bit of each function in one comparison."""
    queues: dict[Function | None, list[int]] = {}
    for bit in bits:
        queues.setdefault(_owner(bench, bit), []).append(bit)
    found = [bit for bit in queues.pop(None, []) if not refused(bench, flipped(bench.right, bit))]
    while queues:
        group = {function: queue.pop() for function, queue in queues.items()}
        queues = {function: queue for function, queue in queues.items() if queue}
        data = bytes(bench.only(function for function in group if function is not None))
        for bit in group.values():
            data = flipped(data, bit)
        try:
            failed = _verified(bench, data).failed
        except RetuneError:
            failed = ()
        found += [
            bit
            for function, bit in group.items()
            if function is not None
            and function not in failed
            and not refused(bench, flipped(bytes(bench.only([function])), bit))
        ]
    return found


def _owner(bench: Bench, bit: int) -> Function | None:
    try:
        return bench.program.function_at(bench.program.image.address_of(bit >> 3))
    except RetuneError:
        return None


def _wrong(bench: Bench, bit: int) -> bool:
    """Whether a flip in a function does something else; outside functions every flip does."""
    function = _owner(bench, bit)
    if function is None:
        return True
    address = bench.program.image.address_of(bit >> 3) & -4
    pairs = bench.pairs_through(function, address)
    changed = flipped(bench.right, bit)
    return not pairs or bool(Oracle(bench.program).wrong(function, bench.right, changed, pairs))


def _described(bench: Bench, bit: int) -> str:
    address = bench.program.image.address_of(bit >> 3) & -4
    at = bench.program.image.offset_of(address)
    texts = []
    for data in (bench.right, flipped(bench.right, bit)):
        insn = TABLE.decode(int.from_bytes(data[at : at + 4], "little"))
        texts.append("data" if insn is None else TABLE.text(insn, address))
    return f"{address:#x}: {texts[0]} -> {texts[1]}"


@pytest.mark.parametrize(
    ("name", "count"), [("alpha-sample", RANDOM_BITS), ("alpha-libc", depth(20, 60))]
)
def test_a_bit_anywhere_in_a_file_with_its_note(
    name: str, count: int, patched: Callable[..., Path]
) -> None:
    """Note, headers, section table, names, padding, data, text: `retune verify` never says yes."""
    old = image.load(str(inputs.require(name)))
    data = patched(name, "ev67").read_bytes()
    draw = random.Random(name)
    note = next(s for s in read_headers(data, name).sections if s.name == ".note.retune")
    bits = [draw.randrange(8 * len(data)) for _ in range(count // 3)]
    bits += [draw.randrange(8 * note.sh_offset, 8 * len(data)) for _ in range(count // 3)]
    bits += [draw.randrange(8 * 0x400) for _ in range(count - len(bits))]
    for bit in bits:
        assert _not_ok(old, flipped(data, bit)), f"bit {bit & 7} of offset {bit >> 3:#x}"


def _not_ok(old: Image, new: bytes) -> bool:
    """Whether the command refuses a file; it looks at the note first, and only then at the code."""
    try:
        bare, findings = manifest.compare(old.data, new, "new")
        if findings:
            return True
        assert bare is not None
        new_image = image.parse(bare, "new")
        return not compare(old, new_image, target_of, _quiet, cpu_of=lambda target: EV67).ok
    except RetuneError:
        return True


@pytest.mark.parametrize("which", ["bench", "libc_bench"])
def test_a_bit_outside_what_changed_in_a_file_without_note(
    which: str, request: pytest.FixtureRequest
) -> None:
    """Nothing but the verifier is there to see it: every bit outside functions is refused."""
    bench = request.getfixturevalue(which)
    draw, old = random.Random(which), bench.program.image.data
    frames = [frame.instructions for frame in bench.program.frames.values()]
    rows = {offset for bounds in frames for offset in range(*bounds)}
    wanted, done = RANDOM_BITS if which == "bench" else RANDOM_BITS // 10, 0
    while done < wanted:
        bit = draw.randrange(8 * len(old))
        if _owner(bench, bit) is None and (bit >> 3) not in rows:
            # From the original: comparing a whole libc as often would take hours.
            assert refused(bench, flipped(old, bit)), f"bit {bit & 7} of offset {bit >> 3:#x}"
            done += 1


# Refused: wrong in other ways -------------------------------------------------------------


def test_exchanged_edits_are_refused(bench: Bench) -> None:
    """The bytes of two edits of one size, each in the other's place."""
    old, data = bench.program.image.data, bench.right
    words = {
        at: data[at : at + 4]
        for function in bench.changed_functions()
        for at in range(
            bench.program.image.offset_of(function.start),
            bench.program.image.offset_of(function.end - 4) + 4,
            4,
        )
        if data[at : at + 4] != old[at : at + 4] and _needs(data[at : at + 4])
    }
    draw, tried = random.Random(3), 0
    while tried < 20:
        one, other = draw.sample(sorted(words), 2)
        owners = {_owner(bench, 8 * one), _owner(bench, 8 * other)}
        if words[one] == words[other] or len(owners) == 1:
            continue
        changed = bytearray(data)
        changed[one : one + 4], changed[other : other + 4] = words[other], words[one]
        assert refused(bench, bytes(changed)), f"{one:#x} and {other:#x}"
        tried += 1


def _needs(word: bytes) -> bool:
    insn = TABLE.decode(int.from_bytes(word, "little"))
    return insn is not None and bool(insn.op.needs)


UNALIGNED = """
    ldq_u t0,0(a0)
    ldq_u t1,1(a0)
    extwl t0,a0,t0
    extwh t1,a0,t1
    bis t0,t1,v0
"""
# The same, from an address that old and new code make each in its own way.
INDEXED = """
    sll a1,56,t3
    sra t3,56,t3
    addq a0,t3,t2
    ldq_u t0,0(t2)
    ldq_u t1,1(t2)
    extwl t0,t2,t0
    extwh t1,t2,t1
    bis t0,t1,v0
"""
# A byte is no evidence that the address before it is even.
BYTE = """
    ldq_u t0,0(a0)
    extbl t0,a0,v0
"""
FREE = "clr t0; clr t1; clr t2; clr t3; ret"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (UNALIGNED, "ldwu v0,0(a0)"),
        (INDEXED, "sextb a1,t3; addq a0,t3,t2; ldwu v0,0(t2)"),
        (BYTE, "ldwu t0,-1(a0); srl t0,8,v0"),
        (BYTE, "ldwu t0,0(a0); zapnot t0,1,v0"),
    ],
    ids=("extwl and extwh", "address made otherwise", "odd", "even"),
)
def test_right_only_where_aligned_is_refused(bench: Bench, before: str, after: str) -> None:
    """In place of a function of the sample, old and new code of our own."""
    function = max(
        (f for f in bench.program.functions if not bench.program.not_understood(f)),
        key=lambda f: f.end - f.start,
    )
    old, new = (_placed(bench, function, text) for text in (before, after))
    target = bench.program.target
    program = analyse(replace(bench.program.image, data=old), target)
    verdict = verify(program, replace(program.image, data=new), _quiet, cpu=EV67)
    assert not verdict.ok
    # And it is wrong: on some input the two differ, or only the new one traps.
    codes = [Code(program, function, data) for data in (old, new)]
    assert any(_differ(codes, Start(seed, [])) for seed in range(20 * SEEDS))


def _placed(bench: Bench, function: Function, text: str) -> bytes:
    """The sample with a function's code replaced, the rest of it nops."""
    code = assemble(f"{text}\n{FREE}".replace(";", "\n"), function.start).code
    size = function.end - function.start
    assert len(code) <= size
    nop = b"".join(map(bench.program.target.encode, bench.program.target.nops(4)))
    data, at = bytearray(bench.program.image.data), bench.program.image.offset_of(function.start)
    data[at : at + size] = code + nop * ((size - len(code)) // 4)
    return bytes(data)


def _differ(codes: list[Code], start: Start) -> bool:
    worlds = [World(start, dict(TABLE.constants)) for _ in codes]
    place = codes[0].function.start
    old, new = (code.run(place, world) for code, world in zip(codes, worlds, strict=True))
    if old.kind == "trap":
        return False
    return new.kind != old.kind or worlds[0].registers.get(0) != worlds[1].registers.get(0)


def test_the_insn_that_reads_its_own_address(bench: Bench) -> None:
    """`br ra,next` puts an address in a register: moved code would put another one there."""
    function = max(bench.program.functions, key=lambda f: f.end - f.start)
    old, new = (
        _placed(bench, function, text)
        for text in (
            "beq a0,there; ret; unop; there: br v0,next; next: clr t5",
            "beq a0,there; ret; there: br v0,next; next: clr t5; unop",
        )
    )
    program = analyse(replace(bench.program.image, data=old), bench.program.target)
    assert not verify(program, replace(program.image, data=new), _quiet).ok
