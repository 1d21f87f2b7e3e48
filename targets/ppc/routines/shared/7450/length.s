# As shared/750/length, but by vectors behind the first 32 to 39 bytes: two blocks of 16 bytes at a
# time, at multiples of 32, which no page boundary parts.  Each pair of words in front of them has
# branches of its own, which are foreseen.  Changes v0, v1 and v14, too.

        .include length_words
length_pairs:
        .include length_pair
        .include length_pair
        .include length_pair
        .include length_pair
        clrrwi  r4,r4,5
        vspltisb v0,0
        li      r5,16
length_blocks:
        lvx     v1,0,r4
        lvx     v14,r5,r4
        vcmpequb. v1,v1,v0
        addi    r4,r4,32
        bne     cr6,length_even
        vcmpequb. v14,v14,v0
        beq     cr6,length_blocks
        addi    r4,r4,16
length_even:                        # 32 bytes behind the block that has the end
        addi    r4,r4,-36
        .include length_pair
        lwzu    r6,4(r4)
        add     r8,r6,r9
        nor     r0,r6,r7
        and.    r8,r8,r0
        bne     length_exact
        lwzu    r10,4(r4)
        nor     r5,r10,r7
length_second:
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
