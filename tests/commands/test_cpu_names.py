"""Names of CPUs as Linux writes them, the machine's own, and those of another architecture."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import targets
from fixtures import inputs
from rewriter.api import choose, host

Run = Callable[..., Result]

# What show_cpuinfo prints: the value behind `cpu`, `cpu model` or `model name`.
LINUX = {
    "ppc": {
        "POWER9 (architected)": "power9", "POWER9 (raw), altivec supported": "power9",
        "POWER9, altivec supported": "power9", "POWER10 (architected)": "power10",
        "POWER8NVL (raw), altivec supported": "power8", "POWER8E (raw)": "power8",
        "POWER7+ (raw)": "power7", "POWER4+ (gq)": "power4",
        "PPC970FX, altivec supported": "970", "PPC970MP, altivec supported": "970",
        "7447A, altivec supported": "7450", "7447/7457, altivec supported": "7450",
        "7455, altivec supported": "7450", "7400 (1.1), altivec supported": "7400",
        "7410": "7400", "740/750": "750", "745/755": "750", "750CL": "750", "603ev": "603e",
    },
    "alpha": {
        "EV67": "ev67", "EV68CB": "ev67", "EV68AL": "ev67", "EV6": "ev6", "PCA56": "pca56",
        "LCA4": "ev4", "EV45": "ev45",
    },
    "ia64": {"Madison": "madison", "McKinley": "itanium2", "Madison up to 9M cache": "madison"},
}  # fmt: skip
CPUINFO = {
    "POWER9": (
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2300.000000MHz\n"
        "revision\t: 2.2 (pvr 004e 1202)\n"
    ),
    "7447A": "processor\t: 0\ncpu\t\t: 7447A, altivec supported\nmachine\t\t: PowerMac10,1\n",
    "EV67": "cpu\t\t\t: Alpha\ncpu model\t\t: EV67\ncpu variation\t\t: 7\n",
    "Madison": "processor  : 0\nvendor     : GenuineIntel\nmodel      : 1\nmodel name : Madison\n",
    "x86": "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU\n",
    "arm": "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n",
}


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Makes this machine another one, as its /proc/cpuinfo says."""

    def become(machine: str) -> None:
        path = tmp_path / "cpuinfo"
        path.write_text(CPUINFO[machine])
        monkeypatch.setattr(host, "CPUINFO", path)
        monkeypatch.setattr(host.platform, "machine", lambda: machine)

    return become


@pytest.mark.parametrize(
    ("target", "name", "cpu"), [(t, n, c) for t, found in LINUX.items() for n, c in found.items()]
)
def test_a_name_of_linux(target: str, name: str, cpu: str) -> None:
    for said in (name, name.lower()):
        assert choose.cpu_named(targets.named(target), "--cpu", said).name == cpu


def test_a_name_is_that_of_one_cpu() -> None:
    """Names in any spelling, those of both chips where Linux has one name for two."""
    for target in targets.every():
        names = [
            name.casefold()
            for cpu in target.cpus.values()
            for name in {cpu.name, *cpu.called, *(p for n in cpu.called for p in n.split("/"))}
        ]
        others = [name for name in names if names.count(name) > 1]
        assert all(name in target.cpus for name in others), others


@pytest.mark.parametrize(("machine", "target", "cpu"), [
    ("POWER9", "ppc", "power9"), ("7447A", "ppc", "7450"), ("EV67", "alpha", "ev67"),
    ("Madison", "ia64", "madison"),
])  # fmt: skip
def test_native(machine: str, target: str, cpu: str, on: Callable[[str], None]) -> None:
    on(machine)
    assert choose.cpu_named(targets.named(target), "--cpu", "native").name == cpu


def test_native_is_what_the_file_says_afterwards(
    run: Run, sample: Path, tmp_path: Path, on: Callable[[str], None]
) -> None:
    """The manifest names the CPU, also that of --tune: `native` is another one elsewhere."""
    on("EV67")
    new, same = tmp_path / "new.so", tmp_path / "same.so"
    done = run("patch", sample, "-o", new, "--cpu", "native", "--tune", "native")
    assert done.exit_code == 0, done.output
    on("x86")
    assert run("patch", sample, "-o", same, "--cpu", "ev67").exit_code == 0
    assert new.read_bytes() == same.read_bytes()
    edits = json.loads(run("edits", new, "--json").stdout)
    assert edits["cpu"] == "ev67"


@pytest.mark.parametrize(("machine", "cpu", "said"), [
    ("x86", "native", "this machine has 'Intel(R) Xeon(R) CPU', which is no CPU that retune knows"),
    ("arm", "native", "this machine has 'arm', which is no CPU that retune knows"),
    ("7447A", "native", "this machine has '7447A, altivec supported', which is a CPU of ppc"),
    ("x86", "power9", "is a CPU of ppc, not of alpha"),
    ("x86", "POWER9 (raw)", "is a CPU of ppc, not of alpha"),
    ("x86", "madison", "is a CPU of ia64, not of alpha"),
    ("x86", "POWER5", "no such CPU"),
])  # fmt: skip
def test_one_clear_line(
    machine: str, cpu: str, said: str, run: Run, sample: Path, tmp_path: Path,
    on: Callable[[str], None],
) -> None:  # fmt: skip
    """Before any work, with the CPUs that there are for the file."""
    on(machine)
    new = tmp_path / "new.so"
    done = run("patch", sample, "-o", new, "--cpu", cpu)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert re.search(r"known for alpha: ev4, .*ev67", done.stderr)
    assert not new.exists()


def test_batch_takes_them_too(
    run: Run, tmp_path: Path, on: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each name for the machine that has it; a policy keeps the CPU's own name."""
    tree, policy = tmp_path / "tree", tmp_path / "p.toml"
    tree.mkdir()
    (tree / "lib.so").write_bytes(inputs.require("alpha-sample").read_bytes())
    on("x86")
    done = run("batch", tree, "--in-place", "--cpu", "native", "-j1")
    assert done.exit_code == 2
    assert "this machine has 'Intel(R) Xeon(R) CPU'" in done.stderr
    on("EV67")
    policy.write_text('[alpha]\ncpu = "native"\n[ppc]\ncpu = "POWER9 (architected)"\n')
    from rewriter.batch.policy import read

    found = {name: wanted.cpu for name, wanted in read(policy).machines.items()}
    assert found == {"alpha": "ev67", "ppc": "power9"}
    options = ("--cpu", "native", "--cpu", "7447A", "--passes", "bitscan")
    done = run("batch", tree, "--in-place", *options, "-j1")
    assert done.exit_code == 0, done.output


def test_cpus_lists_them(run: Run) -> None:
    document = json.loads(run("cpus", "--json").stdout)
    assert document["ppc"]["7450"]["called"] == ["7450", "7455", "7447/7457", "7447A", "7448"]
    assert "ppc power9: in /proc/cpuinfo POWER9\n" in run("cpus", "-v").stdout
