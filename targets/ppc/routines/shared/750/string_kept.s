# The end of a copied string (shared/750/string), where the result is in r3 already.

string_last:
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
string_head:                        # bytes until the source is at a word
        subfic  r0,r0,4
        mtctr   r0
        addi    r6,r6,3
        addi    r4,r4,-1
string_bytes:
        lbzu    r5,1(r4)
        cmpwi   r5,0
        stbu    r5,1(r6)
        bdnzf   eq,string_bytes
        beqlr
        addi    r6,r6,-3
        addi    r4,r4,1
        b       string_aligned
