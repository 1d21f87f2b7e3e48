# strcmp: r3 and r4 strings; r3 the difference of the first two bytes that differ, or zero.
#
# Bytes until the first string is at a word; then words, the second's from anywhere as long as
# they stay in its page of 4096 bytes, and over the page's end four bytes.  See shared/750/length.

strcmp: .include strcmp_start
        andi.   r5,r3,3
        addi    r3,r3,-1
        addi    r4,r4,-1
        beq     strcmp_aligned
        subfic  r5,r5,4
        mtctr   r5
strcmp_bytes:
        lbzu    r5,1(r3)
        lbzu    r6,1(r4)
        cmpwi   r5,0
        cmplw   cr1,r5,r6
        beq     strcmp_difference
        bdnzt   4*cr1+eq,strcmp_bytes
        bne     cr1,strcmp_difference
strcmp_aligned:
        lis     r7,0x7f7f
        lis     r9,-257             # 0xfefefeff
        ori     r7,r7,0x7f7f
        addi    r9,r9,-257
        # Words of the second string that stay in its page.
        addi    r5,r4,1
        clrlwi  r5,r5,20
        subfic  r5,r5,4096
        srwi.   r5,r5,2
        addi    r3,r3,-3
        addi    r4,r4,-3
        beq     strcmp_over
        mtctr   r5
        .p2align 4
strcmp_words:
        lwzu    r5,4(r3)
        lwzu    r6,4(r4)
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        cmplw   cr1,r5,r6
        bne     strcmp_found
        bdnzt   4*cr1+eq,strcmp_words
        bne     cr1,strcmp_found
strcmp_over:
        li      r0,4
        mtctr   r0
        addi    r3,r3,3
        addi    r4,r4,3
        b       strcmp_bytes

        .include strcmp_found
