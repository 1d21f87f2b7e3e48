"""Rows: special registers, system calls, what only a system uses (Power ISA 3.1B, Book III)."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.core.isa.instruction import Does, Flow, Op
from targets.ppc.isa.features import OLD, TM, wide
from targets.ppc.isa.formats import d, row, x
from targets.ppc.meanings import system
from targets.ppc.meanings.system import leave, read, write
from targets.ppc.registers import CTR, LR, MSR, TAR, VRSAVE

_MFSPR, _MTSPR, _MFTB = x(31, 339), x(31, 467), x(31, 371)

# number, meaning of a read and of a write, their classes, feature
_SPECIAL: tuple[tuple[int, Does, Does, str, str, str], ...] = (
    (1, system.read_xer, system.write_xer, "mfspr", "mtspr", ""),
    (8, read(LR), write(LR), "mfjmpr", "mtjmpr", ""),
    (9, read(CTR), write(CTR), "mfjmpr", "mtjmpr", ""),
    (256, read(VRSAVE), system.write_vrsave, "mfspr", "mtspr", ""),
    (815, read(TAR), write(TAR), "mfjmpr", "mtjmpr", "2.07"),
)
_CLOCKS = (268, 269)  # time base, lower and upper

# name, text, bits, feature
_EVENTS = (
    ("slbmte", "rs,rb", x(31, 402), wide()),
    ("slbie", "rb", x(31, 434), wide()),
    ("slbieg", "rs,rb", x(31, 466), wide("3.0")),
    ("slbia", "ih", x(31, 498), wide()),
    ("slbsync", "", x(31, 338), wide("3.0")),
    ("tlbie", "rb,rs,ric,prs,r", x(31, 306), ""),
    ("tlbiel", "rb,rs,ric,prs,r", x(31, 274), "2.00"),
    ("tlbia", "", x(31, 370), ""),
    ("tlbsync", "", x(31, 566), ""),
    ("tlbld", "rb", x(31, 978), OLD),
    ("tlbli", "rb", x(31, 1010), OLD),
    ("mtsr", "sr,rs", x(31, 210), ""),
    ("mtsrin", "rs,rb", x(31, 242), ""),
    ("msgsnd", "rb", x(31, 206), wide("2.07")),
    ("msgclr", "rb", x(31, 238), wide("2.07")),
    ("msgsndp", "rb", x(31, 142), wide("2.07")),
    ("msgclrp", "rb", x(31, 174), wide("2.07")),
    ("clrbhrb", "", x(31, 430), wide("2.07")),
    ("hashst", "rb,hashdisp(ra0)", x(31, 722), wide("3.1")),
    ("hashchk", "rb,hashdisp(ra0)", x(31, 754), wide("3.1")),
    ("hashstp", "rb,hashdisp(ra0)", x(31, 658), wide("3.1")),
    ("hashchkp", "rb,hashdisp(ra0)", x(31, 690), wide("3.1")),
    ("ecowx", "rs,ra0,rb", x(31, 438), OLD),
)

# The same, and the first operand gets what is said
_ANSWERS = (
    ("slbmfev", "rt,rb,l16", x(31, 851), wide()),
    ("slbmfee", "rt,rb,l16", x(31, 915), wide()),
    ("mfsr", "rt,sr", x(31, 595), ""),
    ("mfsrin", "rt,rb", x(31, 659), ""),
    ("darn", "rt,l2", x(31, 755), wide("3.0")),
    ("mfbhrbe", "rt,bhrbe", x(31, 302), wide("2.07")),
    ("eciwx", "rt,ra0,rb", x(31, 310), OLD),
)

# Control goes elsewhere, or stops for a while
_LEAVING = (
    ("rfi", x(19, 50), Flow.STOP, ""),
    ("rfid", x(19, 18), Flow.STOP, wide()),
    ("hrfid", x(19, 274), Flow.STOP, wide()),
    ("rfscv", x(19, 82), Flow.STOP, wide("3.0")),
    ("urfid", x(19, 306), Flow.STOP, wide("3.0B")),
    ("doze", x(19, 402), Flow.TRAP, wide("2.05")),
    ("nap", x(19, 434), Flow.TRAP, wide("2.05")),
    ("sleep", x(19, 466), Flow.TRAP, wide("2.05")),
    ("rvwinkle", x(19, 498), Flow.TRAP, wide("2.05")),
    ("stop", x(19, 370), Flow.TRAP, wide("3.0")),
    ("attn", x(0, 256), Flow.TRAP, "2.00"),
)

_TRANSACTIONS = (
    ("tbegin.", "l", x(31, 654, 1)),
    ("tend.", "a25", x(31, 686, 1)),
    ("tsr.", "l", x(31, 750, 1)),
    ("tabort.", "ra", x(31, 910, 1)),
    ("tabortwc.", "to,ra,rb", x(31, 782, 1)),
    ("tabortdc.", "to,ra,rb", x(31, 814, 1)),
    ("tabortwci.", "to,ra,si5", x(31, 846, 1)),
    ("tabortdci.", "to,ra,si5", x(31, 878, 1)),
    ("treclaim.", "ra", x(31, 942, 1)),
    ("trechkpt.", "", x(31, 1006, 1)),
)


def _number(special: int) -> int:
    """A special register's number in its field, whose halves are exchanged."""
    return (special & 31) << 16 | special >> 5 << 11


def _special() -> Iterator[Op]:
    for number, reading, writing, from_it, to_it, needs in _SPECIAL:
        yield row("mfspr", f"rt,{number}", _MFSPR | _number(number), reading, from_it, needs)
        yield row("mtspr", f"{number},rs", _MTSPR | _number(number), writing, to_it, needs)
    for number in _CLOCKS:
        meaning = system.read_clock(f"clock {number}")
        for name, bits in (("mfspr", _MFSPR), ("mftb", _MFTB)):
            yield row(name, f"rt,{number}", bits | _number(number), meaning, "mfspr")
    yield row("mfspr", "rt,spr", _MFSPR, system.read_system("mfspr"), "mfspr")
    yield row("mtspr", "spr,rs", _MTSPR, system.write_system("mtspr"), "mtspr")
    yield row("mcrxr", "bf", x(31, 512), system.move_flags, "cr_logical", OLD)
    yield row("mcrxrx", "bf", x(31, 576), system.copy_flags, "cr_logical", "3.0")
    yield row("mfmsr", "rt", x(31, 83), read(MSR), "mfspr")
    state = system.write_system("mtmsr", MSR)
    yield row("mtmsr", "rs,l16", x(31, 146), state, "mtspr")
    yield row("mtmsrd", "rs,l16", x(31, 178), state, "mtspr", wide())


def _others() -> Iterator[Op]:
    yield row("sc", "lev", d(17, 2), system.system_call("sc"), "trap", flow=Flow.TRAP)
    call = system.system_call("scv")
    yield row("scv", "lev", d(17, 1), call, "trap", wide("3.0"), Flow.TRAP)
    for name, text, bits, needs in _EVENTS:
        yield row(name, text, bits, system.write_system(name), "mtspr", needs)
    for name, text, bits, needs in _ANSWERS:
        yield row(name, text, bits, system.read_system(name), "mfspr", needs)
    for name, bits, flow, needs in _LEAVING:
        yield row(name, "", bits, leave(name), "trap", needs, flow)
    for name, text, bits in _TRANSACTIONS:
        meaning = system.transaction(name)
        yield row(name, text, bits, meaning, "htm", TM, Flow.TRAP)
    found = x(31, 979, 1)
    yield row("slbfee.", "rt,rb", found, system.find_segment, "mfspr", wide("2.05"))
    yield row("tcheck", "bf", x(31, 718), system.read_system("tcheck"), "htm", TM)


ROWS = (*_special(), *_others())
