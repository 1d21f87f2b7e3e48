# mpn_mul_1: r3 result, r4 number, r5 limbs, r6 the limb that multiplies it; r3 what carries out.
#
# Four limbs in a pass, those that are over first; the carry goes on from limb to limb in CA.
mpn_mul_1:
        andi.   r7,r5,3
        srdi    r5,r5,2
        li      r10,0
        addi    r4,r4,-8
        addi    r3,r3,-8
        beq     mul_fours
        mtctr   r7
mul_one:
        ldu     r8,8(r4)
        mulld   r11,r8,r6
        mulhdu  r7,r8,r6
        addc    r11,r11,r10
        addze   r10,r7
        stdu    r11,8(r3)
        bdnz    mul_one
        cmpdi   r5,0
        beq     mul_end
mul_fours:
        mtctr   r5
        addic   r10,r10,0
mul_four:
        ld      r8,8(r4)
        mulld   r11,r8,r6
        mulhdu  r7,r8,r6
        adde    r11,r11,r10
        std     r11,8(r3)
        ld      r8,16(r4)
        mulld   r11,r8,r6
        mulhdu  r10,r8,r6
        adde    r11,r11,r7
        std     r11,16(r3)
        ld      r8,24(r4)
        mulld   r11,r8,r6
        mulhdu  r7,r8,r6
        adde    r11,r11,r10
        std     r11,24(r3)
        ldu     r8,32(r4)
        mulld   r11,r8,r6
        mulhdu  r10,r8,r6
        adde    r11,r11,r7
        stdu    r11,32(r3)
        bdnz    mul_four
        addze   r10,r10
mul_end:
        mr      r3,r10
        blr
