"""A guest for `rewriter.verify.trials.engines.qemu`: routines over records, on Linux for Alpha.

A record is 64-bit values for `Layout.registers`, then `Layout.memory` bytes.  A routine loads the
registers, runs its body, and puts them back, for each record in the buffer.  A body may do
anything but change s0, s1 and s2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rewriter.core.readings.machine import ByteOrder
from targets.alpha.assembler import assemble
from targets.alpha.registers import FP, NAMES

PAGE = 0x2000  # bytes
_HEADERS = 64 + 56  # ELF headers in front of the code

# Linux system calls (arch/alpha/kernel/syscalls/syscall.tbl)
_MAIN = """
exit = 1
read = 3
write = 4
main:   ldi     s3,buffer
        lda     s4,-16(s3)          # the command: routine, count
command:
        mov     s4,a1
        ldi     a2,16
        br      s5,receive
        ldq     pv,0(s4)
        ldq     s1,8(s4)
        mov     s3,s0
        ldi     t0,stride
        mulq    s1,t0,fp            # bytes of the records
        mov     s3,a1
        mov     fp,a2
        br      s5,receive
        jsr     s2,(pv)
        mov     s3,a1
        mov     fp,a2
send:   beq     a2,command
        ldi     v0,write
        ldi     a0,1
        callsys
        bne     a3,failed
        addq    a1,v0,a1
        subq    a2,v0,a2
        br      send

receive:                            # a2 bytes to a1, back to s5; ends the program at the end
        beq     a2,received
        ldi     v0,read
        clr     a0
        callsys
        bne     a3,failed
        beq     v0,done
        addq    a1,v0,a1
        subq    a2,v0,a2
        br      receive
received:
        jmp     (s5)
done:   clr     a0
        br      leave
failed: ldi     a0,1
leave:  ldi     v0,exit
        callsys
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a record holds: values of `registers`, then `memory` bytes (a multiple of 8)."""

    registers: tuple[int, ...]
    memory: int

    @property
    def memory_at(self) -> int:
        """Offset of the memory bytes in a record."""
        return 8 * len(self.registers)

    @property
    def stride(self) -> int:
        """Bytes of a record."""
        return self.memory_at + self.memory

    def transfer(self, integer: str, floating: str) -> str:
        """Assembly text that loads or stores the registers."""
        return "".join(
            f"{floating if register >= FP else integer} {NAMES[register]},{8 * i}(s0)\n"
            for i, register in enumerate(self.registers)
        )


@dataclass
class AlphaGuest:
    """Collects routines; see `rewriter.verify.trials.engines.qemu.Guest`."""

    layout: Layout
    cpu: str = "ev67"
    capacity: int = 4096
    base: int = 0x120000000 + _HEADERS
    room: int = 1 << 24  # bytes for code
    elf_machine: int = 0x9026
    elf_flags: int = 0
    word_bits: int = 64
    byteorder: ByteOrder = "little"
    _code: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        symbols = {"buffer": self.buffer, "stride": self.stride}
        self._code += assemble(_MAIN, self.base, symbols).code
        self._load = assemble(self.layout.transfer("ldq", "ldt")).code
        self._store = assemble(self.layout.transfer("stq", "stt")).code

    @property
    def emulator(self) -> tuple[str, ...]:
        """The command that runs the guest."""
        return ("qemu-alpha", "-cpu", self.cpu)

    @property
    def stride(self) -> int:
        """Bytes of a record."""
        return self.layout.stride

    @property
    def buffer(self) -> int:
        """Address of the first record; the command stands in front of it."""
        return self.base - _HEADERS + self.room

    @property
    def memory_size(self) -> int:
        """Bytes from `base` to the end of the buffer."""
        return self.buffer + self.capacity * self.stride - self.base

    def body_address(self, routine: int) -> int:
        """Where the body of a routine stands."""
        return routine + len(self._load)

    def memory_address(self, case: int) -> int:
        """Where the memory of case `case` of a batch stands."""
        return self.buffer + case % self.capacity * self.stride + self.layout.memory_at

    def add(self, body: bytes | str | Callable[[int], bytes]) -> int:
        """A routine with this body: bytes, assembly text, or bytes made for their address."""
        routine = self.base + len(self._code)
        at = self.body_address(routine)
        if isinstance(body, str):
            code = assemble(body, at).code
        else:
            code = body if isinstance(body, bytes) else body(at)
        self._code += self._load + code + self._store
        self._code += assemble(
            "lda s0,stride(s0)\n subq s1,1,s1\n bne s1,routine\n jmp (s2)",
            self.base + len(self._code),
            {"stride": self.stride, "routine": routine},
        ).code
        if self.base + len(self._code) + 16 > self.buffer:
            raise ValueError(f"the guest has no room for more than {self.room} bytes of code")
        return routine

    def code(self) -> bytes:
        """The bytes at `base`."""
        return bytes(self._code)
