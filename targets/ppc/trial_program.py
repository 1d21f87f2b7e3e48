"""The program that runs a routine over cases inside qemu user emulation, for Linux on PowerPC.

It reads commands from standard input, four 64-bit words each and their data; what they are, and
how a case is laid out, is in `rewriter.verify.trials.engines.sweep`.  On a machine of 32 bits the
upper half of each word is zero.  Every register is set before a call and looked at after it; in the
mask of changed registers a bit of a register that may change stands for more: r0 for the fields 2
to 4 of the condition register, r11 for f14 to f31, r12 for v20 to v31 and VRSAVE.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from rewriter.contracts.contract import Arena
from rewriter.contracts.linkage import Linkage
from rewriter.core.isa.table import Table
from rewriter.core.readings.interpret import Arithmetic
from rewriter.core.readings.machine import ByteOrder
from rewriter.core.target.cpu import Cpu
from rewriter.core.trials import World
from targets.ppc import arithmetic
from targets.ppc.asm.assembler import assemble
from targets.ppc.isa import table
from targets.ppc.isa.features import wide
from targets.ppc.linkage import GENERAL, linkages

EM_PPC, EM_PPC64 = 20, 21
_EF_ABI_V2 = 2  # the entry is code, not a descriptor
_HEADERS = {32: 52 + 32, 64: 64 + 56}  # ELF headers in front of the code
_BASE = 0x10000000
_STACK = 0x7C00  # from the base: above it stands the caller's frame, below it the routine's
_REGISTERS = 0x8000  # what each register holds before a call
_DATA = {"words": 0x8100, "state": 0x8120, "timer": 0x8140, "saved": 0x8200}
_BUFFER = 0x10000
_FLOATING, _VECTORS, _VRSAVE = 0x100, 0x200, 0x400  # from `saved`

# Linux system calls and constants (arch/powerpc/kernel/syscalls/syscall.tbl, include/uapi).
# `load`, `store` and `next` (load from the next place) are of a word of a record, `la` an address;
# `here` is the size of a register, `high` and `low` are halves of a doubleword.
_MAIN = """
exit = 1
read = 3
write = 4
mmap = 90
setitimer = 104
itimer_virtual = 1
map_fixed_private_anonymous = 0x32

command:
        la      r27,words
        mr      r4,r27
        li      r5,32
        bl      receive
        load    r6,0(r27)           # what: 0 map, 1 load, 2 run
        cmplwi  r6,1
        blt     map
        bgt     run

        load    r4,8(r27)           # address, bytes
        load    r5,16(r27)
        bl      receive
        b       command

map:    load    r3,8(r27)           # address, bytes, protection
        load    r4,16(r27)
        load    r5,24(r27)
        li      r6,map_fixed_private_anonymous
        li      r7,-1
        li      r8,0
        li      r0,mmap
        sc
        bso     failed
        b       command

run:    la      r4,timer            # routine, bytes of cases, CPU time
        lwz     r6,24+high(r27)
        lwz     r7,24+low(r27)
        li      r8,0
        put     r8,0(r4)
        put     r8,here(r4)
        put     r6,here+here(r4)
        put     r7,here+here+here(r4)
        li      r3,itimer_virtual
        li      r5,0
        li      r0,setitimer
        sc
        bso     failed
        la      r28,buffer
        load    r5,16(r27)
        mr      r4,r28
        add     r29,r28,r5
        la      r6,state
        store   r29,8(r6)
        bl      receive
each:   la      r6,state
        store   r28,0(r6)
        bl      bring
        b       call
called: la      r6,state
        load    r28,0(r6)
        load    r29,8(r6)
        la      r5,saved
        la      r7,registers
        li      r3,0
        bl      compare
        load    r0,result(r5)
        store   r0,16(r28)
        store   r3,24(r28)
        bl      fetch
        test    r28,r29
        blt     each

        la      r31,buffer          # the cases go back as they are now
        la      r27,words
        load    r30,16(r27)
send:   cmplwi  r30,0
        beq     command
        mr      r4,r31
        mr      r5,r30
        li      r3,1
        li      r0,write
        sc
        bso     failed
        add     r31,r31,r3
        subf    r30,r3,r30
        b       send

bring:  addi    r6,r28,80           # pieces of the case to their places
        load    r8,8(r28)
        slwi    r9,r8,4
        add     r9,r9,r6
brought:
        cmplwi  r8,0
        beqlr
        load    r10,0(r6)
        load    r11,8(r6)
        srwi    r11,r11,2
        mtctr   r11
bring4: lwz     r11,0(r9)
        stw     r11,0(r10)
        addi    r9,r9,4
        addi    r10,r10,4
        bdnz    bring4
        addi    r6,r6,16
        addi    r8,r8,-1
        b       brought

fetch:  addi    r6,r28,80           # and from there; r28 goes to the next case
        load    r8,8(r28)
        slwi    r9,r8,4
        add     r9,r9,r6
fetched:
        cmplwi  r8,0
        beq     next
        load    r10,0(r6)
        load    r11,8(r6)
        srwi    r11,r11,2
        mtctr   r11
fetch4: lwz     r11,0(r10)
        stw     r11,0(r9)
        addi    r9,r9,4
        addi    r10,r10,4
        bdnz    fetch4
        addi    r6,r6,16
        addi    r8,r8,-1
        b       fetched
next:   mr      r28,r9
        blr

receive:                            # r5 bytes to r4; ends the program at the end of the input
        mr      r25,r4
        mr      r26,r5
received:
        cmplwi  r26,0
        beqlr
        mr      r4,r25
        mr      r5,r26
        li      r3,0
        li      r0,read
        sc
        bso     failed
        cmplwi  r3,0
        beq     leave
        add     r25,r25,r3
        subf    r26,r3,r26
        b       received
failed: li      r3,1
leave:  li      r0,exit
        sc
"""


@dataclass(frozen=True)
class PpcSweep:
    """One linkage's program; see `rewriter.verify.trials.engines.sweep.Program`."""

    linkage: Linkage
    width: int
    byteorder: ByteOrder
    cpu: str
    vectors: bool
    capacity: int = 1 << 22

    @property
    def base(self) -> int:
        """Address of the code, behind the headers."""
        return _BASE + _HEADERS[self.width]

    @property
    def emulator(self) -> tuple[str, ...]:
        """The command that runs the program."""
        suffix = "" if self.width == 32 else "64" if self.byteorder == "big" else "64le"
        return (f"qemu-ppc{suffix}", "-cpu", self.cpu)

    @property
    def elf_machine(self) -> int:
        """`e_machine` of the executable."""
        return EM_PPC if self.width == 32 else EM_PPC64

    @property
    def elf_flags(self) -> int:
        """`e_flags` of the executable."""
        return 0 if self.width == 32 else _EF_ABI_V2

    @property
    def word_bits(self) -> int:
        """32 or 64."""
        return self.width

    @property
    def arena(self) -> Arena:
        """Beyond 4 GiB where addresses are so long."""
        base = 0x20000000 if self.width == 32 else 0x200000000
        return Arena(base, page=0x1000, width=self.width)

    @property
    def routine(self) -> int:
        """Where code that may stand anywhere is put."""
        return 0x30000000 if self.width == 32 else 0x180000000

    @property
    def registers(self) -> int:
        """Address of the table of what registers hold before a call, 8 bytes for each."""
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
        return self._code

    @cached_property
    def _code(self) -> bytes:
        text = _MAIN + self._call() + self._compare()
        high = 4 if self.byteorder == "little" else 0
        symbols = {
            **{name: _BASE + offset for name, offset in _DATA.items()},
            "buffer": _BASE + _BUFFER,
            "registers": self.registers,
            "result": 8 * self.linkage.result,
            "here": self.width // 8,
            "high": high,
            "low": 4 - high,
        }
        made = assemble(
            self._spelled(text, symbols),
            width=self.width,
            byteorder=self.byteorder,
            base=self.base,
            symbols=symbols,
            file="sweep",
        )
        assert len(made.code) <= _STACK // 2, "the program leaves no room for the stack"
        return made.code

    def _spelled(self, text: str, symbols: dict[str, int]) -> str:
        """The text with this width's instructions."""
        wide = self.width == 64
        load, store, step = ("ld", "std", "ldu") if wide else ("lwz", "stw", "lwzu")
        at = "" if wide else "+low"
        text = re.sub(r"\bload( +r\d+),", rf"{load}\1,0{at}+", text)
        text = re.sub(r"\bstore( +r\d+),", rf"{store}\1,0{at}+", text)
        text = re.sub(r"\bput( +r)", rf"{store}\1", text)
        text = re.sub(r"\bnext( +r)", rf"{step}\1", text)
        text = re.sub(r"\btest( +r)", r"cmpld\1" if wide else r"cmplw\1", text)

        def address(match: re.Match[str]) -> str:
            value = symbols[match[2]]
            return f"lis {match[1]},{value >> 16}\n ori {match[1]},{match[1]},{value & 0xFFFF}"

        return re.sub(r"\bla +(r\d+),(\w+)", address, text)

    def _call(self) -> str:
        """Sets every register, calls, and stores every register."""
        given = {*self.linkage.arguments, self.linkage.entry, 30, 31}
        lines = ["call: mr r30,r28", "la r31,registers", "load r0,0(r31)", "mtcrf 255,r0"]
        lines += [f"lfd f{n},{8 * n}(r31)" for n in range(32)]
        if self.vectors:
            lines += [
                line for n in range(32) for line in (f"li r3,{16 * (n % 16)}", f"lvx v{n},r3,r31")
            ]
            lines += ["mtspr 256,r0"]
        lines += [f"load r{n},{8 * n}(r31)" for n in range(32) if n not in given]
        lines += [f"load r{n},{16 + 8 * i}(r30)" for i, n in enumerate(self.linkage.arguments)]
        lines += ["la r12,words", "load r12,8(r12)", "mtctr r12"]
        lines += [f"load r{n},{8 * n}(r31)" for n in (30, 31)]
        lines += ["bctrl", "la r12,saved"]
        lines += [f"store r{n},{8 * n}(r12)" for n in range(32) if n != 12]
        lines += ["mfcr r11", "store r11,96(r12)"]
        lines += [f"stfd f{n},{_FLOATING + 8 * n}(r12)" for n in range(14, 32)]
        if self.vectors:
            lines += [
                line
                for n in range(20, 32)
                for line in (f"li r11,{_VECTORS + 16 * n}", f"stvx v{n},r11,r12")
            ]
            lines += ["mfspr r11,256", f"store r11,{_VRSAVE}(r12)"]
        return "\n".join([*lines, "b called\n"])

    def _compare(self) -> str:
        """r3 becomes the mask of preserved registers that differ; r7 and r5 are the tables."""
        lines = ["compare: nop"]
        for n in GENERAL:
            lines += [f"load r8,{8 * n}(r7)", f"load r9,{8 * n}(r5)", "test r8,r9"]
            lines += self._changed(n)
        lines += ["load r8,0(r7)", "load r9,96(r5)", "xor r8,r8,r9", "rlwinm. r8,r8,0,8,19"]
        lines += self._changed(0)
        lines += self._differ("floating", 8 * 14, _FLOATING + 8 * 14, 18 * 8)
        lines += self._changed(11)
        if self.vectors:
            lines += self._differ("vectors", 16 * 4, _VECTORS + 16 * 20, 12 * 16)
            lines += self._changed(12)
            lines += ["load r8,0(r7)", f"load r9,{_VRSAVE}(r5)", "cmplw r8,r9"]
            lines += self._changed(12, "vrsave")
        return "\n".join([*lines, "blr\n"])

    def _changed(self, bit: int, what: str = "register") -> list[str]:
        """Sets a bit unless the last comparison found nothing."""
        insn = "oris" if bit > 15 else "ori"
        label = f"{what}{bit}"
        return [f"beq {label}", f"{insn} r3,r3,{1 << bit % 16}", f"{label}:"]

    def _differ(self, name: str, table: int, saved: int, size: int) -> list[str]:
        """Compares so many bytes of the tables."""
        step = self.width // 8
        return [
            *(f"addi r10,r7,{table - step}", f"addi r11,r5,{saved - step}"),
            *(f"li r0,{size // step}", "mtctr r0", "li r9,0"),
            *(f"{name}: next r8,here(r10)", "next r4,here(r11)", "xor r8,r8,r4", "or r9,r9,r8"),
            *(f"bdnz {name}", "li r8,0", "test r8,r9"),
        ]


_CPUS = {32: "7450", 64: "power9"}
"""A CPU of qemu that has all that routines of this width use."""


@cache
def _sweep(width: int, byteorder: ByteOrder, linkage: str) -> PpcSweep:
    return PpcSweep(linkages(width)[linkage], width, byteorder, _CPUS[width], vectors=True)


@dataclass(frozen=True, slots=True)
class PpcTrials:
    """What `rewriter.verify.trials.trial` asks of PowerPC."""

    width: int
    byteorder: ByteOrder

    @property
    def table(self) -> Table:
        """The instructions."""
        return table(self.width, self.byteorder)

    @property
    def write_hints(self) -> Mapping[str, int]:
        """There are none: what dcbz does to memory is an effect."""
        return {}

    @property
    def arithmetic(self) -> Arithmetic:
        """What the table leaves open."""
        return arithmetic

    @property
    def worlds(self) -> Sequence[World]:
        """Cache blocks of two sizes, which the loader says or does not."""
        return arithmetic.worlds(self.width)

    def world(self, cpu: Cpu) -> World:
        """Its cache blocks, which the loader says."""
        return arithmetic.worlds(64 if wide() in cpu.features else 32)[0]

    @property
    def linkages(self) -> Mapping[str, Linkage]:
        """The standard one, and that of thread-local variables, which no known routine has."""
        return linkages(self.width)

    def program(self, linkage: str) -> PpcSweep:
        """The program that runs cases with a linkage."""
        return _sweep(self.width, self.byteorder, linkage)
