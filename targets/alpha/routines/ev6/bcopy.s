# bcopy: a0 source, a1 destination, a2 count; no result.  See shared/move.

bcopy:  mov     a0,t2
        mov     a1,a0
        subq    a1,t2,t0
        mov     t2,a1

        cmpult  a2,8,t1
        unop
        unop
        bne     t1,copy_bytes       # U

        .include move
