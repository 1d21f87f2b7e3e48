# The next word behind r8, for find.

        lwzu    r5,4(r8)
        xor     r5,r5,r4
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        bne     find_exact
