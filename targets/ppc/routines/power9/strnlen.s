# strnlen: r3 string, r4 limit; r3 bytes in front of its end, or the limit.
#
# 64 bytes from the first one on where its page has as many, then lines of 64 from multiples of 64
# up to the one with the last byte, two in a pass.

strnlen:
        mr.     r5,r4
        vspltisb v0,0
        mr      r7,r3
        beq     strnlen_limit
strnlen_begin:                      # r5 bytes from r7 on
        clrldi  r6,r7,52
        cmpldi  cr1,r6,4032
        bgt     cr1,strnlen_edge
        lxv     vs46,0(r7)
        cmpldi  r5,16
        vcmpequb. v18,v14,v0
        bne     cr6,strnlen_first
        ble     strnlen_limit
        lxv     vs46,16(r7)
        cmpldi  r5,32
        vcmpequb. v18,v14,v0
        bne     cr6,strnlen_second
        ble     strnlen_limit
        lxv     vs46,32(r7)
        cmpldi  cr1,r5,48
        lxv     vs47,48(r7)
        cmpldi  cr5,r5,64
        vcmpequb. v18,v14,v0
        addi    r8,r5,-1
        bne     cr6,strnlen_third
        add     r6,r7,r8            # the last byte, or the last one of all
        ble     cr1,strnlen_limit
        vcmpequb. v18,v15,v0
        cmpld   cr1,r6,r7
        bne     cr6,strnlen_fourth
        ble     cr5,strnlen_limit
        bge     cr1,strnlen_lines
        li      r6,-1
strnlen_lines:
        addi    r8,r7,64
        clrrdi  r8,r8,6             # what was seen may be seen again
        subf    r5,r8,r6
        srdi    r5,r5,6
        addi    r5,r5,1
        mtctr   r5
        .p2align 5
strnlen_line:
        lxv     vs46,0(r8)
        lxv     vs47,16(r8)
        lxv     vs48,32(r8)
        lxv     vs49,48(r8)
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bdz     strnlen_last
        bne     cr6,strnlen_inside
        lxv     vs46,64(r8)
        lxv     vs47,80(r8)
        lxv     vs48,96(r8)
        lxv     vs49,112(r8)
        addi    r8,r8,128
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bdnzt   4*cr6+eq,strnlen_line
        beq     cr6,strnlen_limit
        addi    r8,r8,-64
strnlen_inside:
        vcmpequb. v18,v14,v0
        subf    r5,r3,r8
        bne     cr6,strnlen_found
        vcmpequb. v18,v15,v0
        addi    r5,r5,16
        bne     cr6,strnlen_found
        vcmpequb. v18,v16,v0
        addi    r5,r5,16
        bne     cr6,strnlen_found
        vcmpequb v18,v17,v0
        addi    r5,r5,16
strnlen_found:                      # it may be behind the last one
        vctzlsbb r6,v18
        add     r3,r5,r6
        cmpld   r3,r4
        bltlr
strnlen_limit:
        mr      r3,r4
        blr
strnlen_last:                       # an odd line, the last
        beq     cr6,strnlen_limit
        b       strnlen_inside
strnlen_fourth:
        addi    r5,r5,-16
strnlen_third:
        addi    r5,r5,-16
strnlen_second:
        addi    r5,r5,-16
strnlen_first:
        vctzlsbb r6,v18
        subf    r3,r5,r4
        cmpld   r6,r5
        add     r3,r3,r6
        bltlr
        mr      r3,r4
        blr
strnlen_edge:                       # up to a multiple of 16, and single blocks to one of 64
        clrldi  r6,r7,60
        subfic  r6,r6,16
        sldi    r8,r6,56
        lxvl    vs46,r7,r8
        vcmpequb v18,v14,v0
        vctzlsbb r8,v18
        cmpld   r8,r6
        blt     strnlen_first
strnlen_single:
        cmpld   r5,r6
        add     r7,r7,r6
        ble     strnlen_limit
        subf    r5,r6,r5
        andi.   r6,r7,63
        beq     strnlen_begin
        lxv     vs46,0(r7)
        vcmpequb. v18,v14,v0
        li      r6,16
        bne     cr6,strnlen_first
        b       strnlen_single
