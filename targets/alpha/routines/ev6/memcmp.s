# memcmp: a0, a1 bytes, a2 count; v0 less than, equal to or greater than zero.
#
# The first 8 bytes are compared wherever they lie, so that the first operand can go on at its next
# quadword; the last 8 again wherever they lie, some of them a second time.  Two fetch blocks for a
# quadword when both are aligned, three when the second is made of two quadwords, of which one is
# kept.  Fewer than 8 bytes are two quadwords and a mask.  The first difference is isolated as a
# bit of CMPBGE's mask and ZAPNOT keeps that byte of both: no bit need be numbered.

memcmp: cmpult  a2,8,t0
        and     a0,7,t1
        lda     t6,8(zero)
        bne     t0,small            # U

        ldq_u   t2,0(a0)            # L
        ldq_u   t3,7(a0)            # L
        subq    t6,t1,t6            # bytes up to a quadword
        unop

        ldq_u   t4,0(a1)            # L
        ldq_u   t5,7(a1)            # L
        extql   t2,a0,t2            # U
        extqh   t3,a0,t3            # U

        extql   t4,a1,t4            # U
        extqh   t5,a1,t5            # U
        or      t2,t3,t2
        addq    a0,t6,a0

        or      t4,t5,t4
        addq    a1,t6,a1
        xor     t2,t4,t5
        bne     t5,differ           # U

        subq    a2,t6,a2
        and     a1,7,t1
        srl     a2,3,t3             # U quadwords
        and     a2,7,a2             # bytes behind them

        bne     t1,shift            # U
        unop
        unop
        unop

        beq     t3,last             # U
        unop
        unop
        unop

loop:   ldq     t2,0(a0)            # L
        ldq     t4,0(a1)            # L
        xor     t2,t4,t5
        bne     t5,differ           # U

        subq    t3,1,t3
        lda     a0,8(a0)
        lda     a1,8(a1)
        beq     t3,last             # U

        ldq     t2,0(a0)            # L
        ldq     t4,0(a1)            # L
        xor     t2,t4,t5
        bne     t5,differ           # U

        subq    t3,1,t3
        lda     a0,8(a0)
        lda     a1,8(a1)
        beq     t3,last             # U

        ldq     t2,0(a0)            # L
        ldq     t4,0(a1)            # L
        xor     t2,t4,t5
        bne     t5,differ           # U

        subq    t3,1,t3
        lda     a0,8(a0)
        lda     a1,8(a1)
        beq     t3,last             # U

        ldq     t2,0(a0)            # L
        ldq     t4,0(a1)            # L
        xor     t2,t4,t5
        bne     t5,differ           # U

        subq    t3,1,t3
        lda     a0,8(a0)
        lda     a1,8(a1)
        bne     t3,loop             # U

last:   addq    a0,a2,a0
        addq    a1,a2,a1
        clr     v0
        beq     a2,same             # U

        ldq_u   t2,-8(a0)           # L
        ldq_u   t3,-1(a0)           # L
        unop
        unop

        ldq_u   t4,-8(a1)           # L
        ldq_u   t5,-1(a1)           # L
        extql   t2,a0,t2            # U
        extqh   t3,a0,t3            # U

        extql   t4,a1,t4            # U
        extqh   t5,a1,t5            # U
        or      t2,t3,t2
        or      t4,t5,t4

        xor     t2,t4,t5
        bne     t5,differ           # U
        unop
        unop

same:   ret                         # L
        unop
        unop
        unop

shift:  ldq_u   t0,0(a1)            # L the first of the two that make a quadword
        srl     t3,1,t11            # U pairs
        blbc    t3,shift_even       # U
        unop

        ldq     t2,0(a0)            # L
        ldq_u   t5,8(a1)            # L
        extql   t0,a1,at            # U
        lda     a0,8(a0)

        extqh   t5,a1,t8            # U
        mov     t5,t0
        or      at,t8,t4
        lda     a1,8(a1)

        xor     t2,t4,t5
        bne     t5,differ           # U
        unop
        unop

shift_even:
        beq     t11,last            # U
        unop
        unop
        unop

shift_loop:
        ldq     t2,0(a0)            # L
        ldq_u   t5,8(a1)            # L
        extql   t0,a1,at            # U
        subq    t11,1,t11

        ldq     t6,8(a0)            # L
        ldq_u   t0,16(a1)           # L
        extqh   t5,a1,t8            # U
        extql   t5,a1,t9            # U

        or      at,t8,t4
        lda     a0,16(a0)
        extqh   t0,a1,t10           # U
        lda     a1,16(a1)

        xor     t2,t4,t5
        or      t9,t10,t9
        bne     t5,differ           # U
        unop

        xor     t6,t9,t5
        mov     t6,t2
        mov     t9,t4
        bne     t5,differ           # U

        bne     t11,shift_loop      # U
        unop
        unop
        unop

        br      last                # L
        unop
        unop
        unop

small:  addq    a0,a2,t6
        addq    a1,a2,at
        clr     v0
        beq     a2,same             # U

        ldq_u   t2,0(a0)            # L
        ldq_u   t3,-1(t6)           # L
        extql   t2,a0,t2            # U
        extqh   t3,a0,t3            # U

        ldq_u   t4,0(a1)            # L
        ldq_u   t5,-1(at)           # L
        extql   t4,a1,t4            # U
        extqh   t5,a1,t5            # U

        or      t2,t3,t2
        or      t4,t5,t4
        mskql   t2,a2,t2            # U
        mskql   t4,a2,t4            # U

        xor     t2,t4,t5
        beq     t5,same             # U
        unop
        unop

differ: cmpbge  zero,t5,t6          # bytes that are equal
        addq    t6,1,at
        andnot  at,t6,at            # the first that is not
        unop

        zapnot  t2,at,t2            # U
        zapnot  t4,at,t4            # U
        cmpult  t4,t2,t0
        cmpult  t2,t4,t1

        subq    t0,t1,v0
        ret                         # L
