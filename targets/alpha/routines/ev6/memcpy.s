# memcpy: a0 destination, a1 source, a2 count; v0 destination.  See shared/copy_on.

memcpy: mov     a0,v0
        cmpult  a2,8,t0
        and     a0,7,t4
        bne     t0,copy_bytes       # U

        .include copy_on
