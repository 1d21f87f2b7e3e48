# The end of the destination (shared/strend), the length of the source (as shared/strnlen), then
# shared/copy and an end behind it.

        .include strend
        mov     a0,v0
        mov     t7,a0
        .align 4
        beq     a2,nothing          # U
        unop
        unop
        unop

        .include strnlength
        addq    a0,a2,t0
        stb     zero,0(t0)          # L
        .align 4
        .include copy
nothing:
        stb     zero,0(t7)          # L
        ret                         # L
