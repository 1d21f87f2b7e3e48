# As shared/copy_on, upwards, also for operands that overlap: 8 bytes of the source are loaded for the
# head, and of them no more stored than lie in front of a quadword, as 1, 2 and 4 bytes by the bits
# of their number.  What is behind is in shared/copy_quads.

        and     a0,7,t1
        lda     t4,8(zero)
        subq    t4,t1,t4            # bytes of the head
        beq     t1,copy_aligned     # U

        ldq_u   t2,0(a1)            # L
        ldq_u   t3,7(a1)            # L
        and     t4,2,t5
        and     t4,4,t6

        extql   t2,a1,t2            # U
        extqh   t3,a1,t3            # U
        addq    a1,t4,a1
        subq    a2,t4,a2

        or      t2,t3,t2
        unop
        unop
        blbc    t4,copy_2           # U

        stb     t2,0(a0)            # L
        srl     t2,8,t2             # U
        lda     a0,1(a0)
        unop
copy_2: beq     t5,copy_4           # U
        stw     t2,0(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
copy_4: beq     t6,copy_aligned     # U
        stl     t2,0(a0)            # L
        lda     a0,4(a0)
        br      copy_aligned        # L
