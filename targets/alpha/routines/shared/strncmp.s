# The body of strncmp; `.include compared` says what the first byte that matters gives.

strncmp:
        xor     a0,a1,t0
        lda     t8,-1(zero)
        clr     t9
        beq     a2,same             # U

        ldq_u   t2,0(a0)            # L
        ldq_u   t4,0(a1)            # L
        and     t0,7,t0
        blt     a2,huge             # U
limited:
        and     a0,7,t1
        insqh   t8,a0,t3            # U ones in front of the string
        bne     t0,shift            # U
        unop

        addq    a2,t1,a2
        or      t2,t3,t2
        or      t4,t3,t4
        srl     a2,3,t10            # U quadwords

        and     a2,7,a2             # bytes behind them
        beq     t10,last            # U
        unop
        unop

        cmpbge  zero,t2,t5
        xor     t2,t4,t6
        or      t5,t6,at
        bne     at,stop             # U

loop:   subq    t10,1,t10
        lda     a0,8(a0)
        lda     a1,8(a1)
        beq     t10,rest            # U

        ldq_u   t2,0(a0)            # L
        ldq_u   t4,0(a1)            # L
        unop
        unop

        cmpbge  zero,t2,t5          # ends
        xor     t2,t4,t6
        or      t5,t6,at
        beq     at,loop             # U

        .include compared

rest:   beq     a2,same             # U
        ldq_u   t2,0(a0)            # L
        ldq_u   t4,0(a1)            # L
        unop

last:   mskql   t2,a2,t2            # U only a2 bytes, 1 to 7, count
        mskql   t4,a2,t4            # U
        unop
        unop

        cmpbge  zero,t2,t5
        xor     t2,t4,t6
        br      stop                # L
        unop

huge:   srl     t8,1,a2             # U
        br      limited             # L
        unop
        unop

same:   clr     v0
        ret                         # L
        unop
        unop

shift:  and     a0,7,t0
        and     a1,7,t1
        extql   t2,a0,t2            # U
        extql   t4,a1,t4            # U

        cmpult  t0,t1,t10           # the second has fewer bytes in its quadword
        subq    t1,t0,at
        subq    zero,t10,t10
        lda     t6,8(zero)

        and     at,t10,at
        subq    t6,t0,t6
        subq    t6,at,t6            # what both have, 1 to 7
        unop

        mskql   t8,t6,at            # U
        cmpule  a2,t6,t3
        bne     t3,last             # U
        unop

        addq    a0,t6,a0
        addq    a1,t6,a1
        subq    a2,t6,a2
        unop

        ornot   t2,at,t2
        ornot   t4,at,t4
        cmpbge  zero,t2,t5
        xor     t2,t4,t6

        xor     a0,a1,t0
        or      t5,t6,at
        and     t0,t10,t0
        bne     at,stop             # U

        xor     a0,t0,a0            # exchanged where the second is the aligned one
        xor     a1,t0,a1
        mov     t10,t9
        insqh   t8,a1,t11           # U ones in front of the string

        ldq_u   t8,0(a1)            # L
        srl     a2,3,t10            # U quadwords
        and     a2,7,a2             # bytes behind them
        beq     t10,shift_rest      # U

shift_loop:
        or      t8,t11,t0
        ldq     t2,0(a0)            # L
        cmpbge  zero,t0,t0
        bne     t0,shift_end        # U

        ldq_u   t3,8(a1)            # L
        extql   t8,a1,t4            # U
        cmpbge  zero,t2,t5
        lda     a0,8(a0)

        extqh   t3,a1,t1            # U
        mov     t3,t8
        or      t4,t1,t4
        lda     a1,8(a1)

        xor     t2,t4,t6
        or      t5,t6,at
        subq    t10,1,t10
        bne     at,stop             # U

        bne     t10,shift_loop      # U
        unop
        unop
        unop

shift_rest:
        beq     a2,same             # U
        ldq     t2,0(a0)            # L
        extql   t8,a1,t4            # U
        or      t8,t11,t0

        and     a1,7,t1
        lda     at,8(zero)
        cmpbge  zero,t0,t0
        bne     t0,last             # U the string ends in the first quadword

        subq    at,t1,at
        cmpule  a2,at,at
        bne     at,last             # U the limit is in the first quadword
        unop

        ldq_u   t3,8(a1)            # L
        extqh   t3,a1,t1            # U
        or      t4,t1,t4
        br      last                # L

shift_end:                          # the string ends in the first of the two quadwords
        extql   t8,a1,t4            # U
        cmpbge  zero,t4,t5
        xor     t2,t4,t6
        br      stop                # L
