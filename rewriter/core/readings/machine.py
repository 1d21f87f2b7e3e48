"""What a row's meaning sees: a machine with registers, memory, control, and arithmetic.

A meaning is written once, against `Machine`, and read in several ways by its subclasses:
Python integers (`concrete`), NumPy lanes (`batched`), hash-consed terms (`symbolic`), and the
recorder that finds def/use sets.  A value supports `+ - * & | ^ ~` modulo two to the power of
`width`; everything that looks at high bits (shifts, comparisons) is a method, because a Python
integer has no fixed width.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Literal, TypeAlias

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.registers import Reg

ByteOrder: TypeAlias = Literal["little", "big"]
"""Of the bytes of a number in memory."""

Value = Any  # an int, a NumPy array, a Term: each machine knows its own


class Machine(metaclass=ABCMeta):
    """State and arithmetic for one reading of the table.

    `width` is the register width in bits, `byteorder` that of memory; `following` is the address
    after the current instruction, as a number.
    """

    width: int
    byteorder: ByteOrder
    following: int

    @property
    def next(self) -> Value:
        """The address after the current instruction."""
        return self.code(self.following)

    # State --------------------------------------------------------------------------------

    @abstractmethod
    def get(self, source: Reg | Value) -> Value:
        """The value of a register; an immediate operand is its own value."""

    @abstractmethod
    def set(self, register: Reg, value: Value) -> None:
        """Writes a register; a constant register ignores it."""

    @abstractmethod
    def load(self, address: Value, size: int) -> Value:
        """`size` bytes at an address, zero-extended; no more than a register holds."""

    @abstractmethod
    def store(self, address: Value, value: Value, size: int) -> None:
        """Writes the low `size` bytes of `value` at an address."""

    @abstractmethod
    def conditional_store(self, address: Value, value: Value, size: int) -> Value:
        """Stores if the lock set by a load-locked still holds; one if it did, else zero."""

    @abstractmethod
    def branch(self, condition: Value, target: Value) -> None:
        """Goes to `target` if `condition` holds."""

    @abstractmethod
    def jump(self, target: Value) -> None:
        """Goes to `target`."""

    @abstractmethod
    def opaque(self, name: str, *values: Value) -> Value:
        """A result that depends on `values` in a way the table does not say."""

    def again(self, register: Reg) -> Value:
        """What a register holds that another operand gave already: what is made of both says
        nothing of it, and waits for it all the same."""
        return self.get(register)

    @abstractmethod
    def event(self, name: str, *values: Value) -> None:
        """Something the world sees, in order: a barrier, a trap, a system call, a hint."""

    def observed(self, name: str, *values: Value) -> Value:
        """What the event just before gave: two events need not give the same."""
        return self.opaque(name, *values)

    def arithmetic(self, name: str, *values: Value) -> None:  # noqa: B027  # most do nothing
        """Floating-point arithmetic: an event that may set flags, and may trap later."""

    # Arithmetic ---------------------------------------------------------------------------

    @abstractmethod
    def const(self, value: int) -> Value:
        """A constant, taken modulo two to the power of `width`."""

    @abstractmethod
    def code(self, address: int) -> Value:
        """The run-time value of a code address of the image."""

    @abstractmethod
    def shl(self, value: Value, amount: Value) -> Value:
        """Shift left; `amount` is below `width`."""

    @abstractmethod
    def lshr(self, value: Value, amount: Value) -> Value:
        """Logical shift right; `amount` is below `width`."""

    @abstractmethod
    def ashr(self, value: Value, amount: Value) -> Value:
        """Arithmetic shift right; `amount` is below `width`."""

    @abstractmethod
    def eq(self, a: Value, b: Value) -> Value:
        """A condition: equal."""

    @abstractmethod
    def ult(self, a: Value, b: Value) -> Value:
        """A condition: less, unsigned."""

    @abstractmethod
    def slt(self, a: Value, b: Value) -> Value:
        """A condition: less, signed."""

    @abstractmethod
    def both(self, a: Value, b: Value) -> Value:
        """A condition: a and b."""

    @abstractmethod
    def negate(self, condition: Value) -> Value:
        """A condition: not."""

    @abstractmethod
    def ite(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` if the condition holds, else `b`."""

    @abstractmethod
    def umulh(self, a: Value, b: Value) -> Value:
        """The high half of the unsigned product."""

    @abstractmethod
    def ctpop(self, value: Value) -> Value:
        """How many bits are set."""

    @abstractmethod
    def cttz(self, value: Value) -> Value:
        """Trailing zeros; `width` for zero."""

    @abstractmethod
    def ctlz(self, value: Value) -> Value:
        """Leading zeros; `width` for zero."""

    # Derived ------------------------------------------------------------------------------

    def ule(self, a: Value, b: Value) -> Value:
        """A condition: less or equal, unsigned."""
        return self.negate(self.ult(b, a))

    def sle(self, a: Value, b: Value) -> Value:
        """A condition: less or equal, signed."""
        return self.negate(self.slt(b, a))

    def bit(self, condition: Value) -> Value:
        """One if the condition holds, else zero."""
        return self.ite(condition, self.const(1), self.const(0))

    def zext(self, value: Value, bits: int) -> Value:
        """The low `bits` bits, zero-extended."""
        return value & self.const((1 << bits) - 1)

    def sext(self, value: Value, bits: int) -> Value:
        """The low `bits` bits, sign-extended."""
        amount = self.const(self.width - bits)
        return self.ashr(self.shl(value, amount), amount)

    def execute(self, insn: Insn, address: int) -> None:
        """Runs one instruction that stands at `address`."""
        form = insn.op.format
        self.following = address + form.size
        operands: list[Reg | Value] = list(insn.operands)
        for position in form.registers:
            if not isinstance(operands[position], Reg):
                operands[position] = Reg(operands[position])
        for position in form.immediates:
            operands[position] = self.const(operands[position])
        if form.target is not None:
            target = form.operands[form.target]
            goal = target.goal(insn.operands[form.target], address, form.size)
            operands[form.target] = self.code(goal)
        insn.op.does(self, *operands)
