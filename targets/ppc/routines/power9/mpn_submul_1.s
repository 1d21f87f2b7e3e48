# mpn_submul_1: r3 result, r4 number, r5 limbs, r6 the limb that multiplies it; r3 what carries out.
#
# As mpn_addmul_1, with the complement of what is there: r - p is the complement of ~r + p, and
# what the one borrows the other carries.
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
        nor     r9,r9,r9
        maddld  r11,r8,r6,r9
        maddhdu r7,r8,r6,r9
        addc    r11,r11,r10
        addze   r10,r7
        nor     r11,r11,r11
        stdu    r11,8(r3)
        bdnz    submul_one
        cmpdi   r5,0
        beq     submul_end
submul_fours:
        mtctr   r5
        addic   r10,r10,0
submul_four:
        ld      r8,8(r4)
        ld      r9,8(r3)
        nor     r9,r9,r9
        maddld  r11,r8,r6,r9
        maddhdu r7,r8,r6,r9
        adde    r11,r11,r10
        nor     r11,r11,r11
        std     r11,8(r3)
        ld      r8,16(r4)
        ld      r9,16(r3)
        nor     r9,r9,r9
        maddld  r11,r8,r6,r9
        maddhdu r10,r8,r6,r9
        adde    r11,r11,r7
        nor     r11,r11,r11
        std     r11,16(r3)
        ld      r8,24(r4)
        ld      r9,24(r3)
        nor     r9,r9,r9
        maddld  r11,r8,r6,r9
        maddhdu r7,r8,r6,r9
        adde    r11,r11,r10
        nor     r11,r11,r11
        std     r11,24(r3)
        ldu     r8,32(r4)
        ld      r9,32(r3)
        nor     r9,r9,r9
        maddld  r11,r8,r6,r9
        maddhdu r10,r8,r6,r9
        adde    r11,r11,r7
        nor     r11,r11,r11
        stdu    r11,32(r3)
        bdnz    submul_four
        addze   r10,r10
submul_end:
        mr      r3,r10
        blr
