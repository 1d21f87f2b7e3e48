# The parts of shared/copy_on for less than 32 bytes, and for ends that are not aligned.
#
# copy_31 copies 8 to 31 bytes to a0, which is aligned: t0 is the source's first quadword, t1 the
# place of the source in it, t2 the number of bytes behind quadwords, t5 is set for less than 16,
# and t8 is the source's end.

copy_31:
        ldq_u   t3,7(a1)            # L
        ldq_u   a5,-8(t8)           # L
        addq    a0,a2,t9
        bne     t5,copy_16          # U

        ldq_u   t4,15(a1)           # L
        subq    t8,t2,a3
        subq    t9,t2,a4
        bne     t1,copy_shifted     # U

        ldq     t6,-8(a3)           # L
        stq     t0,0(a0)            # L
        unop
        unop

        stq     t4,8(a0)            # L
        stq     t6,-8(a4)           # L
        bne     t2,copy_last        # U
        ret                         # L

copy_shifted:
        ldq_u   t6,-8(a3)           # L
        ldq_u   at,-1(a3)           # L
        extql   t0,a1,t0            # U
        extqh   t3,a1,t10           # U

        extql   t3,a1,t3            # U
        extqh   t4,a1,t4            # U
        or      t0,t10,t0
        stq     t0,0(a0)            # L

        extql   t6,a1,t6            # U
        extqh   at,a1,at            # U
        or      t3,t4,t3
        stq     t3,8(a0)            # L

        or      t6,at,t6
        stq     t6,-8(a4)           # L
        bne     t2,copy_last        # U
        ret                         # L

copy_last:                          # less than 8 bytes in front of t9; a5 as below
        ldq_u   t5,-1(t8)           # L
        lda     t6,-2(t9)
        lda     at,-4(t9)
        br      copy_last_8         # L

copy_16:
        ldq_u   t5,-1(t8)           # L
        extql   t0,a1,t0            # U
        extqh   t3,a1,t3            # U
        beq     t2,copy_8           # U

        lda     t6,-2(t9)
        lda     at,-4(t9)
        or      t0,t3,t0
        stq     t0,0(a0)            # L

copy_last_8:                        # a5 and t5 hold the last 8 bytes
        extql   a5,t8,a5            # U
        extqh   t5,t8,t5            # U
        andnot  t6,1,t6
        andnot  at,3,at

        or      a5,t5,a5
        subq    t6,t9,t11
        subq    at,t9,pv
        srl     t5,56,t10           # U

        extwl   a5,t11,t11          # U
        extll   a5,pv,pv            # U
        stb     t10,-1(t9)          # L
        unop

        stw     t11,0(t6)           # L
        stl     pv,0(at)            # L
        ret                         # L
        unop

copy_8: or      t0,t3,t0
        stq     t0,0(a0)            # L
        ret                         # L
        unop

copy_inner:                         # 1 to 3 quadwords, a2 bytes, from anywhere
        ldq_u   t0,0(a1)            # L
        ldq_u   t3,7(a1)            # L
        addq    a1,a2,a3
        addq    a0,a2,a4

        ldq_u   t6,-8(a3)           # L
        ldq_u   at,-1(a3)           # L
        cmpule  a2,16,t5
        bne     t5,copy_inner_2     # U

        ldq_u   t4,8(a1)            # L
        ldq_u   t5,15(a1)           # L
        unop
        unop

        extql   t4,a1,t4            # U
        extqh   t5,a1,t5            # U
        or      t4,t5,t4
        stq     t4,8(a0)            # L

copy_inner_2:
        extql   t0,a1,t0            # U
        extqh   t3,a1,t3            # U
        or      t0,t3,t0
        stq     t0,0(a0)            # L

        extql   t6,a1,t6            # U
        extqh   at,a1,at            # U
        or      t6,at,t6
        stq     t6,-8(a4)           # L

        ret                         # L
        unop
        unop
        unop

copy_singly:                        # 8 to 15: the first 8 or 12 and the last 3; t6 is set for less than 12
        ldbu    t0,0(a1)            # L
        ldbu    t1,1(a1)            # L
        ldbu    t2,2(a1)            # L
        ldbu    t3,3(a1)            # L

        ldbu    t4,4(a1)            # L
        ldbu    t5,5(a1)            # L
        ldbu    at,6(a1)            # L
        ldbu    t10,7(a1)           # L

        ldbu    t11,-3(t8)          # L
        ldbu    a3,-2(t8)           # L
        ldbu    a4,-1(t8)           # L
        bne     t6,copy_11          # U

        ldbu    a5,8(a1)            # L
        ldbu    a2,9(a1)            # L
        ldbu    pv,10(a1)           # L
        ldbu    t6,11(a1)           # L

        stb     a5,8(a0)            # L
        stb     a2,9(a0)            # L
        stb     pv,10(a0)           # L
        stb     t6,11(a0)           # L

copy_11:
        stb     t0,0(a0)            # L
        stb     t1,1(a0)            # L
        stb     t2,2(a0)            # L
        stb     t3,3(a0)            # L

        stb     t4,4(a0)            # L
        stb     t5,5(a0)            # L
        stb     at,6(a0)            # L
        stb     t10,7(a0)           # L

        stb     t11,-3(t9)          # L
        stb     a3,-2(t9)           # L
        stb     a4,-1(t9)           # L
        ret                         # L

copy_ends:                          # 8 or more to where no quadword begins
        addq    a1,a2,t8
        addq    a0,a2,t9
        cmpult  a2,12,t6
        bne     t5,copy_singly      # U

        ldq_u   t2,0(a1)            # L
        ldq_u   t5,7(a1)            # L
        subq    zero,a0,t0
        and     a0,1,t10

        ldq_u   pv,-8(t8)           # L
        ldq_u   a3,-1(t8)           # L
        and     t0,3,t11
        and     t0,7,t0             # bytes in front of the first quadword

        extql   t2,a1,t2            # U
        extqh   t5,a1,t5            # U
        addq    a0,t10,t6
        addq    a0,t11,at

        extql   pv,t8,pv            # U
        extqh   a3,t8,a3            # U
        or      t2,t5,t2            # the first 8 bytes
        addq    a0,t0,a4

        stb     t2,0(a0)            # L
        extwl   t2,t10,t10          # U
        extll   t2,t11,t11          # U
        subq    t9,a4,a2

        stw     t10,0(t6)           # L
        stl     t11,0(at)           # L
        andnot  a2,7,a2
        srl     a3,56,t5            # U

        lda     t6,-2(t9)
        lda     at,-4(t9)
        or      pv,a3,pv            # the last 8 bytes
        stb     t5,-1(t9)           # L

        andnot  t6,1,t6
        andnot  at,3,at
        addq    a1,t0,a1
        mov     a4,a0

        subq    t6,t9,t10
        subq    at,t9,t11
        extwl   pv,t10,t10          # U
        extll   pv,t11,t11          # U

        stw     t10,0(t6)           # L
        stl     t11,0(at)           # L
        lda     a5,24(zero)
        bne     t3,copy_inner       # U
