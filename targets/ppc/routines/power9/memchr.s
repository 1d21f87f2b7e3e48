# memchr: r3 bytes, r4 byte, r5 how many; r3 the address of the first such byte, or zero.
#
# See shared/power9/find.

memchr: cmpldi  r5,0
        mtvsrws vs33,r4
        vspltisb v0,0
        beq     absent
        vspltb  v1,v1,3
        .include limit
        .include find
        cmpld   r7,r6
        mr      r3,r7
        blelr
absent: li      r3,0
        blr
