"""What was measured on real machines, next to what the timing model says of the same code.

Run it from the checkout: `python benchmarks/measured.py`; docs/timing.md holds the table.  It
assembles GMP's and Linux' routines from Debian's sources, which apt fetches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.limbs import FILE, called, limbs
from benchmarks.timing import (
    CODE,
    STOP,
    TARGET,
    Check,
    adds,
    chase,
    executed,
    loop,
    row,
    run,
    straight,
)
from fixtures import timed_code
from fixtures.inputs import Missing
from rewriter.core.readings.interpret import Step
from rewriter.core.target.cpu import System, assumed
from rewriter.verify.trials.image import function_named
from targets.alpha.assembler import assemble
from targets.alpha.registers import A0
from targets.alpha.systems import CS20, JENSEN, PC164

HEAD = (
    "| CPU | what was measured | measured | model | error | source |",
    "|---|---|---:|---:|---:|---|",
)
MEANS = ("| CPU | code of others | mean error | largest |", "|---|---:|---:|---:|")

# Linux ------------------------------------------------------------------------------------

_PAGE = 8192
_TICKS = 1024  # a second
_DS10 = 462_962_962  # Hz
_DS10_LOG = (
    "boot log of Linux on a DS10"
    " (linux-kernel 2004-09-28, `2.4.27: md RAID1 oops on alpha revisited`)"
)
# How often a page went through in a tick.  s0, s1: the pages; s2: the routine; s3: how often.
_DRIVER = """
        .align  4
loop:   mb
        ldi     a0,8192
        mov     s0,a1
        mov     s1,a2
        mov     s2,pv
        jsr     ra,(pv)
        mb
        mb
        subq    s3,1,s3
        bne     s3,loop
        mov     s4,ra
        ret
"""
_S0 = 9
# The loop by which it finds caches: a load, what waits for it, and the address of the next.
_PROBE = """
        .align  4
loop:   ldl     t0,0(a0)
        subq    a2,1,a2
        xor     t0,a0,a0
        xor     t0,a0,a0
        addq    a0,a1,a0
        bne     a2,loop
        ret
"""


@dataclass(frozen=True)
class Probed:
    """What Linux printed about the caches of a machine: cycles a load that hit, and that missed."""

    cpu: str
    system: System
    stride: int
    hit: int
    missed: int

    @property
    def log(self) -> str:
        """Where that is, which is where the description of the machine has its latencies from."""
        return self.system.latency.source.partition(":")[0]

    def model(self, hits: bool) -> float:
        """Cycles a pass of the probe through a board cache that has all of it, or none.

        A small board cache takes as long as a large one.
        """
        size = _PROBED if hits else 2 * _PROBED
        board = replace(self.system.board, size=assumed(_PROBED, "small enough to be tried"))
        system = replace(self.system, board=board)
        walk = self._steps(size)
        once, twice = (run(walk * n, self.cpu, system, warm=False).cycles for n in (1, 2))
        return round((twice - once) / (size // self.stride), 1)

    def _steps(self, size: int) -> list[Step]:
        code = {CODE: assemble(_PROBE, CODE).code}
        return executed(code, CODE, {A0: TARGET, A0 + 1: self.stride, A0 + 2: size // self.stride})


_PROBED = 1 << 17  # bytes: more than the caches on any of the chips
PROBED = (
    Probed("ev67", CS20, 64, 18, 164),
    Probed("ev5", PC164, 64, 30, 212),
    Probed("ev4", JENSEN, 32, 17, 59),
)


def xor_cycles(name: str) -> float:
    """Cycles of a page through one of Linux' exclusive ors, as it calls them to measure them."""
    image = timed_code.linux_xor()
    found = function_named(image, name)
    assert found is not None, name
    driver = assemble(_DRIVER, CODE).code
    one, two = (
        run(called(image, found[0], _driven(found[0], n), driver), "ev6").cycles for n in (2, 4)
    )
    return (two - one) / 2


def _driven(routine: int, count: int) -> Mapping[int, int]:
    values = (TARGET, TARGET + 3 * _PAGE, routine, count, STOP)
    return {_S0 + at: value for at, value in enumerate(values)}


def linux() -> Iterator[Check]:
    """What Linux measured of the machine that it was booted on."""
    for one in PROBED:
        for hits, cycles in ((True, one.hit), (False, one.missed)):
            where = "in the board cache" if hits else "in memory"
            what = f"{one.system.name}: Linux' probe, cycles a load {where}"
            yield Check(one.cpu, what, cycles, one.log, partial(one.model, hits))
    for name, pages in (("xor_alpha_2", 249), ("xor_alpha_prefetch_2", 235)):
        cycles = round(_DS10 / _TICKS / pages)
        what = f"Linux' {name}, cycles a page"
        yield Check("ev6", what, cycles, _DS10_LOG, partial(xor_cycles, name))


# Others -----------------------------------------------------------------------------------


def others() -> Iterator[Check]:
    """Single statements."""
    # Linux' delay loop before 2.3; a BogoMIPS is 500,000 passes a second, 0.99 for each MHz.
    delay = "subq a2,1,a2\nbge a2,loop"
    where = "academickids.com, BogoMips: 0.99 of the clock; asm-alpha/delay.h of Linux 2.2"
    for cpu in ("ev4", "ev5"):
        model = partial(loop, delay, cpu, ".align 3")
        yield Check(cpu, "Linux' delay loop, cycles a pass", 2.02, where, model)
    what = "independent integer additions a cycle, sustained"
    yield Check("ev6", what, 3.5, f"{FILE}/README", lambda: 8 / straight(adds(8), "ev6"))
    lmbench = "gcc config/alpha/alpha.cc: LMbench on a PC164"
    what = "pc164: cycles from load to load through the board cache"
    yield Check("ev5", what, 38, lmbench, lambda: chase(64, 2048, "ev5", 1))


def checks() -> Sequence[Check]:
    """Every check."""
    return (*limbs(), *linux(), *others())


def means(errors: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Of GMP's and Linux' routines, by CPU: how many, and the mean and largest error."""
    yield from MEANS
    for cpu, found in errors.items():
        sizes = [abs(error) for error in found]
        mean = sum(sizes) / len(sizes)
        yield f"| {cpu} | {len(sizes)} | {100 * mean:.1f} % | {100 * max(sizes):.1f} % |"


def main() -> int:
    """Prints the tables; status 1 when an input is missing."""
    errors: dict[str, list[float]] = {}
    print("\n".join(HEAD))
    try:
        for check in checks():
            got = check.model()
            print(row(check, got), flush=True)
            if is_code(check):
                errors.setdefault(check.cpu, []).append(got / check.published - 1)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1
    print()
    print("\n".join(means(errors)))
    return 0


def is_code(check: Check) -> bool:
    """Whether it is a routine that others wrote, none of whose figures is in a description."""
    return check.what.startswith(("GMP's", "Linux' xor"))


if __name__ == "__main__":
    raise SystemExit(main())
