# Copies r5 bytes from r4 to r6, which do not overlap; r3 is the result and stays.
#
# From 64 bytes on by vectors. Blocks are of 16 bytes; a vector has what one block of the destination
# will hold, made of two blocks of the source. The last block, and the first one, where they are not
# whole, are stored as a byte, a halfword and three words; what of these falls into the blocks beside
# is stored again with those. No block of the source is read that has no byte of it.
#
# VRSAVE is left alone: Linux keeps all vector registers of a thread that uses any, and gcc for it
# sets none either.

        cmplwi  cr7,r5,64
        add     r10,r6,r5           # the end
        bge     cr7,copy_vectors
        .include copy_words

copy_vectors:
        neg     r7,r6
        addi    r12,r5,-1
        lvx     v0,0,r4
        clrlwi  r7,r7,28            # bytes in front of the first whole block
        lvx     v18,r4,r12
        add     r8,r4,r7            # what that is made of
        addi    r9,r10,-1
        lvx     v1,r4,r7
        clrlwi  r9,r9,28            # bytes in the last block, less one
        lvsl    v15,r4,r7
        subf    r12,r9,r12
        li      r11,16
        addi    r0,r8,32
        lvx     v17,r4,r12
        vperm   v16,v0,v1,v15
        lvx     v14,r11,r8
        li      r9,-12
        li      r12,-8
        lvx     v19,0,r0
        vperm   v17,v17,v18,v15
        addi    r4,r6,1
        li      r11,-4
        stvebx  v16,0,r6
        addi    r5,r6,15
        add     r6,r6,r7
        stvehx  v16,0,r4
        addi    r0,r10,-1
        clrrwi  r4,r10,4            # the end of whole blocks
        stvewx  v16,r5,r9
        subf    r4,r6,r4
        stvewx  v16,r5,r12
        addi    r7,r10,-2
        stvewx  v16,r5,r11
        mtcrf   2,r4                # cr6: 128, 64, 32, 16
        stvebx  v17,0,r0
        andi.   r0,r8,15
        stvehx  v17,0,r7
        cmplwi  cr1,r4,64
        stvewx  v17,r10,r9
        li      r7,16
        stvewx  v17,r10,r12
        stvewx  v17,r10,r11
        li      r11,48              # v1, v14 and v19 are the blocks that hold the bytes from r8 on
        bne     blocks_shifted
        bf      4*cr6+so,blocks_pair
        addi    r8,r8,16
        stvx    v1,0,r6
        addi    r6,r6,16
blocks_pair:
        bf      4*cr6+eq,blocks_fours
        lvx     v0,0,r8
        lvx     v1,r7,r8
        addi    r8,r8,32
        stvx    v0,0,r6
        stvx    v1,r7,r6
        addi    r6,r6,32
blocks_fours:
        srwi    r5,r4,6
        bltlr   cr1
        mtctr   r5
        cmplwi  cr1,r4,2048         # a line is asked for only where most are in no cache
        li      r10,32
        bge     cr1,blocks_far
blocks_four:
        lvx     v0,0,r8
        lvx     v1,r7,r8
        lvx     v14,r10,r8
        lvx     v15,r11,r8
        addi    r8,r8,64
        stvx    v0,0,r6
        stvx    v1,r7,r6
        stvx    v14,r10,r6
        stvx    v15,r11,r6
        addi    r6,r6,64
        bdnz    blocks_four
        blr

blocks_far:
        li      r12,160
        li      r9,192
        .p2align 4
blocks_far_four:
        dcbt    r12,r8
        lvx     v0,0,r8
        lvx     v1,r7,r8
        dcbt    r9,r8
        lvx     v14,r10,r8
        lvx     v15,r11,r8
        addi    r8,r8,64
        stvx    v0,0,r6
        stvx    v1,r7,r6
        stvx    v14,r10,r6
        stvx    v15,r11,r6
        addi    r6,r6,64
        bdnz    blocks_far_four
        blr

blocks_shifted:
        vperm   v16,v1,v14,v15
        bf      4*cr6+so,blocks_shifted_pair
        vor     v1,v14,v14
        vor     v14,v19,v19
        lvx     v19,r11,r8
        stvx    v16,0,r6
        addi    r8,r8,16
        vperm   v16,v1,v14,v15
        addi    r6,r6,16
blocks_shifted_pair:
        bf      4*cr6+eq,blocks_shifted_fours
        vperm   v17,v14,v19,v15
        vor     v1,v19,v19
        addi    r8,r8,32
        stvx    v16,0,r6
        stvx    v17,r7,r6
        addi    r6,r6,32
blocks_shifted_fours:
        srwi    r5,r4,6
        bltlr   cr1
        mtctr   r5
        cmplwi  cr1,r4,2048
        li      r10,32
        li      r9,64
        bge     cr1,blocks_far_shifted
blocks_shifted_four:
        lvx     v14,r7,r8
        lvx     v0,r10,r8
        vperm   v16,v1,v14,v15
        lvx     v18,r11,r8
        vperm   v17,v14,v0,v15
        lvx     v1,r9,r8
        stvx    v16,0,r6
        vperm   v16,v0,v18,v15
        stvx    v17,r7,r6
        vperm   v17,v18,v1,v15
        addi    r8,r8,64
        stvx    v16,r10,r6
        stvx    v17,r11,r6
        addi    r6,r6,64
        bdnz    blocks_shifted_four
        blr

blocks_far_shifted:
        li      r12,192
        li      r0,224
        .p2align 4
blocks_far_shifted_four:
        dcbt    r12,r8
        lvx     v14,r7,r8
        lvx     v0,r10,r8
        dcbt    r8,r0
        vperm   v16,v1,v14,v15
        lvx     v18,r11,r8
        vperm   v17,v14,v0,v15
        lvx     v1,r9,r8
        stvx    v16,0,r6
        vperm   v16,v0,v18,v15
        stvx    v17,r7,r6
        vperm   v17,v18,v1,v15
        addi    r8,r8,64
        stvx    v16,r10,r6
        stvx    v17,r11,r6
        addi    r6,r6,64
        bdnz    blocks_far_shifted_four
        blr
