# Fills r5 bytes at r3 with the bytes of v0; r3 stays.  Zero in r4 says that they are zeros.
#
# 16 bytes or fewer by stxvl, else first and last blocks that overlap and 64 bytes in a pass from
# a multiple of 16.  Zeros from 1024 bytes on by dcbz, in lines of 128 bytes.

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
        cmpldi  cr6,r5,1024
        clrrdi  r7,r7,4
        bne     cr1,fill_blocks
        bge     cr6,fill_zeros
fill_blocks:                        # from r7 on, less than a line at the end by blocks that overlap
        subf    r5,r7,r6
        srdi.   r0,r5,6
        beq     fill_tail
        mtctr   r0
        .p2align 4
fill_lines:
        stxv    vs32,0(r7)
        stxv    vs32,16(r7)
        stxv    vs32,32(r7)
        stxv    vs32,48(r7)
        addi    r7,r7,64
        bdnz    fill_lines
fill_tail:
        stxv    vs32,-64(r6)
        stxv    vs32,-48(r6)
        stxv    vs32,-32(r6)
        stxv    vs32,-16(r6)
        blr
fill_zeros:                         # up to a multiple of 128
        neg     r0,r7
        rlwinm. r0,r0,28,29,31
        beq     fill_clear
        mtctr   r0
fill_up:
        stxv    vs32,0(r7)
        addi    r7,r7,16
        bdnz    fill_up
fill_clear:
        subf    r5,r7,r6
        srdi    r0,r5,7             # six lines or more
        mtctr   r0
fill_dcbz:
        dcbz    0,r7
        addi    r7,r7,128
        bdnz    fill_dcbz
        b       fill_blocks
