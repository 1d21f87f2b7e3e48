# Fills r5 bytes at r3 with the word r4, four equal bytes; r3 stays.
#
# From 48 bytes on by a vector, zeros from 512 bytes on by dcbz, which is right whatever the size of
# a block is: 128 bytes from a multiple of 128 are inside.  VRSAVE is left alone, as in
# shared/7450/copy.

        cmplwi  cr7,r5,48
        bge     cr7,fill_large
        .include fill_part

fill_large:
        cmpwi   cr1,r4,0
        cmplwi  cr7,r5,512
        add     r6,r3,r5            # the end
        addi    r7,r3,16
        bne     cr1,fill_vectors
        clrrwi  r7,r7,4
        blt     cr7,fill_vectors
        stw     r4,0(r3)
        addi    r9,r7,127
        vxor    v0,v0,v0
        li      r8,16
        stw     r4,4(r3)
        stw     r4,8(r3)
        stw     r4,12(r3)
        clrrwi  r9,r9,7             # 128 bytes of vectors, then from a multiple of 128
        stvx    v0,0,r7
        stvx    v0,r8,r7
        addi    r7,r7,32
        stvx    v0,0,r7
        stvx    v0,r8,r7
        addi    r7,r7,32
        stvx    v0,0,r7
        stvx    v0,r8,r7
        addi    r7,r7,32
        stvx    v0,0,r7
        stvx    v0,r8,r7
        mr      r7,r9
        subf    r5,r7,r6
        srwi    r0,r5,7             # two blocks or more
        mtctr   r0
        li      r8,32
        li      r9,64
        li      r4,96               # no register that glibc's leaves alone
        clrlwi  r5,r5,25
        .p2align 4
fill_dcbz_blocks:
        dcbz    0,r7
        dcbz    r8,r7
        dcbz    r9,r7
        dcbz    r4,r7
        addi    r7,r7,128
        bdnz    fill_dcbz_blocks
        srwi    r0,r5,5
        li      r4,0
        andi.   r5,r5,31
        li      r8,16
        cmplwi  cr7,r0,0
        cmplwi  cr1,r5,16
        mtctr   r0
        bne     cr7,fill_vectors_loop
        beqlr
        ble     cr1,fill_last
        stvx    v0,0,r7
        b       fill_last

fill_vectors:
        srwi    r0,r4,4
        lvsl    v0,0,r4             # the byte, from its two halves
        lvsl    v1,0,r0
        vspltisb v14,4
        clrrwi  r7,r7,4
        subf    r5,r7,r6
        srwi    r0,r5,5
        vspltb  v0,v0,0
        stw     r4,0(r3)
        vspltb  v1,v1,0
        mtctr   r0
        stw     r4,4(r3)
        vslb    v1,v1,v14
        stw     r4,8(r3)
        andi.   r5,r5,31
        li      r8,16
        stw     r4,12(r3)
        cmplwi  cr1,r5,16
        vor     v0,v0,v1
        .p2align 4
fill_vectors_loop:
        stvx    v0,0,r7
        stvx    v0,r8,r7
        addi    r7,r7,32
        bdnz    fill_vectors_loop
        beqlr
        ble     cr1,fill_last
        stvx    v0,0,r7
        b       fill_last
