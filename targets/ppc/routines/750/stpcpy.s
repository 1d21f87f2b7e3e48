# stpcpy: r3 destination, r4 string; r3 the address of the end that was copied.
#
# Four bytes, then as shared/750/string.

stpcpy: lbz     r5,0(r4)
        mr      r6,r3
        lis     r9,-257
        cmpwi   r5,0
        stb     r5,0(r3)
        beqlr
        lbz     r5,1(r4)
        cmpwi   r5,0
        stbu    r5,1(r3)
        beqlr
        lbz     r5,2(r4)
        cmpwi   r5,0
        stbu    r5,1(r3)
        beqlr
        lbz     r5,3(r4)
        clrlwi  r0,r4,30
        cmpwi   r5,0
        stbu    r5,1(r3)
        beqlr
        .include string
        srwi.   r0,r5,24
        addi    r3,r6,4
        stb     r0,4(r6)
        beqlr
        rlwinm. r0,r5,16,24,31
        stbu    r0,1(r3)
        beqlr
        rlwinm. r0,r5,24,24,31
        stbu    r0,1(r3)
        beqlr
        stbu    r5,1(r3)
        blr
