# Copies r5 bytes from r4 to r6, which may overlap, unless there are more than 32; r3 is the result
# and stays.  Control goes to `copy_many` with the rest, v0 the first 16, r9 and r10 the ends.

        cmpldi  r5,16
        cmpldi  cr5,r5,8
        cmpldi  cr1,r5,32
        sldi    r8,r5,56
        bgt     copy_more
        beq     cr5,copy_doubleword
        lxvl    vs32,r4,r8
        stxvl   vs32,r6,r8
        blr
copy_doubleword:
        ld      r9,0(r4)
        std     r9,0(r6)
        blr
copy_more:
        lxv     vs32,0(r4)
        add     r9,r4,r5
        add     r10,r6,r5
        bgt     cr1,copy_many
        lxv     vs33,-16(r9)
        stxv    vs32,0(r6)
        stxv    vs33,-16(r10)
        blr
