# strchr: r3 string, r4 byte; r3 the address of the first such byte or of the end, or zero.
#
# See shared/power4/either.

strchr: rlwimi  r4,r4,8,16,23
        rlwimi  r4,r4,16,0,15
        rldimi  r4,r4,32,0
        .include either
        .include marks
        cntlzd  r10,r10
        cntlzd  r11,r11
        cmpld   r11,r10             # the byte is at the end or in front of it
        srdi    r11,r11,3
        li      r3,0
        bgtlr
        add     r3,r8,r11
        blr
