# Copies t3 quadwords and t2 bytes from a1, which is not aligned, to a0, which is, upwards; see
# shared/copy_quads.
#
# Each quadword is made of two (EXTQL, EXTQH), of which one is kept; 1 to 3 are three, which
# overlap.  Lines pay later than where the source is aligned.

shift:  ldq_u   t0,0(a1)            # L the first of the two that make a quadword
        addq    a5,a5,t5
        subq    t3,4,t4
        blt     t4,shift_few        # U

        subq    t3,t5,t5
        unop
        unop
        bge     t5,shift_long       # U

shift_32:
        ldq_u   t1,8(a1)            # L
        ldq_u   t8,16(a1)           # L
        extql   t0,a1,at            # U
        subq    t4,4,t4

        ldq_u   t9,24(a1)           # L
        ldq_u   t0,32(a1)           # L
        extqh   t1,a1,t11           # U
        extql   t1,a1,t1            # U

        or      at,t11,at
        lda     a0,32(a0)
        extqh   t8,a1,a3            # U
        extql   t8,a1,t8            # U

        stq     at,-32(a0)          # L
        or      t1,a3,t1
        extqh   t9,a1,a4            # U
        extql   t9,a1,t9            # U

        stq     t1,-24(a0)          # L
        or      t8,a4,t8
        extqh   t0,a1,t10           # U
        lda     a1,32(a1)

        stq     t8,-16(a0)          # L
        or      t9,t10,t9
        and     t3,3,t3
        unop

        stq     t9,-8(a0)           # L
        bge     t4,shift_32         # U
        unop
        unop

shift_few:                          # three, which are the same where there are fewer
        s8addq  t3,a1,a3
        s8addq  t3,a0,a4
        srl     t3,1,t6             # U
        beq     t3,shift_rest       # U

        ldq_u   t1,8(a1)            # L
        s8addq  t6,a1,at
        extql   t0,a1,t4            # U
        s8addq  t6,a0,t6

        ldq_u   t10,-8(a3)          # L
        ldq_u   t0,0(a3)            # L
        extqh   t1,a1,t1            # U
        unop

        ldq_u   t8,0(at)            # L
        ldq_u   t9,8(at)            # L
        extql   t10,a1,t10          # U
        extqh   t0,a1,t11           # U

        or      t4,t1,t4
        extql   t8,a1,t8            # U
        extqh   t9,a1,t9            # U
        or      t8,t9,t8

        stq     t4,0(a0)            # L
        or      t10,t11,t10
        mov     a3,a1
        mov     a4,a0

        stq     t8,0(t6)            # L
        stq     t10,-8(a4)          # L
        unop
        unop

shift_rest:
        addq    a1,t2,t3
        extql   t0,a1,t0            # U
        bne     t2,shift_part       # U
        ret                         # L

shift_part:
        ldq_u   t1,-1(t3)           # L
        extqh   t1,a1,t1            # U
        or      t0,t1,t0
        br      copy_tail           # L

shift_long:
        and     a0,56,t1
        beq     t1,shift_lines      # U
        unop
        unop

shift_line:
        ldq_u   t1,8(a1)            # L
        extql   t0,a1,at            # U
        lda     a0,8(a0)
        subq    t3,1,t3

        extqh   t1,a1,t8            # U
        mov     t1,t0
        lda     a1,8(a1)
        unop

        or      at,t8,at
        and     a0,56,t1
        unop
        unop

        stq     at,-8(a0)           # L
        bne     t1,shift_line       # U
        unop
        unop

shift_lines:
        srl     t3,3,t4             # U lines
        sll     t3,3,t5             # U
        wh64    (a0)                # L
        lda     t6,64(a0)

        addq    a0,t5,t5
        and     t3,7,t3             # quadwords behind the lines
        lda     t5,-64(t5)
        bic     t5,63,t5            # the last line

shift_64:
        wh64    (t6)                # L
        ldl     zero,256(a1)        # L prefetch
        cmpult  t6,t5,pv
        extql   t0,a1,at            # U

        ldq_u   t1,8(a1)            # L
        ldq_u   t8,16(a1)           # L
        sll     pv,6,pv             # U
        subq    t4,1,t4

        ldq_u   t9,24(a1)           # L
        ldq_u   t0,32(a1)           # L
        extqh   t1,a1,t11           # U
        extql   t1,a1,t1            # U

        or      at,t11,at
        addq    t6,pv,t6
        extqh   t8,a1,a3            # U
        extql   t8,a1,t8            # U

        stq     at,0(a0)            # L
        or      t1,a3,t1
        extqh   t9,a1,a4            # U
        extql   t9,a1,t9            # U

        stq     t1,8(a0)            # L
        or      t8,a4,t8
        extqh   t0,a1,t10           # U
        extql   t0,a1,at            # U

        stq     t8,16(a0)           # L
        or      t9,t10,t9
        ldq_u   t1,40(a1)           # L
        unop

        stq     t9,24(a0)           # L
        ldq_u   t8,48(a1)           # L
        unop
        unop

        ldq_u   t9,56(a1)           # L
        ldq_u   t0,64(a1)           # L
        extqh   t1,a1,t11           # U
        extql   t1,a1,t1            # U

        or      at,t11,at
        lda     a0,64(a0)
        extqh   t8,a1,a3            # U
        extql   t8,a1,t8            # U

        stq     at,-32(a0)          # L
        or      t1,a3,t1
        extqh   t9,a1,a4            # U
        extql   t9,a1,t9            # U

        stq     t1,-24(a0)          # L
        or      t8,a4,t8
        extqh   t0,a1,t10           # U
        lda     a1,64(a1)

        stq     t8,-16(a0)          # L
        or      t9,t10,t9
        unop
        unop

        stq     t9,-8(a0)           # L
        bne     t4,shift_64         # U
        unop
        unop

        subq    t3,4,t4
        bge     t4,shift_32         # U
        br      shift_few           # L
        unop
