# memchr: r3 bytes, r4 byte, r5 how many; r3 the address of the first such byte, or zero.
#
# See shared/power4/find.

memchr: cmpldi  r5,0
        rlwimi  r4,r4,8,16,23
        beq     absent
        rlwimi  r4,r4,16,0,15
        rldimi  r4,r4,32,0
        .include limit
        .include find
        cntlzd  r10,r10
        srdi    r10,r10,3
        add     r3,r8,r10
        cmpld   r3,r6
        blelr
absent: li      r3,0
        blr
