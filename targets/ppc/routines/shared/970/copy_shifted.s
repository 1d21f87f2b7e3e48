# The part of `copy` for a source that is at no doubleword, 32 bytes in a pass: vectors from two or
# three blocks of the source, of which none is read that has no byte of it.

copy_shifted:
        li      r7,16
        li      r8,32
        lvsl    v15,0,r4
        lvx     v0,0,r4
        .p2align 4
copy_shifted_blocks:
        lvx     v1,r7,r4
        lvx     v14,r8,r4
        addi    r4,r4,32
        vperm   v16,v0,v1,v15
        vperm   v17,v1,v14,v15
        vor     v0,v14,v14
        stvx    v16,0,r6
        stvx    v17,r7,r6
        addi    r6,r6,32
        bdnz    copy_shifted_blocks
        b       copy_rest
