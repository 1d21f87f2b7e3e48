# bzero: a0 destination, a1 count; no result.
#
# See shared/fill.

bzero:  mov     a1,a2
        clr     a1
        cmpult  a2,8,t0
        unop

        bne     t0,fill_bytes       # U
        unop
        unop
        unop

        .include fill
