# r4 and r8 say where the string at r3 ends: as many bytes behind r4 as r8 has whole bytes of zeros
# in front of its first one.  Changes r0 and r5 to r11; r3 stays.  Words are read in pairs, which no
# page boundary parts.
#
# (x & 0x7f7f7f7f) + 0x7f7f7f7f carries nothing, and with x, has the top bits of bytes that are not
# zero.  x + 0xfefefeff and not x have those of a byte of zero, by a borrow also of bytes of 1 in
# front of it: the word that this finds is looked at again.

        .include length_words
length_pairs:
        lwz     r6,4(r4)
        lwzu    r10,8(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        add     r11,r10,r9
        and.    r8,r8,r0
        nor     r5,r10,r7
        bne     length_first
        and.    r11,r11,r5
        beq     length_pairs
        and     r8,r10,r7
        add     r8,r8,r7
        andc    r8,r5,r8
        b       length_found
length_start:
        mr      r4,r3
        b       length_found
length_first:
        addi    r4,r4,-4
length_exact:
        and     r8,r6,r7
        add     r8,r8,r7
        andc    r8,r0,r8
length_found:
