"""The reading that writes Python: what one instruction does to plain integers, as a function.

`Concrete` goes through a meaning each time that an instruction is executed.  Here it goes through
it once, on names instead of numbers, and each operation of Python that it does on one is written
down as a line.  What is done to memory and to the world stays a call of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rewriter.core.isa.instruction import Insn
from rewriter.core.isa.operands import Kind
from rewriter.core.isa.registers import Reg
from rewriter.core.isa.registers import register as named
from rewriter.core.isa.table import REMEMBERED, Table
from rewriter.core.readings.concrete import Concrete
from rewriter.core.readings.machine import ByteOrder

Does = Callable[[Any, dict[int, int], int, int], int | None]
"""What an instruction does, called with a machine, its registers, where its target leads and what
follows; gives where it transfers control."""

_GOAL, _FOLLOWING = "goal", "following"


@dataclass(frozen=True, slots=True)
class Written:
    """What an instruction does; `quiet` if only to registers and control, and so cannot fault."""

    does: Does
    quiet: bool


def written(table: Table, insn: Insn) -> Written:
    """The function of an instruction."""
    return _written(insn, table.width, table.byteorder, tuple(table.constants.items()))


@lru_cache(REMEMBERED)
def _written(
    insn: Insn, width: int, order: ByteOrder, constants: tuple[tuple[int, int], ...]
) -> Written:
    code = _Code(width, order, dict(constants))
    pairs = zip(insn.op.format.operands, insn.operands, strict=True)
    insn.op.does(code, *(code.operand(operand.kind, value) for operand, value in pairs))
    body, space = "\n ".join([*code.lines, f"return {code.control}"]), dict[str, Any]()
    head = f"def does(m, r, {_GOAL}, {_FOLLOWING}):"
    exec(f"{head}\n {body}", space)  # its lines come from our own meanings
    return Written(space["does"], code.quiet)


def _infix(sign: str) -> Callable[[_Name, Any], _Name]:
    """A sign of Python between a name and another value."""
    return lambda self, other: self.code.line(f"{self} {sign} {other}")


def _reflected(sign: str) -> Callable[[_Name, int], _Name]:
    """The same between a number and a name."""
    return lambda self, other: self.code.line(f"{other} {sign} {self}")


class _Name:
    """A value that is known when the code runs, by the name that it has there."""

    def __init__(self, text: str, code: _Code) -> None:
        self.text, self.code = text, code

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise TypeError("a meaning looks at a value")

    __add__, __radd__ = _infix("+"), _reflected("+")
    __sub__, __rsub__ = _infix("-"), _reflected("-")
    __mul__, __rmul__ = _infix("*"), _reflected("*")
    __and__, __rand__ = _infix("&"), _reflected("&")
    __or__, __ror__ = _infix("|"), _reflected("|")
    __xor__, __rxor__ = _infix("^"), _reflected("^")
    __lshift__, __rlshift__ = _infix("<<"), _reflected("<<")
    __rshift__, __rrshift__ = _infix(">>"), _reflected(">>")
    __lt__, __gt__ = _infix("<"), _infix(">")

    def __eq__(self, other: object) -> Any:
        return self.code.line(f"{self} == {other}")

    def __neg__(self) -> _Name:
        return self.code.line(f"-{self}")

    def __invert__(self) -> _Name:
        return self.code.line(f"~{self}")

    def bit_count(self) -> _Name:
        """As that of a number."""
        return self.code.line(f"{self}.bit_count()")

    def bit_length(self) -> _Name:
        """As that of a number."""
        return self.code.line(f"{self}.bit_length()")


class _Code(Concrete):
    """The concrete reading on names; `lines` are what it comes to."""

    def __init__(self, width: int, byteorder: ByteOrder, constants: dict[int, int]) -> None:
        super().__init__(width=width, byteorder=byteorder, aligned=False, constants=constants)
        self.lines, self.quiet, self.control = list[str](), True, "None"

    def operand(self, kind: Kind, value: int) -> Any:
        """What a meaning gets for an operand."""
        if kind is Kind.TARGET:
            return _Name(_GOAL, self)
        return named(value) if kind is Kind.REGISTER else self.const(value)

    def line(self, text: str) -> _Name:
        """What an expression gives, under a new name."""
        name = _Name(f"v{len(self.lines)}", self)
        self.lines.append(f"{name} = {text}")
        return name

    def _asked(self, what: str, *values: Any) -> Any:
        """What a method of the machine gives."""
        self.quiet = False
        return self.line(f"m.{what}({', '.join(map(str, values))})")

    # What depends on a value ----------------------------------------------------------------

    def _signed(self, value: Any) -> Any:
        if not isinstance(value, _Name):
            return super()._signed(value)
        sign = 1 << self.width - 1
        return ((value & self.ones) ^ sign) - sign

    def both(self, a: Any, b: Any) -> Any:
        return self.line(f"{a} and {b}")

    def negate(self, condition: Any) -> Any:
        return self.line(f"not {condition}")

    def ite(self, condition: Any, a: Any, b: Any) -> Any:
        return self.line(f"{a} if {condition} else {b}")

    def cttz(self, value: Any) -> Any:
        value = value & self.ones
        return self.line(f"({value} & -{value}).bit_length() - 1 if {value} else {self.width}")

    # What the machine does ------------------------------------------------------------------

    @property
    def next(self) -> Any:
        return _Name(_FOLLOWING, self)

    def get(self, source: Any) -> Any:
        if not isinstance(source, Reg):
            return source
        known = self.constants.get(source)
        return self.line(f"r[{int(source)}]") if known is None else known

    def set(self, register: Reg, value: Any) -> None:
        if register not in self.constants:
            self.lines.append(f"r[{int(register)}] = {value} & {self.ones}")

    def load(self, address: Any, size: int) -> Any:
        return self._asked("load", address, size)

    def store(self, address: Any, value: Any, size: int) -> None:
        self._asked("store", address, value, size)

    def conditional_store(self, address: Any, value: Any, size: int) -> Any:
        return self._asked("conditional_store", address, value, size)

    def branch(self, condition: Any, target: Any) -> None:
        self.control = str(self.line(f"{target & self.ones} if {condition} else None"))

    def jump(self, target: Any) -> None:
        self.control = str(target & self.ones)

    def opaque(self, name: str, *values: Any) -> Any:
        return self._asked("opaque", repr(name), *values)

    def event(self, name: str, *values: Any) -> None:
        self._asked("event", repr(name), *values)

    def observed(self, name: str, *values: Any) -> Any:
        return self._asked("observed", repr(name), *values)
