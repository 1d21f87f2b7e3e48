# As shared/750/either, but by vectors behind the first 32 to 39 bytes: two blocks of 16 bytes at a
# time, at multiples of 32, which no page boundary parts.  Words in front of them are read in pairs.
# Changes v0 to v7, too.

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
        vspltisb v2,4
        vspltb  v0,v0,0
        vspltb  v1,v1,0
        vslb    v1,v1,v2
        vor     v0,v0,v1
        vspltisb v7,0
        li      r5,16
either_blocks:
        lvx     v1,0,r8
        lvx     v2,r5,r8
        vxor    v3,v1,v0
        vxor    v4,v2,v0
        vminub  v1,v1,v3
        vminub  v2,v2,v4
        vminub  v2,v1,v2
        addi    r8,r8,32
        vcmpequb. v2,v2,v7
        beq     cr6,either_blocks
        vcmpequb. v1,v1,v7
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
