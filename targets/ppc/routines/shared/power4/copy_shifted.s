# The part of `copy` for a source that is at no doubleword, 32 bytes in a pass: each doubleword is
# shifted together from two of the source, of which none is read that has no byte of it.

copy_shifted:
        clrldi  r7,r4,61
        sldi    r7,r7,3             # bits of the first doubleword in front of the source
        clrrdi  r4,r4,3
        subfic  r8,r7,64
        ld      r0,0(r4)
        .p2align 4
copy_shifted_lines:
        ld      r11,8(r4)
        sld     r0,r0,r7
        srd     r12,r11,r8
        or      r12,r0,r12
        ld      r0,16(r4)
        std     r12,0(r6)
        sld     r11,r11,r7
        srd     r12,r0,r8
        or      r12,r11,r12
        ld      r11,24(r4)
        std     r12,8(r6)
        sld     r0,r0,r7
        srd     r12,r11,r8
        or      r12,r0,r12
        ld      r0,32(r4)
        std     r12,16(r6)
        sld     r11,r11,r7
        srd     r12,r0,r8
        or      r12,r11,r12
        addi    r4,r4,32
        std     r12,24(r6)
        addi    r6,r6,32
        bdnz    copy_shifted_lines
        b       copy_rest
