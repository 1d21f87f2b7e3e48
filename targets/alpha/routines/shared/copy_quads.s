# Copies a2 bytes from a1 to a0, which is aligned, upwards; a5 is the number of quadwords from
# which lines are allocated by WH64.  Changes a0-a4, t0-t11, pv.  Goes on at `shift` where the
# source is not aligned.
#
# 1 to 3 quadwords are three loads and three stores, 4 to 8 eight of each, which overlap: nothing
# has to be decided, and all are loaded before the first is stored.  Loads come in the order in which
# their addresses are known: of two of the same place the younger must not issue first (a trap).  Loads and stores are in
# different fetch blocks.  WH64 is two lines ahead, stops at the last line, and comes first in an
# iteration, so that no line is given up after a store to it; the source is prefetched four lines
# ahead.  A tail of less than 8 bytes is stored as 4, 2 and 1 by the bits of the count.

copy_aligned:
        and     a1,7,t1
        srl     a2,3,t3             # U quadwords
        and     a2,7,t2             # bytes behind them
        bne     t1,shift            # U
copy_whole:
        cmpule  t3,3,t0
        s8addq  t3,a1,a3            # behind the quadwords
        srl     t3,1,t6             # U
        beq     t0,copy_many        # U

        beq     t3,copy_rest        # U
        s8addq  t6,a1,at
        s8addq  t6,a0,t6
        s8addq  t3,a0,a4

        ldq     t0,0(a1)            # L
        ldq     t8,-8(a3)           # L
        unop
        unop

        ldq     t1,0(at)            # L
        mov     a3,a1
        stq     t0,0(a0)            # L
        unop

        stq     t1,0(t6)            # L
        stq     t8,-8(a4)           # L
        mov     a4,a0
        unop

copy_rest:
        bne     t2,copy_part        # U
        ret                         # L
        unop
        unop

copy_many:
        subq    t3,a5,t4
        cmpule  t3,8,t5
        s8addq  t3,a1,a3
        bge     t4,copy_long        # U

        beq     t5,copy_short       # U
        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        s8addq  t3,a0,a4

        ldq     t8,16(a1)           # L
        ldq     t9,24(a1)           # L
        unop
        unop

        ldq     t10,-32(a3)         # L
        ldq     t11,-24(a3)         # L
        mov     a3,a1
        unop

        ldq     t6,-16(a3)          # L
        ldq     at,-8(a3)           # L
        unop
        unop

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        unop
        unop

        stq     t8,16(a0)           # L
        stq     t9,24(a0)           # L
        mov     a4,a0
        unop

        stq     t10,-32(a4)         # L
        stq     t11,-24(a4)         # L
        unop
        unop

        stq     t6,-16(a4)          # L
        stq     at,-8(a4)           # L
        bne     t2,copy_part        # U
        ret                         # L

copy_long:                          # eight, of which some are copied again as a line
        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        lda     t4,63(a0)
        unop

        ldq     t8,16(a1)           # L
        ldq     t9,24(a1)           # L
        andnot  t4,63,t4
        unop

        ldq     t10,32(a1)          # L
        ldq     t11,40(a1)          # L
        subq    t4,a0,t5
        unop

        ldq     a3,48(a1)           # L
        ldq     a4,56(a1)           # L
        srl     t5,3,t6             # U
        addq    a1,t5,a1

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        subq    t3,t6,t3
        unop

        stq     t8,16(a0)           # L
        stq     t9,24(a0)           # L
        unop
        unop

        stq     t10,32(a0)          # L
        stq     t11,40(a0)          # L
        unop
        unop

        stq     a3,48(a0)           # L
        stq     a4,56(a0)           # L
        mov     t4,a0
        unop

copy_lines:
        srl     t3,3,t4             # U lines
        sll     t3,3,t5             # U
        wh64    (a0)                # L
        lda     t6,64(a0)

        addq    a0,t5,t5
        and     t3,7,t3             # quadwords behind the lines
        lda     t5,-64(t5)
        bic     t5,63,t5            # the last line

copy_64:
        wh64    (t6)                # L
        ldl     zero,256(a1)        # L prefetch
        cmpult  t6,t5,at
        subq    t4,1,t4

        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        sll     at,6,at             # U
        unop

        ldq     t8,16(a1)           # L
        ldq     t9,24(a1)           # L
        addq    t6,at,t6
        unop

        ldq     t10,32(a1)          # L
        ldq     t11,40(a1)          # L
        unop
        unop

        ldq     a3,48(a1)           # L
        ldq     a4,56(a1)           # L
        lda     a1,64(a1)
        unop

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        unop
        unop

        stq     t8,16(a0)           # L
        stq     t9,24(a0)           # L
        unop
        unop

        stq     t10,32(a0)          # L
        stq     t11,40(a0)          # L
        lda     a0,64(a0)
        unop

        stq     a3,-16(a0)          # L
        stq     a4,-8(a0)           # L
        unop
        bne     t4,copy_64          # U

copy_short:
        subq    t3,4,t4
        and     t3,2,t5
        and     t3,1,t6
        blt     t4,copy_few         # U

copy_32:
        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        subq    t4,4,t4
        unop

        ldq     t8,16(a1)           # L
        ldq     t9,24(a1)           # L
        lda     a0,32(a0)
        lda     a1,32(a1)

        stq     t0,-32(a0)          # L
        stq     t1,-24(a0)          # L
        unop
        unop

        stq     t8,-16(a0)          # L
        stq     t9,-8(a0)           # L
        unop
        bge     t4,copy_32          # U

copy_few:
        beq     t5,copy_one         # U
        ldq     t0,0(a1)            # L
        ldq     t1,8(a1)            # L
        lda     a1,16(a1)

        stq     t0,0(a0)            # L
        stq     t1,8(a0)            # L
        lda     a0,16(a0)
        unop
copy_one:
        beq     t6,copy_rest        # U
        ldq     t0,0(a1)            # L
        lda     a1,8(a1)
        lda     a0,8(a0)

        stq     t0,-8(a0)           # L
        bne     t2,copy_part        # U
        ret                         # L
        unop

copy_part:
        ldq     t0,0(a1)            # L
        and     t2,4,t5
        and     t2,2,t6
        beq     t5,copy_tail_2      # U

        stl     t0,0(a0)            # L
        srl     t0,32,t0            # U
        lda     a0,4(a0)
        br      copy_tail_2         # L

copy_tail:                          # the low t2 bytes of t0, 1 to 7
        and     t2,4,t5
        and     t2,2,t6
        beq     t5,copy_tail_2      # U
        unop

        stl     t0,0(a0)            # L
        srl     t0,32,t0            # U
        lda     a0,4(a0)
        unop
copy_tail_2:
        beq     t6,copy_tail_1      # U
        stw     t0,0(a0)            # L
        srl     t0,16,t0            # U
        lda     a0,2(a0)
copy_tail_1:
        blbc    t2,copy_end         # U
        stb     t0,0(a0)            # L
        ret                         # L
        unop
copy_end:
        ret                         # L
        unop
        unop
        unop
