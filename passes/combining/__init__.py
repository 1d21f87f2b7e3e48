"""What `combine` is made of: several instructions that become one; and what comes last of it.

chains   What a chain of instructions computes from registers, by its value
choose   The pass `choose`: a branch over a move becomes an instruction that chooses
folded   A sum with a constant that an access alone goes by, in the access's displacement
held     Which registers hold a value at a place
later    Whether a result would be there later than before, by the CPU's model
ordered  Minus one, zero or one, by how two values are ordered: one comparison less the other
prefix   The pass `prefix`: two instructions with the halves of a number become one of two words
tested   One bit of a register, tested by a mask that was made for it
turned   Loads and stores with their bytes in the other order
vectors  Loads and stores of vectors with their halves in the other order
"""
