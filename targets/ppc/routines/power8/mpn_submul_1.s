# mpn_submul_1: r3 result, r4 number, r5 limbs, r6 the limb that multiplies it; r3 what carries out.
#
# Four limbs in a pass, those that are over first.  The high half of a product takes a carry and a
# borrow and does not overflow.
mpn_submul_1:
        andi.   r7,r5,3
        srdi    r5,r5,2
        li      r10,0
        addi    r4,r4,-8
        addi    r3,r3,-8
        beq     submul_fours
        mtctr   r7
submul_one:
        ldu     r8,8(r4)
        ld      r9,8(r3)
        mulld   r11,r8,r6
        mulhdu  r8,r8,r6
        addc    r11,r11,r10
        addze   r8,r8
        subfc   r11,r11,r9
        subfe   r7,r7,r7
        subf    r10,r7,r8
        stdu    r11,8(r3)
        bdnz    submul_one
        cmpdi   r5,0
        beq     submul_end
submul_fours:
        mtctr   r5
submul_four:
        ld      r8,8(r4)
        ld      r9,8(r3)
        mulld   r11,r8,r6
        mulhdu  r8,r8,r6
        addc    r11,r11,r10
        addze   r8,r8
        subfc   r11,r11,r9
        subfe   r7,r7,r7
        subf    r10,r7,r8
        std     r11,8(r3)
        ld      r8,16(r4)
        ld      r9,16(r3)
        mulld   r11,r8,r6
        mulhdu  r8,r8,r6
        addc    r11,r11,r10
        addze   r8,r8
        subfc   r11,r11,r9
        subfe   r7,r7,r7
        subf    r10,r7,r8
        std     r11,16(r3)
        ld      r8,24(r4)
        ld      r9,24(r3)
        mulld   r11,r8,r6
        mulhdu  r8,r8,r6
        addc    r11,r11,r10
        addze   r8,r8
        subfc   r11,r11,r9
        subfe   r7,r7,r7
        subf    r10,r7,r8
        std     r11,24(r3)
        ldu     r8,32(r4)
        ld      r9,32(r3)
        mulld   r11,r8,r6
        mulhdu  r8,r8,r6
        addc    r11,r11,r10
        addze   r8,r8
        subfc   r11,r11,r9
        subfe   r7,r7,r7
        subf    r10,r7,r8
        stdu    r11,32(r3)
        bdnz    submul_four
submul_end:
        mr      r3,r10
        blr
