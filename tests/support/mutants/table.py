"""What became of mutants, counted by file and kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tests.support.mutants.changes import KINDS, ORDERED, Outcome
from tests.support.mutants.ia64_decide import STATES

_ALL = (*KINDS, *ORDERED)
_LAST = ("refused", "UNEXPLAINED")

_PAGE = """# Mutants

Each mutant is a real file with one change at a random place, of any instruction, tuned or not;
half of them are drawn over the original, half over what `retune patch` made of it (there often
where it changed something). `verify` must refuse it, unless an equivalence holds that is decided
without the verifier. This page is what `make mutants` wrote; `benchmarks/mutants.py --one FILE
NUMBER` makes one again (`--seed {seed}`).

| kind | what is changed |
|---|---|
| reg, imm, op | a register that is named, another operand, the instruction in the same format |
| drop, swap, copy | a nop instead, two neighbours exchanged, another one of the function |
| target | where a branch goes |
| table | kernels for PowerPC: a word of a table that names code |
| predicate, stop | IA-64: the qualifying predicate, where an instruction group ends |

| equivalence | how it is decided |
|---|---|
| same instruction, hint of a jump | the words differ in bits that say nothing, or only predict |
| does nothing | nops, predictions and prefetches that cannot fault |
| nop not reached | nothing leads there, and it was nop before too, or is the original's now |
| leads to the same place | past nops and branches that always go, or one that leads to the next |
| commuting, no effect, stop alone | alone, from any state: the same registers, memory and events |
| dead | the same but for registers that no way from there reads, by an analysis of its own |
| equal in what is before | the same behind the straight code that always runs before it |
| equal in what follows | the same where the straight code ends that control runs on into |

On Alpha and PowerPC these are proved with Z3 on the table's meanings, without the product's terms
and prover. On IA-64 the group-parallel machine runs both orders or groups from {states} random
states, and another instruction is explained only by what it sets being dead, or there already.

{table}
"""


_PAGE_OF_ORDER = """# Mutants of blocks in another order

Each mutant is a real file in which `layout` put the blocks of a fifth of all functions in another
order, by a profile of random counts, with one change in such a function; the other passes but
`substitute` changed it, too. `verify` must refuse it, unless an equivalence holds that is decided
without the verifier ([mutants.md](mutants.md) says which there are); other hints it must accept.
This page is what `make mutants` wrote; `benchmarks/mutants.py --ordered --one FILE NUMBER` makes
one again (`--seed {seed}`).

| kind | what is changed |
|---|---|
| inverted | a branch has the opposite test, and leads where it did |
| jump | nothing is left of a jump |
| doubled | a block's straight code stands where another one begins, too |
| hint | PowerPC: what a branch says of where control probably goes; it must be accepted |

{table}
"""


def page(outcomes: Sequence[Outcome], seed: int) -> str:
    """The whole page."""
    return _page(_PAGE.format(seed=seed, states=STATES, table=table(outcomes)), outcomes)


def page_of_order(outcomes: Sequence[Outcome], seed: int) -> str:
    """The page of files whose blocks stand in another order."""
    return _page(_PAGE_OF_ORDER.format(seed=seed, table=table(outcomes)), outcomes)


def _page(text: str, outcomes: Sequence[Outcome]) -> str:
    """With the mutants that nobody can explain."""
    survivors = [outcome for outcome in outcomes if outcome.what == "UNEXPLAINED"]
    if survivors:
        lines = "".join(f"- `{outcome}`\n" for outcome in survivors)
        text += f"\nAccepted, and not explained:\n\n{lines}"
    return text.rstrip() + "\n"


def table(outcomes: Iterable[Outcome]) -> str:
    """A table in Markdown: file, base and kind; drawn, refused, explained by what, unexplained."""
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        counts[one.file, one.base, one.change.kind][one.what] += 1
    reasons = sorted({what for count in counts.values() for what in count if what not in _LAST})
    header = ("file", "base", "kind", "drawn", "refused", *reasons, "unexplained")
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line(cells) for cells in _rows(counts, reasons)]
    return "\n".join(lines) + "\n"


def _rows(
    counts: dict[tuple[str, str, str], Counter[str]], reasons: list[str]
) -> Iterator[list[str]]:
    total = sum(counts.values(), Counter[str]())
    keys = sorted(counts, key=lambda key: (key[0], key[1], _ALL.index(key[2])))
    for key in keys:
        yield [*key, *_cells(counts[key], reasons)]
    yield ["all", "", "", *_cells(total, reasons)]


def _cells(count: Counter[str], reasons: list[str]) -> list[str]:
    every = (count.total(), *(count[what] for what in ("refused", *reasons, "UNEXPLAINED")))
    return [f"{number:,}" if number else "" for number in every]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
