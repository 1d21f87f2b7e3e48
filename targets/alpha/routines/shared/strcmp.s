# The body of strcmp; `.include compared` says what the first byte that matters gives.

strcmp: ldq_u   t2,0(a0)            # L
        ldq_u   t4,0(a1)            # L
        xor     a0,a1,t0
        lda     t1,-1(zero)

        and     t0,7,t0
        insqh   t1,a0,t3            # U ones in front of the string
        clr     t9
        bne     t0,shift            # U

        or      t2,t3,t2
        or      t4,t3,t4
        unop
        unop

        cmpbge  zero,t2,t5
        xor     t2,t4,t6
        or      t5,t6,at
        bne     at,stop             # U

loop:   ldq_u   t2,8(a0)            # L
        ldq_u   t4,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5          # ends
        xor     t2,t4,t6
        or      t5,t6,at
        bne     at,stop             # U

        ldq_u   t2,8(a0)            # L
        ldq_u   t4,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5          # ends
        xor     t2,t4,t6
        or      t5,t6,at
        bne     at,stop             # U

        ldq_u   t2,8(a0)            # L
        ldq_u   t4,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5          # ends
        xor     t2,t4,t6
        or      t5,t6,at
        bne     at,stop             # U

        ldq_u   t2,8(a0)            # L
        ldq_u   t4,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5          # ends
        xor     t2,t4,t6
        or      t5,t6,at
        beq     at,loop             # U

        .include compared

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
        lda     t8,-1(zero)
        subq    t6,at,t6            # what both have, 1 to 7

        mskql   t8,t6,at            # U
        addq    a0,t6,a0
        addq    a1,t6,a1
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
        unop
        unop
        unop

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
        beq     at,shift_loop       # U
        unop

        br      stop                # L
        unop
        unop
        unop

shift_end:                          # the string ends in the first of the two quadwords
        extql   t8,a1,t4            # U
        cmpbge  zero,t4,t5
        xor     t2,t4,t6
        br      stop                # L
