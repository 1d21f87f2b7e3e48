"""System instructions: what they change of the state, and an event for the world
(SDM vol. 3, bsw to vmsw; vol. 2, 3.3).

PSR is kept in its parts, as the dependency rules name them: the user mask without mfl and mfh, mfl
and mfh, the privilege level, the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rewriter.core.isa.instruction import Insn
from targets.ia64.isa.fields import BUNDLE
from targets.ia64.machine.faults import IllegalOperation
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.state import CPL, MASK, MODIFIED, PSR, USER, State
from targets.ia64.meanings.binding import Meaning, Run, named
from targets.ia64.registers import GR, NUMBERS

_USER_BITS, _MODIFIED_BITS = 0b1110, 0b110000  # be, up, ac; mfl, mfh
_LOW = (1 << 32) - 1
_READABLE = _LOW | 0b11 << 35
_CPL_LOW, _BANK = 32, 44
_RSC, _PFS, _IFS = NUMBERS["ar.rsc"], NUMBERS["ar.pfs"], NUMBERS["cr.ifs"]
_IPSR, _IIP = NUMBERS["cr.ipsr"], NUMBERS["cr.iip"]
_LOADRS = 16, 0x3FF8  # the distance in ar.rsc, in bytes
_VALID = 1 << 63
_SLOT, _DEFER = 41, 43  # psr.ri, psr.ed
_PFM = (1 << 38) - 1
_FIRST_BANKED = GR + 16
_INDEX = 0xFF  # bits of an index that count; a region register is chosen by bits 63:61
_REGION = 61


def event(name: str, *operands: str) -> Meaning:
    """Only an event, with the values of register operands."""

    def bind(insn: Insn, address: int) -> Run:
        registers = [insn.operand(operand) for operand in operands]
        return lambda m: m.events.append((name, *(m.plain(register) for register in registers)))

    return bind


def psr(m: State) -> int:
    """The processor status register as one."""
    return m.r[PSR] | m.r[USER] | m.r[MODIFIED] | m.r[CPL] << _CPL_LOW


def set_psr(m: State, value: int, mask: int) -> None:
    """Writes the bits of `mask`, with the switch of banks that goes with psr.bn."""
    value = psr(m) & ~mask | value & mask
    if (value ^ m.r[PSR]) >> _BANK & 1:
        _switch(m)
    m.r[USER], m.r[MODIFIED] = value & _USER_BITS, value & _MODIFIED_BITS
    m.r[CPL] = value >> _CPL_LOW & 3
    m.r[PSR] = value & ~(_USER_BITS | _MODIFIED_BITS | 3 << _CPL_LOW)


def _switch(m: State) -> None:
    end = _FIRST_BANKED + 16
    values, nats = m.banked
    m.banked = m.r[_FIRST_BANKED:end], m.nat[_FIRST_BANKED:end]
    m.r[_FIRST_BANKED:end], m.nat[_FIRST_BANKED:end] = values, nats


def _bank(number: int) -> Callable[[State], None]:
    def does(m: State) -> None:
        m.events.append(("bsw", number))
        set_psr(m, number << _BANK, 1 << _BANK)

    return does


def _mask(name: str, sets: bool, mask: int) -> Meaning:
    """sum, rum, ssm, rsm: sets or clears the bits of an immediate, among those of `mask`."""

    def does(m: State, imm24: int) -> None:
        if name in ("ssm", "rsm"):
            m.events.append((name, imm24))
        set_psr(m, imm24 if sets else 0, imm24 & mask)

    return named(does)


_UM = _USER_BITS | _MODIFIED_BITS


def _get_psr(m: State, r1: int) -> None:
    m.put(r1, psr(m) & _READABLE)


def _get_user(m: State, r1: int) -> None:
    m.put(r1, m.r[USER] | m.r[MODIFIED])


def _put_psr(m: State, r2: int) -> None:
    m.events.append(("mov psr.l", m.plain(r2)))
    set_psr(m, m.plain(r2), _LOW)


def _put_user(m: State, r2: int) -> None:
    value = m.plain(r2)
    m.r[USER], m.r[MODIFIED] = value & _USER_BITS, value & _MODIFIED_BITS


def _enter(m: State) -> None:
    """epc: the privilege of the page, which is the highest here."""
    if m.r[_PFS] >> 62 < m.r[CPL]:
        raise IllegalOperation("epc: ar.pfs says a higher privilege than the caller has")
    m.events.append(("epc",))
    m.r[CPL] = 0


def _return(m: State) -> None:
    """rfi: everything as an interruption found it."""
    frame = Frame.of(m.r[_IFS] & _PFM)
    if m.r[_IFS] & _VALID and not frame.is_possible:
        raise IllegalOperation(f"cr.ifs has an impossible frame: {frame}")
    m.events.append(("rfi", m.r[_IIP], m.r[_IPSR]))
    m.target = (m.r[_IIP] & -BUNDLE) + (m.r[_IPSR] >> _SLOT & 3)
    if m.r[_IFS] & _VALID:
        m.move_frame(-frame.sof, frame)
    set_psr(m, m.r[_IPSR], MASK & ~(1 << _DEFER))
    m.deferring = bool(m.r[_IPSR] >> _DEFER & 1)


def _flush(m: State) -> None:
    m.events.append(("flushrs",))
    m.stack.flush()
    m.show()


def _load(m: State) -> None:
    m.events.append(("loadrs",))
    low, mask = _LOADRS
    m.stack.load(m.r[_RSC] >> low & mask)
    m.show()


def _to_control(m: State, cr3: int, r2: int) -> None:
    value = m.plain(r2)
    m.events.append(("mov cr", cr3, value))
    m.r[cr3] = value


def _from_control(m: State, r1: int, cr3: int) -> None:
    m.put(r1, m.r[cr3])


def _index(file: str, value: int) -> int:
    return value >> _REGION if file == "rr" else value & _INDEX


def _to_file(file: str) -> Meaning:
    def does(m: State, r3: int, r2: int) -> None:
        index, value = _index(file, m.plain(r3)), m.plain(r2)
        m.events.append((f"mov {file}", index, value))
        m.files[file, index] = value

    return named(does)


def _from_file(file: str) -> Meaning:
    def does(m: State, r1: int, r3: int) -> None:
        m.put(r1, m.files.get((file, _index(file, m.plain(r3))), 0))

    return named(does)


def _hints(m: State, dahr3: int, imm16: int) -> None:
    m.files["dahr", dahr3] = imm16


def _asked(name: str) -> Meaning:
    """A result that only translations know."""

    def does(m: State, r1: int, r3: int) -> None:
        m.put(r1, m.ask(name, m.plain(r3)))

    return named(does)


def _probe(write: bool) -> Callable[[State, int, int], None]:
    """Whether an access would do, at the privilege it is asked for: pages here know only
    whether they may be read or written at all."""

    def does(m: State, r1: int, r3: int) -> None:
        region = m.memory.region(m.plain(r3), 1)
        m.put(r1, int(region is not None and (region.write if write else region.read)))

    return does


def _probe_fault(read: bool, write: bool) -> Callable[[State, int], None]:
    def does(m: State, r3: int) -> None:
        address = m.plain(r3)
        if read:
            m.memory.read(address, 1)
        if write:
            m.memory.write(address, m.memory.read(address, 1))

    return does


def _break(name: str, operand: str) -> Meaning:
    def bind(insn: Insn, address: int) -> Run:
        number = insn.operand(operand)

        def run(m: State) -> None:
            m.ask(name, number)

        return run

    return bind


def _other_instructions(m: State, b2: int) -> None:
    """br.ia: into the IA-32 instruction set, which is not here."""
    m.ask("br.ia", m.r[b2])


def _breaks() -> Iterator[tuple[str, Meaning]]:
    for unit in "mifbx":
        yield f"break.{unit}", _break(f"break.{unit}", "imm62" if unit == "x" else "imm21")


def _files() -> Iterator[tuple[str, Meaning]]:
    for file in ("rr", "dbr", "ibr", "pkr", "pmc", "pmd", "msr"):
        yield f"mov {file}[{{r3}}]={{r2}}", _to_file(file)
    for file in ("rr", "dbr", "ibr", "pkr", "pmc", "pmd", "msr", "cpuid", "dahr"):
        yield f"mov {{r1}}={file}[{{r3}}]", _from_file(file)


_PURGES = ("ptc.l", "ptc.g", "ptc.ga", "ptr.d", "ptr.i")
_ORDERS = ("fwb", "mf", "mf.a", "srlz.d", "srlz.i", "sync.i", "vmsw.0", "vmsw.1")

MEANINGS: dict[str, Meaning] = {
    **dict(_breaks()),
    **dict(_files()),
    **{name: event(name) for name in _ORDERS},
    **{name: event(name, "r3", "r2") for name in (*_PURGES, "itr.d", "itr.i")},
    **{name: event(name, "r2") for name in ("itc.d", "itc.i")},
    **{name: event(name, "r3") for name in ("fc", "fc.i", "ptc.e")},
    **{name: _asked(name) for name in ("thash", "ttag", "tpa", "tak")},
    "bsw.0": named(_bank(0)),
    "bsw.1": named(_bank(1)),
    "sum": _mask("sum", True, _UM),
    "rum": _mask("rum", False, _UM),
    "ssm": _mask("ssm", True, MASK),
    "rsm": _mask("rsm", False, MASK),
    "mov {r1}=psr": named(_get_psr),
    "mov {r1}=psr.um": named(_get_user),
    "mov psr.l={r2}": named(_put_psr),
    "mov psr.um={r2}": named(_put_user),
    "mov {cr3}={r2}": named(_to_control),
    "mov {r1}={cr3}": named(_from_control),
    "mov dahr{dahr3}={imm16}": named(_hints),
    "br.ia": named(_other_instructions),
    "epc": named(_enter),
    "rfi": named(_return),
    "flushrs": named(_flush),
    "loadrs": named(_load),
    "probe.r": named(_probe(write=False)),
    "probe.w": named(_probe(write=True)),
    "probe.r.fault": named(_probe_fault(True, False)),
    "probe.w.fault": named(_probe_fault(False, True)),
    "probe.rw.fault": named(_probe_fault(True, True)),
}
