# memcmp: r3 and r4 bytes, r5 how many; r3 the difference of the first two that differ, or zero.
#
# Words from anywhere, the first one before anything else is made ready: most often it differs. The
# last four bytes are a word that overlaps.

memcmp: cmplwi  r5,4
        cmplwi  cr6,r5,9
        blt     memcmp_few
        lwz     r8,0(r3)
        lwz     r9,0(r4)
        add     r6,r3,r5            # ends
        cmplw   cr1,r8,r9
        add     r7,r4,r5
        addi    r0,r5,-5
        bne     cr1,memcmp_differ
        srwi    r0,r0,2             # words between the first and the last one
        blt     cr6,memcmp_last
        mtctr   r0
memcmp_words:
        lwzu    r8,4(r3)
        lwzu    r9,4(r4)
        cmplw   r8,r9
        bdnzt   eq,memcmp_words
        bne     memcmp_differ
memcmp_last:
        lwz     r8,-4(r6)
        lwz     r9,-4(r7)
        .include memcmp_differ

memcmp_few:
        cmplwi  r5,0
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     memcmp_equal
        mtctr   r5
memcmp_bytes:
        lbzu    r8,1(r3)
        lbzu    r9,1(r4)
        cmplw   r8,r9
        bdnzt   eq,memcmp_bytes
        subf    r3,r9,r8
        blr
memcmp_equal:
        li      r3,0
        blr
