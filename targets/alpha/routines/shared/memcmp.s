# The body of memcmp; `.include differ` says what the first byte that differs gives.

memcmp: clr     v0
        beq     a2,same             # U
        ldbu    t2,0(a0)            # L
        ldbu    t4,0(a1)            # L

        subq    t2,t4,v0
        bne     v0,found            # U
        unop
        unop

        cmpult  a2,8,t0
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

        .include found

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
        unop
        unop

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

        .include differ
