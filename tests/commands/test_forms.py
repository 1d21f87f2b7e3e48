"""A kernel with symbols, and the same stripped and compressed: the same edits, the same bytes.

Some of its functions are retuned, and it runs on the CPU it was retuned for, and on no older one.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fixtures import initramfs, inputs, palcode
from fixtures.forms import FORMS, loaded
from fixtures.undefined import first_undefined
from rewriter.difftest.boot.compare import compare
from rewriter.difftest.boot.kernel import Kernel, kernel
from rewriter.difftest.boot.machine import Ending, Setup, boot
from targets.alpha.boots import BOOTS

Run = Callable[..., Result]
Edits = list[dict[str, Any]]

# Compiled and hand-written, with exception entries, and with labels that kallsyms has as well;
# vsnprintf runs before there is a console, and in the bit searches is what only an EV67 has.
FUNCS = (
    "filldir|filldir64|strncpy_from_user|vsnprintf|strlen|loop.*|found|done|entSys|sys_s.*"
    "|_find_.*_bit"
)
BYTES, COUNTS = {"ldbu", "ldwu", "stb", "stw", "sextb", "sextw"}, {"cttz", "ctlz", "ctpop"}


# What is known of a kernel does not depend on the CPU; finding it out takes longest.
pytestmark = [pytest.mark.usefixtures("analysed_once"), pytest.mark.long]


def test_symbols_and_packing_change_no_edit(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "stripped.gz"
    inputs.require_tool("alpha-linux-gnu-strip")
    FORMS["stripped.gz"](inputs.require("alpha-vmlinux"), source)
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    edits = patched(run, inputs.require("alpha-vmlinux"), plain, "ev67")
    assert len(edits) > 20
    assert edits == patched(run, source, packed, "ev67")
    assert loaded(plain) == loaded(packed)
    boots(packed, tmp_path)
    for cpu, new in (("ev5", BYTES), ("ev6", COUNTS)):
        at = first_undefined(plain, cpu, palcode.require(cpu))
        assert at is not None
        assert mnemonic(plain, at) in new
        assert mnemonic(inputs.find("alpha-vmlinux"), at) not in new


def test_a_kernel_for_a_cpu_of_which_the_emulator_has_no_firmware(run: Run, tmp_path: Path) -> None:
    source, out, firmware = (
        inputs.require("alpha-vmlinux"),
        tmp_path / "ev6",
        palcode.require("ev6"),
    )
    assert patched(run, source, out, "ev6")
    setup = setting("ev6", firmware.read_bytes())
    found = compare(read(source), read(out), BOOTS, setup, 300, lambda *_: None)
    assert found.same, found.difference
    assert "init: 0 wrong" in found.new.console.splitlines()


def patched(run: Run, source: Path, out: Path, cpu: str) -> Edits:
    """The edits of a few functions."""
    done = run("patch", source, "-o", out, "--cpu", cpu, "--funcs", FUNCS, "-q")
    assert done.exit_code == 0, done.output
    edits: Edits = json.loads(run("edits", "--json", out).stdout)["edits"]
    return edits


def boots(path: Path, folder: Path) -> None:
    """On an EV67, with the packaged firmware, to the end of /init, which finds nothing wrong."""
    done = boot(read(path), BOOTS, setting("ev67", None), None, 300, folder)
    assert done.ending is Ending.OFF, done.account
    assert "init: 0 wrong" in done.console.splitlines()


def setting(cpu: str, firmware: bytes | None) -> Setup:
    inputs.require_tool("qemu-system-alpha")
    try:
        initrd = initramfs.build().read_bytes()
    except inputs.Missing as missing:
        pytest.skip(str(missing))
    machine = (BOOTS.machine, BOOTS.memory, BOOTS.parameters)
    return Setup(*machine, initrd, BOOTS.cpus[cpu], firmware)


def read(path: Path) -> Kernel:
    return kernel(path.read_bytes(), path.name)


def mnemonic(path: Path, at: int) -> str:
    """What binutils calls the instruction at an address."""
    place = (f"--start-address={at:#x}", f"--stop-address={at + 4:#x}")
    objdump = inputs.require_tool("alpha-linux-gnu-objdump")
    shown = subprocess.run(
        (objdump, "-d", *place, path), capture_output=True, text=True, check=True
    )
    found = re.search(rf"^ *{at:x}:\t(?:[0-9a-f]{{2}} ){{4}}\t(\S+)", shown.stdout, re.MULTILINE)
    assert found
    return found[1]
