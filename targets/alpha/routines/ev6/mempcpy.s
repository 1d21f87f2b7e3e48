# mempcpy: a0 destination, a1 source, a2 count; v0 the byte behind the copy.  See shared/copy.

mempcpy:
        addq    a0,a2,v0
        lda     a5,24(zero)
        unop
        unop

        .include copy
