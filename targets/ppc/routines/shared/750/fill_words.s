# As shared/750/fill_part, but any number of bytes.
#
# From 64 bytes on doublewords from a floating-point register, which takes the pattern from the
# destination's own first bytes.  Zeros from 512 bytes on by dcbz, and only where 128 bytes that
# begin at a multiple of 128 are inside, so that it is right whatever the size of a block is.

        cmplwi  cr1,r5,64
        bge     cr1,fill_long
        .include fill_part

fill_long:                          # from the next doubleword on; 56 bytes or more
        add     r6,r3,r5            # the end
        stw     r4,0(r3)
        stw     r4,4(r3)
        stw     r4,8(r3)
        stw     r4,12(r3)
        addi    r7,r3,8
        clrrwi  r7,r7,3
        cmpwi   cr1,r4,0
        cmplwi  cr6,r5,512
        subf    r5,r7,r6
        lfd     f0,0(r7)
        bne     cr1,fill_doublewords
        bge     cr6,fill_zeros
fill_doublewords:
        srwi    r0,r5,5
        addi    r7,r7,-8
        mtctr   r0
        andi.   r5,r5,31
        cmplwi  cr1,r5,16
        .p2align 4
fill_loop:
        stfd    f0,8(r7)
        stfd    f0,16(r7)
        stfd    f0,24(r7)
        stfdu   f0,32(r7)
        bdnz    fill_loop
        beqlr
        ble     cr1,fill_last
        stfd    f0,8(r7)
        stfd    f0,16(r7)
        b       fill_last

fill_zeros:                         # up to a multiple of 128
        neg     r0,r7
        rlwinm. r0,r0,29,28,31
        beq     fill_blocks
        mtctr   r0
fill_up:
        stfd    f0,0(r7)
        addi    r7,r7,8
        bdnz    fill_up
fill_blocks:
        subf    r5,r7,r6
        srwi    r0,r5,7             # three blocks or more
        mtctr   r0
        li      r8,32
        li      r9,64
        li      r4,96               # no register that glibc's leaves alone
        clrlwi. r5,r5,25
        .p2align 4
fill_dcbz:
        dcbz    0,r7
        dcbz    r8,r7
        dcbz    r9,r7
        dcbz    r4,r7
        addi    r7,r7,128
        bdnz    fill_dcbz
        li      r4,0
        beqlr
        cmplwi  cr1,r5,32
        bge     cr1,fill_doublewords
        cmplwi  cr1,r5,16
        ble     cr1,fill_last
        stfd    f0,0(r7)
        stfd    f0,8(r7)
        b       fill_last
