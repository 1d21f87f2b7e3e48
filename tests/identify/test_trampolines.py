"""Code whose callers count on registers that it does not save, and what it may come to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import targets
from fixtures import inputs
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.core.code.program import Function
from rewriter.core.isa.registers import register_mask
from rewriter.core.target.protocol import CannotMove
from rewriter.elf.debug_identity import with_old_identity
from rewriter.elf.image import load
from rewriter.identify.trampolines import trusted
from rewriter.road.options import Options
from rewriter.road.pipeline import tune
from rewriter.verify.check import verify
from rewriter.verify.routines import rules
from rewriter.verify.routines.calls import ASSUMED, Calls
from rewriter.verify.routines.replaceable import Known, Named
from targets.ppc import routines
from targets.ppc.asm.assembler import assemble
from targets.ppc.registers import FPR, GPR, VR
from tests.verification.tables.test_ppc_rows import assembled

ARGUMENTS = range(3, 11)
LOADED = "".join(f"ld {n}, {16 + 8 * n}(1)\n" for n in ARGUMENTS)
HANDING_ON = """
    .text
    .globl bind
    .type bind, @function
bind:
    .cfi_startproc
    stdu 1, -112(1)
    .cfi_def_cfa_offset 112
    {stored}
    mflr 0
    std 0, 128(1)
    bl look
    {loaded}
    ld 0, 128(1)
    mtlr 0
    mtctr 12
    addi 1, 1, 112
    bctr
    .cfi_endproc
    .size bind, .-bind
    .type look, @function
look:
    .cfi_startproc
    {look}
    b copy
    .cfi_endproc
    .size look, .-look
    .type copy, @function
copy:
    .cfi_startproc
    mr 12, 3
    blr
    .cfi_endproc
    .size copy, .-copy
    .globl other
    .type other, @function
other:
    .cfi_startproc
    blr
    .cfi_endproc
    .size other, .-other
"""
STORED = "".join(f"std {n}, {16 + 8 * n}(1)\n" for n in ARGUMENTS)
VECTORS = register_mask((VR + 2, FPR + 1))


def of(folder: Path, loaded: str = LOADED, look: str = "li 4, 0") -> Known:
    """What is known of a library with a trampoline."""
    source = HANDING_ON.format(stored=STORED, loaded=loaded, look=look)
    return Known(assembled(source, folder, "powerpc64le"))


def function(known: Known, name: str) -> Function:
    """The function of the name."""
    return next(one for one in known.program.functions if one.name == name)


def test_a_trampoline_is_known_by_what_it_loads(tmp_path: Path) -> None:
    program = of(tmp_path).program
    (found,) = trusted(program.image, program.listing, program.target)
    assert program.function_at(found.address) == function(Known(program), "bind")
    assert found.kept & VECTORS == VECTORS
    assert not found.kept & register_mask(GPR + n for n in ARGUMENTS)


@pytest.mark.parametrize(
    "loaded", [LOADED.replace("ld 7,", "ld 11,"), LOADED + "li 7, 0"], ids=["one less", "not kept"]
)
def test_what_makes_arguments_itself_is_none(loaded: str, tmp_path: Path) -> None:
    program = of(tmp_path, loaded).program
    assert not trusted(program.image, program.listing, program.target)


NARROW = (
    ("stdu", "stwu"),
    ("std ", "stw "),
    ("ld 0", "lwz 0"),
    ("mtctr 12", "mtctr 3\n{loaded}"),
)
"""With 32 bits; where it goes on is found out before the arguments are loaded."""


@pytest.mark.parametrize(
    ("loaded", "is_one"),
    [
        ("lmw 3, 8(1)", True),
        ("lmw 4, 12(1)\nlwz 3, 8(1)", True),
        (LOADED.replace("ld ", "lwz ") + "lmw 30, 104(1)", True),
        ("lmw 4, 12(1)", False),
        ("lmw 3, 8(2)", False),
        ("lmw 3, 8(1)\nli 9, 0", False),
    ],
    ids=["all", "all but one", "one by one", "one less", "not from the stack", "not kept"],
)
def test_many_registers_are_loaded_at_once(loaded: str, is_one: bool, tmp_path: Path) -> None:
    source = HANDING_ON.replace("{loaded}", "")
    for old, new in NARROW:
        source = source.replace(old, new)
    source = source.format(stored="stmw 3, 8(1)", loaded=loaded, look="li 4, 0")
    program = assembled(source, tmp_path)
    found = trusted(program.image, program.listing, program.target)
    assert bool(found) is is_one
    assert all(one.kept >> FPR + 1 & 1 for one in found)


def test_what_it_comes_to_keeps_what_it_does_not_save(tmp_path: Path) -> None:
    """What it does not come to need not."""
    known = of(tmp_path)
    found = [known.calls.relied_on(one) & VECTORS for one in known.program.functions]
    names = [one.name for one in known.program.functions]
    reached = {name for name, kept in zip(names, found, strict=True) if kept}
    assert "other" not in reached and {found[names.index("bind")]} == {VECTORS}
    assert len(reached) == 3


@pytest.mark.parametrize("look", ["mtctr 5\nbctrl", "bl elsewhere\nnop"])
def test_it_may_come_to_anything(look: str, tmp_path: Path) -> None:
    """By a pointer, or through another file."""
    known = of(tmp_path, look=look)
    assert known.calls.relied_on(function(known, "other")) & VECTORS == VECTORS


def test_what_finds_variables_of_threads_is_known_by_name(tmp_path: Path) -> None:
    source = HANDING_ON.replace("other", "__tls_get_addr")
    source = source.format(stored="", loaded="", look="li 4, 0")
    program = assembled(source, tmp_path, "powerpc64le")
    (found,) = trusted(program.image, program.listing, program.target)
    assert found.address == function(Known(program), "__tls_get_addr").start
    assert found.kept & VECTORS == VECTORS


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("vxor v2,v2,v2", "a trampoline's caller may have an argument in v2"),
        ("lxvd2x vs45,0,r4", "a trampoline's caller may have an argument in v13"),
        ("lfd f1,0(r4)", "a trampoline's caller may have an argument in f1"),
        ("mtvsrd vs13,r4", "a trampoline's caller may have an argument in f13"),
        ("vxor v1,v1,v1\n vxor v14,v14,v14\n vxor v19,v19,v19\n lfd f0,0(r4)", ()),
        ("ld r9,0(r4)", (ASSUMED,)),
    ],
)
def test_no_routine_writes_what_passes_other_arguments(
    written: str, said: str | tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A trampoline of another file may come to it, though none of this file does."""
    known = of(tmp_path)
    other = function(known, "other")
    named = Named(other.start, ("memcpy",), "symbol")
    code = assemble(f" {written}\n blr", width=64, byteorder="little").code
    routine = replace(routines.routine("power9", "memcpy"), code=code, entry=0)
    monkeypatch.setattr(rules, "trusts_names", lambda _: True)
    assert rules.preconditions(known, named, other, routine) == said


def test_the_loader_keeps_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither made nor accepted, whatever is assumed: the loader's memcpy with vectors."""
    image = load(inputs.require("ppc64el-ld.so"))
    program = analyse(image, targets.of(image))
    known, cpu = Known(program), program.target.cpus["power9"]
    copy = next(one for one in known.named.values() if "memcpy" in one.contracts)
    owner = program.function_at(copy.address)
    assert owner is not None
    with pytest.raises(CannotMove, match="a caller of a trampoline of this file may keep a value"):
        next(Substitute().choices(known, copy, cpu))
    options = Options(passes=("substitute",), funcs=(owner.name,))
    with monkeypatch.context() as patched:
        patched.setattr(Calls, "relied_on", lambda *_: 0)
        bad = tune(image, targets.of(image), cpu, options, lambda *_: None)
    assert bad.edits
    new = replace(image, data=with_old_identity(image, bad.data))
    only = frozenset((owner,))
    verdict = verify(program, new, lambda *_: None, only=only, known=known)
    assert any("a caller of a trampoline" in str(finding) for finding in verdict.findings)
