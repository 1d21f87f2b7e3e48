"""Intel Itanium: what the floors above ask, answered.

Its text says which instructions issue together, so that its unit of work is a region of whole
bundles; `rewriter/core/target/bundling.py` says what such a target offers.

calls         What the calling standard says of calls and returns in a shared library
prefetching   Prefetches (SDM vol. 3, lfetch): an `adds` that makes the address, and an `lfetch`
              behind it
registers     IA-64's registers in one numbering, and their names (Intel SDM 2.3, volume 1, section
              3.1)
standard      The software conventions of IA-64: which registers mean something after a return
substitution  What replaces known routines of a file, and how it is tried: asked by the floors
              above
asm/          The assembler of our own IA-64 routines
cpus/         IA-64 CPUs: every figure with its source, one file a chip
image/        What is known of an IA-64 file's code: regions, tables, unwind descriptors
isa/          IA-64's instruction table, over slots and bundles
machine/      A concrete machine that runs IA-64 code of real files, group by group
meanings/     What IA-64's instructions do, one file a family
prove/        IA-64 as a proof of reordering asks for it
routines/     Our own tuned routines: assembly text, one file each, assembled by our own encoder
schedule/     What orders IA-64 instructions, and packs them into bundles
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.core.code import transfer
from rewriter.core.code.ordering import Model
from rewriter.core.code.program import Function
from rewriter.core.isa.instruction import Flow, Insn
from rewriter.core.isa.table import Table
from rewriter.core.target import prefetching
from rewriter.core.target import substitution as core
from rewriter.core.target.arena import WIDE
from rewriter.core.target.bundling import Linked
from rewriter.core.target.cpu import Cpu
from targets.ia64.cpus import CPUS
from targets.ia64.image import facts, layout, regions, tables
from targets.ia64.isa import bundles
from targets.ia64.isa.fields import BUNDLE, QP
from targets.ia64.isa.rows import TABLE
from targets.ia64.prefetching import Prefetching
from targets.ia64.prove.proving import Proving
from targets.ia64.registers import NAMES
from targets.ia64.schedule import bundler
from targets.ia64.schedule.bundler import Scheduling
from targets.ia64.standard import RETURNED
from targets.ia64.substitution import Substituting
from targets.machines import is_ia64


class Ia64:
    """The target."""

    name = "ia64"
    fits = staticmethod(is_ia64)
    sequential = None
    emulated = boots = None  # no emulator runs its programs or kernels
    table: Table = TABLE
    cpus: Mapping[str, Cpu] = CPUS
    baseline: frozenset[str] = frozenset()
    needs: Mapping[str, frozenset[str]] = {"prefetch": frozenset({"LFETCH"})}
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

    @property
    def bundling(self) -> Ia64:
        """Its own answers."""
        return self

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
