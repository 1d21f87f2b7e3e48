# As shared/750/find, but of more than 40 bytes behind the first word those behind 32 by vectors:
# two blocks of 16 bytes at a time, at multiples of 32, which no page boundary parts.  Changes v0,
# v1 and v14, too.

        clrrwi  r8,r3,2
        rlwinm  r10,r3,3,27,28      # bits in front of the first byte
        lwz     r5,0(r8)
        li      r0,-1
        lis     r7,0x7f7f
        srw     r0,r0,r10
        xor     r5,r5,r4
        ori     r7,r7,0x7f7f
        orc     r5,r5,r0
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        subf    r11,r8,r6
        nor.    r10,r10,r0
        srwi    r11,r11,2           # words behind this one
        bne     find_found
        cmplwi  cr1,r11,0
        cmplwi  cr7,r11,10
        lis     r9,-257             # 0xfefefeff
        mtctr   r11
        beq     cr1,absent
        addi    r9,r9,-257
        bgt     cr7,find_long
        .p2align 4
find_words:
        lwzu    r5,4(r8)
        xor     r5,r5,r4
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        bdnzt   eq,find_words
        beq     absent
find_exact:
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        nor     r10,r10,r0
        b       find_found
find_long:
        .include find_word
        .include find_word
        .include find_word
        .include find_word
        .include find_word
        .include find_word
        .include find_word
        .include find_word
        addi    r8,r8,4
        clrrwi  r8,r8,5
        srwi    r0,r4,4
        lvsl    v0,0,r4             # the byte, from its two halves
        lvsl    v1,0,r0
        vspltisb v14,4
        vspltb  v0,v0,0
        vspltb  v1,v1,0
        vslb    v1,v1,v14
        vor     v0,v0,v1
        subf    r11,r8,r6
        srwi    r11,r11,5
        addi    r11,r11,1
        mtctr   r11
        li      r5,16
find_blocks:
        lvx     v1,0,r8
        lvx     v14,r5,r8
        vcmpequb. v1,v1,v0
        addi    r8,r8,32
        bne     cr6,find_even
        vcmpequb. v14,v14,v0
        bdnzt   4*cr6+eq,find_blocks
        beq     cr6,absent
        addi    r8,r8,16
find_even:                          # 32 bytes behind the block that has it
        addi    r8,r8,-36
        .include find_word
        .include find_word
        .include find_word
        lwzu    r5,4(r8)
        xor     r5,r5,r4
        b       find_exact
find_found:
