# strncpy: a0 destination, a1 string, a2 count; v0 destination.
#
# One pass: shared/strncopy, and at the end of the string what is behind it in its quadword becomes
# zero.  Of the rest of the count, quadwords of zero by ones, or by shared/fill if they are many.

strncpy:
        mov     a0,v0
        beq     a2,nothing          # U
        ldq_u   t2,0(a1)            # L
        lda     t11,-1(zero)

        subq    a0,a1,t3
        insqh   t11,a1,t1            # U
        negq    a1,t0
        and     a0,7,t8

        .include strncopy

str_ends:
        cmpbge  zero,t2,t5
        and     a2,4,at
        and     a2,2,t8
        cmpult  a2,8,t9

        subq    t5,1,t4
        andnot  t4,t5,t4
        zapnot  t2,t4,t2            # U
        beq     t9,wide             # U

        beq     at,few_2            # U
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U

        stb     t1,1(a0)            # L
        stb     t3,2(a0)            # L
        srl     t2,24,t4            # U
        srl     t2,32,t2            # U

        stb     t4,3(a0)            # L
        lda     a0,4(a0)
        unop
        unop
few_2:  beq     t8,few_1            # U
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        lda     a0,2(a0)

        stb     t1,-1(a0)           # L
        srl     t2,16,t2            # U
        unop
        unop
few_1:  blbc    a2,nothing          # U
        stb     t2,0(a0)            # L
        ret                         # L
        unop

wide:   negq    a0,at               # 8 bytes and more: as in shared/strncopy, then zero
        lda     t4,1(a0)
        lda     t6,3(a0)
        stb     t2,0(a0)            # L

        and     at,1,t8
        and     at,3,t9
        and     at,7,t10
        andnot  t4,1,t4

        extwl   t2,t8,t8            # U
        extll   t2,t9,t9            # U
        andnot  t6,3,t6
        addq    a0,t10,a0

        stw     t8,0(t4)            # L
        stl     t9,0(t6)            # L
        subq    a2,t10,a2
        extql   t2,at,t2            # U

        lda     t6,-8(a2)
        unop
        unop
        unop
str_end:
        cmpbge  zero,t2,t5
        and     t6,4,at
        and     t6,6,t8
        and     t6,2,t9

        subq    t5,1,t4
        andnot  t4,t5,t4            # the bytes in front of the end
        zapnot  t2,t4,t2            # U
        blt     t6,part             # U

        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        clr     t2
        beq     t6,nothing          # U

        lda     t5,-8(t6)
        lda     t4,-256(t6)
        blt     t5,part             # U
        unop

        bge     t4,lines            # U
        unop
        unop
        unop
more:   stq     zero,0(a0)          # L
        lda     a0,8(a0)
        lda     t5,-8(t5)
        bge     t5,more             # U

part:                               # t6 and 7 bytes of t2
        extwl   t2,at,t10           # U
        addq    a0,at,t11
        beq     at,part_2           # U
        stl     t2,0(a0)            # L
part_2: extbl   t2,t8,t3            # U
        addq    a0,t8,t4
        beq     t9,part_1           # U
        stw     t10,0(t11)          # L
part_1: blbc    t6,nothing          # U
        stb     t3,0(t4)            # L
        ret                         # L
        unop

nothing:
        ret                         # L
        unop
        unop
        unop

lines:  mov     t6,a2
        clr     a1
        and     a0,7,t2
        unop

        .include fill
