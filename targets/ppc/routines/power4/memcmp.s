# memcmp: r3 and r4 bytes, r5 how many; r3 the difference of the first two that differ, or zero.
#
# Doublewords from anywhere; the last eight bytes are a doubleword that overlaps.

memcmp: cmpldi  r5,8
        add     r6,r3,r5            # ends
        add     r7,r4,r5
        blt     memcmp_few
        addi    r0,r5,-1
        srdi.   r0,r0,3             # doublewords in front of the last one
        addi    r3,r3,-8
        addi    r4,r4,-8
        beq     memcmp_last
        mtctr   r0
        .p2align 4
memcmp_words:
        ldu     r8,8(r3)
        ldu     r9,8(r4)
        cmpld   r8,r9
        bdnzt   eq,memcmp_words
        bne     memcmp_differ
memcmp_last:
        ld      r8,-8(r6)
        ld      r9,-8(r7)
memcmp_differ:
        xor.    r10,r8,r9
        cntlzd  r10,r10
        li      r3,0
        beqlr
        clrrdi  r10,r10,3
        addi    r10,r10,8           # that byte comes down
        rldcl   r8,r8,r10,56
        rldcl   r9,r9,r10,56
        subf    r3,r9,r8
        blr

memcmp_few:
        cmpldi  r5,0
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     memcmp_equal
        mtctr   r5
memcmp_bytes:
        lbzu    r8,1(r3)
        lbzu    r9,1(r4)
        cmpld   r8,r9
        bdnzt   eq,memcmp_bytes
        subf    r3,r9,r8
        blr
memcmp_equal:
        li      r3,0
        blr
