# rawmemchr: r3 bytes, r4 byte; r3 the address of the first such byte, which is there.
#
# See shared/power4/find.

rawmemchr:
        rlwimi  r4,r4,8,16,23
        li      r6,-1
        rlwimi  r4,r4,16,0,15
        rldimi  r4,r4,32,0
        .include find
absent: cntlzd  r10,r10
        srdi    r10,r10,3
        add     r3,r8,r10
        blr
