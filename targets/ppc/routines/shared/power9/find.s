# Looks for the bytes that v1 is full of, from r3 up to the byte at r6; goes to `absent` where
# there is none.  Else r7 is the address of the first one, which may be behind r6.  Changes r5,
# r8, v2 to v9.

        clrldi  r5,r3,52
        cmpldi  r5,4080
        mr      r7,r3
        bgt     find_edge
        lxv     vs34,0(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,find_found
find_blocks:
        clrrdi  r7,r7,4
find_block:                         # up to a multiple of 64
        addi    r7,r7,16
        andi.   r5,r7,48
        cmpld   cr1,r7,r6
        bgt     cr1,absent
        beq     find_far
        lxv     vs34,0(r7)
        vcmpequb. v3,v2,v1
        beq     cr6,find_block
        b       find_found
find_far:                           # four blocks in a pass as long as the last byte is behind them
        subf    r5,r7,r6
        srdi.   r5,r5,6
        beq     find_last
        mtctr   r5
        .p2align 5
find_lines:
        lxv     vs34,0(r7)
        lxv     vs35,16(r7)
        lxv     vs36,32(r7)
        lxv     vs37,48(r7)
        vcmpequb v6,v2,v1
        vcmpequb v7,v3,v1
        vcmpequb v8,v4,v1
        vcmpequb v9,v5,v1
        vor     v2,v6,v7
        vor     v3,v8,v9
        vor     v2,v2,v3
        vcmpequb. v2,v2,v0
        bge     cr6,find_inside     # not all of it is zero
        addi    r7,r7,64
        bdnz    find_lines
        cmpld   r7,r6
        bgt     absent
find_last:
        lxv     vs34,0(r7)
        vcmpequb. v3,v2,v1
        bne     cr6,find_found
        addi    r7,r7,16
        cmpld   r7,r6
        ble     find_last
        b       absent
find_inside:
        vctzlsbb r5,v6
        cmpldi  r5,16
        blt     find_at
        addi    r7,r7,16
        vctzlsbb r5,v7
        cmpldi  r5,16
        blt     find_at
        addi    r7,r7,16
        vctzlsbb r5,v8
        cmpldi  r5,16
        blt     find_at
        addi    r7,r7,16
        vctzlsbb r5,v9
        b       find_at
find_edge:                          # what is in the first page
        clrldi  r8,r3,60
        subfic  r8,r8,16
        sldi    r5,r8,56
        lxvl    vs34,r3,r5
        vcmpequb v3,v2,v1
        vctzlsbb r5,v3
        cmpld   r5,r8
        bge     find_blocks
find_found:
        vctzlsbb r5,v3
find_at:
        add     r7,r7,r5
