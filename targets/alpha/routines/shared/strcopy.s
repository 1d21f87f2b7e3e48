# Copies the string a1 with its end to a0; goes on at `done`, which comes next, with a0 behind the
# last byte stored.  Before, the quadword t2 with the first byte is loaded; t11 are ones, t1 is t2
# with ones in front of the string, t0 is zero where both are at the same place of a quadword, t8
# is a0 and 7, at is -t8, t4 is t2 from the string on; where the string ends in t1, control comes to
# `str_first` instead.  Leaves v0; changes a0, a1, t0-t10.
#
# A quadword of the source is loaded only when the string does not end in the one before, and no
# byte of the destination outside is touched.  Up to its first quadword a byte, a word and a
# longword are stored, each at the first place of its size: they overlap, and no branch decides.
# For the last one 4, 2 and 1 bytes are stored.  The mark of the end, one bit of 8, says which
# without being numbered: the bytes up to it are 4 and more under 0xf8, and so on.  The loops take
# six fetch blocks for four quadwords when both are aligned, nine when one is made of two.

        beq     t0,str_same         # U
        ldq_u   t3,7(a1)            # L the same one where a1 is aligned
        and     at,7,t10            # bytes up to a quadword
        lda     t0,3(a0)

        extqh   t3,a1,t9            # U
        beq     t8,str_shift        # U
        or      t4,t9,t2
        and     at,1,t6

        cmpbge  zero,t2,t5
        addq    a1,t10,a1
        and     at,3,at
        bne     t5,str_short        # U

        stb     t2,0(a0)            # L 8 bytes of the string, to an odd place
        extwl   t2,t6,t9            # U
        extll   t2,at,at            # U
        lda     t8,1(a0)

        ldq_u   t3,0(a1)            # L
        insqh   t11,a1,t1            # U
        andnot  t8,1,t8
        andnot  t0,3,t0

        stw     t9,0(t8)            # L
        addq    a0,t10,a0
        or      t1,t3,t1
        extql   t3,a1,t4            # U

        stl     at,0(t0)            # L
        cmpbge  zero,t1,t5
        bne     t5,str_last         # U
        ldq_u   t3,8(a1)            # L

str_shift:                          # t4 and then t3
        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U
        unop

str_shift_loop:
        or      t4,t9,t2
        extql   t3,a1,t4            # U
        ldq_u   t3,16(a1)           # L
        lda     a0,8(a0)

        stq     t2,-8(a0)           # L
        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        or      t4,t9,t2
        extql   t3,a1,t4            # U
        ldq_u   t3,24(a1)           # L
        lda     a0,8(a0)

        stq     t2,-8(a0)           # L
        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        or      t4,t9,t2
        extql   t3,a1,t4            # U
        ldq_u   t3,32(a1)           # L
        lda     a0,8(a0)

        stq     t2,-8(a0)           # L
        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        or      t4,t9,t2
        extql   t3,a1,t4            # U
        ldq_u   t3,40(a1)           # L
        lda     a0,8(a0)

        stq     t2,-8(a0)           # L
        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        lda     a1,32(a1)

        beq     t5,str_shift_loop   # U
        unop
        unop
        unop

        br      str_shift_end       # L
        unop
        unop
        unop

str_same:
        beq     t8,str_loop         # U
        andnot  a0,7,t9
        addq    t8,1,t4
        cmpule  t8,4,at

        extbl   t2,a1,t3            # U
        andnot  a1,7,a1
        and     t4,6,t6
        beq     at,str_high         # U

        stb     t3,0(a0)            # L
        extwl   t2,t6,t5            # U
        srl     t2,32,at            # U
        addq    t9,t6,t6

        stw     t5,0(t6)            # L
        stl     at,4(t9)            # L
        lda     a0,8(t9)
        unop
str_aligned:
        ldq     t2,8(a1)            # L
        lda     a1,8(a1)
        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U

str_loop:
        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        ldq     t2,8(a1)            # L
        cmpbge  zero,t2,t5

        bne     t5,str_tail         # U
        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        ldq     t2,16(a1)           # L

        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U
        stq     t2,0(a0)            # L
        lda     a0,8(a0)

        ldq     t2,24(a1)           # L
        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U
        lda     a1,32(a1)

        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        ldq     t2,0(a1)            # L
        cmpbge  zero,t2,t5

        beq     t5,str_loop         # U
        unop
        unop
        unop

        br      str_tail            # L
        unop
        unop
        unop

str_high:                           # t2 has 1 to 3 bytes for the last places of a quadword
        srl     t4,3,t5             # U
        subq    t4,t5,t5            # the byte behind, or the last one
        extbl   t2,t5,at            # U
        addq    t9,t5,t5

        stb     t3,0(a0)            # L
        srl     t2,56,t2            # U
        stb     at,0(t5)            # L
        lda     a0,8(t9)

        stb     t2,7(t9)            # L
        br      str_aligned         # L
        unop
        unop

str_first:                          # the end is in the first quadword
        extql   t2,a1,t2            # U
        cmpbge  zero,t2,t5
        blbs    t5,str_empty        # U
        beq     t8,str_tail         # U

str_short:                          # t5 marks the end in t2, which goes anywhere
        negq    t5,t6
        and     t5,t6,t5
        and     t5,0xf8,t0
        beq     t0,str_short_2      # U

        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        and     t5,0x80,t6

        stb     t1,1(a0)            # L
        stb     t3,2(a0)            # L
        srl     t2,24,t4            # U
        srl     t2,32,t2            # U

        stb     t4,3(a0)            # L
        lda     a0,4(a0)
        bne     t6,str_short_8      # U
        unop
str_short_2:
        and     t5,0x66,t6
        beq     t6,str_short_1      # U
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U

        stb     t1,1(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
        unop
str_short_1:
        and     t5,0x55,at
        beq     at,done             # U
        stb     t2,0(a0)            # L
        lda     a0,1(a0)

        br      done                # L
        unop
        unop
        unop
str_short_8:
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t3,-2(a0)           # L
        srl     t2,24,t2            # U
        unop

        stb     t2,-1(a0)           # L
        br      done                # L
        unop
        unop

str_empty:
        stb     t2,0(a0)            # L
        lda     a0,1(a0)
        br      done                # L
        unop

str_last:                           # the end is in t3, behind a1
        extql   t3,a1,t2            # U
        cmpbge  zero,t2,t5
        br      str_tail            # L
        unop

str_shift_end:                      # the end is in t3: in what makes this quadword, or behind it
        or      t4,t9,t2
        cmpbge  zero,t2,t5
        extql   t3,a1,t4            # U
        bne     t5,str_tail         # U

        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        mov     t4,t2
        cmpbge  zero,t4,t5

str_tail:                           # t5 marks the end in t2, which goes to an aligned place
        negq    t5,t6
        and     t5,t6,t5
        and     t5,0x80,t0
        bne     t0,str_tail_8       # U

        and     t5,0x78,t1
        and     t5,0x66,t6
        and     t5,0x55,at
        beq     t1,str_tail_2       # U

        stl     t2,0(a0)            # L
        srl     t2,32,t2            # U
        lda     a0,4(a0)
        beq     t6,str_tail_1       # U
str_tail_2:
        beq     t6,str_tail_1       # U
        stw     t2,0(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
str_tail_1:
        beq     at,done             # U
        stb     t2,0(a0)            # L
        lda     a0,1(a0)
        br      done                # L
str_tail_8:
        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        unop
        unop
