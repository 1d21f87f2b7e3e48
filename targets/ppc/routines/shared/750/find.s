# Looks for a byte of r4, four equal ones, from r3 up to the byte at r6; goes to `absent` where
# there is none.  Else r8 is the address of the word with the first one and r10 the mask of those
# in it; it may be behind r6.  Changes r0, r5, r7 to r11; see shared/750/length for how bytes are
# marked.

        clrrwi  r8,r3,2
        rlwinm  r10,r3,3,27,28      # bits in front of the first byte
        lwz     r5,0(r8)
        li      r0,-1
        lis     r9,-257
        srw     r0,r0,r10
        addi    r9,r9,-257          # 0xfefefeff
        xor     r5,r5,r4
        srwi    r7,r9,1             # 0x7f7f7f7f
        orc     r5,r5,r0
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        subf    r11,r8,r6
        nor.    r10,r10,r0
        bne     find_found
        srwi.   r11,r11,2           # words behind this one
        mtctr   r11
        beq     absent
find_words:
        lwzu    r5,4(r8)
        xor     r5,r5,r4
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        bdnzt   eq,find_words
        beq     absent
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        nor     r10,r10,r0
find_found:
