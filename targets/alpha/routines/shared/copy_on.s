# What shared/copy does behind its first fetch block: t4 is the destination's place in a quadword,
# and there are 8 bytes or more.

        cmpult  a2,16,t5
        cmpult  a2,32,t3
        and     a1,7,t1
        bne     t4,copy_ends        # U

        ldq_u   t0,0(a1)            # L
        and     a2,7,t2             # bytes behind quadwords
        addq    a1,a2,t8
        bne     t3,copy_31          # U

        lda     a5,24(zero)
        srl     a2,3,t3             # U quadwords
        unop
        beq     t1,copy_many        # U

        .include copy_shift
        .align 4
        .include copy_few
        .align 4
        .include copy_quads
        .align 4
        .include copy_bytes
