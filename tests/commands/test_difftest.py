"""`retune difftest boot`: how boots end, what is counted, what is refused, and the real kernel."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import Result

import targets
from fixtures import initramfs, inputs, palcode, stub_kernel
from fixtures.forms import FORMS
from fixtures.stub_kernel import Ending, waiting, working
from rewriter.core.target.boots import Boots
from rewriter.difftest import executed
from rewriter.difftest.boot import compare as difftest
from rewriter.difftest.boot import machine
from rewriter.difftest.boot.kernel import kernel
from tests.support.depth import depth

Run = Callable[..., Result]
Boot = Callable[..., Result]

ALPHA: Boots = targets.named("alpha").boots
OFF = "reboot: Power down\n"


@pytest.fixture
def boot(run: Run, tmp_path: Path) -> Boot:
    """`boot(old, new, ...)`: the command with an initial file system that nobody looks at."""
    inputs.require_tool("qemu-system-alpha")
    nothing = tmp_path / "nothing"
    nothing.write_bytes(bytes(512))

    def call(old: Path, new: Path, *options: object) -> Result:
        both = ("--kernel", old, "--kernel", new)
        return run("difftest", "boot", *both, "--initrd", nothing, *options)

    return call


def stub(text: str, ending: Ending = Ending.HALT, count: int = 1) -> Path:
    inputs.require_tool("alpha-linux-gnu-ld")
    return stub_kernel.build(text, ending, count)


def test_counts_are_exact(boot: Boot) -> None:
    """Kernels whose instructions can be counted by hand."""
    inputs.require_tool("cc")
    texts, counts = ("one\n" + OFF, OFF), (100_000, 3)
    old, new = (stub(text, count=count) for text, count in zip(texts, counts, strict=True))
    document = json.loads(boot(old, new, "--json").stdout)
    assert (document["schema"], document["kind"]) == (1, "boot")
    assert [case["verdict"] for case in document["cases"]] == ["differs"]
    for which, text, count in zip(("old", "new"), texts, counts, strict=True):
        executed = document[which]["executed"]
        assert executed["kernel"] == working(text)
        assert executed["waiting"] == waiting(count)
        assert executed["user"] == 0
        assert executed["firmware"] > 1000


def test_counts_are_those_of_the_emulators_log(boot: Boot, tmp_path: Path) -> None:
    """A second way of counting: each instruction logged when it is started."""
    inputs.require_tool("cc")
    path, log = stub(OFF, count=5000), tmp_path / "log"
    executed = json.loads(boot(path, path, "--json").stdout)["old"]["executed"]
    command = (inputs.tool("qemu-system-alpha"), *ALPHA.options, "-display", "none", "-no-reboot")
    trace = ("-singlestep", "-d", "exec,nochain", "-D", log, "-kernel", path)
    subprocess.run((*command, *trace), check=True, stdin=subprocess.DEVNULL, timeout=60)
    started, stopped = (
        re.findall(pattern, log.read_text(), re.MULTILINE)
        for pattern in (r"^Trace 0: .*?/([0-9a-f]{16})/", r"^Stopped .*\[([0-9a-f]{16})")
    )
    # Of the kernel only: the log is that of a machine whose clock is the host's, and its firmware
    # handles as many interrupts as the host lets it.
    of_kernel = (sum(int(at, 16) >= stub_kernel.START for at in ats) for ats in (started, stopped))
    assert next(of_kernel) - next(of_kernel) == executed["kernel"] + executed["waiting"]


def test_the_first_difference_is_shown(boot: Boot, tmp_path: Path) -> None:
    old, new = stub("a\nthe same\nold text\n" + OFF), stub("a\nthe same\nnew text\n" + OFF)
    report = tmp_path / "report.xml"
    result = boot(old, new, "--junit", report)
    assert result.exit_code == 1
    (failure,) = ElementTree.parse(report).getroot().iter("failure")
    assert "+new text" in (failure.text or "")
    shown = "\n a\n the same\n-old text\n+new text\n reboot: Power down\n"
    assert shown in result.stdout
    assert result.stderr == f"retune: {new}: prints something else than {old}\n"


@pytest.mark.parametrize(
    ("text", "ending", "message"),
    [
        (OFF, Ending.LOOP, "is still running after 2.* s; its last line: reboot: Power down"),
        ("no more\n", Ending.HALT, "stops without powering off after * s; its last line: no more"),
        (
            f"Kernel panic - not syncing: why\n{OFF}",
            Ending.HALT,
            "panics after * s; its last line: Kernel panic - not syncing: why",
        ),
    ],
    ids=["goes on", "stops", "panics"],
)
def test_a_kernel_that_does_not_power_off(
    text: str, ending: Ending, message: str, boot: Boot
) -> None:
    good, bad = stub(OFF), stub(text, ending)
    result = boot(good, bad, "--timeout", "2")
    assert result.exit_code == 1
    assert fnmatchcase(result.stderr, f"retune: {bad}: {message}\n")
    result = boot(bad, good, "--timeout", "2")
    assert (result.exit_code, result.stdout) == (3, "")
    assert fnmatchcase(result.stderr, f"retune: {bad}: {message} (the original must *)\n")


def test_a_kernel_that_prints_without_end(boot: Boot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_MOST", 5000)
    result = boot(stub(OFF), stub("again\n", Ending.REPEAT))
    assert result.exit_code == 1
    assert "prints without end" in result.stderr
    assert "executed instructions: not counted: a boot was cut off" in result.stdout


def test_without_a_compiler_all_but_the_count(
    boot: Boot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stub(OFF)
    tools = tmp_path / "tools"
    tools.mkdir()
    os.symlink(inputs.tool("qemu-system-alpha"), tools / "qemu-system-alpha")
    monkeypatch.setenv("PATH", str(tools))
    result = boot(path, path)
    assert result.exit_code == 0
    assert "executed instructions: not counted: cc is not installed" in result.stdout
    monkeypatch.setenv("PATH", str(tmp_path))
    result = boot(path, path)
    assert result.exit_code == 1
    assert "qemu-system-alpha is not installed (apt-get install qemu-system-misc)" in result.stderr


def test_an_emulator_of_another_plugin_version(
    boot: Boot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = stub(OFF), tmp_path / executed.SOURCE.name
    inputs.require_tool("cc")
    version = "int qemu_plugin_version = "
    api = executed.SOURCE.with_name("plugin.h")
    text = api.read_text()
    assert f"{version}1;" in text
    (tmp_path / api.name).write_text(text.replace(f"{version}1;", f"{version}99;"))
    other.write_text(executed.SOURCE.read_text())
    monkeypatch.setattr(executed, "SOURCE", other)
    result = boot(path, path)
    assert result.exit_code == 0
    assert "executed instructions: not counted: " in result.stdout
    assert "API version 99" in result.stdout


def test_a_packed_kernel(boot: Boot, tmp_path: Path) -> None:
    path, packed, damaged = stub(OFF), tmp_path / "vmlinux.gz", tmp_path / "damaged.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert boot(path, packed).exit_code == 0
    damaged.write_bytes(packed.read_bytes()[:-9])
    result = boot(path, damaged)
    assert result.exit_code == 3
    assert result.stderr == f"retune: {damaged}: its gzip data is truncated\n"
    damaged.write_bytes(packed.read_bytes()[:10] + b"\xff" * 40)
    result = boot(path, damaged)
    assert result.exit_code == 3
    assert "its gzip data is damaged" in result.stderr


def test_a_stripped_kernel_has_the_same_functions_that_wait(tmp_path: Path) -> None:
    path, bare = inputs.require("alpha-vmlinux"), tmp_path / "stripped"
    inputs.require_tool("alpha-linux-gnu-strip")
    FORMS["stripped"](path, bare)
    old, new = (kernel(p.read_bytes(), p.name).waits for p in (path, bare))
    assert len(old) > 3
    assert [start for start, _ in old] == [start for start, _ in new]
    # kallsyms has no sizes: padding up to the next function counts as well.
    assert all(0 <= b - a < 32 for (_, a), (_, b) in zip(old, new, strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--cpu", "ev6"),
            "--cpu ev6: the emulator's firmware does not run on it (it runs on ev67;",
        ),
        (("--cpu", "ev45"), "--cpu ev45: the emulator does not have it (it has ev4, ev5, ev56,"),
        (("--cpu", "ev99"), "--cpu ev99: no such CPU"),
        (("--machine", "pc"), "unsupported machine type"),
        (("--kernel", "third"), "--kernel is given 3 times"),
    ],
    ids=str,
)
def test_bad_usage(options: tuple[str, ...], message: str, boot: Boot) -> None:
    path = stub(OFF)
    result = boot(path, path, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_another_firmware_runs_on_another_cpu(boot: Boot) -> None:
    path = stub(OFF)
    for cpu in ("ev6", "ev56")[: depth(1, 2)]:
        assert boot(path, path, "--cpu", cpu, "--firmware", palcode.require(cpu)).exit_code == 0
    options = ("--cpu", "ev5", "--firmware", palcode.require("ev5"), "--timeout", "1")
    result = boot(path, path, *options)
    assert result.exit_code == 3
    assert "is still running after 1." in result.stderr
    assert OFF.strip() not in result.stderr  # stubs access bytes


def test_a_firmware_has_only_what_its_cpu_has() -> None:
    """As binutils reads it; and the packaged one has what no other CPU has."""
    newer = {"ev5": "ldbu|ldwu|st[bw]|sext[bw]|cttz|ctlz|ctpop", "ev6": "cttz|ctlz|ctpop"}
    for cpu, names in newer.items():
        assert not re.findall(rf"\t(?:{names})\t", disassembled(palcode.require(cpu)))
    packaged = Path("/usr/share/qemu/palcode-clipper")
    if packaged.is_file():
        assert all(f"\t{name}\t" in disassembled(packaged) for name in ("cttz", "ldbu", "stb"))


def disassembled(path: Path) -> str:
    command = (inputs.require_tool("alpha-linux-gnu-objdump"), "-d", path)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_what_is_no_firmware(boot: Boot, tmp_path: Path) -> None:
    path, damaged = stub(OFF), tmp_path / "damaged"
    damaged.write_bytes(b"PALcode")
    result = boot(path, path, "--cpu", "ev6", "--firmware", damaged)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "could not load palcode" in result.stderr
    result = boot(path, path, "--firmware", tmp_path / "none")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cannot be read" in result.stderr


def test_bad_input(boot: Boot, tmp_path: Path) -> None:
    path, library = stub(OFF), inputs.require("alpha-sample")
    for old, message in ((library, "is no kernel"), (tmp_path / "none", "cannot be read")):
        result = boot(old, path)
        assert (result.exit_code, result.stdout) == (3, "")
        assert message in result.stderr


def test_kernels_of_two_architectures(boot: Boot) -> None:
    result = boot(stub(OFF), inputs.require("ppc32-vmlinux"))
    assert result.exit_code == 3
    assert "is for another architecture than" in result.stderr


# The end of EV5's __clear_user: clr $0; nop; mskqh $5,$0,$5.  The mask is taken from the register
# that was cleared just before, so up to seven bytes at the end of the memory are not cleared.
FAULTY, REPAIRED = (
    struct.pack("<3I", 0x47FF0400, 0x47FF041F, word) for word in (0x48A00E45, 0x48A20E45)
)


def test_linux() -> None:
    """The real kernel, twice; then with one register in one instruction changed."""
    inputs.require_tool("qemu-system-alpha")
    content = inputs.require("alpha-vmlinux").read_bytes()
    try:
        initrd = initramfs.build().read_bytes()
    except inputs.Missing as missing:
        pytest.skip(str(missing))
    setup = machine.Setup(ALPHA.machine, ALPHA.memory, ALPHA.parameters, initrd)
    original, changed = kernel(content, "old"), kernel(content.replace(FAULTY, REPAIRED), "new")
    assert content.count(FAULTY) == 1
    found = difftest.compare(original, original, ALPHA, setup, 300, lambda *_: None)
    assert found.same, found.difference
    assert "init: 0 wrong" in found.old.console.splitlines()
    if found.old.executed and found.new.executed:
        assert found.old.executed["kernel"] == found.new.executed["kernel"] > 100_000_000
        assert found.old.executed["user"] == found.new.executed["user"] > 100_000_000
    with tempfile.TemporaryDirectory() as folder:
        new = machine.boot(changed, ALPHA, setup, None, 300, Path(folder))
    other = difftest.tried(found.old, new, ALPHA)
    assert not other.same
    old_lines, new_lines = (set(c.ordered) for c in other.consoles)
    assert {line[:5] for line in old_lines ^ new_lines} == {"zeros", "clear"}
