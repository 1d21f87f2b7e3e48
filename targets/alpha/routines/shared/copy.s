# Copies a2 bytes from a1 to a0, which do not overlap.  Leaves v0.  As shared/copy_on, with less code
# and more branches.

copy:   cmpult  a2,8,t0
        lda     a5,24(zero)
        unop
        bne     t0,copy_bytes       # U

        .include upwards
        .align 4
        .include copy_quads
        .align 4
        .include copy_shift
        .align 4
        .include copy_bytes
