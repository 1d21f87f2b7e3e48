# Copies the string at r4 with its end to r6, which becomes the address of the end there.
#
# Bytes until the source is at a doubleword, then doublewords, to anywhere; the one with the end
# byte by byte. Changes r0, r4, r5, r7, r9, r10; see shared/power4/length for how a zero byte shows.

        andi.   r0,r4,7
        lis     r7,0x7f7f
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        add     r9,r7,r7
        addi    r9,r9,1             # 0xfefefefefefefeff
        addi    r6,r6,-1
        addi    r4,r4,-1
        beq     string_aligned
        subfic  r0,r0,8
        mtctr   r0
string_bytes:
        lbzu    r5,1(r4)
        cmpdi   r5,0
        stbu    r5,1(r6)
        bdnzf   eq,string_bytes
        beq     string_end
string_aligned:
        addi    r4,r4,1
        addi    r6,r6,-7
        ld      r5,0(r4)
        b       string_word
        .p2align 4
string_words:
        stdu    r5,8(r6)
        ldu     r5,8(r4)
string_word:
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        beq     string_words
        addi    r6,r6,7
string_last:
        rotldi  r5,r5,8
        andi.   r0,r5,255
        stbu    r5,1(r6)
        bne     string_last
string_end:
