# bzero: a0 destination, a1 count; no result.
#
# See shared/fill.

bzero:  mov     a1,a2
        cmpult  a1,8,t0
        and     a0,7,t2
        unop

        clr     a1
        unop
        bne     t0,fill_bytes       # U
        unop

        .include fill
