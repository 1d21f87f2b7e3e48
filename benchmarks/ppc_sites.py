"""Places of PowerPC libraries where POWER9 or POWER10 has one instruction for several.

    python benchmarks/ppc_sites.py [--cpu NAME] [INPUT...]

Counted in the text of `objdump -d`, so nothing of ours decodes it; inputs are those of
`fixtures.inputs` (default: libc, libstdc++ and libm for little-endian PowerPC64).  A site is:

- extsw, sldi: a shift of a register that was last written by extsw
- mulld, add: a sum of a register that was last written by mulld
- div, mul, subf: a difference with a product of a quotient, and its divisor
- xxswapd: every one
- rlwimi of bytes: the insertion of the last byte of a word or halfword that is turned
- mfocrf, rlwinm: a single bit taken out of a copied field
- li, isel: a choice of a constant

within as many instructions as `REACH`, one behind the other in the text.  Then `retune patch`
writes the file for the CPU, and objdump reads that: a site was rewritten if the instruction that
ends it is another one.  Where it is the same, the reason is what `patch` says of its address; where
that says nothing, what stands in the text between begin and end.  Last come the sums over all
files: by kind, and of all kinds that the CPU has an instruction for.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixtures.inputs import Missing, find, tool
from rewriter.analysis.program import analyse
from rewriter.core.target.capability import needed
from rewriter.elf.image import load
from targets import of

INPUTS = ("ppc64el-libc", "ppc64el-libstdc++", "ppc64el-libm")
REWRITTEN, UNSEEN = "rewritten", "no reason known"
REACH = 8  # instructions from one to the next
_LINE = re.compile(r"\s*([0-9a-f]+):\t(\S+)\s*([^<#]*)")
LATER = {"mfocrf, rlwinm": "power10", "li, isel": "power10"}
"""The first CPU that has an instruction for a kind, where that is not POWER9."""
_GONE = re.compile(r"b|blr|bctr|rfid")
_BYTE = {("8", "24", "31"), ("8", "16", "23"), ("24", "8", "15")}
_STORES = re.compile(r"st|cmp|mt|dcb|tw|td|b(?!rd|rw|rh|permd)")


@dataclass(frozen=True)
class Line:
    """One instruction as objdump writes it."""

    address: int
    name: str
    operands: tuple[str, ...]

    @property
    def written(self) -> str:
        """The register that it writes, if it is the first operand."""
        return "" if _STORES.match(self.name) else self.operands[0] if self.operands else ""


@dataclass(frozen=True)
class Site:
    """Where it ends, and where it begins."""

    kind: str
    end: int
    begin: int


def lines_of(path: Path) -> list[Line]:
    """All instructions of a file."""
    run = [tool("powerpc64le-linux-gnu-objdump"), "-d", "--no-show-raw-insn", str(path)]
    text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    matches = filter(None, map(_LINE.match, text.splitlines()))
    return [
        Line(int(m[1], 16), m[2], tuple(o.strip() for o in m[3].split(",")) if m[3] else ())
        for m in matches
    ]


class Text:
    """The instructions of a file, and who wrote what an instruction reads."""

    def __init__(self, path: Path) -> None:
        self.lines = lines_of(path)
        self.targets = {
            int(line.operands[-1].split()[0], 16)
            for line in self.lines
            if line.name.startswith("b")
            and re.match(r"[0-9a-f]+( |$)", (line.operands or ("",))[-1])
        }

    def writer(self, at: int, register: str) -> int:
        """The position of what last wrote a register, if it is near; else -1."""
        for n in range(at - 1, max(at - 1 - REACH, -1), -1):
            if self.lines[n].written == register:
                return n
        return -1

    def sites(self) -> Iterator[Site]:
        """All of them, by where they end."""
        for at, line in enumerate(self.lines):
            for kind, begin in self._kinds(at, line):
                yield Site(kind, line.address, self.lines[begin].address)

    def _kinds(self, at: int, line: Line) -> Iterator[tuple[str, int]]:
        operands = line.operands
        if line.name == "xxswapd":
            yield "xxswapd", at
        elif line.name == "sldi":
            yield from self._made("extsw, sldi", at, operands[1:2], "extsw")
        elif line.name == "add":
            yield from list(self._made("mulld, add", at, operands[1:], "mulld"))[:1]
        elif line.name in ("subf", "sub"):
            yield from self._rest(at, line)
        elif line.name == "rlwimi" and operands[2:] in _BYTE:
            yield from self._turned(at, line)
        elif line.name == "rlwinm" and operands[3:] == ("31", "31"):
            yield from self._made("mfocrf, rlwinm", at, operands[1:2], "mfocrf")
        elif line.name.startswith("isel"):
            yield from list(self._made("li, isel", at, operands[1:3], "li"))[:1]

    def _made(
        self, kind: str, at: int, registers: tuple[str, ...], name: str
    ) -> Iterator[tuple[str, int]]:
        for register in registers:
            writer = self.writer(at, register)
            if writer >= 0 and self.lines[writer].name == name:
                yield kind, writer

    def _rest(self, at: int, line: Line) -> Iterator[tuple[str, int]]:
        # subf takes its second operand from the third, sub the third from the second
        product = self.writer(at, line.operands[1 if line.name == "subf" else 2])
        if product < 0 or not self.lines[product].name.startswith("mull"):
            return
        for register in self.lines[product].operands[1:]:
            writer = self.writer(product, register)
            if writer >= 0 and self.lines[writer].name in ("divd", "divdu", "divw", "divwu"):
                yield "div, mul, subf", writer

    def _turned(self, at: int, line: Line) -> Iterator[tuple[str, int]]:
        target, source = line.operands[:2]
        begin = self.writer(at, target)
        behind = self.lines[at + 1 : at + 1 + REACH]
        last = next((n for n in behind if n.written == target), None)
        more = last is not None and last.name == "rlwimi" and last.operands[1] == source
        made = self.lines[begin].name if begin >= 0 else ""
        if not more and made in ("rotlwi", "rlwimi", "rldicl", "rlwinm", "srwi", "srdi"):
            yield "rlwimi of bytes", begin

    def between(self, site: Site) -> str:
        """What keeps the begin of a site from its end, as the text says."""
        inside = [line for line in self.lines if site.begin <= line.address < site.end]
        if any(_GONE.fullmatch(line.name) for line in inside):
            return "control leaves in between: no site"
        if any(line.name in ("bl", "bctrl", "blrl") for line in inside):
            return "a call in between"
        if any(site.begin < target <= site.end for target in self.targets):
            return "control comes in between"
        return ""


def patched(path: Path, cpu: str, out: Path) -> Any:
    """What `retune patch` says, as JSON."""
    run = [sys.executable, "-m", "retune", "patch", str(path), "-o", str(out), "--cpu", cpu]
    done = subprocess.run([*run, "--passes", "combine", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def refusals(path: Path) -> dict[int, str]:
    """Why functions are left alone as a whole, by the addresses of all their instructions."""
    image = load(path)
    program = analyse(image, needed(of(image).sequential, "tuning", of(image), path.name))
    why = {function: program.not_understood(function) for function in program.functions}
    return {
        at: f"its function is left alone: {reason}"
        for function, reason in why.items()
        if reason
        for at in range(function.start, function.end, 4)
    }


def report(name: str, cpu: str, folder: Path) -> dict[str, Counter[str]]:
    """Prints the counts of one file: by kind, what became of its sites."""
    path, out = find(name), folder / "patched"
    before = Text(path)
    said = patched(path, cpu, out)
    after = {line.address: line for line in lines_of(out)}
    names = {line.address: line for line in before.lines}
    refused = refusals(path)
    reasons = {skip["address"]: skip["reason"] for skip in said["skips"]}
    counts: dict[str, Counter[str]] = {}
    for site in before.sites():
        found = counts.setdefault(site.kind, Counter())
        if after.get(site.end) != names[site.end]:
            found[REWRITTEN] += 1
        else:
            lacks = f"{cpu} has no such instruction" if LATER.get(site.kind, cpu) != cpu else ""
            said_why = reasons.get(site.end) or lacks or before.between(site)
            found[said_why or refused.get(site.end, UNSEEN)] += 1
    for kind, found in sorted(counts.items()):
        print(line(f"{name}, {kind}", found))
        for reason, count in found.most_common():
            if reason != REWRITTEN:
                print(f"    {count:4} {reason}")
    return counts


def line(what: str, found: Counter[str]) -> str:
    """Sites, rewritten, left with a reason, and which share that is together."""
    total, done = found.total(), found[REWRITTEN]
    told = total - found[UNSEEN]
    left = f"{told - done} left with a reason ({told / total:.1%} together)"
    return f"{what}: {total} sites, {done} rewritten ({done / total:.1%}), {left}"


def sums(counts: dict[str, Counter[str]], cpu: str) -> Iterator[str]:
    """The lines over all files."""
    every = Counter[str]()
    for kind, found in sorted(counts.items()):
        yield line(f"all files, {kind}", found)
        if LATER.get(kind, cpu) == cpu:
            every += found
    if every:
        yield line("all files, all of these that the CPU has an instruction for", every)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu", default="power9")
    parser.add_argument("inputs", nargs="*", default=INPUTS)
    given = parser.parse_args()
    try:
        counts: dict[str, Counter[str]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for name in given.inputs:
                for kind, found in report(name, given.cpu, Path(folder)).items():
                    counts.setdefault(kind, Counter()).update(found)
        print(*sums(counts, given.cpu), sep="\n")
    except Missing as missing:
        print(missing)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
