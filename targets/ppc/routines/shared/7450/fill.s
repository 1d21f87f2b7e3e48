# Fills r5 bytes at r3 with the word r4, four equal bytes; r3 stays.
#
# From 128 bytes on by a vector, which takes the pattern from the destination's own first bytes;
# but zeros from 512 bytes on as fill_words has them, by dcbz.

        cmplwi  cr7,r5,128
        cmpwi   cr1,r4,0
        blt     cr7,fill_part
        bne     cr1,fill_vectors
        cmplwi  cr7,r5,512
        blt     cr7,fill_vectors
fill_part:
        .include fill_words

fill_vectors:
        stw     r4,0(r3)
        addi    r7,r3,16
        stw     r4,4(r3)
        add     r6,r3,r5            # the end
        clrrwi  r7,r7,4
        stw     r4,8(r3)
        subf    r5,r7,r6
        stw     r4,12(r3)
        mfspr   r12,256             # VRSAVE: v0 is in use
        srwi    r0,r5,5
        stw     r4,0(r7)
        mtctr   r0
        oris    r0,r12,0x8000
        mtspr   256,r0
        andi.   r5,r5,31
        li      r8,16
        lvewx   v0,0,r7
        cmplwi  cr1,r5,16
        vspltw  v0,v0,0
        .p2align 4
fill_vectors_loop:
        stvx    v0,0,r7
        stvx    v0,r8,r7
        addi    r7,r7,32
        bdnz    fill_vectors_loop
        beq     fill_vectors_done
        ble     cr1,fill_vectors_last
        stvx    v0,0,r7
fill_vectors_last:
        mtspr   256,r12
        b       fill_last
fill_vectors_done:
        mtspr   256,r12
        blr
