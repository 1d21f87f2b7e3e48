# The body of strcmp; `.include compared` says what the first byte that matters gives.

strcmp:
        .include first_bytes

        xor     a0,a1,t0
        and     t0,7,t0
        bne     t0,shift            # U
        unop

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

        .include ended

shift:  and     a0,7,t0
        lda     t6,8(zero)
        lda     t8,-1(zero)
        subq    t6,t0,t6

        addq    a0,t6,a0            # a quadword, all in front of which is equal
        addq    a1,t6,a1
        insqh   t8,a1,t11           # U ones in front of the string
        ldq_u   t8,0(a1)            # L

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
