# memchr: r3 bytes, r4 byte, r5 how many; r3 the address of the first such byte, or zero.
#
# See shared/750/find.

memchr: cmplwi  r5,0
        rlwimi  r4,r4,8,16,23
        beq     absent
        rlwimi  r4,r4,16,0,15
        .include limit
        .include find
        cntlzw  r10,r10
        srwi    r10,r10,3
        add     r3,r8,r10
        cmplw   r3,r6
        blelr
absent: li      r3,0
        blr
