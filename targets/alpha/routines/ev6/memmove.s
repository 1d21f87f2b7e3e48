# memmove: a0 destination, a1 source, a2 count; v0 destination.  See shared/move.

memmove:
        subq    a0,a1,t0
        mov     a0,v0
        unop
        unop

        .include move
