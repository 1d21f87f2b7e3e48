# memcpy: a0 destination, a1 source, a2 count; v0 destination.  See shared/copy.

memcpy: mov     a0,v0
        lda     a5,24(zero)
        unop
        unop

        .include copy
