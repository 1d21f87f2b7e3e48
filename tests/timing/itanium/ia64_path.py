"""The fast path of `fixtures/ia64` on the group-parallel machine: two threads and a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewriter.core.code.groups import Slot
from rewriter.core.readings.interpret import Memory
from targets.ia64.machine.frames import Frame
from targets.ia64.machine.processor import Processor
from targets.ia64.registers import NUMBERS, numbers
from targets.ia64.schedule.bundler import code
from targets.ia64.standard import RETURNED

_TEXT, _THREADS, _BACKING = 0x10000, 0x2000_0000_0000_0000, 0x6000_0000_0000_0000
_RETURN = 0xE_0000_0000_0000
_SIZE = 1024  # bytes of a control block
_NAMES = (
    *("ID", "STATE", "PARTNER", "FLAGS", "PRIORITY", "SPACE", "BSPSTORE", "RNAT", "RSC", "PFS"),
    *("RP", "PR", "UNAT", "FPSR", "SP", "LC", "GP", "NEXT", "PREV", "READY_NEXT", "READY_PREV"),
    "MESSAGE",
)
OFFSETS = {name: 8 * n for n, name in enumerate(_NAMES)}
RUNNING, WAITING = 1, 2
SENDER, RECEIVER = 3, 5
_FPSR = 0x9804C0270033F

Fields = Mapping[tuple[int, str], int]


@dataclass(frozen=True)
class After:
    """What the path left behind: registers that count, control blocks, backing store, regions."""

    registers: Mapping[int, int]
    threads: bytes
    backing: bytes
    regions: Mapping[tuple[str, int], int]

    def field(self, thread: int, name: str) -> int:
        """A field of a control block."""
        at = _SIZE * thread + OFFSETS[name]
        return int.from_bytes(self.threads[at : at + 8], "little")

    def message(self, thread: int) -> bytes:
        """The words of a thread's message."""
        at = _SIZE * thread + OFFSETS["MESSAGE"]
        return self.threads[at : at + 32]


def block(thread: int) -> int:
    """The address of a control block."""
    return _THREADS + _SIZE * thread


def identity(thread: int) -> int:
    """A thread's number, with a version."""
    return thread << 14 | 1


def _fields() -> dict[tuple[int, str], int]:
    return {
        (SENDER, "ID"): identity(SENDER),
        (SENDER, "STATE"): RUNNING,
        (SENDER, "PRIORITY"): 7,
        (SENDER, "READY_NEXT"): block(4),
        (SENDER, "READY_PREV"): block(6),
        (SENDER, "MESSAGE"): 0x1111_2222_3333_4444,
        (RECEIVER, "ID"): identity(RECEIVER),
        (RECEIVER, "STATE"): WAITING,
        (RECEIVER, "PARTNER"): (1 << 64) - 1,
        (RECEIVER, "PRIORITY"): 9,
        (RECEIVER, "NEXT"): block(1),
        (RECEIVER, "PREV"): block(2),
        (RECEIVER, "BSPSTORE"): _BACKING + 0x8000,
        (RECEIVER, "RP"): _RETURN,
        (RECEIVER, "SP"): 0x7777,
        (RECEIVER, "GP"): 0x8888,
        (RECEIVER, "LC"): 5,
        (RECEIVER, "FPSR"): _FPSR,
        (RECEIVER, "PR"): 0x10001,
        (RECEIVER, "RSC"): 3,
        (RECEIVER, "SPACE"): 0x1234,
    }


def passed(
    slots: Sequence[Slot], rest: bytes, length: int, fields: Fields, registers: Mapping[str, int]
) -> After:
    """Runs the path, with the `rest` of its file `length` bytes behind its start.

    `fields` and `registers` are what differs from a message that may go.  Raises GroupViolation
    for a group that the architecture does not allow.
    """
    memory = Memory()
    text = code(slots)
    memory.map(_TEXT, text + bytes(length - len(text)) + rest, write=False)
    memory.map(_THREADS, bytes(0x4000), execute=False)
    memory.map(_BACKING, bytes(0x10000), execute=False)
    for (thread, name), value in {**_fields(), **fields}.items():
        memory.write(block(thread) + OFFSETS[name], value.to_bytes(8, "little"))
    processor = Processor(memory, _BACKING)
    state = processor.state
    state.reframe(Frame())
    start = {"r1": 0x6666, "r12": 0x5555, "r13": identity(RECEIVER), "r14": 4, "r15": 0}
    for name, value in {**start, **registers}.items():
        state.r[NUMBERS[name]] = value
    running, pending, table, link = numbers("ar.k6", "ar.k5", "ar.k7", "b0")
    state.r[running], state.r[table], state.r[link] = block(SENDER), _THREADS, _RETURN
    state.r[pending] = registers.get("ar.k5", 0)
    processor.run(_TEXT, _RETURN)
    kept = {n: value for n, value in enumerate(state.r) if RETURNED >> n & 1}
    threads, backing = memory.read(_THREADS, 0x4000), memory.read(_BACKING, 0x10000)
    return After(kept, threads, backing, dict(state.files))
