# Fills r5 bytes at r3 with the bytes of v0; r3 stays.  Zero in r4 says that they are zeros.
#
# 16 bytes or fewer by stxvl, else first and last blocks that overlap and 128 bytes in a pass from
# a multiple of 16.  Zeros from 384 bytes on by dcbz, in lines of 128 bytes.

        cmpldi  r5,16
        cmpldi  cr1,r5,64
        add     r6,r3,r5            # the end
        bgt     fill_more
        sldi    r5,r5,56
        stxvl   vs32,r3,r5
        blr
fill_more:
        stxv    vs32,0(r3)
        cmpldi  r5,32
        bgt     cr1,fill_long
        ble     fill_last
        stxv    vs32,16(r3)
        stxv    vs32,-32(r6)
fill_last:
        stxv    vs32,-16(r6)
        blr
fill_long:
        addi    r7,r3,16
        cmpldi  cr1,r4,0
        cmpldi  cr6,r5,384
        clrrdi  r7,r7,4
        bne     cr1,fill_blocks
        bge     cr6,fill_zeros
fill_blocks:                        # from r7 on, 64 bytes or less at the end by blocks that overlap
        subf    r5,r7,r6
        srdi    r0,r5,7
        andi.   r5,r5,64
        cmpldi  cr5,r0,0
        mtctr   r0
        beq     cr5,fill_lines_done
        .p2align 4
fill_lines:
        stxv    vs32,0(r7)
        stxv    vs32,16(r7)
        stxv    vs32,32(r7)
        stxv    vs32,48(r7)
        stxv    vs32,64(r7)
        stxv    vs32,80(r7)
        stxv    vs32,96(r7)
        stxv    vs32,112(r7)
        addi    r7,r7,128
        bdnz    fill_lines
fill_lines_done:
        beq     fill_tail
        stxv    vs32,0(r7)
        stxv    vs32,16(r7)
        stxv    vs32,32(r7)
        stxv    vs32,48(r7)
fill_tail:
        stxv    vs32,-64(r6)
        stxv    vs32,-48(r6)
        stxv    vs32,-32(r6)
        stxv    vs32,-16(r6)
        blr
fill_zeros:                         # 128 bytes bring it to a multiple of 128, and as many end it
        stxv    vs32,0(r7)
        addi    r9,r7,127
        stxv    vs32,16(r7)
        li      r8,128
        stxv    vs32,32(r7)
        clrrdi  r9,r9,7
        stxv    vs32,48(r7)
        subf    r5,r9,r6
        stxv    vs32,64(r7)
        srdi.   r0,r5,9             # four lines in a pass
        stxv    vs32,80(r7)
        rldicl  r5,r5,57,62         # and so many more
        stxv    vs32,96(r7)
        cmpldi  cr1,r5,0
        stxv    vs32,112(r7)
        beq     fill_few
        mtctr   r0
        li      r10,256
        li      r11,384
        .p2align 4
fill_dcbz:
        dcbz    0,r9
        dcbz    r8,r9
        dcbz    r10,r9
        dcbz    r11,r9
        addi    r9,r9,512
        bdnz    fill_dcbz
fill_few:
        beq     cr1,fill_end
        cmpldi  cr6,r5,2
        dcbz    0,r9
        blt     cr6,fill_end
        dcbz    r8,r9
        beq     cr6,fill_end
        addi    r9,r9,256
        dcbz    0,r9
fill_end:
        stxv    vs32,-128(r6)
        stxv    vs32,-112(r6)
        stxv    vs32,-96(r6)
        stxv    vs32,-80(r6)
        b       fill_tail
