"""Instruction sets as data: rows with operands, from which a table derives everything.

The door is
`table`.

flow         Where control goes after an instruction
instruction  The vocabulary of an instruction set: formats of operands, one `Op` per row, `Insn`
interned     Masks of registers for millions of instructions: each distinct mask is kept once
operands     The operands of an instruction: which bits of its word hold them, and what those mean
interned     Masks of registers for millions of instructions: each distinct one is kept once
registers    Registers and sets of them
table        The rows of an instruction set, with all that is derived from them
"""
