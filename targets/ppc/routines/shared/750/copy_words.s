# Copies r5 bytes from r4 to r6, which do not overlap; r3 is the result and stays.
#
# Fewer than 32 bytes: everything is loaded, then stored; the first bytes and the last ones
# overlap. More: the first bytes bring the destination to a doubleword; where the source is at a
# word then, doublewords go through floating-point registers, two for four accesses of words, else
# words, from anywhere. The last bytes are again those in front of the end.

        cmplwi  r5,16
        cmplwi  cr1,r5,32
        add     r9,r4,r5            # ends
        add     r10,r6,r5
        blt     copy_short
        lwz     r0,0(r4)
        lwz     r7,4(r4)
        lwz     r8,8(r4)
        lwz     r11,12(r4)
        bge     cr1,copy_long
        lwz     r4,-16(r9)
        lwz     r5,-12(r9)
        lwz     r12,-8(r9)
        lwz     r9,-4(r9)
        stw     r0,0(r6)
        stw     r7,4(r6)
        stw     r8,8(r6)
        stw     r11,12(r6)
        stw     r4,-16(r10)
        stw     r5,-12(r10)
        stw     r12,-8(r10)
        stw     r9,-4(r10)
        blr

copy_short:
        cmplwi  cr1,r5,8
        cmplwi  cr6,r5,4
        cmplwi  cr7,r5,0
        blt     cr1,copy_few
        lwz     r0,0(r4)
        lwz     r7,4(r4)
        lwz     r8,-8(r9)
        lwz     r9,-4(r9)
        stw     r0,0(r6)
        stw     r7,4(r6)
        stw     r8,-8(r10)
        stw     r9,-4(r10)
        blr
copy_few:
        blt     cr6,copy_bytes
        lwz     r0,0(r4)
        lwz     r9,-4(r9)
        stw     r0,0(r6)
        stw     r9,-4(r10)
        blr
copy_bytes:                         # the first, the middle and the last one
        beqlr   cr7
        srwi    r7,r5,1
        lbz     r0,0(r4)
        lbzx    r8,r4,r7
        lbz     r9,-1(r9)
        stb     r0,0(r6)
        stbx    r8,r6,r7
        stb     r9,-1(r10)
        blr

copy_long:
        xor     r12,r4,r6
        andi.   r12,r12,3
        neg     r12,r6
        bne     copy_words
        andi.   r12,r12,7           # bytes in front of the first doubleword
        beq     copy_doubles
        stw     r0,0(r6)
        subf    r5,r12,r5
        stw     r7,4(r6)
        add     r4,r4,r12
        add     r6,r6,r12
copy_doubles:
        srwi.   r0,r5,5
        addi    r4,r4,-8
        mtcrf   3,r5                # cr6: 128, 64, 32, 16; cr7: 8, 4, 2, 1
        addi    r6,r6,-8
        cmplwi  cr1,r0,256          # a line is asked for only where most are in no cache
        beq     copy_rest
        mtctr   r0
        bge     cr1,copy_far
        .p2align 5
copy_lines:
        lfd     f0,8(r4)
        lfd     f9,16(r4)
        lfd     f10,24(r4)
        lfdu    f11,32(r4)
        stfd    f0,8(r6)
        stfd    f9,16(r6)
        stfd    f10,24(r6)
        stfdu   f11,32(r6)
        bdnz    copy_lines
copy_rest:                          # fewer than 32 bytes
        andi.   r5,r5,7
        bf      4*cr6+so,copy_double
        lfd     f0,8(r4)
        lfdu    f9,16(r4)
        stfd    f0,8(r6)
        stfdu   f9,16(r6)
copy_double:
        bf      4*cr7+lt,copy_end
        lfd     f0,8(r4)
        stfd    f0,8(r6)
copy_end:
        beqlr
        lwz     r8,-8(r9)
        lwz     r9,-4(r9)
        stw     r8,-8(r10)
        stw     r9,-4(r10)
        blr

copy_far:
        li      r8,136
        .p2align 5
copy_far_lines:
        dcbt    r8,r4
        lfd     f0,8(r4)
        lfd     f9,16(r4)
        lfd     f10,24(r4)
        lfdu    f11,32(r4)
        stfd    f0,8(r6)
        stfd    f9,16(r6)
        stfd    f10,24(r6)
        stfdu   f11,32(r6)
        bdnz    copy_far_lines
        b       copy_rest

copy_words:
        stw     r0,0(r6)
        clrlwi  r12,r12,29          # so many bytes and eight bring the destination to a doubleword
        stw     r7,4(r6)
        addi    r12,r12,8
        stw     r8,8(r6)
        subf    r5,r12,r5
        stw     r11,12(r6)
        srwi    r0,r5,4
        add     r4,r4,r12
        mtctr   r0
        add     r6,r6,r12
        .p2align 4
copy_words_loop:
        lwz     r0,0(r4)
        lwz     r7,4(r4)
        lwz     r8,8(r4)
        lwz     r11,12(r4)
        addi    r4,r4,16
        stw     r0,0(r6)
        stw     r7,4(r6)
        stw     r8,8(r6)
        stw     r11,12(r6)
        addi    r6,r6,16
        bdnz    copy_words_loop
        andi.   r5,r5,15
        cmplwi  cr1,r5,8
        beqlr
        ble     cr1,copy_last
        lwz     r0,-16(r9)
        lwz     r7,-12(r9)
        stw     r0,-16(r10)
        stw     r7,-12(r10)
copy_last:
        lwz     r8,-8(r9)
        lwz     r9,-4(r9)
        stw     r8,-8(r10)
        stw     r9,-4(r10)
        blr
