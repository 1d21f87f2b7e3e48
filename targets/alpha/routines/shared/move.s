# Copies a2 bytes, 8 or more, from a1 to a0, which may overlap; t0 is a0 - a1.  Leaves v0.  Fewer
# are for `copy_bytes`, which loads all before it stores.
#
# Upwards (shared/upwards) unless the destination begins inside the source.  A line may only be given
# up when it holds nothing of the source: where the source begins inside the destination, the
# limit a5 for lines becomes more than there can be.  Downwards everything is as upwards, mirrored,
# without WH64.

        subq    a1,a0,t2
        cmpult  t0,a2,t0            # downwards
        lda     a5,24(zero)
        unop

        cmpult  t2,a2,t3            # overlapping
        sll     t3,60,t3            # U
        addq    a5,t3,a5
        bne     t0,back             # U

        .include upwards
        .align 4
        .include copy_quads
        .align 4
        .include copy_shift
        .align 4
        .include copy_bytes
        .align 4
back:   addq    a0,a2,a0            # behind the last byte
        addq    a1,a2,a1
        mov     a2,t9
        unop

        and     a0,7,t2             # bytes of the end
        subq    a0,t2,a0
        beq     t2,back_aligned     # U
        unop

        ldq_u   t1,-1(a1)           # L
        subq    a1,t2,a1
        subq    t9,t2,t9
        and     t2,4,t5

        ldq_u   t0,0(a1)            # L
        extqh   t1,a1,t1            # U
        and     t2,2,t6
        mov     a0,at

        extql   t0,a1,t0            # U
        or      t0,t1,t0
        beq     t5,back_end_2       # U
        unop

        stl     t0,0(at)            # L
        srl     t0,32,t0            # U
        lda     at,4(at)
        unop
back_end_2:
        beq     t6,back_end_1       # U
        stw     t0,0(at)            # L
        srl     t0,16,t0            # U
        lda     at,2(at)
back_end_1:
        blbc    t2,back_aligned     # U
        stb     t0,0(at)            # L
        unop
        unop

back_aligned:
        and     a1,7,t1
        srl     t9,3,t3             # U quadwords
        and     t9,7,t2             # bytes in front of them
        bne     t1,back_shift       # U

        subq    t3,4,t4
        and     t3,2,t5
        and     t3,1,t6
        blt     t4,back_few         # U

back_32:
        ldq     t0,-8(a1)           # L
        ldq     t1,-16(a1)          # L
        subq    t4,4,t4
        unop

        ldq     t8,-24(a1)          # L
        ldq     t9,-32(a1)          # L
        lda     a0,-32(a0)
        lda     a1,-32(a1)

        stq     t0,24(a0)           # L
        stq     t1,16(a0)           # L
        unop
        unop

        stq     t8,8(a0)            # L
        stq     t9,0(a0)            # L
        unop
        bge     t4,back_32          # U

back_few:
        beq     t5,back_one         # U
        ldq     t0,-8(a1)           # L
        ldq     t1,-16(a1)          # L
        lda     a1,-16(a1)

        stq     t0,-8(a0)           # L
        stq     t1,-16(a0)          # L
        lda     a0,-16(a0)
        unop
back_one:
        beq     t6,back_rest        # U
        ldq     t0,-8(a1)           # L
        lda     a1,-8(a1)
        lda     a0,-8(a0)

        stq     t0,0(a0)            # L
        unop
        unop
        unop

back_rest:                          # the t2 bytes in front, 0 to 7
        subq    a1,t2,a1
        subq    a0,t2,a0
        addq    a1,t2,t3
        beq     t2,back_done        # U

        ldq_u   t0,0(a1)            # L
        ldq_u   t1,-1(t3)           # L
        extql   t0,a1,t0            # U
        extqh   t1,a1,t1            # U

        or      t0,t1,t0
        and     t2,2,t5
        and     t2,4,t6
        blbc    t2,back_rest_2      # U

        stb     t0,0(a0)            # L
        srl     t0,8,t0             # U
        lda     a0,1(a0)
        unop
back_rest_2:
        beq     t5,back_rest_4      # U
        stw     t0,0(a0)            # L
        srl     t0,16,t0            # U
        lda     a0,2(a0)
back_rest_4:
        beq     t6,back_done        # U
        stl     t0,0(a0)            # L
        unop
        unop
back_done:
        ret                         # L
        unop
        unop
        unop

back_shift:
        subq    t3,4,t4
        ldq_u   t0,0(a1)            # L the second of the two that make a quadword
        and     t3,3,t3
        blt     t4,back_shift_few   # U

back_shift_32:
        ldq_u   t1,-8(a1)           # L
        ldq_u   t8,-16(a1)          # L
        extqh   t0,a1,at            # U
        subq    t4,4,t4

        ldq_u   t9,-24(a1)          # L
        ldq_u   t0,-32(a1)          # L
        extql   t1,a1,t11           # U
        extqh   t1,a1,t1            # U

        or      at,t11,at
        lda     a0,-32(a0)
        extql   t8,a1,a3            # U
        extqh   t8,a1,t8            # U

        stq     at,24(a0)           # L
        or      t1,a3,t1
        extql   t9,a1,a4            # U
        extqh   t9,a1,t9            # U

        stq     t1,16(a0)           # L
        or      t8,a4,t8
        extql   t0,a1,t10           # U
        lda     a1,-32(a1)

        stq     t8,8(a0)            # L
        or      t9,t10,t9
        unop
        unop

        stq     t9,0(a0)            # L
        bge     t4,back_shift_32    # U
        unop
        unop

back_shift_few:
        beq     t3,back_rest        # U
        ldq_u   t1,-8(a1)           # L
        extqh   t0,a1,at            # U
        subq    t3,1,t3

        extql   t1,a1,t8            # U
        mov     t1,t0
        lda     a1,-8(a1)
        lda     a0,-8(a0)

        or      at,t8,at
        stq     at,0(a0)            # L
        br      back_shift_few      # L
        unop
