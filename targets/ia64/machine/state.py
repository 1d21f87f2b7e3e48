"""The registers of a processor as the instructions name them, its memory, and what they do to it.

Values are Python integers without a sign: 64 bits in a general, branch or application register, one
bit in a predicate, 82 bits in a floating-point register (sign, 17-bit exponent, 64-bit
significand).  `r` is indexed by the target's register numbers as the text names them now: rotation
and calls move the values, so that an instruction finds its operand where it says.
"""

from __future__ import annotations

from collections.abc import Callable

from rewriter.core.readings.concrete import Misaligned
from rewriter.core.readings.interpret import Memory, Unspecified
from targets.ia64.machine.alat import Alat
from targets.ia64.machine.faults import IllegalOperation, NatConsumption
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.stack import RegisterStack
from targets.ia64.registers import CONSTANTS, FR, GR, NAMES, NUMBERS, PR

MASK = (1 << 64) - 1
STACKED = GR + 32  # the first register of a frame
ROTATING_FR, ROTATING_PR = FR + 32, PR + 16  # the first that rotates
POISON = 0xA5A5_A5A5_A5A5_A5A5  # what a register holds that the architecture leaves open
NATVAL = 0x1FFFE << 64  # a floating-point register's NaT
FPSR_AT_START = 0x9804C0270033F  # what a program finds in ar.fpsr on Linux

CFM, PSR = NUMBERS["cfm"], NUMBERS["psr"]
BSP, BSPSTORE, RNAT = NUMBERS["ar.bsp"], NUMBERS["ar.bspstore"], NUMBERS["ar.rnat"]
USER, MODIFIED, CPL = NUMBERS["psr.um"], NUMBERS["psr.mf"], NUMBERS["psr.cpl"]
_MFL, _MFH = 1 << 4, 1 << 5  # psr: f2 to f31, f32 to f127 were written
FPSR, UNAT = NUMBERS["ar.fpsr"], NUMBERS["ar.unat"]


class State:
    """One processor.  `nat` has the NaT bits of the general registers; `target` is where a branch
    went, with `access`, `size` and `stored` the last access of the instruction being executed.
    """

    def __init__(self, memory: Memory, alat: Alat, backing: int) -> None:
        self.r = [CONSTANTS.get(register, 0) for register in range(len(NAMES))]
        self.r[FPSR] = FPSR_AT_START
        self.nat = [0] * 128
        self.frame = Frame()
        self.stack = RegisterStack(memory, backing)
        self.memory = memory
        self.alat = alat
        self.events: list[tuple[object, ...]] = []
        self.files: dict[tuple[str, int], int] = {}  # the register files behind an index
        self.banked = [0] * 16, [0] * 16  # r16 to r31 of the other bank, and their NaT bits
        self.answers: dict[str, Callable[..., int]] = {}
        self.deferring = False  # psr.ed: the next speculative load or prefetch gives up
        self.pc = 0
        self.target: int | None = None
        self.access: int | None = None
        self.size = 0
        self.stored = False
        self.show()

    # Registers ----------------------------------------------------------------------------

    def put(self, register: int, value: int, nat: int = 0) -> None:
        """Writes a general register."""
        if register == GR:
            raise IllegalOperation("r0 cannot be written")
        self.r[register] = value & MASK
        self.nat[register] = nat

    def put_predicate(self, register: int, value: bool | int) -> None:
        """Writes a predicate; p0 stays true."""
        if register != PR:
            self.r[register] = 1 if value else 0

    def put_floating(self, register: int, value: int) -> None:
        """Writes a floating-point register."""
        if register <= FR + 1:
            raise IllegalOperation("f0 and f1 cannot be written")
        self.r[register] = value
        self.r[MODIFIED] |= _MFL if register < ROTATING_FR else _MFH

    def plain(self, register: int) -> int:
        """A general register that may not be a NaT here."""
        if self.nat[register]:
            raise NatConsumption(f"{NAMES[register]} is a NaT")
        return self.r[register]

    def physical(self, register: int) -> int:
        """A number for the register behind a name, which stays when the name rotates or a call
        hides it."""
        frame = self.frame
        if STACKED <= register < FR:
            number = register - STACKED
            if number < frame.sor:
                number = (number + frame.rrb_gr) % frame.sor
            return len(NAMES) + self.stack.bottom + number
        if ROTATING_FR <= register < PR:
            return ROTATING_FR + (register - ROTATING_FR + frame.rrb_fr) % (PR - ROTATING_FR)
        return register

    def ask(self, name: str, *values: int) -> int:
        """What the system answers: one of `answers`, or Unspecified is raised."""
        if name not in self.answers:
            raise Unspecified(self.pc, name)
        return self.answers[name](*values)

    # Memory -------------------------------------------------------------------------------

    def load(self, address: int, size: int, step: int = 0) -> int:
        """Bytes at an address, aligned to `size` (to `step`, where it is not the size)."""
        if address & (step or size) - 1:
            raise Misaligned(address, size)
        data = self.memory.read(address, size)
        self.access, self.size, self.stored = address, size, False
        return int.from_bytes(data, "little")

    def store(self, address: int, value: int, size: int, step: int = 0) -> None:
        """The low bytes of `value` to an address, aligned as in `load`."""
        if address & (step or size) - 1:
            raise Misaligned(address, size)
        low = value & (1 << 8 * size) - 1
        self.memory.write(address, low.to_bytes(size, "little"))
        self.access, self.size, self.stored = address, size, True
        self.alat.stored(address, size)

    # Frames -------------------------------------------------------------------------------

    def rotate(self) -> None:
        """Every rotating register takes the name above its own, the last one the first's."""
        r, nat, frame = self.r, self.nat, self.frame
        if frame.sor:
            end = STACKED + frame.sor
            r[STACKED:end] = r[end - 1 : end] + r[STACKED : end - 1]
            nat[STACKED:end] = nat[end - 1 : end] + nat[STACKED : end - 1]
        r[ROTATING_FR:PR] = r[PR - 1 : PR] + r[ROTATING_FR : PR - 1]
        end = PR + 64
        r[ROTATING_PR:end] = r[end - 1 : end] + r[ROTATING_PR : end - 1]
        self.frame = frame.rotated()
        self.r[CFM] = self.frame.value

    def reframe(self, frame: Frame) -> None:
        """Names the registers as `frame` does, without changing what is behind them."""
        r, old = self.r, self.frame
        end = STACKED + old.sor
        r[STACKED:end] = _turned(r[STACKED:end], -old.rrb_gr)
        self.nat[STACKED:end] = _turned(self.nat[STACKED:end], -old.rrb_gr)
        end = STACKED + frame.sor
        r[STACKED:end] = _turned(r[STACKED:end], frame.rrb_gr)
        self.nat[STACKED:end] = _turned(self.nat[STACKED:end], frame.rrb_gr)
        r[ROTATING_FR:PR] = _turned(r[ROTATING_FR:PR], frame.rrb_fr - old.rrb_fr)
        end = PR + 64
        r[ROTATING_PR:end] = _turned(r[ROTATING_PR:end], frame.rrb_pr - old.rrb_pr)
        self.frame = frame
        self.show()

    def move_frame(self, distance: int, frame: Frame) -> None:
        """Another frame, whose first register lies `distance` above that of the current one."""
        old = self.frame
        self.reframe(Frame(old.sof, old.sol, old.sor))
        end = STACKED + old.sof
        self.stack.put(list(zip(self.r[STACKED:end], self.nat[STACKED:end], strict=True)))
        self.stack.bottom += distance
        for number, (value, nat) in enumerate(self.stack.take(frame.sof, POISON), STACKED):
            self.r[number], self.nat[number] = value, nat
        self.frame = Frame(frame.sof, frame.sol, frame.sor)
        self.reframe(frame)

    def show(self) -> None:
        """Brings the registers that tell of the frame and its backing store up to date."""
        self.r[CFM] = self.frame.value
        self.r[BSP], self.r[BSPSTORE] = self.stack.bsp, self.stack.bspstore
        self.r[RNAT] = self.stack.rnat


def _turned(values: list[int], steps: int) -> list[int]:
    """Logical n becomes what was logical n + steps."""
    if not values or not steps:
        return values
    steps %= len(values)
    return values[steps:] + values[:steps]
