# r8 and r9 words of which one may differ from the other; r4 is not looked at.

memcmp_differ:
        xor.    r10,r8,r9
        cntlzw  r10,r10
        li      r3,0
        beqlr
        clrrwi  r10,r10,3
        addi    r10,r10,8           # that byte comes down
        rlwnm   r8,r8,r10,24,31
        rlwnm   r9,r9,r10,24,31
        subf    r3,r9,r8
        blr
