# As shared/750/either, but by vectors behind the first 32 to 39 bytes: two blocks of 16 bytes at a
# time, at multiples of 32, which no page boundary parts.  Words in front of them are read in pairs.
# Changes v0, v1, v14 to v16 and v19, too.

        .include either_start
        .include either_marks
        bne     either_found
        andi.   r0,r8,4
        bne     either_pairs
        lwzu    r5,4(r8)
        xor     r6,r5,r4
        .include either_marks
        bne     either_found
either_pairs:
        .include either_pair
        .include either_pair
        .include either_pair
        .include either_pair
        srwi    r0,r4,4
        lvsl    v0,0,r4             # the byte, from its two halves
        lvsl    v1,0,r0
        clrrwi  r8,r8,5
        vspltisb v14,4
        vspltb  v0,v0,0
        vspltb  v1,v1,0
        vslb    v1,v1,v14
        vor     v0,v0,v1
        vspltisb v19,0
        li      r5,16
either_blocks:
        lvx     v1,0,r8
        lvx     v14,r5,r8
        vxor    v15,v1,v0
        vxor    v16,v14,v0
        vminub  v1,v1,v15
        vminub  v14,v14,v16
        vminub  v14,v1,v14
        addi    r8,r8,32
        vcmpequb. v14,v14,v19
        beq     cr6,either_blocks
        vcmpequb. v1,v1,v19
        bne     cr6,either_even
        addi    r8,r8,16
either_even:                        # 32 bytes behind the block that has it
        addi    r8,r8,-36
        .include either_pair
        lwz     r5,4(r8)
        lwzu    r10,8(r8)
        xor     r6,r5,r4
        .include either_marks
        bne     either_first
        xor     r6,r10,r4
either_second:
        mr      r5,r10
        b       either_found
either_first:
        addi    r8,r8,-4
either_found:
