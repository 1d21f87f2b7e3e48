# strchr: r3 string, r4 byte; r3 the address of the first such byte or of the end, or zero.
#
# See shared/7450/either.

strchr: rlwimi  r4,r4,8,16,23
        rlwimi  r4,r4,16,0,15
        .include either
        .include marks
        cntlzw  r10,r10
        cntlzw  r11,r11
        cmplw   r11,r10             # the byte is at the end or in front of it
        srwi    r11,r11,3
        li      r3,0
        bgtlr
        add     r3,r8,r11
        blr
