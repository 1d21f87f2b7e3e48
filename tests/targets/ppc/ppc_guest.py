"""A guest for `rewriter.verify.trials.engines.qemu`: routines over records, on Linux for PowerPC.

A record is values for `REGISTERS`, the condition register, XER, CTR and LR, each as wide as a
register, then memory.  A routine loads them, runs its body, and puts them back, for each record in
the buffer.  A body may change anything but r1, r2, r13 and r27 to r31.  GNU as makes what is around
the bodies; these come from our own table.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from fixtures import inputs
from rewriter.core.readings.machine import ByteOrder
from rewriter.verify.trials.engines.qemu import headers_size

REGISTERS = (3, 4, 5, 6, 7, 8)  # what a record holds of the general ones
TAKEN = 7  # says where control went
SPECIAL = ("cr", "xer", "ctr", "lr")
MEMORY = 192  # bytes of a record

_MAIN = """
        lis     31,buffer@ha
        addi    31,31,buffer@l
        addi    30,31,-2*{w}                # the command: routine, count
command:
        mr      4,30
        li      5,2*{w}
        bl      receive
        {l}     26,0(30)
        {l}     29,{w}(30)
        mulli   28,29,stride
        mr      4,31
        mr      5,28
        bl      receive
        mr      25,31
        mtctr   26
        bctrl
        mr      31,25
        mr      4,31
        mr      5,28
send:   cmpwi   5,0
        beq     command
        li      0,4
        li      3,1
        sc
        bso     failed
        add     4,4,3
        subf    5,3,5
        b       send

receive:                                    # r5 bytes to r4; ends the program at the end
        cmpwi   5,0
        beqlr
        li      0,3
        li      3,0
        sc
        bso     failed
        cmpwi   3,0
        beq     done
        add     4,4,3
        subf    5,3,5
        b       receive
done:   li      3,0
        b       leave
failed: li      3,1
leave:  li      0,1
        sc
"""
_TO_SPECIAL = ("mtcrf 255,0", "mtxer 0", "mtctr 0", "mtlr 0")
_FROM_SPECIAL = ("mfcr 0", "mfxer 0", "mfctr 0", "mflr 0")


@functools.cache
def assembled(text: str, width: int, byteorder: ByteOrder, **symbols: int) -> bytes:
    """The code of a text that does not depend on where it stands."""
    tool = inputs.require_tool("powerpc64le-linux-gnu-as")
    copy = inputs.require_tool("powerpc64le-linux-gnu-objcopy")
    with tempfile.TemporaryDirectory() as name:
        source, made, flat = (Path(name, part) for part in ("a.s", "a.o", "a.bin"))
        head = "".join(f".set {symbol},{value}\n" for symbol, value in symbols.items())
        source.write_text(head + text)
        order = "-mlittle" if byteorder == "little" else "-mbig"
        command = [tool, f"-a{width}", order, "-many", "-mpower8", str(source), "-o", str(made)]
        subprocess.run(command, check=True)
        subprocess.run([copy, "-O", "binary", "-j", ".text", str(made), str(flat)], check=True)
        return flat.read_bytes()


@dataclass
class PpcGuest:
    """Collects routines; see `rewriter.verify.trials.engines.qemu.Guest`."""

    emulator: tuple[str, ...]
    word_bits: int
    byteorder: ByteOrder
    capacity: int = 1024
    room: int = 1 << 23  # bytes for code
    elf_flags: int = 0  # the entry is a descriptor's address in 64 bits
    _code: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.elf_machine = 21 if self.word_bits == 64 else 20
        self.base = 0x10000000 + headers_size(self.word_bits)
        self.width = self.word_bits // 8
        if (
            self.word_bits == 64
        ):  # a function descriptor is the entry, for the first of the two ABIs
            self._code += (self.base + 16).to_bytes(8, self.byteorder) + bytes(8)
        self._code += self._assembled(_MAIN, buffer=self.buffer, stride=self.stride)
        names = {"l": "ld", "s": "std"} if self.word_bits == 64 else {"l": "lwz", "s": "stw"}
        places = [self.width * n for n in range(len(REGISTERS) + len(SPECIAL))]
        loads = [f"{names['l']} {n},{at}(31)" for n, at in zip(REGISTERS, places, strict=False)]
        stores = [f"{names['s']} {n},{at}(31)" for n, at in zip(REGISTERS, places, strict=False)]
        there = places[len(REGISTERS) :]
        to = [
            f"{names['l']} 0,{at}(31)\n{move}" for at, move in zip(there, _TO_SPECIAL, strict=True)
        ]
        back = [
            f"{move}\n{names['s']} 0,{at}(31)"
            for at, move in zip(there, _FROM_SPECIAL, strict=True)
        ]
        self._load = self._assembled("\n".join((*to, *loads, "")))
        self._store = self._assembled("\n".join((*stores, *back, "")))

    def _assembled(self, text: str, **symbols: int) -> bytes:
        load, store = ("ld", "std") if self.word_bits == 64 else ("lwz", "stw")
        filled = text.replace("{w}", str(self.width)).replace("{l}", load).replace("{s}", store)
        return assembled(filled, self.word_bits, self.byteorder, **symbols)

    @property
    def memory_at(self) -> int:
        """Offset of the memory bytes in a record."""
        return self.width * (len(REGISTERS) + len(SPECIAL))

    @property
    def stride(self) -> int:
        """Bytes of a record."""
        return self.memory_at + MEMORY

    @property
    def buffer(self) -> int:
        """Address of the first record; the command stands in front of it."""
        return 0x10000000 + self.room

    @property
    def memory_size(self) -> int:
        """Bytes from `base` to the end of the buffer."""
        return self.buffer + self.capacity * self.stride - self.base

    def memory_address(self, case: int) -> int:
        """Where the memory of case `case` of a batch stands."""
        return self.buffer + case % self.capacity * self.stride + self.memory_at

    @property
    def next_body(self) -> int:
        """Where the body of the next routine will stand."""
        return self.base + len(self._code) + self._head + len(self._load)

    @property
    def _head(self) -> int:
        return 4

    def add(self, body: bytes) -> int:
        """A routine with this body."""
        routine = self.base + len(self._code)
        link = self._assembled("mflr 27\n")
        again = len(self._load) + len(body) + len(self._store) + 3 * 4
        tail = f"addi 31,31,stride\naddi 29,29,-1\ncmpwi 29,0\nbne .-{again}\nmtctr 27\nbctr\n"
        self._code += link + self._load + body + self._store
        self._code += self._assembled(tail, stride=self.stride)
        if self.base + len(self._code) > self.buffer - 16:
            raise ValueError(f"the guest has no room for more than {self.room} bytes of code")
        return routine

    def code(self) -> bytes:
        """The bytes at `base`."""
        return bytes(self._code)
