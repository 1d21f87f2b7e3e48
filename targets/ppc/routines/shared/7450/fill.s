# Fills r5 bytes at r3 with the word r4, four equal bytes; r3 stays.
#
# From 48 bytes on by a vector; but zeros from 2048 bytes on as fill_words has them, by dcbz.  VRSAVE
# is left alone, as in shared/7450/copy.

        cmplwi  cr7,r5,48
        cmpwi   cr1,r4,0
        blt     cr7,fill_part
        bne     cr1,fill_vectors
        cmplwi  cr7,r5,2048
        blt     cr7,fill_vectors
fill_part:
        .include fill_words

fill_vectors:
        srwi    r0,r4,4
        lvsl    v0,0,r4             # the byte, from its two halves
        lvsl    v1,0,r0
        addi    r7,r3,16
        add     r6,r3,r5            # the end
        vspltisb v2,4
        clrrwi  r7,r7,4
        subf    r5,r7,r6
        srwi    r0,r5,5
        vspltb  v0,v0,0
        stw     r4,0(r3)
        vspltb  v1,v1,0
        mtctr   r0
        stw     r4,4(r3)
        vslb    v1,v1,v2
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
