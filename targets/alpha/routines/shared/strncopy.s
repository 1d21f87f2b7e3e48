# Copies the string a1, at most a2 bytes and a2 not zero, to a0, until the end is near.  Before, the
# quadword t2 with the first byte is loaded; t11 are ones, t1 the ones for the bytes in front of the
# string, t0 is -a1, t3 a distance of the two places, t8 is a0 and 7.  Goes on at
#
#   str_end   t2 are the next bytes, for the aligned place a0; t6 is how many may be copied, less 8
#   str_ends  t2 are the first bytes, for the place a0, which is not aligned; a2 as it was
#
# The string ends in t2, or no more than 8 bytes may be copied.  str_ends comes next.  Changes a0-a2
# and t0-t11.
#
# A quadword is loaded only when neither string nor count ends in the one before.  Up to the first
# quadword of the destination a byte, a word and a longword are stored, each at the first place of
# its size: they overlap, and no branch decides.

        or      t1,t2,t1
        and     t0,7,t0
        and     t3,7,t3
        beq     t3,str_same         # U

        cmpbge  zero,t1,t5
        subq    a2,t0,t6            # bytes behind the quadword t2
        extql   t2,a1,t4            # U
        bne     t5,str_first        # U

        ble     t6,str_first        # U
        ldq_u   t3,7(a1)            # L the same one where a1 is aligned
        cmpult  a2,8,t1
        negq    t8,at

        and     at,7,t10            # bytes up to a quadword
        extqh   t3,a1,t9            # U
        beq     t8,str_shift        # U
        lda     t6,3(a0)

        or      t4,t9,t2
        cmpbge  zero,t2,t5
        addq    a1,t10,a1
        and     at,1,t4

        or      t5,t1,t1
        and     at,3,at
        bne     t1,str_ends         # U
        ldq_u   t3,0(a1)            # L

        stb     t2,0(a0)            # L 8 bytes of the string, to an odd place
        extwl   t2,t4,t9            # U
        extll   t2,at,at            # U
        lda     t8,1(a0)

        andnot  t8,1,t8
        insqh   t11,a1,t1            # U
        negq    a1,t0
        subq    a2,t10,a2

        stw     t9,0(t8)            # L
        andnot  t6,3,t6
        or      t1,t3,t1
        and     t0,7,t0

        stl     at,0(t6)            # L
        cmpbge  zero,t1,t5
        subq    a2,t0,t6
        bne     t5,str_last         # U

        ble     t6,str_last         # U
        addq    a0,t10,a0
        extql   t3,a1,t4            # U
        ldq_u   t3,8(a1)            # L

str_shift:                          # t4 and then t3; t6: bytes from t3 on
        cmpbge  zero,t3,t5
        lda     t6,-8(t6)
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

str_shift_loop:
        ble     t6,str_shift_end    # U
        or      t4,t9,t4
        extql   t3,a1,t2            # U
        cmple   t6,32,t11           # the fourth quadword of this pass is the last one

        stq     t4,0(a0)            # L
        ldq_u   t3,16(a1)           # L
        mov     t2,t4
        lda     a0,8(a0)

        cmpbge  zero,t3,t5
        lda     t6,-8(t6)
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        ble     t6,str_shift_end    # U
        or      t4,t9,t4
        extql   t3,a1,t2            # U
        unop

        stq     t4,0(a0)            # L
        ldq_u   t3,24(a1)           # L
        mov     t2,t4
        lda     a0,8(a0)

        cmpbge  zero,t3,t5
        lda     t6,-8(t6)
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        ble     t6,str_shift_end    # U
        or      t4,t9,t4
        extql   t3,a1,t2            # U
        lda     a1,32(a1)

        stq     t4,0(a0)            # L
        ldq_u   t3,0(a1)            # L
        mov     t2,t4
        lda     a0,8(a0)

        cmpbge  zero,t3,t5
        lda     t6,-8(t6)
        extqh   t3,a1,t9            # U
        bne     t5,str_shift_end    # U

        ble     t6,str_shift_end    # U
        or      t4,t9,t4
        extql   t3,a1,t2            # U
        lda     t6,-8(t6)

        stq     t4,0(a0)            # L
        ldq_u   t3,8(a1)            # L
        mov     t2,t4
        lda     a0,8(a0)

        cmpbge  zero,t3,t5
        extqh   t3,a1,t9            # U
        or      t5,t11,t11
        beq     t11,str_shift_loop  # U

str_shift_end:                      # the end is in t3: in what makes this quadword, or behind it
        or      t4,t9,t2
        addq    t6,t0,t6
        cmpbge  zero,t2,t5
        bne     t5,str_end          # U

        ble     t6,str_end          # U
        stq     t2,0(a0)            # L
        extql   t3,a1,t2            # U
        lda     a0,8(a0)

        lda     t6,-8(t6)
        br      str_end             # L
        unop
        unop

str_same:
        cmpbge  zero,t1,t5
        addq    a2,t8,t6
        lda     t6,-8(t6)
        bne     t5,str_first        # U

        beq     t8,str_loop         # U
        andnot  a0,7,t9
        addq    t8,1,t4
        cmpule  t8,4,at

        ble     t6,str_first        # U
        extbl   t2,a1,t3            # U
        andnot  a1,7,a1
        srl     t4,3,t5             # U

        stb     t3,0(a0)            # L
        subq    t4,t5,t5            # the byte behind, or the last one
        and     t4,6,t4
        beq     at,str_high         # U

        extwl   t2,t4,t5            # U
        srl     t2,32,at            # U
        addq    t9,t4,t4
        lda     a0,8(t9)

        stw     t5,0(t4)            # L
        stl     at,4(t9)            # L
        unop
        unop
str_aligned:
        ldq     t2,8(a1)            # L
        lda     a1,8(a1)
        lda     t6,-8(t6)
        unop

        cmpbge  zero,t2,t5
        bne     t5,str_end          # U
        unop
        unop

str_loop:
        ble     t6,str_end          # U
        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)

        cmpbge  zero,t2,t5
        lda     a1,8(a1)
        lda     t6,-8(t6)
        bne     t5,str_end          # U

        ble     t6,str_end          # U
        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)

        cmpbge  zero,t2,t5
        lda     a1,8(a1)
        lda     t6,-8(t6)
        bne     t5,str_end          # U

        ble     t6,str_end          # U
        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)

        cmpbge  zero,t2,t5
        lda     a1,8(a1)
        lda     t6,-8(t6)
        bne     t5,str_end          # U

        ble     t6,str_end          # U
        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)

        cmpbge  zero,t2,t5
        lda     a1,8(a1)
        lda     t6,-8(t6)
        beq     t5,str_loop         # U

        br      str_end             # L
        unop
        unop
        unop

str_high:                           # t2 has 1 to 3 bytes for the last places of a quadword
        extbl   t2,t5,at            # U
        addq    t9,t5,t5
        srl     t2,56,t2            # U
        stb     t2,7(t9)            # L

        stb     at,0(t5)            # L
        lda     a0,8(t9)
        br      str_aligned         # L
        unop

str_last:                           # the end is in t3, behind a1
        extql   t3,a1,t2            # U
        addq    a0,t10,a0
        lda     t6,-8(a2)
        br      str_end             # L

str_first:                          # the end is in the first quadword
        extql   t2,a1,t2            # U
        lda     t6,-8(a2)
        beq     t8,str_end          # U
        unop
