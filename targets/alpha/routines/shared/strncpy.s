# The length of the source (as shared/strnlen), then shared/fill for what is behind it, called with
# its own return address, then shared/copy.

        mov     a0,v0
        mov     a2,t8
        beq     a2,fill_bytes_end   # U
        unop

        .include strnlength
        subq    t8,a2,t8            # bytes to fill
        beq     t8,copy             # U
        unop
        unop

        mov     a1,t9
        mov     a2,t10
        mov     ra,t11
        addq    a0,a2,a0

        mov     t8,a2
        clr     a1
        bsr     ra,fill             # L
        unop

        mov     v0,a0
        mov     t9,a1
        mov     t10,a2
        mov     t11,ra

        .include copy

fill:   cmpult  a2,8,t0
        or      a0,a2,t2
        bne     t0,fill_bytes       # U
        and     t2,7,t2

        .include fill
