# mempcpy: a0 destination, a1 source, a2 count; v0 the byte behind the copy.  See shared/copy_on.

mempcpy:
        addq    a0,a2,v0
        cmpult  a2,8,t0
        and     a0,7,t4
        bne     t0,copy_bytes       # U

        .include copy_on
