# r4 becomes the address of the doubleword with the string's end, r8 the mask of its zero bytes;
# the string begins at r3, which stays.  Changes r0 and r5 to r11.  Doublewords are read in pairs,
# which no page boundary parts.
#
# A byte is zero where x + 0xfefe...ff and not x have its top bit; a borrow marks bytes of 1 in
# front of it too, so that the doubleword with the end is looked at again: there (x & 0x7f7f...) +
# 0x7f7f... marks what is not zero, and carries nothing.

        clrrdi  r4,r3,3
        rlwinm  r5,r3,3,26,28       # bits in front of the string
        ld      r6,0(r4)
        li      r0,-1
        lis     r7,0x7f7f
        srd     r0,r0,r5
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        orc     r6,r6,r0            # they are not zero
        and     r8,r6,r7
        or      r0,r6,r7
        add     r8,r8,r7
        add     r9,r7,r7            # 0xfefefefefefefeff
        nor.    r8,r8,r0
        addi    r9,r9,1
        bne     length_found
        andi.   r0,r4,8
        bne     length_pairs
        ldu     r6,8(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        and.    r8,r8,r0
        bne     length_exact
        .p2align 4
length_pairs:
        ld      r6,8(r4)
        ldu     r10,16(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        add     r11,r10,r9
        and.    r8,r8,r0
        nor     r5,r10,r7
        bne     length_first
        and.    r11,r11,r5
        beq     length_pairs
        mr      r6,r10
        b       length_exact
length_first:
        addi    r4,r4,-8
length_exact:
        and     r8,r6,r7
        or      r0,r6,r7
        add     r8,r8,r7
        nor     r8,r8,r0
length_found:
