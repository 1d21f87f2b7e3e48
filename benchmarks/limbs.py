"""GMP's routines for Alpha on the timing model, and the cycles a limb that their authors measured.

`benchmarks/measured.py` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from random import Random

from benchmarks.timing import CODE, SOURCE, TARGET, Check, executed, run
from fixtures import timed_code
from rewriter.core.readings.interpret import Memory, Step
from rewriter.elf.image import Image
from rewriter.verify.trials.image import function_named
from targets.alpha.registers import A0, SP

_LIMBS = 96  # a multiple of what any loop takes at once; three operands fit the smallest cache
_LINES = 0x800  # apart in the set of a direct-mapped cache of 8 KB
_OPERANDS = {
    "r": TARGET,
    "u": SOURCE,
    "v": SOURCE + _LINES,
    "x": 0x9E3779B97F4A7C15,
    "k": 13,
    "0": 0,
}
FILE = "GMP 6.2.1 mpn/alpha"


@dataclass(frozen=True)
class Limbs:
    """A routine of GMP and the cycles a limb that its source says.

    `arguments` are letters: result and operands r, u, v; a limb x; a shift k; the count n.
    `made` are limbs that a pass over one makes.
    """

    file: str
    arguments: str
    cycles: Mapping[str, float]
    define: str = ""
    symbol: str = ""
    made: int = 1

    @property
    def what(self) -> str:
        """The line's name."""
        return f"GMP's {self.file}, cycles a limb"

    def steps(self, count: int) -> list[Step]:
        """What it does on so many limbs."""
        image = _gmp(self.file, self.define)
        entry = function_named(image, f"__gmpn_{self.symbol or self.file.rpartition('/')[2]}")
        assert entry is not None, self
        values = [count if a == "n" else _OPERANDS[a] for a in self.arguments]
        registers = {A0 + at: value for at, value in enumerate(values)}
        return called(image, entry[0], registers)

    def model(self, cpu: str) -> float:
        """The model's cycles a limb, operands in the first-level cache."""
        one, two = (run(self.steps(n * _LIMBS), cpu).cycles for n in (1, 2))
        return (two - one) / (_LIMBS * self.made)


_MULTIPLY = {"ev4": 42, "ev5": 18, "ev6": 7}
_SHIFT = {"ev5": 3.25, "ev6": 1.75}
_COPY = {"ev4": 4, "ev5": 1.75, "ev6": 1}
_FAST_ADD = {"ev5": 5.4, "ev6": 2.125}
ROUTINES = (
    Limbs("add_n", "ruvn", {"ev5": 4.75, "ev6": 3}),
    Limbs("sub_n", "ruvn", {"ev5": 4.75, "ev6": 3}),
    Limbs("aorslsh1_n", "ruvn", {"ev5": 6.25, "ev6": 4.5}, "OPERATION_addlsh1_n", "addlsh1_n"),
    Limbs("aorslsh2_n", "ruvn", {"ev5": 6, "ev6": 3.75}, "OPERATION_addlsh2_n", "addlsh2_n"),
    Limbs("lshift", "runk", _SHIFT),
    Limbs("rshift", "runk", _SHIFT),
    Limbs("copyi", "run", _COPY),
    Limbs("copyd", "run", _COPY),
    Limbs("mod_34lsub1", "un", {"ev5": 2.67, "ev6": 1.67}),
    Limbs("mul_1", "runx", _MULTIPLY),
    Limbs("addmul_1", "runx", _MULTIPLY),
    Limbs("submul_1", "runx", _MULTIPLY),
    Limbs("bdiv_dbm1c", "runx0", {"ev4": 42, "ev5": 18, "ev6": 3}),
    Limbs("sqr_diag_addlsh1", "rvun", {"ev5": 10.2, "ev6": 4.5}, made=2),
    Limbs("ev6/add_n", "ruvn", _FAST_ADD),
    Limbs("ev6/sub_n", "ruvn", _FAST_ADD),
    Limbs("ev6/aorslsh1_n", "ruvn", {"ev5": 7, "ev6": 4}, "OPERATION_addlsh1_n", "addlsh1_n"),
    Limbs(
        "ev6/aorsmul_1",
        "runx",
        {"ev4": 42, "ev5": 18, "ev6": 3.5},
        "OPERATION_addmul_1",
        "addmul_1",
    ),
    Limbs("ev6/mul_1", "runx", {"ev6": 2.25}),
    Limbs("ev6/mod_1_4", "unxv", {"ev5": 23, "ev6": 3}, symbol="mod_1s_4p"),
    Limbs("ev67/popcount", "un", {"ev67": 1.5}, "OPERATION_popcount"),
    Limbs("ev67/hamdist", "uvn", {"ev67": 2.5}, "OPERATION_hamdist"),
)


@cache
def _gmp(file: str, define: str) -> Image:
    return timed_code.gmp(file, *([define] if define else []))


def called(
    image: Image, entry: int, registers: Mapping[int, int], driver: bytes = b""
) -> list[Step]:
    """What a function of an image does, or a driver at `CODE` that calls it."""
    text = next(section for section in image.sections if section.name == ".text")
    parts = {text.sh_addr: image.read(text.sh_addr, text.sh_size)}
    if driver:
        parts[CODE], entry = driver, CODE
    return executed(parts, entry, {SP: _STACK, **registers}, _filled)


_STACK = SOURCE + 0x8000


def _filled(memory: Memory) -> None:
    noise = Random(21264)
    for at in (TARGET, SOURCE):
        memory.write(at, noise.randbytes(0x4000))


def limbs() -> Iterator[Check]:
    """GMP's routines."""
    for routine in ROUTINES:
        for cpu, cycles in routine.cycles.items():
            source = f"{FILE}/{routine.file}.asm"
            yield Check(cpu, routine.what, cycles, source, partial(routine.model, cpu))
