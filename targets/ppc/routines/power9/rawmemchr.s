# rawmemchr: r3 bytes, r4 byte; r3 the address of the first such byte, which is there.
#
# See shared/power9/find.

rawmemchr:
        mtvsrws vs33,r4
        vspltisb v0,0
        li      r6,-1
        vspltb  v1,v1,3
        .include find
absent: mr      r3,r7
        blr
