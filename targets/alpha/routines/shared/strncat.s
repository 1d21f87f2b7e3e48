# The end of the destination (shared/strend), and from there on shared/strncopy.  The count is one
# more place where the string may end: its bit is put beside those of the bytes that are zero.  What
# is in front of the first of them is stored by 4, 2 and 1 bytes, and an end behind it.

        mov     a0,v0
        srl     a2,62,t6            # U
        beq     a2,nothing          # U
        unop

        bne     t6,huge             # U
        unop
        unop
        unop
limited:
        .include strend
        ldq_u   t2,0(a1)            # L
        lda     t11,-1(zero)
        .align 4
        addq    at,t3,a0
        insqh   t11,a1,t1            # U
        negq    a1,t0
        mov     t3,t8

        subq    t3,a1,t3
        .align 4
        .include strncopy
str_ends:
        cmpule  a2,8,at
        cmpbge  zero,t2,t5
        sll     at,a2,at            # U
        or      t5,at,t5

        negq    t5,t4
        and     t5,t4,t5
        and     t5,0xf0,at
        and     t5,0xcc,t8

        beq     at,ends_2           # U
        unop
        unop
        unop
ends_4: stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t3,-2(a0)           # L
        srl     t2,24,t4            # U
        srl     t2,32,t2            # U

        stb     t4,-1(a0)           # L
        unop
        unop
        unop
ends_2: and     t5,0xaa,t9
        beq     t8,ends_1           # U
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U

        stb     t1,1(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
        unop
ends_1: beq     t9,ends             # U
        stb     t2,0(a0)            # L
        lda     a0,1(a0)
        unop
ends:   srl     t5,8,t5             # U
        bne     t5,ends_8           # U
        stb     zero,0(a0)          # L
        ret                         # L
ends_8: stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t3,-2(a0)           # L
        srl     t2,24,t4            # U
        srl     t2,32,t2            # U

        stb     t4,-1(a0)           # L
        lda     t5,0x10(zero)       # 4 more
        br      ends_4              # L
        unop

str_end:
        cmpbge  zero,t2,t5
        lda     t8,8(t6)
        lda     at,1(zero)
        bgt     t6,marked           # U

        sll     at,t8,at            # U
        or      t5,at,t5
        unop
        unop
marked: negq    t5,t4
        and     t5,t4,t5
        and     t5,0xf0,at
        and     t5,0xcc,t8

        and     t5,0xaa,t9
        beq     at,end_2            # U
        stl     t2,0(a0)            # L
        lda     a0,4(a0)

        srl     t2,32,t2            # U
        unop
        unop
        unop
end_2:  srl     t5,8,t5             # U
        beq     t8,end_1            # U
        stw     t2,0(a0)            # L
        lda     a0,2(a0)

        srl     t2,16,t2            # U
        unop
        unop
        unop
end_1:  beq     t9,end_0            # U
        stb     t2,0(a0)            # L
        stb     zero,1(a0)          # L
        ret                         # L
end_0:  bne     t5,end_8            # U
        stb     zero,0(a0)          # L
        ret                         # L
        unop
end_8:  stq     t2,0(a0)            # L
        stb     zero,8(a0)          # L
        ret                         # L
        unop

nothing:
        ret                         # L
        unop
        unop
        unop
huge:   lda     a2,-1(zero)         # more than there can be
        srl     a2,2,a2             # U
        br      limited             # L
        unop
