# Fills r5 bytes at r3, fewer than 64 and four or more, with the word r4, four equal bytes; r3 stays.
# With fewer `fill_bytes` does so with the lowest byte of r4.
#
# Head and tail are unaligned words that overlap.

        cmplwi  r5,16
        add     r6,r3,r5            # the end
        blt     fill_short
        stw     r4,0(r3)
        stw     r4,4(r3)
        stw     r4,8(r3)
        stw     r4,12(r3)
        cmplwi  r5,32
        ble     fill_last
        stw     r4,16(r3)
        stw     r4,20(r3)
        stw     r4,24(r3)
        stw     r4,28(r3)
        stw     r4,-32(r6)
        stw     r4,-28(r6)
        stw     r4,-24(r6)
        stw     r4,-20(r6)
fill_last:
        stw     r4,-16(r6)
        stw     r4,-12(r6)
        stw     r4,-8(r6)
        stw     r4,-4(r6)
        blr

fill_short:
        cmplwi  r5,8
        blt     fill_few
        stw     r4,0(r3)
        stw     r4,4(r3)
        stw     r4,-8(r6)
        stw     r4,-4(r6)
        blr
fill_few:
        stw     r4,0(r3)
        stw     r4,-4(r6)
        blr
fill_bytes:
        cmplwi  r5,0
        cmplwi  cr1,r5,2
        beqlr
        stb     r4,0(r3)
        bltlr   cr1
        stb     r4,1(r3)
        beqlr   cr1
        stb     r4,2(r3)
        blr
