# Copies r5 bytes from r4 to r6; r3 is the result and stays.
#
# 64 bytes or fewer may overlap: all are loaded, then stored, by lxvl or as first and last blocks.
# More as copy_blocks says.

        cmpldi  r5,16
        cmpldi  cr1,r5,32
        cmpldi  cr6,r5,64
        add     r9,r4,r5            # ends
        add     r10,r6,r5
        bgt     copy_more
        sldi    r0,r5,56
        lxvl    vs32,r4,r0
        stxvl   vs32,r6,r0
        blr
copy_more:
        lxv     vs32,0(r4)
        bgt     cr1,copy_blocks
        lxv     vs33,-16(r9)
        stxv    vs32,0(r6)
        stxv    vs33,-16(r10)
        blr
        .include copy_blocks
