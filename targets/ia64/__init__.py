"""Intel Itanium: what the floors above ask, answered.

Its text says which instructions issue together, so that its unit of work is a region of whole
bundles; `rewriter/core/target/bundling.py` says what such a target offers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.code import transfer
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.target import prefetching
from rewriter.core.target import substitution as core
from rewriter.core.target.arena import WIDE
from rewriter.core.target.bundling import Linked
from rewriter.core.target.cpu import Cpu
from rewriter.core.target.emulation import Emulated
from targets.ia64.cpus import CPUS
from targets.ia64.image import facts, layout, regions, tables
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE, QP
from targets.ia64.isa.rows import TABLE
from targets.ia64.prefetching import Prefetching
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NAMES
from targets.ia64.schedule import bundler
from targets.ia64.schedule.bundler import Model, Scheduling
from targets.ia64.standard import RETURNED
from targets.ia64.substitution import Substituting
from targets.machines import IA64


class Ia64:
    """The target."""

    name = "ia64"
    machines = IA64
    emulated: Emulated | None = None  # no emulator runs its programs
    table: Table = TABLE
    cpus: Mapping[str, Cpu] = CPUS
    passes = frozenset({"align", "prefetch", "schedule", "substitute"})
    bundle = BUNDLE
    arena = WIDE
    jump_word = tables.WORD
    everything = (1 << len(NAMES)) - 1
    returned = RETURNED
    proving: transfer.Provable = Proving()
    substituting: core.Substituting = Substituting()
    prefetching: prefetching.Prefetching = Prefetching()
    straight = staticmethod(bundles.straight)
    assembled = staticmethod(bundler.code)
    place_free = staticmethod(layout.place_free)
    described = staticmethod(facts.unwind_entries)

    def scheduling(self, model: Model) -> Scheduling:
        """What a scheduler asks, with a CPU's model."""
        return Scheduling(model)

    def ends(self, insn: Insn) -> bool:
        """Whether control never goes on behind an instruction."""
        away = TABLE.flow(insn) in (Flow.JUMP, Flow.INDIRECT, Flow.RETURN)
        return away and not (insn.has(QP.name) and insn.operand(QP.name) != QP.base)

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing; hints are seen."""
        return insn.name.startswith("nop.")

    def code(self, image: Linked, functions: Sequence[Function]) -> regions.Code:
        """The code of an image with these functions."""
        return regions.Code(image, functions)
