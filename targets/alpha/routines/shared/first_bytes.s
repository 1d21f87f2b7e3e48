# The first eight bytes of a0 and a1 one by one: most strings that are compared end or differ there.
# Goes to `ended` with the bytes at and t0 that end or differ first; others go on.  One branch asks
# for both, so no fetch block has two.

        ldbu    at,0(a0)            # L
        ldbu    t0,0(a1)            # L
        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs

        beq     v0,ended            # U
        ldbu    at,1(a0)            # L
        ldbu    t0,1(a1)            # L
        cmpeq   at,t0,v0

        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U
        ldbu    at,2(a0)            # L
        ldbu    t0,2(a1)            # L

        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U
        ldbu    at,3(a0)            # L

        ldbu    t0,3(a1)            # L
        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U

        ldbu    at,4(a0)            # L
        ldbu    t0,4(a1)            # L
        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs

        beq     v0,ended            # U
        ldbu    at,5(a0)            # L
        ldbu    t0,5(a1)            # L
        cmpeq   at,t0,v0

        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U
        ldbu    at,6(a0)            # L
        ldbu    t0,6(a1)            # L

        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U
        ldbu    at,7(a0)            # L

        ldbu    t0,7(a1)            # L
        cmpeq   at,t0,v0
        zapnot  at,v0,v0            # U the byte, or zero where it differs
        beq     v0,ended            # U
