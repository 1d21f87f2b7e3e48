# Copies the string a1 with its end to a0; goes on at `done` with a0 behind the last byte stored.
# Leaves v0; changes a0, a1, t0-t8.
#
# A quadword of the source is loaded only when the string does not end in the one before, and no
# byte of the destination outside is touched: up to its first quadword, and for the last one, 1, 2
# and 4 bytes are stored.  The mark of the end, one bit of 8, says which without being numbered:
# the bytes up to it are 4 and more under 0xf8, and so on.  The loops take two fetch blocks for a
# quadword when both are aligned, three when one of the source is made of two.

        ldq_u   t2,0(a1)            # L
        lda     t1,-1(zero)
        insqh   t1,a1,t1            # U ones in front of the string
        and     a0,7,t8

        or      t1,t2,t1
        cmpbge  zero,t1,t5
        and     a1,7,t0
        bne     t5,str_first        # U

        ldq_u   t3,8(a1)            # L
        beq     t8,str_aligned      # U
        unop
        unop

        extql   t2,a1,t2            # U
        beq     t0,str_head         # U
        unop
        unop

        extqh   t3,a1,t3            # U
        or      t2,t3,t2
        unop
        unop

str_head:                           # 8 bytes of the string, to an odd place
        cmpbge  zero,t2,t5
        lda     t6,8(zero)
        subq    t6,t8,t6            # bytes up to a quadword, 1 to 7
        bne     t5,str_short        # U

        and     t6,2,t7
        and     t6,4,t8
        addq    a1,t6,a1
        blbc    t6,str_head_2       # U

        stb     t2,0(a0)            # L
        srl     t2,8,t2             # U
        lda     a0,1(a0)
        unop
str_head_2:
        beq     t7,str_head_4       # U
        stw     t2,0(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
str_head_4:
        beq     t8,str_on           # U
        stl     t2,0(a0)            # L
        lda     a0,4(a0)
        unop

str_on: ldq_u   t2,0(a1)            # L
        lda     t1,-1(zero)
        insqh   t1,a1,t1            # U
        and     a1,7,t0

        or      t1,t2,t1
        cmpbge  zero,t1,t5
        bne     t5,str_last         # U
        unop

str_aligned:                        # no end in the quadword t2 that holds a1
        bne     t0,str_shift        # U
        unop
        unop
        unop

str_loop:
        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U
        unop
        unop

        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U
        unop
        unop

        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U
        unop
        unop

        stq     t2,0(a0)            # L
        ldq     t2,8(a1)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)

        cmpbge  zero,t2,t5
        beq     t5,str_loop         # U
        unop
        unop

str_first:                          # the end is in the first quadword
        extql   t2,a1,t2            # U
        cmpbge  zero,t2,t5
        bne     t8,str_short        # U
        unop

str_tail:                           # t5 marks the end in t2, which goes to an aligned place
        negq    t5,t6
        and     t5,t6,t5
        and     t5,0x80,t0
        and     t5,0x78,t1

        and     t5,0x66,t6
        and     t5,0x55,t7
        bne     t0,str_tail_8       # U
        unop

        beq     t1,str_tail_2       # U
        stl     t2,0(a0)            # L
        srl     t2,32,t2            # U
        lda     a0,4(a0)
str_tail_2:
        beq     t6,str_tail_1       # U
        stw     t2,0(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
str_tail_1:
        beq     t7,done             # U
        stb     t2,0(a0)            # L
        lda     a0,1(a0)
        unop

        br      done                # L
        unop
        unop
        unop

str_shift:
        ldq_u   t3,8(a1)            # L
        extql   t2,a1,t4            # U
        cmpbge  zero,t3,t5
        bne     t5,str_shift_end    # U

str_shift_loop:
        extqh   t3,a1,t6            # U
        mov     t3,t2
        ldq_u   t3,16(a1)           # L
        or      t4,t6,t4

        stq     t4,0(a0)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)
        unop

        extql   t2,a1,t4            # U
        cmpbge  zero,t3,t5
        bne     t5,str_shift_end    # U
        unop

        extqh   t3,a1,t6            # U
        mov     t3,t2
        ldq_u   t3,16(a1)           # L
        or      t4,t6,t4

        stq     t4,0(a0)            # L
        lda     a0,8(a0)
        lda     a1,8(a1)
        unop

        extql   t2,a1,t4            # U
        cmpbge  zero,t3,t5
        beq     t5,str_shift_loop   # U
        unop

str_shift_end:                      # the end is in t3: in what makes this quadword, or behind it
        extqh   t3,a1,t6            # U
        or      t4,t6,t2
        cmpbge  zero,t2,t5
        bne     t5,str_tail         # U

        stq     t2,0(a0)            # L
        extql   t3,a1,t2            # U
        lda     a0,8(a0)
        unop

        cmpbge  zero,t2,t5
        br      str_tail            # L
        unop
        unop

str_last:                           # the end is in t2, behind a1
        extql   t2,a1,t2            # U
        cmpbge  zero,t2,t5
        br      str_tail            # L
        unop

str_tail_8:
        stq     t2,0(a0)            # L
        lda     a0,8(a0)
        br      done                # L
        unop

str_short:                          # t5 marks the end in t2, which goes anywhere
        negq    t5,t6
        and     t5,t6,t5
        and     t5,0xf8,t0
        and     t5,0x66,t6

        and     t5,0x55,t7
        and     t5,0x80,t5
        beq     t0,str_short_2      # U
        unop

        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t3,-2(a0)           # L
        srl     t2,24,t1            # U
        srl     t2,32,t2            # U

        stb     t1,-1(a0)           # L
        beq     t5,str_short_2      # U
        unop
        unop

        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        srl     t2,16,t3            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t3,-2(a0)           # L
        srl     t2,24,t1            # U
        unop

        stb     t1,-1(a0)           # L
        br      done                # L
        unop
        unop
str_short_2:
        beq     t6,str_short_1      # U
        stb     t2,0(a0)            # L
        srl     t2,8,t1             # U
        lda     a0,2(a0)

        stb     t1,-1(a0)           # L
        srl     t2,16,t2            # U
        unop
        unop
str_short_1:
        beq     t7,done             # U
        stb     t2,0(a0)            # L
        lda     a0,1(a0)
        unop
