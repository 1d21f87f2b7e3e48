# The body of strncmp; `.include compared` says what the first byte that matters gives.

strncmp:
        cmple   a2,8,t0
        lda     t8,-1(zero)
        bne     t0,few              # U
        unop

begin:
        .include first_bytes

        ldbu    at,8(a0)            # L
        ldbu    t0,8(a1)            # L
        xor     a0,a1,t1
        cmpeq   at,t0,v0

        zapnot  at,v0,v0            # U
        and     t1,7,t1
        and     a0,7,t2
        beq     v0,ended            # U

        addq    a2,t2,t2
        srl     t2,3,t10            # U quadwords
        bne     t1,shift            # U
        and     t2,7,a2             # bytes behind them

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

        .include ended

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
        br      begin               # L
        unop
        unop

same:   clr     v0
        ret                         # L
        unop
        unop

few:    blt     a2,huge             # U
        unop
        unop
        unop

few_loop:                           # fewer than nine
        beq     a2,same             # U
        ldbu    at,0(a0)            # L
        ldbu    t0,0(a1)            # L
        subq    a2,1,a2

        subq    at,t0,v0
        lda     a0,1(a0)
        lda     a1,1(a1)
        bne     v0,ended            # U

        bne     at,few_loop            # U
        ret                         # L
        unop
        unop

shift:  and     a0,7,t0
        lda     t6,8(zero)
        subq    t6,t0,t6
        unop

        addq    a0,t6,a0            # a quadword, all in front of which is equal
        addq    a1,t6,a1
        subq    a2,t6,a2
        insqh   t8,a1,t11           # U ones in front of the string

        beq     a2,same             # U
        ldq_u   t8,0(a1)            # L
        srl     a2,3,t10            # U quadwords
        and     a2,7,a2             # bytes behind them

        beq     t10,shift_rest      # U
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
