"""What a rebuild for POWER9 or POWER10 gains in whole programs, and how much of it `patch` gets.

    python benchmarks/ppc_programs_rebuilt.py [--cpu power9] [--level=-O2] [PROGRAM...]

gcc builds zlib's minigzip, xz, the shell of sqlite3 and Python's interpreter, each with its
library inside, for POWER8 and for the newer chip (`fixtures/ppc_builds.py`; Python takes a minute
of a processor each time); what was built for POWER8 is retuned for it.  All do the same tasks
under qemu, on the same C library, and must print the same.  For each task: the executed
instructions of the program itself built for POWER8, of these the parts that are left retuned and
rebuilt, and how much of what the rebuild gains is recovered.  Then what bounds the rest, in
thousandths of all: by kind of instruction what the rebuild and the retuned program execute more
or less, where either does by a thousandth, and how much is recovered of what is no matter of r2,
which code that may be called from another file must save and make, and how much of r2's loads and
saves nobody needs (`benchmarks/toc_bound.py`); and by mnemonic what each executes fewer and more.
Exit status 1 where less than half is recovered, or a retuned program executes more.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import targets
from benchmarks.toc_bound import needless
from benchmarks.whole_programs import retuned
from fixtures import upstream
from fixtures.inputs import Missing, find
from fixtures.ppc_builds import BUILDS, built
from fixtures.ppc_counts import counted
from rewriter.analysis.program import Program, analyse
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.elf.image import load
from targets.ppc.registers import TOC, VSR

CPUS, LEVELS = ("power9", "power10"), ("-O2", "-O3")
_BYTES = 1 << 19  # of the C library that are packed
_SHOWN = 8  # mnemonics of each kind
_ROW = "{:24} {:>13} {:>8} {:>8} {:>10}"

_QUERIES = """
create table t(a integer primary key, b integer, c text);
insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 8000)
    select i, i * 7919 % 10007, printf('%05d-%s', i * 31 % 997, hex(i * i)) from n;
create index byb on t(b, c);
select count(*), sum(b), min(c), max(c) from t where b between 1000 and 8000;
select b % 13, count(*), avg(b), group_concat(substr(c, 1, 2), '') from t where a < 600 group by 1;
select x.a, y.a from t x join t y on x.b = y.b + 1 where x.a % 97 = 0 order by y.c limit 40;
update t set c = upper(c) || b where a % 3 = 0;
delete from t where b % 5 = 2;
select sum(length(c)), count(distinct substr(c, 1, 3)) from t where c like '%9%';
"""

_OBJECTS = """
class Account:
    def __init__(self, owner, balance):
        self.owner, self.balance = owner, balance
    def moved(self, amount):
        if amount > self.balance:
            raise ValueError(self.owner)
        self.balance -= amount
        return amount

def sieve(limit):
    marks = bytearray([1]) * limit
    for n in range(2, int(limit ** 0.5) + 1):
        if marks[n]:
            marks[n * n::n] = bytes(len(range(n * n, limit, n)))
    return [n for n in range(2, limit) if marks[n]]

def collatz(n, seen={1: 0}):
    way = []
    while n not in seen:
        way.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    for more, m in enumerate(reversed(way), 1):
        seen[m] = seen[n] + more
    return seen[way[0] if way else n]

def matrix(n):
    a = [[(i * j + 1) / (i + j + 1) for j in range(n)] for i in range(n)]
    return sum(sum(x * y for x, y in zip(row, column)) for row in a for column in zip(*a))

accounts = [Account(f"owner-{n:03}", n * 37 % 101) for n in range(100)]
refused = 0
for n in range(4000):
    try:
        accounts[n * 7 % 100].balance += accounts[n * 13 % 100].moved(n % 17)
    except ValueError:
        refused += 1
words = [f"{a * b % 9973:x}" for a in range(1, 120) for b in range(1, 30)]
counts = {}
for word in words:
    counts[word[:2]] = counts.get(word[:2], 0) + len(word)
print(refused, sum(one.balance for one in accounts), len(sieve(20000)))
print(max(range(1, 3000), key=collatz), f"{matrix(24):.9f}", 7 ** 1500 % 10 ** 40)
print(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:12])
print("".join(reversed(" ".join(sorted(set(words)))[:90])).upper().split("A"))
"""

_MODULES = """
import json
import re
from collections import Counter

text = "".join(f"[{n % 24:02}:{n * 7 % 60:02}] GET /page/{n * n % 211}.html {n * 131 % 9000}\\n"
               for n in range(900))
line = re.compile(r"\\[(\\d+):(\\d+)\\] (GET|PUT) (/[a-z]+/\\w+)\\.html (\\d+)")
found = [one.groups() for one in line.finditer(text)]
told = json.dumps([dict(zip(("hour", "minute", "what", "page", "size"), one)) for one in found])
back = json.loads(told)
print(len(told), Counter(one["page"] for one in back).most_common(5))
print(re.sub(r"(\\d+)\\.html", lambda m: m[1][::-1], text)[1000:1200])
"""


@dataclass(frozen=True)
class Task:
    """A program with arguments, what it reads, and what its environment says."""

    name: str
    program: str
    arguments: tuple[str, ...]
    given: bytes
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """What a program printed, and what it executed itself, by offset, by mnemonic and by kind."""

    program: Path
    printed: bytes
    counts: Mapping[int, int]
    executed: Counter[str]
    kinds: Counter[str]


def tasks(names: Sequence[str], cpu: str, level: str) -> Iterator[Task]:
    """What the programs do; what is unpacked was packed by the same program built for POWER8."""
    text = find("ppc64el-libc").read_bytes()[:_BYTES]
    for name, packs, unpacks in (("zlib", (), ("-d",)), ("xz", ("-2",), ("-d",))):
        if name in names:
            pack = Task(f"{name}: pack", name, packs, text)
            yield pack
            packed = ran(built(name, "power8", level), pack, cpu).printed
            yield Task(f"{name}: unpack", name, unpacks, packed)
    if "sqlite3" in names:
        yield Task("sqlite3: queries", "sqlite3", (":memory:",), _QUERIES.encode())
    if "python3.11" in names:
        yield from _scripts("python3.11")


def _scripts(name: str) -> Iterator[Task]:
    """What Python does: with objects of its own, and with modules that it compiles first."""
    home = upstream.unpacked(name, ("Lib/",))
    settings = {"PYTHONHOME": str(home), "PYTHONPATH": str(home / "Lib"), "PYTHONHASHSEED": "0"}
    for what, script in (("objects", _OBJECTS), ("modules", _MODULES)):
        yield Task(f"python: {what}", name, ("-S", "-B", "-"), script.encode(), settings)


def ran(program: Path, task: Task, cpu: str) -> Ran:
    """A run of a task on a CPU."""
    image = load(program)
    target = targets.of(image).sequential
    assert target is not None
    listing = target.listing(image)
    printed, counts = counted(program, cpu, task.arguments, task.given, task.settings)
    executed, kinds = Counter[str](), Counter[str]()
    for offset, count in counts.items():
        insn = listing.insn(listing.index(image.address_of(offset)))
        assert insn is not None, "what is executed is an instruction"
        executed[insn.name] += count
        kinds[_kind(insn, listing.table)] += count
    return Ran(program, printed, counts, executed, kinds)


_TOC = "r2 saved, loaded, made"
_NAMED = {
    "addis": "upper halves of numbers",
    **dict.fromkeys(("isel", "setbc", "setbcr", "setnbc", "setnbcr", "setb"), "choices"),
    **dict.fromkeys(("or", "ori"), "moves and nops"),
}


def _kind(insn: Insn, table: Table) -> str:
    """What an instruction is for, as far as a rebuild makes a difference."""
    effects, touched = table.effects(insn.op), table.uses(insn) | table.defs(insn)
    saves_toc = insn.name == "std" and insn.operand("rs") == TOC
    if saves_toc or table.defs(insn) >> TOC & 1:
        return _TOC
    if insn.op.flow is not Flow.NEXT:
        return "branches"
    if insn.name in _NAMED:
        return _NAMED[insn.name]
    if touched >> VSR:
        return "vectors and floating point"
    if effects.loads or effects.stores:
        return "loads" if effects.loads else "stores"
    return "arithmetic and comparisons"


def compared(task: Task, cpu: str, level: str) -> tuple[Ran, Ran, Ran]:
    """The task with the program built for POWER8, the same retuned, and rebuilt."""
    old, rebuilt = (built(task.program, one, level) for one in ("power8", cpu))
    found = [ran(one, task, cpu) for one in (old, retuned(old, cpu), rebuilt)]
    if len({one.printed for one in found}) > 1:
        raise RuntimeError(f"{task.name}: prints something else for {cpu}")
    return found[0], found[1], found[2]


def rows(task: Task, found: tuple[Ran, Ran, Ran]) -> Iterator[str]:
    """The task's row, and by mnemonic what the rebuild and the retuned program changed."""
    old, new, rebuilt = (one.executed.total() for one in found)
    share = f"{(old - new) / (old - rebuilt):.3f}" if rebuilt < old else "-"
    counts = (f"{old:,}", f"{new / old:.4f}", f"{rebuilt / old:.4f}", share)
    yield _ROW.format(task.name, *counts)
    yield from _by_kind(found)
    before = found[0].executed
    for what, one in (("rebuilt", found[2]), ("retuned", found[1])):
        changed = {
            name: 1000 * (one.executed[name] - before[name]) / old
            for name in before.keys() | one.executed.keys()
        }
        for sign, which in ((-1, "fewer"), (1, "more")):
            most = sorted((name for name in changed), key=lambda n: -sign * changed[n])[:_SHOWN]
            said = [f"{n} {abs(changed[n]):.2f}" for n in most if sign * changed[n] >= 0.01]
            if said:
                yield f"    {what} {which}: {', '.join(said)}"


def _by_kind(found: tuple[Ran, Ran, Ran]) -> Iterator[str]:
    """What became more or less, by kind; and what is recovered where r2 is no matter."""
    old, new, rebuilt = (one.kinds for one in found)
    all_ = old.total()
    for kind in sorted(old.keys() | new.keys() | rebuilt.keys()):
        changes = [1000 * (one[kind] - old[kind]) / all_ for one in (rebuilt, new)]
        if max(map(abs, changes)) >= 1:
            yield f"    {kind}: rebuilt {changes[0]:+.2f}, retuned {changes[1]:+.2f}"
    here, there = (all_ - one.total() - (old[_TOC] - one[_TOC]) for one in (new, rebuilt))
    share = f"{here / there:.3f} is recovered" if there > 0 else "the rebuild gains nothing"
    yield f"    without {_TOC}: {share}"
    idle = 1000 * needless(_analysed(found[1].program), found[1].counts) / all_
    yield f"    r2 loaded and saved for nobody: {idle:.2f} in what is retuned"


def _analysed(path: Path) -> Program:
    image = load(path)
    target = targets.of(image).sequential
    assert target is not None
    return analyse(image, target)


def enough(found: tuple[Ran, Ran, Ran]) -> bool:
    """Whether half of the gain is recovered, and nothing executes more."""
    old, new, rebuilt = (one.executed.total() for one in found)
    return new <= old and 2 * (old - new) >= old - rebuilt


def main() -> int:
    """Exit status 0 where half is recovered everywhere, and no program executes more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cpu", action="append", choices=CPUS)
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=", ".join(BUILDS))
    options = parser.parse_args()
    names, good = options.names or [*BUILDS], True
    try:
        for cpu in options.cpu or CPUS:
            for level in options.level or LEVELS[:1]:
                print(f"{cpu}, gcc {level}")
                print(_ROW.format("task", "POWER8", "retuned", "rebuilt", "recovered"))
                for task in tasks(names, cpu, level):
                    found = compared(task, cpu, level)
                    print(*rows(task, found), sep="\n", flush=True)
                    good &= enough(found)
    except Missing as missing:
        print(f"not measured: {missing}", file=sys.stderr)
        return 1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
