"""Our IA-64 routines and glibc's as what trials run."""

from __future__ import annotations

from functools import cache

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from fixtures import inputs
from rewriter.elf.image import load
from rewriter.verify.trials.engines.sweep import Code
from rewriter.verify.trials.image import code_at, code_of, function_named
from targets.ia64 import routines

CODE = 0x4000_0000


def code_of_routine(routine: routines.Routine) -> Code:
    """A routine at the address where trials have it."""
    return code_at(routine, CODE)


def ours(name: str) -> Code:
    """Our routine."""
    return code_of_routine(routines.routine(name))


@cache
def libc(name: str) -> Code:
    """glibc's; the test is skipped if there is no such file here."""
    path = inputs.require("ia64-libc")
    image = load(path)
    with path.open("rb") as stream:
        dynamic = ELFFile(stream).get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        (tag,) = dynamic.iter_tags("DT_PLTGOT")
    found = function_named(image, name) or function_named(image, f"__{name}")
    assert found is not None, name
    return code_of(image, f"libc {name}", found[0], 0, lambda *relocation: None, tag["d_ptr"])
