# Fills r5 bytes at r3, to r6, with the doubleword r4, eight equal bytes; r3 stays.  Behind
# shared/power4/fill_ends.
#
# Head and tail are unaligned doublewords that overlap; from 64 bytes on aligned ones, four in a
# pass. Zeros from 512 bytes on by dcbzl, which is of 128 bytes whatever dcbz is.

        cmpldi  r5,16
        cmpldi  cr1,r5,64
        blt     fill_short
        std     r4,0(r3)
        std     r4,8(r3)
        cmpldi  r5,32
        bge     cr1,fill_long
        ble     fill_last
        std     r4,16(r3)
        std     r4,24(r3)
        std     r4,-32(r6)
        std     r4,-24(r6)
fill_last:
        std     r4,-16(r6)
        std     r4,-8(r6)
        blr

fill_short:
        std     r4,0(r3)
        std     r4,-8(r6)
        blr
fill_few:                           # fewer than 8; r4 may be two equal bytes
        cmpldi  r5,0
        cmpldi  cr1,r5,4
        srdi    r7,r5,1
        beqlr
        stb     r4,0(r3)            # the first, the middle and the last one
        stbx    r4,r3,r7
        stb     r4,-1(r6)
        bltlr   cr1
        sth     r4,1(r3)
        sth     r4,-3(r6)
        blr

fill_long:                          # from the next doubleword on; 56 bytes or more
        addi    r7,r3,8
        clrrdi  r7,r7,3
        cmpdi   cr1,r4,0
        cmpldi  cr6,r5,512
        bne     cr1,fill_doublewords
        bge     cr6,fill_zeros
fill_doublewords:
        subf    r5,r7,r6
        srdi    r0,r5,5
        clrldi. r5,r5,59
        mtctr   r0
        cmpldi  cr1,r5,16
        .p2align 4
fill_loop:
        std     r4,0(r7)
        std     r4,8(r7)
        std     r4,16(r7)
        std     r4,24(r7)
        addi    r7,r7,32
        bdnz    fill_loop
        beqlr
        ble     cr1,fill_last
        std     r4,0(r7)
        std     r4,8(r7)
        b       fill_last

fill_zeros:                         # up to a multiple of 128
        andi.   r0,r7,120
        addi    r8,r7,127
        beq     fill_lines
        std     r4,0(r7)
        std     r4,8(r7)
        std     r4,16(r7)
        std     r4,24(r7)
        std     r4,32(r7)
        std     r4,40(r7)
        std     r4,48(r7)
        std     r4,56(r7)
        std     r4,64(r7)
        std     r4,72(r7)
        std     r4,80(r7)
        std     r4,88(r7)
        std     r4,96(r7)
        std     r4,104(r7)
        std     r4,112(r7)
        clrrdi  r7,r8,7
fill_lines:
        subf    r5,r7,r6
        srdi    r0,r5,7             # three lines or more
        mtctr   r0
fill_dcbz:
        dcbzl   0,r7
        addi    r7,r7,128
        bdnz    fill_dcbz
        clrldi. r5,r5,57
        cmpldi  cr1,r5,32
        beqlr
        bge     cr1,fill_doublewords
        cmpldi  cr1,r5,16
        ble     cr1,fill_last
        std     r4,0(r7)
        std     r4,8(r7)
        b       fill_last
