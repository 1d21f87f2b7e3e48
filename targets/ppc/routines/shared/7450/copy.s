# Copies r5 bytes from r4 to r6, which do not overlap; r3 is the result and stays.
#
# From 128 bytes on by vectors: 16 bytes bring the destination to a multiple of 16, then 32 in a
# pass, from two or three blocks of the source; no block is read that has no byte of the source.

        cmplwi  cr7,r5,128
        bge     cr7,copy_vectors
        .include copy_words

copy_vectors:
        lwz     r0,0(r4)
        lwz     r7,4(r4)
        lwz     r8,8(r4)
        lwz     r11,12(r4)
        clrlwi  r12,r6,28
        add     r9,r4,r5            # ends
        subfic  r12,r12,16
        add     r10,r6,r5
        stw     r0,0(r6)
        add     r4,r4,r12
        stw     r7,4(r6)
        subf    r5,r12,r5
        stw     r8,8(r6)
        stw     r11,12(r6)
        add     r6,r6,r12
        mfspr   r12,256             # VRSAVE: v0 to v5 are in use
        srwi    r11,r5,5
        oris    r0,r12,0xfc00
        cmplwi  cr1,r11,64          # a line is asked for only where most are in no cache
        mtspr   256,r0
        andi.   r0,r4,15
        mtctr   r11
        li      r7,16
        li      r8,32
        li      r11,160
        bne     copy_shifted
        bge     cr1,copy_far_blocks
        .p2align 4
copy_blocks:
        lvx     v0,0,r4
        lvx     v1,r7,r4
        addi    r4,r4,32
        stvx    v0,0,r6
        stvx    v1,r7,r6
        addi    r6,r6,32
        bdnz    copy_blocks
copy_done:
        mtspr   256,r12
        b       copy_rest

        .p2align 4
copy_far_blocks:
        dcbt    r11,r4
        lvx     v0,0,r4
        lvx     v1,r7,r4
        addi    r4,r4,32
        stvx    v0,0,r6
        stvx    v1,r7,r6
        addi    r6,r6,32
        bdnz    copy_far_blocks
        b       copy_done

copy_shifted:
        lvsl    v3,0,r4
        lvx     v0,0,r4
        bge     cr1,copy_far_shifted
        .p2align 4
copy_shifted_blocks:
        lvx     v1,r7,r4
        lvx     v2,r8,r4
        addi    r4,r4,32
        vperm   v4,v0,v1,v3
        vperm   v5,v1,v2,v3
        vor     v0,v2,v2
        stvx    v4,0,r6
        stvx    v5,r7,r6
        addi    r6,r6,32
        bdnz    copy_shifted_blocks
        b       copy_done

        .p2align 4
copy_far_shifted:
        dcbt    r11,r4
        lvx     v1,r7,r4
        lvx     v2,r8,r4
        addi    r4,r4,32
        vperm   v4,v0,v1,v3
        vperm   v5,v1,v2,v3
        vor     v0,v2,v2
        stvx    v4,0,r6
        stvx    v5,r7,r6
        addi    r6,r6,32
        bdnz    copy_far_shifted
        b       copy_done
