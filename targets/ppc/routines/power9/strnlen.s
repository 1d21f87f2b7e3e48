# strnlen: r3 string, r4 limit; r3 bytes in front of its end, or the limit.
#
# See shared/power9/find.

strnlen:
        mr.     r5,r4
        vspltisb v0,0
        vspltisb v1,0
        beq     absent
        .include limit
        .include find
        subf    r3,r3,r7
        cmpld   r3,r4
        blelr
absent: mr      r3,r4
        blr
