# csum_partial: a0 bytes, a1 count, a2 partial checksum; v0 partial checksum, sign-extended.
#
# Whole aligned quadwords are added as 64-bit numbers, carries counted apart: four instructions,
# one fetch block, one cycle for each.  What the first and the last quadword hold besides is masked.
# In an odd place every byte was added as the other of its word, so the folded sum is turned round.

csum_partial:
        and     a0,7,t0
        zapnot  a2,15,a2            # U
        beq     a1,empty            # U
        unop

        ldq_u   t1,0(a0)            # L
        addq    a1,t0,t2
        mskqh   t1,a0,t1            # U without the bytes in front
        srl     t2,3,t3             # U quadwords, the last one not if it is not whole

        and     t2,7,t2             # bytes of the last one
        clr     t4                  # carries
        andnot  a0,7,t5
        beq     t3,single           # U

        subq    t3,1,t3
        unop
        unop
        unop

        subq    t3,4,t6
        and     t3,3,t3
        unop
        blt     t6,few              # U

four:   ldq     at,8(t5)            # L
        ldq     t8,16(t5)           # L
        subq    t6,4,t6
        unop

        ldq     t9,24(t5)           # L
        ldq     t10,32(t5)          # L
        lda     t5,32(t5)
        unop

        addq    t1,at,t1
        addq    t8,t9,t8
        cmpult  t1,at,at
        cmpult  t8,t9,t9

        addq    t1,t10,t1
        addq    t4,at,t4
        cmpult  t1,t10,t10
        addq    t4,t9,t4

        addq    t1,t8,t1
        addq    t4,t10,t4
        cmpult  t1,t8,t8
        unop

        addq    t4,t8,t4
        bge     t6,four             # U
        unop
        unop

few:    beq     t3,rest             # U
        ldq     at,8(t5)            # L
        lda     t5,8(t5)
        subq    t3,1,t3

        addq    t1,at,t1
        cmpult  t1,at,at
        addq    t4,at,t4
        br      few                 # L

single: mskql   t1,t2,t1            # U first and last in one
        br      folded              # L
        unop
        unop

rest:   beq     t2,folded           # U
        ldq     at,8(t5)            # L
        mskql   at,t2,at            # U
        unop

        addq    t1,at,t1
        cmpult  t1,at,at
        addq    t4,at,t4
        unop

folded: zapnot  t1,15,t2            # U
        srl     t1,32,t1            # U
        addq    t4,t2,t4
        addq    t4,t1,t4            # 34 bits and the carries

        zapnot  t4,3,t1             # U
        extwl   t4,2,t2             # U
        srl     t4,32,t4            # U
        addq    t1,t2,t1

        addq    t1,t4,t1
        unop
        zapnot  t1,3,t2             # U
        srl     t1,16,t1            # U

        addq    t1,t2,t1
        unop
        zapnot  t1,3,t2             # U
        srl     t1,16,t1            # U

        addq    t1,t2,t1            # 16 bits
        unop
        blbc    a0,even             # U
        unop

        insbl   t1,1,t2             # U
        extbl   t1,1,t1             # U
        or      t1,t2,t1
        unop

even:   addq    a2,t1,a2
        srl     a2,32,t1            # U
        addl    a2,t1,v0
        ret                         # L

empty:  addl    a2,zero,v0
        ret                         # L
