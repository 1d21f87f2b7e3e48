# Where both strings begin at a word the result is the difference of the first two words that differ
# in front of the end or at it, or where their top bits differ the second one, odd.

        or      r8,r3,r4
        lis     r9,-257
        andi.   r8,r8,3
        bne     strcmp_anywhere
        lwz     r5,0(r3)
        lwz     r6,0(r4)
        addi    r9,r9,-257          # 0xfefefeff
        srwi    r7,r9,1             # 0x7f7f7f7f
        b       strcmp_aligned_word
        .p2align 4
strcmp_aligned:
        lwzu    r5,4(r3)
        lwzu    r6,4(r4)
strcmp_aligned_word:
        add     r10,r5,r9
        nor     r0,r5,r7
        cmplw   cr1,r5,r6
        and.    r10,r10,r0
        bne     cr1,strcmp_aligned_differ
        beq     strcmp_aligned
        li      r3,0
        blr
strcmp_aligned_differ:              # unless the end is in front of it
        xor.    r11,r5,r6
        subf    r3,r6,r5
        blt     strcmp_aligned_top
        and     r10,r5,r7
        cntlzw  r11,r11
        add     r10,r10,r7
        andc    r10,r0,r10
        clrrwi  r11,r11,3
        cntlzw  r10,r10
        cmplw   r10,r11
        bgelr
        li      r3,0
        blr
strcmp_aligned_top:                 # the first bytes differ
        ori     r3,r6,1
        blr
strcmp_anywhere:
