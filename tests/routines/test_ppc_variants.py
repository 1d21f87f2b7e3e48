"""What resolvers of IFUNC symbols pick on a CPU: against glibc's own loader, run by qemu."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import targets
from fixtures.inputs import find, require_tool
from passes.substitute import Substitute
from rewriter.analysis.program import analyse
from rewriter.contracts import CONTRACTS
from rewriter.core.target.protocol import CannotMove, Sequential
from rewriter.elf.image import Image, load
from rewriter.identify.signatures import shipped
from rewriter.verify.routines.known import Status, known_routines
from rewriter.verify.routines.replaceable import Known
from rewriter.verify.routines.resolved import picked, variants
from tests.conftest import Retune
from tests.support.depth import depth

PROBE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **names)
{
    Dl_info found;
    for (int i = 1; i < count; i++) {
        void *at = dlsym(RTLD_DEFAULT, names[i]);
#if _CALL_ELF != 2
        if (at)
            at = *(void **)at;
#endif
        if (at && dladdr(at, &found))
            printf("%s %lx\n", names[i], (long)((char *)at - (char *)found.dli_fbase));
    }
}
"""
"""Prints where routines are that the loader has resolved: code, where a symbol is a descriptor."""

# qemu's 970 does not say that it is a POWER4, as Linux does (AT_HWCAP): it is left out.
MACHINES = {
    "ppc64el-libc": ("powerpc64le", "qemu-ppc64le", ("power8", "power9", "power10")),
    "ppc64-libc": ("powerpc64", "qemu-ppc64", ("power7", "power8", "power9")),
}


@cache
def _loaded(name: str) -> tuple[Image, Sequential]:
    image = load(find(name))
    target = targets.of(image).sequential
    assert target is not None
    return image, target


def _resolved(name: str, cpu: str, program: Path, contracts: list[str]) -> dict[str, int]:
    """Addresses in the libc, as its loader resolves them on a machine."""
    _, emulator, _ = MACHINES[name]
    root = find(name).parent.parent
    command = (require_tool(emulator), "-cpu", cpu, "-L", root, program, *contracts)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return {word: int(at, 16) for word, at in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("name", MACHINES)
def test_resolvers_pick_what_they_pick_in_qemu(name: str, tmp_path: Path) -> None:
    """Every routine with a contract that has a resolver, on each CPU that qemu has."""
    image, target = _loaded(name)
    found = variants(image, target)
    contracts = sorted({one.contract for one in found})
    assert len(contracts) >= 18
    assert all(image.segment_of(one.address) is not None for one in found)
    compiler, _, cpus = MACHINES[name]
    source, program = tmp_path / "probe.c", tmp_path / "probe"
    source.write_text(PROBE, encoding="utf-8")
    gcc = require_tool(f"{compiler}-linux-gnu-gcc")
    subprocess.run([gcc, "-o", program, source], check=True)
    for cpu in cpus:
        said = {one.contract: one.address for one in found if cpu in one.cpus}
        assert said == _resolved(name, cpu, program, contracts), cpu
    assert len({one.address for one in found if one.contract == "strlen"}) > 2


def test_nothing_is_said_where_resolvers_read_something_else() -> None:
    """Without the loader's data, or in a file whose names may mean anything."""
    image, target = _loaded("ppc64el-libc")
    others = tuple(replace(r, symbol=r.symbol and f"x{r.symbol}") for r in image.relocations)
    assert variants(replace(image, relocations=others), target) == ()
    data = bytearray(image.data)
    name = data.index(b"\0libc.so.6\0")
    data[name + 1] = ord("x")
    assert variants(replace(image, data=bytes(data)), target) == ()


def test_what_is_picked_is_named_and_tried() -> None:
    """Each variant that is known has evidence, and says on which CPUs it is picked."""
    image, target = _loaded("ppc64el-libc")
    few = {name: CONTRACTS[name] for name in ("strlen", "rawmemchr", "mempcpy")}
    found = known_routines(image, target, shipped(target), few, cases=10)
    for cpu in ("power8", "power9"):
        for name in few:
            at = picked(image, target, name, target.cpus[cpu])
            (one,) = (f for f in found if f.address == at and f.routine == name)
            assert one.status is Status.KNOWN and one.evidence is not None
            assert one.detail.startswith("picked on ") and cpu in one.detail


def test_only_what_is_picked_on_the_cpu_is_replaced() -> None:
    """strlen for POWER9 on a POWER9; what other chips get stays, and so does the resolver."""
    image, target = _loaded("ppc64el-libc")
    known, cpu = Known(analyse(image, target)), target.cpus["power9"]
    resolver = next(s.st_value for s in image.symbols if s.name == "strlen")
    assert resolver not in known.named
    mine = picked(image, target, "strlen", cpu)
    others = [v.address for v in variants(image, target) if v.contract == "strlen"]
    assert mine in others and len(others) > 2
    for address in others:
        named = known.named[address]
        assert named.contracts == ("strlen",) and named.provenance == "resolver"
        if address == mine:
            function, routine, worth = next(Substitute().behaving(known, named, cpu))
            assert function.start == mine and routine.folder == "power9"
            assert worth.new < worth.old
        else:
            with pytest.raises(CannotMove, match="another variant is picked on power9"):
                next(Substitute().behaving(known, named, cpu))


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
int main(void)
{
    static char text[999];
    memset(text, 'a', 700);
    memcpy(text + 33, "bc", 2);
    printf("%zu %zu\n", strlen(text + 5), strchr(text, 'c') - text);
}
"""


@pytest.mark.skipif(depth(1, 0), reason="deep: the whole libc is patched and verified")
def test_a_libc_of_power9_runs(tmp_path: Path, retune: Retune) -> None:
    """Retuned and verified it does the same on a POWER9."""
    source, root = find("ppc64el-libc"), tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    for path in source.parent.iterdir():
        (root / "lib" / path.name).symlink_to(path)
    (root / "lib64").symlink_to(source.parent.parent / "lib64")
    out = root / "lib" / "libc.so.6"
    out.unlink()
    options = ("--cpu", "power9", "--passes", "substitute")
    assert retune("patch", source, "-o", out, *options).returncode == 0
    assert retune("verify", source, out).returncode == 0
    text, program = tmp_path / "program.c", tmp_path / "program"
    text.write_text(PROGRAM, encoding="utf-8")
    gcc = require_tool("powerpc64le-linux-gnu-gcc")
    subprocess.run([gcc, "-fno-builtin", "-o", program, text], check=True)
    command = (require_tool("qemu-ppc64le"), "-cpu", "power9", "-L", root, program)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert done.stdout == "695 34\n"
