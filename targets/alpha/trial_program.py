"""The program that runs a routine over cases inside qemu user emulation, for Linux on Alpha.

It reads commands from standard input, four 64-bit words each and their data; what they are, and
how a case is laid out, is in `rewriter.verify.trials.engines.sweep`.  Every register is set before
a call and looked at after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewriter.contracts.contract import Arena
from rewriter.contracts.linkage import Linkage
from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Arithmetic
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.cpu import Cpu
from rewriter.core.trials import PLAIN, World
from targets.alpha import arithmetic
from targets.alpha.assembler import assemble
from targets.alpha.cpus import WRITE_HINTS
from targets.alpha.image.pointers import UNOP, is_nop
from targets.alpha.isa.rows import TABLE
from targets.alpha.linkage import LINKAGES
from targets.alpha.registers import NAMES, ZERO

_HEADERS = 64 + 56  # ELF headers in front of the code
_BASE = 0x120000000
_STACK = 0x8000  # from the base: its end, below the registers
_REGISTERS = 0x8000  # what each register holds before a call
_DATA = {"words": 0x8100, "state": 0x8120, "timer": 0x8140, "saved": 0x8200}
_BUFFER = 0x10000
_ARENA = Arena(0x200000000, page=0x2000, width=64)

# Linux system calls and constants (arch/alpha/kernel/syscalls/syscall.tbl, include/uapi).
# Memory holds what must outlive a call: state is where the case and the last one are.
_MAIN = """
exit = 1
read = 3
write = 4
mmap = 71
setitimer = 362
itimer_virtual = 1
map_fixed_private_anonymous = 0x112
imb = 0x86

command:
        ldi     s4,words
        mov     s4,a1
        ldi     a2,32
        bsr     s5,receive
        ldq     t0,0(s4)            # what: 0 map, 1 load, 2 run
        beq     t0,map
        subq    t0,1,t0
        bne     t0,run

load:   ldq     a1,8(s4)            # address, bytes
        ldq     a2,16(s4)
        bsr     s5,receive
        call_pal imb
        br      command

map:    ldq     a0,8(s4)            # address, bytes, protection
        ldq     a1,16(s4)
        ldq     a2,24(s4)
        ldi     a3,map_fixed_private_anonymous
        lda     a4,-1(zero)
        clr     a5
        ldi     v0,mmap
        callsys
        bne     a3,failed
        br      command

run:    ldi     a1,timer            # routine, bytes of cases, CPU time
        ldq     t0,24(s4)
        srl     t0,32,t1
        zapnot  t0,15,t0
        stq     zero,0(a1)
        stq     zero,8(a1)
        stq     t1,16(a1)
        stq     t0,24(a1)
        ldi     a0,itimer_virtual
        clr     a2
        ldi     v0,setitimer
        callsys
        bne     a3,failed
        ldi     a1,buffer
        ldq     a2,16(s4)
        mov     a1,s0
        addq    a1,a2,s1
        ldi     t0,state
        stq     s1,8(t0)
        bsr     s5,receive
each:   ldi     t0,state
        stq     s0,0(t0)
        bsr     s5,bring
        br      call
called: ldi     t0,state
        ldq     s0,0(t0)
        ldq     s1,8(t0)
        ldi     t1,saved
        ldi     t2,registers
        clr     t3
        bsr     s5,compare
        ldq     t0,result(t1)
        stq     t0,16(s0)
        stq     t3,24(s0)
        bsr     s5,fetch
        cmpult  s0,s1,t0
        bne     t0,each

        ldi     a1,buffer           # the cases go back as they are now
        ldi     s4,words
        ldq     a2,16(s4)
send:   beq     a2,command
        ldi     v0,write
        ldi     a0,1
        callsys
        bne     a3,failed
        addq    a1,v0,a1
        subq    a2,v0,a2
        br      send

bring:  lda     t0,80(s0)           # pieces of the case to their places
        ldq     t1,8(s0)
        s8addq  t1,t0,t2
        s8addq  t1,t2,t2
brought:
        beq     t1,back
        ldq     t3,0(t0)
        ldq     t4,8(t0)
bring8: ldq     t5,0(t2)
        stq     t5,0(t3)
        lda     t2,8(t2)
        lda     t3,8(t3)
        lda     t4,-8(t4)
        bne     t4,bring8
        lda     t0,16(t0)
        subq    t1,1,t1
        br      brought

fetch:  lda     t0,80(s0)           # and from there; s0 goes to the next case
        ldq     t1,8(s0)
        s8addq  t1,t0,t2
        s8addq  t1,t2,t2
fetched:
        beq     t1,next
        ldq     t3,0(t0)
        ldq     t4,8(t0)
fetch8: ldq     t5,0(t3)
        stq     t5,0(t2)
        lda     t2,8(t2)
        lda     t3,8(t3)
        lda     t4,-8(t4)
        bne     t4,fetch8
        lda     t0,16(t0)
        subq    t1,1,t1
        br      fetched
next:   mov     t2,s0
back:   jmp     (s5)

receive:                            # a2 bytes to a1; ends the program at the end of the input
        beq     a2,back
        ldi     v0,read
        clr     a0
        callsys
        bne     a3,failed
        beq     v0,done
        addq    a1,v0,a1
        subq    a2,v0,a2
        br      receive
done:   clr     a0
        br      leave
failed: ldi     a0,1
leave:  ldi     v0,exit
        callsys
"""


@dataclass(frozen=True, slots=True)
class AlphaSweep:
    """One linkage's program; see `rewriter.verify.trials.engines.sweep.Program`."""

    linkage: Linkage
    cpu: str = "ev67"
    arena: Arena = _ARENA
    routine: int = 0x180000000
    base: int = _BASE + _HEADERS
    capacity: int = 1 << 22
    elf_machine: int = 0x9026
    elf_flags: int = 0
    word_bits: int = 64
    byteorder: ByteOrder = "little"

    @property
    def emulator(self) -> tuple[str, ...]:
        """The command that runs the program."""
        return ("qemu-alpha", "-cpu", self.cpu)

    @property
    def registers(self) -> int:
        """Address of the table of what registers hold before a call, a word for each."""
        return _BASE + _REGISTERS

    @property
    def stack(self) -> int:
        """What the stack pointer holds before a call."""
        return _BASE + _STACK

    @property
    def memory_size(self) -> int:
        """Bytes from `base` to the end of the buffer."""
        return _BASE + _BUFFER + self.capacity - self.base

    def code(self) -> bytes:
        """The bytes at `base`."""
        text = _MAIN + self._call() + self._compare()
        symbols = {
            **{name: _BASE + offset for name, offset in _DATA.items()},
            "buffer": _BASE + _BUFFER,
            "registers": self.registers,
            "result": 8 * self.linkage.result,
        }
        code = assemble(text, self.base, symbols).code
        assert len(code) <= _STACK // 2, "the program leaves no room for the stack"
        return code

    def _call(self) -> str:
        """Sets every register, calls, and stores every register; $28 carries the addresses."""
        entry, link = (NAMES[r] for r in (self.linkage.entry, self.linkage.link))
        given = {*self.linkage.arguments, self.linkage.entry, ZERO, 28}
        lines = ["call: mov s0,at", "ldi t0,registers"]
        lines += [f"ldq {NAMES[r]},{8 * r}(t0)" for r in range(ZERO) if r not in given | {1}]
        lines += ["ldq t0,8(t0)"]
        lines += [
            f"ldq {NAMES[register]},{16 + 8 * n}(at)"
            for n, register in enumerate(self.linkage.arguments)
        ]
        lines += [f"ldi {entry},words", f"ldq {entry},8({entry})", f"jsr {link},({entry})"]
        lines += ["ldi at,saved"]
        lines += [f"stq {NAMES[r]},{8 * r}(at)" for r in range(ZERO) if r != 28]
        return "\n".join([*lines, "br called\n"])

    def _compare(self) -> str:
        """t3 becomes the mask of preserved registers that differ; t1 and t2 are the tables."""
        lines = ["compare: nop"]
        for register in self.linkage.preserved:
            if register in self.linkage.arguments:
                lines += [f"ldq t4,{16 + 8 * self.linkage.arguments.index(register)}(s0)"]
            else:
                lines += [f"ldq t4,{8 * register}(t2)"]
            lines += [f"ldq t5,{8 * register}(t1)", "cmpeq t4,t5,t4", "xor t4,1,t4"]
            lines += [f"sll t4,{register},t4", "or t3,t4,t3"]
        return "\n".join([*lines, "jmp (s5)\n"])


@dataclass(frozen=True, slots=True)
class AlphaTrials:
    """What `rewriter.verify.trials.trial` asks of Alpha; `cpu` is the name of a qemu CPU."""

    cpu: str = "ev67"

    @property
    def table(self) -> Table:
        """The instructions."""
        return TABLE

    @property
    def write_hints(self) -> Mapping[str, int]:
        """WH64 gives up the aligned 64 bytes (Alpha Architecture Handbook v4, 4.11)."""
        return WRITE_HINTS

    @property
    def arithmetic(self) -> Arithmetic:
        """What the table leaves open, as far as division routines need it."""
        return arithmetic

    @property
    def worlds(self) -> Sequence[World]:
        """Nothing is left open."""
        return PLAIN

    def world(self, cpu: Cpu) -> World:
        """The only one."""
        return PLAIN[0]

    @property
    def trap(self) -> bytes:
        """An instruction that no program survives: call_pal halt, which is privileged."""
        return bytes(4)

    @property
    def nop(self) -> bytes:
        """An instruction that does nothing."""
        return TABLE.encode(UNOP).to_bytes(4, "little")

    def is_nop(self, insn: Insn) -> bool:
        """Whether an instruction does nothing at all."""
        return is_nop(insn)

    @property
    def linkages(self) -> Mapping[str, Linkage]:
        """Two."""
        return LINKAGES

    def program(self, linkage: str) -> AlphaSweep:
        """The program that runs cases with a linkage."""
        return AlphaSweep(LINKAGES[linkage], self.cpu)
