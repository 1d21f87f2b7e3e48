# Copies the string at r4 with its end to r6, where the result is in r3 already: four bytes, then
# as shared/750/string.

        lbz     r5,0(r4)
        lis     r9,-257
        cmpwi   r5,0
        stb     r5,0(r6)
        beqlr
        lbz     r5,1(r4)
        cmpwi   r5,0
        stb     r5,1(r6)
        beqlr
        lbz     r5,2(r4)
        cmpwi   r5,0
        stb     r5,2(r6)
        beqlr
        lbz     r5,3(r4)
        clrlwi  r0,r4,30
        cmpwi   r5,0
        stb     r5,3(r6)
        beqlr
        .include string
        srwi.   r0,r5,24
        stb     r0,4(r6)
        beqlr
        rlwinm. r0,r5,16,24,31
        stb     r0,5(r6)
        beqlr
        rlwinm. r0,r5,24,24,31
        stb     r0,6(r6)
        beqlr
        stb     r5,7(r6)
        blr
