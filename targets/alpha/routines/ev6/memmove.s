# memmove: a0 destination, a1 source, a2 count; v0 destination.  See shared/move.

memmove:
        cmpult  a2,8,t1
        mov     a0,v0
        subq    a0,a1,t0
        bne     t1,copy_bytes       # U

        .include move
