"""Rows of instructions on vector and vector-scalar registers; `ROWS` are all of them.

- `altivec`: the vector facility as AltiVec had it first.
- `later`: what Power ISA 2.07, 3.0 and 3.1 added to it.
- `vsx`: the vector-scalar facility: scalars, vectors, permutes, moves to general registers.
- `quad`: binary floating point of quad precision.
- `memory`: loads and stores, streams of prefetches.
- `prefixed`: instructions with a prefix.
- `accumulators`: products of matrices.
"""

from __future__ import annotations

from targets.ppc.isa.vectors import accumulators, altivec, later, memory, prefixed, quad, vsx

ROWS = (
    *(*altivec.ROWS, *later.ROWS, *vsx.ROWS, *quad.ROWS),
    *(*memory.ROWS, *prefixed.ROWS, *accumulators.ROWS),
)
