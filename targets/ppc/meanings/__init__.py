"""What PowerPC's instructions do, as functions over `Machine` (Power ISA 3.1B, Books I and II).

Makers return a meaning for a family of rows; the rows in `targets/ppc/isa/` name them.

- `operate`: arithmetic, logic, comparisons: what makes a register, with record forms.
- `unknown`: results of which no more is said than what they depend on.
- `wide`: values in parts, each as wide as a general register.
- `floating`: moves, loads and stores of doublewords, the FPSCR.
- `vector`: integer operations on vectors, permutes, moves.
- `vector_memory`: loads and stores of vectors.
"""
