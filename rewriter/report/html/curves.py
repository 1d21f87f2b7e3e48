"""Modelled cycles of replaced routines over sizes: as they were, and as they stand in the new file.

Each point is one call on a case of the routine's contract, everything in the first-level caches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rewriter.contracts import CONTRACTS
from rewriter.contracts.contract import Arena, Contract
from rewriter.core.edit import Edit
from rewriter.core.errors import BadInput
from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import AccessFault, BadInstruction, LimitReached, Unspecified
from rewriter.core.target.bundled_cpu import BundledCpu
from rewriter.core.target.bundling import Bundling
from rewriter.core.target.capability import either, needed, trials_of
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.protocol import Sequential, Target
from rewriter.elf.image import Image
from rewriter.report.html.subject import Subject
from rewriter.timing.described import NotDescribed
from rewriter.verify.routines.trial import Trials, Untried

PASS = "substitute"
SIZES = (0, 1, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Bytes, where a contract has a count."""

_WHAT = "timing of routines"
_COUNT = "count"
_AXES = (_COUNT, "low", "dividend", "quotient")
_OTHERS = {"divisor": 1}  # the first value divides by zero
_VALUES = 11  # points on another axis
_ENOUGH = 16  # bytes in which a routine sets up its register for shared data
_STOPS = (
    AccessFault, BadInput, BadInstruction, LimitReached, Misaligned, NotDescribed, Unspecified,
    Untried, ValueError,
)  # fmt: skip

Point = Mapping[str, int]
Clock = Callable[[int, Contract, Point], int]
"""Cycles of the routine at an address in a case of a contract."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A replaced routine: points are (x, cycles before, cycles after), `axis` says what x is.

    `contract` names what it does, `routine` what took its place; `reason` says why it was not
    timed, when there are no points.
    """

    function: str
    contract: str
    routine: str
    axis: str
    points: tuple[tuple[int, int, int], ...]
    reason: str = ""

    @property
    def ratio(self) -> float:
        """All cycles after of all before."""
        return sum(after for _, _, after in self.points) / sum(old for _, old, _ in self.points)


def curves(subject: Subject, progress: Callable[[str, int, int], None]) -> list[Curve]:
    """The curve of each replaced routine, by address."""
    replaced = sorted((e for e in subject.edits if e.technique == PASS), key=lambda e: e.address)
    if not replaced:
        return []
    clocks = _clocks(subject)
    arena = _arena(subject.target, subject.before.name)
    found = []
    for done, edit in enumerate(replaced):
        progress("routines", done, len(replaced))
        found.append(_curve(edit, clocks, arena))
    progress("routines", len(replaced), len(replaced))
    return found


def _curve(edit: Edit, clocks: Sequence[Clock] | str, arena: Callable[[str], Arena]) -> Curve:
    name = edit.old.partition(" (")[0].partition("/")[0]
    routine = edit.new.partition(" at ")[0]
    contract = CONTRACTS.get(name)
    if isinstance(clocks, str) or contract is None:
        reason = clocks if isinstance(clocks, str) else f"no contract is called {name}"
        return Curve(edit.routine, name, routine, "", (), reason)
    axis, line = points(contract)
    try:
        before, after = clocks
        measured = tuple(
            (
                point[axis],
                before(edit.address, contract, point),
                after(edit.address, contract, point),
            )
            for point in line
            if contract.case(arena(contract.linkage), point).promised
        )
    except _STOPS as stop:
        return Curve(edit.routine, name, routine, axis, (), f"{type(stop).__name__}: {stop}")
    return Curve(edit.routine, name, routine, axis, measured)


def points(contract: Contract) -> tuple[str, list[dict[str, int]]]:
    """An axis of a contract, and cases along it, with one value on each of the others."""
    axes = next((plan.axes or plan.few for plan in contract.plans if plan.axes or plan.few), {})
    axis = next((name for name in _AXES if name in axes), "") or max(
        axes, key=lambda name: len(axes[name])
    )
    every = sorted(set(axes[axis]))
    values = SIZES if axis == _COUNT else every[:: max(1, -(-len(every) // _VALUES))]
    rest = {name: choices[_OTHERS.get(name, 0)] for name, choices in axes.items()}
    return axis, [{**rest, axis: value} for value in values]


def _arena(target: Target, name: str) -> Callable[[str], Arena]:
    def bundled(code: Bundling) -> Callable[[str], Arena]:
        return lambda linkage: code.substituting.arena

    def sequential(code: Sequential) -> Callable[[str], Arena]:
        trials = needed(code.trials, _WHAT, code, name)
        return lambda linkage: trials.program(linkage).arena

    return either(target, _WHAT, name, bundled=bundled, sequential=sequential)


def _clocks(subject: Subject) -> Sequence[Clock] | str:
    """How routines of the two files are timed, or why they are not."""
    cpu, images = subject.cpu, (subject.before, subject.after)
    none = f"no model of {cpu.name}"

    def bundled(code: Bundling) -> Sequence[Clock] | str:
        model = cpu.bundled
        return none if model is None else [_bundled(image, code, model) for image in images]

    def sequential(code: Sequential) -> Sequence[Clock] | str:
        return none if cpu.pipeline is None else [_plain(image, code, cpu) for image in images]

    name = subject.before.name
    return either(subject.target, _WHAT, name, bundled=bundled, sequential=sequential)


def _plain(image: Image, target: Sequential, cpu: Cpu) -> Clock:
    from rewriter.suites.measure import Bench, Laboratory

    trials, runs = Trials(image, target), trials_of(target)
    laboratory = Laboratory(cpu, target.system(cpu), runs)
    benches: dict[int, Bench] = {}

    def clock(address: int, contract: Contract, point: Point) -> int:
        if address not in benches:
            code = trials.code_at(address, _ENOUGH, contract.name)
            benches.clear()
            benches[address] = laboratory.bench(code, contract)
        return benches[address].run(point, warm=True).cycles

    return clock


def _bundled(image: Image, target: Bundling, cpu: BundledCpu) -> Clock:
    from rewriter.analysis.functions import bundled_code
    from rewriter.timing.bundled.trace import trace
    from rewriter.verify.routines.bundled_known import Tried

    harness = Tried(image, target, bundled_code(image, target)).harness

    def clock(address: int, contract: Contract, point: Point) -> int:
        case = contract.case(target.substituting.arena, point)
        return trace(cpu, harness.steps(address, case)).cycles

    return clock
