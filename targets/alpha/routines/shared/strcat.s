# The end of the destination (shared/strend), and from there on shared/strcopy.

        .include strend
        mov     a0,v0
        addq    t7,t3,a0
        .align 4
        .include strcopy
done:   ret                         # L
