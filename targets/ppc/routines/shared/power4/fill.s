# Fills r5 bytes at r3 with the doubleword r4, eight equal bytes; r3 stays.
#
# Head and tail are unaligned doublewords that overlap; from 64 bytes on aligned ones, four in a
# pass. Zeros from 512 bytes on by dcbzl, which is of 128 bytes whatever dcbz is.

        cmpldi  r5,16
        cmpldi  cr1,r5,64
        add     r6,r3,r5            # the end
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
        cmpldi  r5,8
        cmpldi  cr1,r5,4
        cmpldi  cr6,r5,0
        blt     fill_few
        std     r4,0(r3)
        std     r4,-8(r6)
        blr
fill_few:
        blt     cr1,fill_bytes
        stw     r4,0(r3)
        stw     r4,-4(r6)
        blr
fill_bytes:                         # the first, the middle and the last one
        beqlr   cr6
        srdi    r7,r5,1
        stb     r4,0(r3)
        stbx    r4,r3,r7
        stb     r4,-1(r6)
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
        neg     r0,r7
        rlwinm. r0,r0,29,28,31
        beq     fill_lines
        mtctr   r0
fill_up:
        std     r4,0(r7)
        addi    r7,r7,8
        bdnz    fill_up
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
