# What shared/copy does behind its first fetch block: t1 is the destination's place in a quadword,
# and there are 8 bytes or more.

        lda     a5,24(zero)
        unop
        unop
        bne     t1,copy_ends        # U

        .include copy_quads
        .align 4
copy_ends:
        ldq_u   t2,0(a1)            # L
        ldq_u   t3,7(a1)            # L
        addq    a1,a2,t8
        addq    a0,a2,t9

        ldq_u   t4,-8(t8)           # L
        ldq_u   t5,-1(t8)           # L
        lda     t6,1(a0)
        lda     t7,3(a0)

        extql   t2,a1,t2            # U
        extqh   t3,a1,t3            # U
        andnot  t6,1,t6
        andnot  t7,3,t7

        extql   t4,t8,t4            # U
        extqh   t5,t8,t5            # U
        or      t2,t3,t2            # the first 8 bytes
        subq    t6,a0,t10

        or      t4,t5,t4            # the last 8 bytes
        subq    t7,a0,t11
        stb     t2,0(a0)            # L
        extwl   t2,t10,t10          # U

        extll   t2,t11,t11          # U
        stw     t10,0(t6)           # L
        lda     t6,-2(t9)
        srl     t4,56,t5            # U

        stl     t11,0(t7)           # L
        stb     t5,-1(t9)           # L
        andnot  t6,1,t6
        lda     t7,-4(t9)

        andnot  t7,3,t7
        subq    t6,t9,t10
        extwl   t4,t10,t10          # U
        lda     t0,7(a0)

        subq    t7,t9,t11
        extll   t4,t11,t11          # U
        andnot  t0,7,t0             # the first quadword
        stw     t10,0(t6)           # L

        subq    t0,a0,t1
        stl     t11,0(t7)           # L
        subq    t9,t0,a2
        addq    a1,t1,a1

        mov     t0,a0
        srl     a2,3,t3             # U
        and     a1,7,t1
        clr     t2

        beq     t1,copy_whole       # U
        unop
        unop
        unop

        .include copy_shift
        .align 4
        .include copy_bytes
