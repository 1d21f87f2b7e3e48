# Looks for a byte of r4, eight equal ones, from r3 up to the byte at r6; goes to `absent` where
# there is none.  Else r8 is the address of the doubleword with the first one and r10 the mask of
# those in it; it may be behind r6.  Changes r0, r5, r7 to r11; see shared/power4/length for how
# bytes are marked.

        clrrdi  r8,r3,3
        rlwinm  r10,r3,3,26,28      # bits in front of the first byte
        ld      r5,0(r8)
        li      r0,-1
        lis     r7,0x7f7f
        srd     r0,r0,r10
        xor     r5,r5,r4
        ori     r7,r7,0x7f7f
        rldimi  r7,r7,32,0
        orc     r5,r5,r0
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        subf    r11,r8,r6
        nor.    r10,r10,r0
        srdi    r11,r11,3           # doublewords behind this one
        bne     find_found
        cmpldi  cr1,r11,0
        add     r9,r7,r7            # 0xfefefefefefefeff
        mtctr   r11
        beq     cr1,absent
        addi    r9,r9,1
        .p2align 4
find_words:
        ldu     r5,8(r8)
        xor     r5,r5,r4
        add     r10,r5,r9
        nor     r0,r5,r7
        and.    r10,r10,r0
        bdnzt   eq,find_words
        beq     absent
        and     r10,r5,r7
        or      r0,r5,r7
        add     r10,r10,r7
        nor     r10,r10,r0
find_found:
