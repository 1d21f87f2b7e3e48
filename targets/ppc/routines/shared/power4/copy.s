# Copies r5 bytes from r4 to r6, which do not overlap; r3 is the result and stays.
#
# Fewer than 64 bytes: doublewords from anywhere, all loaded in halves before they are stored; the
# first and the last ones overlap.  More: 16 bytes bring the destination to a multiple of 16; then
# doublewords where the source is at one, four in flight or of six lines in turn, else as
# `copy_shifted` does.

        cmpldi  r5,16
        cmpldi  cr1,r5,32
        cmpldi  cr6,r5,64
        add     r9,r4,r5            # ends
        add     r10,r6,r5
        blt     copy_short
        ld      r0,0(r4)
        ld      r7,8(r4)
        bge     cr1,copy_more
        ld      r8,-16(r9)
        ld      r9,-8(r9)
        std     r0,0(r6)
        std     r7,8(r6)
        std     r8,-16(r10)
        std     r9,-8(r10)
        blr

copy_more:
        bge     cr6,copy_long
        ld      r8,16(r4)
        ld      r11,24(r4)
        ld      r4,-32(r9)
        ld      r5,-24(r9)
        ld      r12,-16(r9)
        ld      r9,-8(r9)
        std     r0,0(r6)
        std     r7,8(r6)
        std     r8,16(r6)
        std     r11,24(r6)
        std     r4,-32(r10)
        std     r5,-24(r10)
        std     r12,-16(r10)
        std     r9,-8(r10)
        blr

        .include copy_short

copy_long:
        clrldi  r12,r6,60
        std     r0,0(r6)
        subfic  r12,r12,16
        std     r7,8(r6)
        add     r4,r4,r12
        subf    r5,r12,r5
        add     r6,r6,r12
        andi.   r0,r4,7
        srdi    r0,r5,5
        clrldi  r5,r5,59
        mtctr   r0
        cmpldi  cr1,r5,0
        cmpldi  cr6,r5,16
        bne     copy_shifted
        subf    r0,r6,r10
        cmpldi  cr7,r0,768
        bge     cr7,copy_banks
        .p2align 4
copy_lines:
        ld      r0,0(r4)
        ld      r7,8(r4)
        ld      r8,16(r4)
        ld      r11,24(r4)
        addi    r4,r4,32
        std     r0,0(r6)
        std     r7,8(r6)
        std     r8,16(r6)
        std     r11,24(r6)
        addi    r6,r6,32
        bdnz    copy_lines
copy_rest:                          # fewer than 32 bytes, in front of the end
        beqlr   cr1
        ble     cr6,copy_last
        ld      r0,-32(r9)
        ld      r7,-24(r9)
        std     r0,-32(r10)
        std     r7,-24(r10)
copy_last:
        ld      r0,-16(r9)
        ld      r7,-8(r9)
        std     r0,-16(r10)
        std     r7,-8(r10)
        blr

        .include copy_shifted

        .include copy_banks
