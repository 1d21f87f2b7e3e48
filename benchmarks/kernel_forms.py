"""The whole kernel in each form, retuned: the same edits, the same code, and it boots.

`.venv/bin/python benchmarks/kernel_forms.py [--input NAME] [--cpu NAME] [--jobs N] [--passes LIST]
[--funcs RE] [--keep FOLDER] [--form NAME]... [--spare]` patches vmlinux, the same stripped, that
beside its System.map, and vmlinux compressed with gzip, or those of these that are named.
Of each it prints what patching cost, whether its edits (address, pass, instructions before and
after) and the bytes that a boot loader puts into memory are those of the first, whether `revert`
gives the original back, and what a boot beside the original's shows; with `--spare` no form is
booted of which the same is loaded as of the first.  Last it prints where a kernel for Alpha stops
on CPUs that lack its instructions.  The exit status is 1 if anything differs that should not.

A list of symbols says where a function ends that has no size of its own in a kernel's symbols, as
assembly has none, and has it reach over the padding behind it: without an unwind table, so for
PowerPC, a form that has its names from a list may have other layouts than vmlinux and more, and
the same edits on other grounds (what is assumed of calls).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.kernel import RETUNE, cost
from benchmarks.operations import KERNELS
from fixtures import initramfs, palcode
from fixtures.forms import FORMS, loaded, mapped
from fixtures.guests import ALPHA, GUESTS
from fixtures.inputs import Missing, find, tool
from fixtures.undefined import first_undefined
from targets.alpha.boots import BOOTS
from targets.alpha.cpus import CPUS

TRAPPED = frozenset({"BWX", "CIX"})
"""Features whose instructions passes use, and the emulator refuses on a CPU without them."""

_CLOCK = 1.003
"""How many times as many instructions a boot may execute that meets its timer at other places."""

MAPPED = "with System.map"
LISTED = ("stripped", MAPPED)
COMPARED = ("vmlinux", *LISTED, "vmlinux.gz")
INPUTS = ("alpha-vmlinux", "ppc32-vmlinux", "ppc64el-vmlinux")


@dataclass(frozen=True)
class Made:
    """One form of the kernel, as it was and retuned, and its edits."""

    original: Path
    tuned: Path
    edits: list[dict[str, Any]]


def made(form: str, kernel: Path, folder: Path, options: Sequence[str]) -> Made:
    """Retunes one form of a kernel; its cost and the last lines of the summary are printed."""
    original, tuned = folder / form, folder / f"{form}.tuned"
    FORMS["stripped" if form == MAPPED else form](kernel, original)
    if form == MAPPED:
        symbols = folder / "System.map"
        mapped(kernel, symbols)
        options = (*options, "--symbols", str(symbols))
    print(f"{form}:")
    said = cost(("patch", original, "-o", tuned, *options))
    print("".join(f"  {line}\n" for line in said.splitlines()[-5:]), end="")
    return Made(original, tuned, json.loads(_retune("edits", "--json", tuned))["edits"])


def findings(one: Made, first: Made, more: bool) -> Iterator[tuple[bool, str]]:
    """What must hold of a form, and whether it does, with figures; `more`: others are right."""
    mine, others = ({_change(edit): edit for edit in made.edits} for made in (one, first))
    missing, added = len(others.keys() - mine.keys()), len(mine.keys() - others.keys())
    counts = f"{missing} of vmlinux's are not among them, {added} are not among vmlinux's"
    yield more or not (missing or added), f"edits: {len(mine)}, {counts}"
    grounds = sum(edit != others.get(change, edit) for change, edit in mine.items())
    yield more or not grounds, f"of the same edits {grounds} on other grounds"
    size = sum(len(data) for _, data in loaded(one.tuned))
    yield same_loaded(one, first) or bool(more and added), f"loaded: {size} bytes"
    back = one.tuned.with_suffix(".back")
    _retune("revert", one.tuned, "-o", back)
    yield back.read_bytes() == one.original.read_bytes(), "reverted: byte for byte"
    back.unlink()


def _change(edit: dict[str, Any]) -> str:
    """What an edit changes, without the grounds on which it is made."""
    return json.dumps([edit[key] for key in ("id", "kind", "address", "old", "new")])


def same_loaded(one: Made, other: Made) -> bool:
    """Whether a boot loader puts the same bytes into memory, of both forms and what they became."""
    return all(
        loaded(mine) == loaded(theirs)
        for mine, theirs in ((one.original, other.original), (one.tuned, other.tuned))
    )


def _booted(one: Made, options: Sequence[str | Path]) -> tuple[bool, str]:
    kernels = ("--kernel", one.original, "--kernel", one.tuned)
    found = json.loads(_retune("difftest", "boot", "--json", *kernels, *options, allowed=(0, 1)))
    old, new = found["old"]["executed"], found["new"]["executed"]
    lines = f"boot: {found['new']['ending']}, {found['lines']} lines of console"
    if not old or not new:
        return found["same"], f"{lines}; instructions not counted"
    counts = ", ".join(
        f"{owner} {old[owner]} to {new[owner]} ({new[owner] / old[owner]:.4f})"
        for owner in ("kernel", "waiting", "user")
    )
    return found["same"] and new["kernel"] < _CLOCK * old["kernel"], f"{lines}; executed, {counts}"


def stops(kernel: Made, cpu: str) -> Iterator[tuple[bool, str]]:
    """Where the retuned kernel stops on CPUs with less, and the original with their firmware."""
    features = CPUS[cpu].features & TRAPPED
    for other in palcode.CPUS:
        if features <= CPUS[other].features:
            continue
        old, new = (
            first_undefined(path, other, palcode.firmware(other))
            for path in (kernel.original, kernel.tuned)
        )
        text = f"on {other}: the first undefined instruction is {_shown(kernel, new)}"
        yield new not in (None, old), f"{text}, the original's {_shown(kernel, old)}"


def _shown(kernel: Made, address: int | None) -> str:
    """Where an instruction of a kernel with symbols is; functions stay where they are."""
    if address is None:
        return "nowhere"
    command = (tool("alpha-linux-gnu-nm"), "-n", kernel.original)
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in listed.splitlines()]
    before = [(int(at, 16), name) for at, _, name in symbols if int(at, 16) <= address]
    start, name = max(before, default=(0, "no function"))
    return f"{address:#x}, {name}+{address - start:#x}"


def _retune(*arguments: str | Path, allowed: Sequence[int] = (0,)) -> str:
    done = subprocess.run((RETUNE, *arguments), capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        raise RuntimeError(f"retune {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def run(given: argparse.Namespace, folder: Path, options: Sequence[str]) -> bool:
    """Everything; whether all is as it should be."""
    name, cpu = given.input, given.cpu
    initrd, alpha = initramfs.build(GUESTS[KERNELS[name]]), KERNELS[name] == ALPHA.name
    boot: list[str | Path] = ["--initrd", initrd, "--cpu", cpu]
    if alpha and cpu not in BOOTS.packaged:
        boot += ["--firmware", palcode.firmware(cpu)]
    first = None
    good = True
    for form in given.form or COMPARED:
        one = made(form, find(name), folder, ("--cpu", cpu, *options))
        first = first or one
        good &= _said(findings(one, first, not alpha and form in LISTED))
        if not given.spare or one is first or not same_loaded(one, first):
            good &= _said(iter([_booted(one, boot)]))
    assert first is not None
    if alpha:
        print("older CPUs:")
        good &= _said(stops(first, cpu))
    return good


def _said(found: Iterator[tuple[bool, str]]) -> bool:
    good = True
    for holds, text in found:
        print(f"  {text}: {'yes' if holds else 'NO'}", flush=True)
        good &= holds
    return good


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", default="alpha-vmlinux", choices=INPUTS)
    parser.add_argument("--cpu", default="ev67", help="on which it is booted, too")
    parser.add_argument("--jobs", help="processes; as many as there are processors without it")
    parser.add_argument("--passes", help="only these")
    parser.add_argument("--funcs", help="only functions of these names")
    parser.add_argument("--keep", type=Path, help="where the kernels stay")
    parser.add_argument("--form", action="append", choices=COMPARED, help="only these")
    parser.add_argument("--spare", action="store_true", help="boot nothing that is loaded alike")
    given = parser.parse_args()
    options = [("-j", given.jobs), ("--funcs", given.funcs), ("--passes", given.passes)]
    chosen = [part for pair in options if pair[1] for part in pair]
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = given.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            return 0 if run(given, folder, chosen) else 1
    except (Missing, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
