# The first word of the string at r3, and the next one if no pair of words begins there, for length.

        clrrwi  r4,r3,2
        lwz     r6,0(r4)
        lis     r7,0x7f7f
        rlwinm  r5,r3,3,27,28       # bits in front of the string
        ori     r7,r7,0x7f7f
        and     r8,r6,r7
        or      r0,r6,r7
        add     r8,r8,r7
        nor     r8,r8,r0
        slw.    r8,r8,r5            # they are gone, and the first byte is the string's
        bne     length_start
        lis     r9,-257             # 0xfefefeff
        andi.   r0,r4,4
        addi    r9,r9,-257
        bne     length_pairs
        lwzu    r6,4(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        and.    r8,r8,r0
        bne     length_exact
