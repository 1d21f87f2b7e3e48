# strcpy: a0 destination, a1 string; v0 destination.  See shared/strcopy.

strcpy: mov     a0,v0
        unop
        unop
        unop

        .include strcopy
done:   ret                         # L
