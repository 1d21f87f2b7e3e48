"""One change to a file's code, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = (
    *("reg", "imm", "op", "drop", "swap", "copy", "target", "table", "both", "predicate", "stop"),
)
"""What is changed: a register, another operand, the row; nothing is left of an instruction, two
neighbours change places, another instruction of the function stands there; where a branch goes;
a word of a table of the system that names code (of kernels for PowerPC);
nothing is left of two that make one register (drawn at edits alone); and of grouped code the
predicate, and where a group ends."""

HINT = "hint"
ORDERED = ("inverted", "jump", "doubled", HINT)
"""Of blocks in another order: a branch has the opposite test and leads where it did, nothing is
left of a jump, a block stands in another's place too; or a branch says otherwise where control
probably goes, which must be accepted."""


@dataclass(frozen=True)
class Change:
    """Other code at an address: `old` and `new` say it as text."""

    kind: str
    address: int
    code: bytes
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.address:#x} {self.kind}: {self.old} -> {self.new}"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant; which one it is follows from file, base, seed and number.

    `finding` is why the verifier refused it, and where it did not, `reason` the equivalence that
    was decided; neither: nobody can say why it was accepted, as nobody can why a hint was refused.
    """

    file: str
    base: str
    seed: int
    number: int
    change: Change
    function: str
    finding: str = ""
    reason: str = ""

    @property
    def what(self) -> str:
        """Its place in a table."""
        if self.finding and self.change.kind != HINT:
            return "refused"
        return self.reason or "UNEXPLAINED"

    def __str__(self) -> str:
        key = f"{self.file} {self.base} {self.seed} {self.number}"
        return f"[{key}] {self.function}: {self.change}"
