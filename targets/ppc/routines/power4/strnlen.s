# strnlen: r3 string, r4 limit; r3 bytes in front of its end, or the limit.
#
# See shared/power4/find.

strnlen:
        mr.     r5,r4
        mr      r12,r4
        beq     absent
        li      r4,0
        .include limit
        .include find
        cntlzd  r10,r10
        subf    r3,r3,r8
        srdi    r10,r10,3
        add     r3,r3,r10
        cmpld   r3,r12
        blelr
absent: mr      r3,r12
        blr
