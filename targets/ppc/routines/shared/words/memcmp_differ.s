# As shared/750/memcmp_differ, but from 16 bytes on a difference in a whole word of the second block
# gives -1 or 1: r4 is the word's address, r7 the block's end, r5 how many bytes it has.

        addi    r4,r7,-4
memcmp_differ:
        xor.    r10,r8,r9
        cntlzw  r10,r10
        li      r3,0
        beqlr
        srwi    r0,r10,3
        clrrwi  r10,r10,3
        add     r4,r4,r0            # the byte that differs
        addi    r10,r10,8           # it comes down
        rlwnm   r8,r8,r10,24,31
        rlwnm   r9,r9,r10,24,31
        subf    r3,r9,r8
        cmplwi  r5,16
        subf    r6,r5,r7
        bltlr
        addi    r6,r6,3
        clrrwi  r6,r6,2             # the first word
        clrrwi  r7,r7,2             # behind the last one
        cmplw   r4,r6
        bltlr
        cmplw   r4,r7
        bgelr
        srawi   r3,r3,31
        ori     r3,r3,1
        blr
