"""What the classes of the table's rows and some registers mean for order (SDM vol. 3, chapter 5).

Facts alone, for whoever reorders code and whoever judges that: each does so in a way of its own.
The register stack engine is no class.  What moves from and to its registers depend on, and what
alloc, flushrs, loadrs and cover do, is in registers that they name (`registers.READ_WITH` and what
is beside it); its own loads and stores have no order among a program's (vol. 2, chapter 6).
"""

from __future__ import annotations

from rewriter.core.isa.instruction import Op
from rewriter.core.isa.registers import register_mask
from targets.ia64.isa.rows import TABLE
from targets.ia64.registers import CR, NUMBERS

FREE = frozenset(
    (
        *("IALU", "ILOG", "ISHF", "ICMP", "TBIT", "XTD", "PNT", "LONG_I", "FRBR", "FRPR"),
        *("MMALU_A", "MMALU_I", "MMMUL", "MMSHF"),
    )
)
"""No fault where the CPU knows the instruction (`Op.needs`), no status, nothing but registers; a
NaT that is read goes into the result."""

RUNNING = register_mask(
    (NUMBERS["ar.itc"], NUMBERS["ar.ruc"], NUMBERS["pmd"], *range(CR + 64, CR + 128))
)
"""They change by themselves, or a read of one changes something: cr.ivr takes the interruption."""

KERNEL = register_mask(NUMBERS[f"ar.k{number}"] for number in range(8))
"""They are read at any privilege, without a fault; code that interrupts may change them."""

SWITCHING = ("bsw.0", "bsw.1", "cover")
"""Names of registers stand for others behind them; nothing else changes.

That decides over no interruption (PSR.i and PSR.ic stay), so what cannot fault may pass where it
names none of these registers.  What may fault may not: an interruption takes the registers of bank
0 for itself (vol. 2, 3.3.7), and cover leaves the frame in cr.ifs if PSR.ic is 0 (vol. 3).
"""

RELOADING = "loadrs"
"""It reads the backing store, writes no memory, and its results are in registers that its readers
name (vol. 3; vol. 2, chapter 6): as a load of which nobody knows the address."""

_STATE = ("SYST_M", "SYST_M0", "RSE_M", "TOCR")


def changes_state(op: Op) -> bool:
    """Whether a row that is no access does something beside writing registers for their own sake.

    It changes how others are executed, orders them, or works on what is outside the core.
    """
    effects = TABLE.effects(op)
    if op.sched == "LFETCH":
        return False
    return bool(
        effects.events or op.sched in _STATE or (op.sched == "SYST_M2" and effects.fixed_writes)
    )


def clears(op: Op) -> bool:
    """Whether a row clears its target predicates where its qualifying predicate is false."""
    return op.name.endswith(".unc") or op.sched in ("FMISC", "SFMISC")
