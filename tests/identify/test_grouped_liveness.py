"""Which registers may be read where a region begins, against a walk of every path from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.analysis.bundled_liveness import BundledLiveness
from rewriter.core.code.program import Function
from rewriter.core.target.bundling import Region, Routine
from targets.ia64 import Ia64
from targets.ia64.asm.assembler import assemble
from targets.ia64.registers import NUMBERS

TARGET = Ia64()
START, LAST = 0x4000, 4  # the number of the last block
REGISTERS = ("r8", "r9", "r10", "p7")


@dataclass(frozen=True)
class Line:
    """An instruction: what it reads and sets for certain, the block that it may go on at.

    Where `ends`, control does not go on behind it; where `asks` everything may be read there.
    """

    text: str
    reads: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    to: int | None = None
    ends: bool = False
    asks: bool = False


def _lines() -> st.SearchStrategy[Line]:
    general, block = st.sampled_from(REGISTERS[:3]), st.integers(0, LAST)
    plain = st.builds(lambda d, s: Line(f"mov {d}={s}", (s,), (d,)), general, general)
    immediate = st.builds(lambda d: Line(f"addl {d}=3,r0", (), (d,)), general)
    guarded = st.builds(lambda d, s: Line(f"(p7) mov {d}={s}", (s, "p7")), general, general)
    stores = st.builds(lambda s: Line(f"st8 [r20]={s}", (s,)), general)
    compare = st.builds(lambda s: Line(f"cmp.eq p7,p8={s},r20", (s,), ("p7",)), general)
    guarded_compare = st.builds(lambda s: Line(f"(p9) cmp.eq p7,p8={s},r20", (s,)), general)
    always = st.builds(lambda s: Line(f"(p9) cmp.eq.unc p7,p8={s},r20", (s,), ("p7",)), general)
    parallel = st.builds(lambda s: Line(f"cmp.eq.and p7,p8={s},r20", (s,)), general)
    side = st.builds(lambda b: Line(f"(p7) br.cond.sptk.few L{b}", ("p7",), to=b), block)
    loop = st.builds(lambda b: Line(f"br.cloop.sptk.few L{b}", to=b), block)
    jump = st.builds(lambda b: Line(f"br.cond.sptk.few L{b}", to=b, ends=True), block)
    away = st.sampled_from(
        (
            Line("br.ret.sptk.many b0", asks=True),
            Line("(p9) br.ret.sptk.many b0", asks=True),
            Line("br.call.sptk.many b0=out", asks=True),
            Line("(p9) br.cond.sptk.few b6", asks=True),
            Line("(p9) br.cond.sptk.few out", asks=True),
            Line("br.ctop.sptk.few L0", asks=True),
            Line("break.i 0x100000", asks=True),
            Line("clrrrb"),
        )
    )  # fmt: skip
    return st.one_of(
        plain, immediate, guarded, stores, compare, guarded_compare, always, parallel,
        side, side, loop, jump, away,
    )  # fmt: skip


def _read(blocks: Sequence[Sequence[Line]], block: int, register: str) -> bool:
    """Whether some path from a block's start reads a register before it is set."""
    seen: set[tuple[int, int]] = set()
    waiting = [(block, 0)]
    while waiting:
        at, number = place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if at > LAST:
            return True  # behind the function
        if number == len(blocks[at]):
            waiting.append((at + 1, 0))
            continue
        line = blocks[at][number]
        if register in line.reads or line.asks:
            return True
        if line.to is not None:
            waiting.append((line.to, 0))
        if not line.ends and register not in line.sets:
            waiting.append((at, number + 1))
    return False


@settings(max_examples=80)
@given(
    st.lists(st.lists(_lines(), min_size=1, max_size=4), min_size=LAST + 1, max_size=LAST + 1),
    st.sets(st.integers(0, LAST), max_size=1),
)
def test_live_is_what_some_path_reads(blocks: list[list[Line]], held: set[int]) -> None:
    text = "\n".join(
        f"L{n}:\n" + "\n".join(f"{line.text} ;;" for line in block)
        for n, block in enumerate(blocks)
    )
    made = assemble(text, START, {"out": START + 0x10000})
    starts = [made.labels[f"L{n}"] for n in range(LAST + 1)]
    end = START + len(made.code)
    regions = tuple(
        Region(a, b, "held" if n in held else "")
        for n, (a, b) in enumerate(zip(starts, (*starts[1:], end), strict=True))
    )
    routine = Routine(Function(START, end, "f", ""), regions, "", "")
    found = BundledLiveness(TARGET.proving, TARGET.everything).live(
        routine,
        lambda one: list(
            TARGET.straight(made.code[one.start - START : one.end - START], one.start)
        ),
    )
    for n in held:
        blocks[n] = [Line("", asks=True)]
    for block, start in enumerate(starts):
        live = {name for name in REGISTERS if found[start] >> NUMBERS[name] & 1}
        assert live == {name for name in REGISTERS if _read(blocks, block, name)}, block
