"""Interpreters whose jumps go by tables of labels (gcc's "labels as values") are understood.

Labels that nothing names, made from distances while the program runs, are where this must stop.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fixtures import inputs
from rewriter.analysis.program import Program, analyse
from rewriter.api.choose import target_of
from rewriter.core.code.listing import FLOW_CODE
from rewriter.core.isa.instruction import Flow
from rewriter.elf.image import load
from tests.verification.tables.test_ppc_rows import assembled

ARCHITECTURES = ("alpha", "powerpc", "powerpc64", "powerpc64le")
BUILDS = (("-fPIE", "-pie"), ("-fno-pie", "-no-pie"))

INTERPRETER = """
long run(const unsigned char *code, long sum, long *out, int n)
{
    static void *const ops[] = {&&add, &&twice, &&mix, &&store, &&loop, &&halt};
    const unsigned char *pc = code;
#define NEXT goto *ops[*pc++]
    NEXT;
add:   sum += pc[0] + out[1]; pc++; NEXT;
twice: sum = sum * 3 + out[0]; NEXT;
mix:   sum ^= out[2] << 3; out[2] = sum >> 2; NEXT;
store: out[sum & 3] = sum; NEXT;
loop:  if (n-- > 0) pc = code; NEXT;
halt:  return sum;
}
int main(int n, char **texts) { long out[4]; return run((unsigned char *) texts[0], n, out, n); }
"""

DISTANCES = """
void *places[8];
long run(const unsigned char *code, long sum, long *out)
{
    static const volatile int off[] = {&&a - &&base, &&b - &&base, &&c - &&base, 0};
    for (int i = 0; i < 4; i++)
        places[i] = (char *) &&base + off[i];
    goto *places[*code++];
base: *out = sum; return sum;
a: sum = sum * 3 + 1;
b: sum ^= 0x55 + code[0]; out[1] += sum;
c: sum += *code; out[2] ^= sum * 7;
    goto *places[*code++];
}
int main(int n, char **texts) { long out[4]; return run((unsigned char *) texts[0], n, out); }
"""

KINDS = """
    switch (out[3]) {
    case 0: out[0] -= sum; break;
    case 1: out[1] = sum * 7; break;
    case 2: sum += out[2] << 5; break;
    case 3: out[3] ^= 0x1234; break;
    case 4: sum = -sum; out[1]++; break;
    case 5: out[2] = out[1] + out[0]; break;
    case 6: sum |= 0x40; break;
    }
"""
"""A switch, whose table stands in text on PowerPC64, and is named by code."""


def _with_switch(source: str, label: str) -> str:
    """A source with the switch behind a label."""
    assert source.count(f"\n{label}") == 1
    return source.replace(f"\n{label}", f"\n{label}{KINDS}")


CASES = 1250


def _switch() -> str:
    """A switch with more cases than tables commonly have."""
    cases = "\n".join(
        f"    case {n}: return x * {n % 61 + 3} + {n * n % 1009};" for n in range(CASES)
    )
    return f"""
long run(unsigned n, long x)
{{
    switch (n) {{
{cases}
    }}
    return 0;
}}
int main(int n, char **texts) {{ return run(n, (long) texts); }}
"""


def _threaded(count: int) -> str:
    """An engine of so many words, each of which ends with a jump of its own to the next."""
    names = [f"w{n}" for n in range(count)]
    words = "\n".join(
        f"{name}: sum = (sum ^ out[{n % 3}]) + {n * n % 1009}; goto **pc++;"
        for n, name in enumerate(names)
    )
    return f"""
void *words[{count + 1}];
long run(void ***pc, long sum, long *out)
{{
    static void *const every[] = {{{", ".join(f"&&{name}" for name in names)}, &&halt}};
    if (!pc) {{ for (int n = 0; n <= {count}; n++) words[n] = every[n]; return 0; }}
    goto **pc++;
{words}
halt:
    return sum;
}}
int main(int n, char **texts) {{ long out[4]; return run((void ***) texts[0], n, out); }}
"""


def _program(architecture: str, source: str, build: tuple[str, ...], folder: Path) -> Program:
    gcc = inputs.require_tool(f"{architecture}-linux-gnu-gcc")
    (folder / "made.c").write_text(source, encoding="utf-8")
    subprocess.run((gcc, "-O2", *build, "made.c", "-o", "made"), cwd=folder, check=True)
    image = load(folder / "made")
    return analyse(image, target_of(image))


def _reason(program: Program) -> str:
    (function,) = (f for f in program.functions if f.name == "run")
    return program.not_understood(function)


@pytest.mark.parametrize("build", BUILDS, ids=("pie", "fixed"))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tables_of_labels_are_understood(
    architecture: str, build: tuple[str, ...], tmp_path: Path
) -> None:
    """Each of the jumps leads to six places, all of which are blocks that are reached."""
    program = _program(architecture, INTERPRETER, build, tmp_path)
    assert not _reason(program)
    (function,) = (f for f in program.functions if f.name == "run")
    first, last = program.listing.span(function.start, function.end)
    jumps = program.listing.flows[first:last] == FLOW_CODE[Flow.INDIRECT]
    tables = program.tables_of(function)
    assert len(tables) == jumps.sum() > 1
    places = set.intersection(*(set(table.targets) for table in tables))
    assert len(places) >= 6
    assert all(program.graph.reached[program.graph.block_at(place)] for place in places)


@pytest.mark.parametrize(("count", "is_followed"), [(150, True), (700, False)])
@pytest.mark.parametrize("architecture", ["alpha", "powerpc64le"])
def test_an_engine_with_too_many_ways_is_left_alone(
    architecture: str, count: int, is_followed: bool, tmp_path: Path
) -> None:
    """From each jump to each label: following so many takes minutes, as in Gforth's engines."""
    program = _program(architecture, _threaded(count), ("-fno-crossjumping",), tmp_path)
    (function,) = (f for f in program.functions if f.name == "run")
    assert len(program.tables_of(function)) == (count + 1 if is_followed else 0)
    assert bool(_reason(program)) is not is_followed
    assert len(program.graph.source) < 100_000


@pytest.mark.parametrize("build", BUILDS, ids=("pie", "fixed"))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_table_of_a_switch_is_no_label(
    architecture: str, build: tuple[str, ...], tmp_path: Path
) -> None:
    """Where it stands in text no jump through a pointer leads to it."""
    program = _program(architecture, _with_switch(INTERPRETER, "mix:"), build, tmp_path)
    assert not _reason(program)
    (function,) = (f for f in program.functions if f.name == "run")
    switches = [table for table in program.tables_of(function) if table.exact]
    assert len(switches) == 1
    others = (table for table in program.tables_of(function) if not table.exact)
    assert switches[0].address not in {target for table in others for target in table.targets}


@pytest.mark.parametrize("source", [DISTANCES, _with_switch(DISTANCES, "b:")])
@pytest.mark.parametrize("build", BUILDS, ids=("pie", "fixed"))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_labels_that_nothing_names_are_not_understood(
    architecture: str, build: tuple[str, ...], source: str, tmp_path: Path
) -> None:
    """Only `base` is named: what the jumps go to else is made while the program runs."""
    assert "computed jump" in _reason(_program(architecture, source, build, tmp_path))


def test_a_switch_may_have_many_cases(tmp_path: Path) -> None:
    program = _program("powerpc64le", _switch(), BUILDS[0], tmp_path)
    assert not _reason(program)
    (function,) = (f for f in program.functions if f.name == "run")
    assert [len(table.targets) for table in program.tables_of(function)] == [CASES]


NUMBERS = """
extern const volatile long number;
const volatile long number = PLACE;
long run(long n, volatile long *out)
{
    while (n & 7) {
        out[0] = n;
        if (out[1] == 0x110000 + LOW)
            return out[2];
        n -= out[3];
    }
    return number;
}
int main(int n, char **texts) { long out[4]; (void) texts; return run(n, out); }
"""


@pytest.mark.parametrize("build", BUILDS, ids=("pie", "fixed"))
@pytest.mark.parametrize("architecture", ("powerpc", "powerpc64", "powerpc64le"))
def test_a_number_is_an_address_only_where_addresses_are_fixed(
    architecture: str, build: tuple[str, ...], tmp_path: Path
) -> None:
    """A block's address is a word of data, and a number that two instructions make."""
    at = "-Wl,--section-start=.text=0x110000"

    def built(place: int) -> Program:
        numbers = f"-DPLACE={place:#x}", f"-DLOW={place & 0xFFFF:#x}"
        return _program(architecture, NUMBERS, (*build, at, *numbers), tmp_path)

    def inner(program: Program) -> int:
        (function,) = (f for f in program.functions if f.name == "run")
        blocks = program.graph.blocks_of(function)
        within = next(b for b in blocks if not program.graph.named[b])
        return int(program.listing.addresses[program.graph.first[within]])

    place = inner(built(0x110004))
    program = built(place)
    named = program.graph.named[program.graph.block_at(place)]
    assert bool(named) == (build == BUILDS[1])
    assert (place in program.references.labels) == (build == BUILDS[1])


FRAMED = """
    .text
    .globl run
    .type run, @function
run:
    .cfi_startproc
    mflr 0
    std 0, 16(1)
    stdu 1, -48(1)
    {told}
1:  bl other
    lbz 5, 0(3)
    ldx 12, 4, 5
    mtctr 12
    {given}
    bctr
2:  addi 1, 1, 48
    {back}
    ld 0, 16(1)
    mtlr 0
    blr
    .cfi_endproc
    .size run, .-run
    .type other, @function
other:
    blr
    .size other, .-other
    .section .data.rel.ro, "aw"
    .quad 1b, 2b
"""


_FRAME, _NONE = ".cfi_def_cfa_offset 48", ".cfi_def_cfa_offset 0"


@pytest.mark.parametrize(
    ("told", "given", "back", "leaves"),
    [
        (_FRAME, "nop", _NONE, False),
        (_FRAME, "addi 1, 1, 48", _NONE, True),
        ("nop", "nop", _NONE, True),
        (_FRAME, "nop", "nop", True),
    ],
    ids=("framed", "given back", "not told", "told of calls alone"),
)
def test_no_call_in_tail_position_has_a_frame(
    told: str, given: str, back: str, leaves: bool, tmp_path: Path
) -> None:
    """Its own frame, by the unwind table, and nothing before the jump that gives it back.

    The table must be one that tells of frames given back.

    Else what a call may read is live: the link register, which here comes from the call before.
    """
    source = FRAMED.format(told=told, given=given, back=back)
    program = assembled(source, tmp_path, "powerpc64le")
    (function,) = (f for f in program.functions if f.name == "run")
    assert not _reason(program)
    (table,) = program.tables_of(function)
    assert (table.jump in program.references.leaving) is leaves
    link = program.target.table.register_names.index("lr")
    behind = program.live_into(table.targets[0] + 4)
    assert bool(behind >> link & 1) is leaves
