# The first eight bytes of a0 and a1 one by one: most strings that are compared end or differ there.
# Goes to `found` with the difference v0 of the first that end or differ; others go on.

        ldbu    at,0(a0)            # L
        ldbu    t0,0(a1)            # L
        subq    at,t0,v0
        beq     at,found            # U

        bne     v0,found            # U
        ldbu    at,1(a0)            # L
        ldbu    t0,1(a1)            # L
        subq    at,t0,v0

        beq     at,found            # U
        bne     v0,found            # U
        ldbu    at,2(a0)            # L
        ldbu    t0,2(a1)            # L

        subq    at,t0,v0
        beq     at,found            # U
        bne     v0,found            # U
        ldbu    at,3(a0)            # L

        ldbu    t0,3(a1)            # L
        subq    at,t0,v0
        beq     at,found            # U
        bne     v0,found            # U

        ldbu    at,4(a0)            # L
        ldbu    t0,4(a1)            # L
        subq    at,t0,v0
        beq     at,found            # U

        bne     v0,found            # U
        ldbu    at,5(a0)            # L
        ldbu    t0,5(a1)            # L
        subq    at,t0,v0

        beq     at,found            # U
        bne     v0,found            # U
        ldbu    at,6(a0)            # L
        ldbu    t0,6(a1)            # L

        subq    at,t0,v0
        beq     at,found            # U
        bne     v0,found            # U
        ldbu    at,7(a0)            # L

        ldbu    t0,7(a1)            # L
        subq    at,t0,v0
        beq     at,found            # U
        bne     v0,found            # U
