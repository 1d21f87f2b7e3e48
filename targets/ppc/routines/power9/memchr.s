# memchr: r3 bytes, r4 byte, r5 how many; r3 the address of the first such byte, or zero.
#
# 64 bytes from the first one on where its page has as many, a line of 64 from a multiple of 64, then
# two lines in a pass up to those with the last byte: in the first passes each line has a branch, so
# that it is known at once which of both has the byte; then both have one, whose history is short.
# A byte differs from the one that is sought by zero.

memchr: cmpldi  r5,0
        mtvsrws vs33,r4
        vspltisb v0,0
        beq     memchr_absent
        vspltb  v1,v1,3
memchr_begin:
        clrldi  r6,r3,52
        cmpldi  cr1,r6,4032
        bgt     cr1,memchr_edge
        lxv     vs46,0(r3)
        cmpldi  r5,16
        vcmpequb. v18,v14,v1
        bne     cr6,memchr_first
        ble     memchr_absent
        lxv     vs46,16(r3)
        cmpldi  r5,32
        vcmpequb. v18,v14,v1
        bne     cr6,memchr_second
        ble     memchr_absent
        lxv     vs46,32(r3)
        cmpldi  cr1,r5,48
        lxv     vs47,48(r3)
        cmpldi  cr5,r5,64
        vcmpequb. v18,v14,v1
        addi    r4,r5,-1
        bne     cr6,memchr_third
        add     r6,r3,r4            # the last byte, or the last one of all
        ble     cr1,memchr_absent
        vcmpequb. v18,v15,v1
        cmpld   cr1,r6,r3
        bne     cr6,memchr_fourth
        ble     cr5,memchr_absent
        bge     cr1,memchr_lines
        li      r6,-1
memchr_lines:
        addi    r4,r3,64
        clrrdi  r4,r4,6             # what was seen may be seen again
        lxv     vs46,0(r4)
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        addi    r5,r4,64
        bne     cr6,memchr_line
        clrrdi  r4,r5,7
        subf    r5,r4,r6
        cmpld   r6,r4
        srdi    r5,r5,7             # pairs of lines in front of the one with the last byte
        addi    r5,r5,1
        li      r7,3                # passes in which each line has a branch
        blt     memchr_absent
        cmpld   cr5,r5,r7
        isel    r7,r5,r7,4*cr5+lt
        mtctr   r7
        .p2align 5
memchr_either:
        lxv     vs46,0(r4)
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bne     cr6,memchr_line
        lxv     vs46,64(r4)
        lxv     vs47,80(r4)
        lxv     vs48,96(r4)
        lxv     vs49,112(r4)
        addi    r4,r4,128
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bdnzt   4*cr6+eq,memchr_either
        bne     cr6,memchr_second_line
        subf.   r5,r7,r5
        mtctr   r5
        beq     memchr_absent
        .p2align 5
memchr_pair:
        lxv     vs46,0(r4)
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        lxv     vs46,64(r4)
        lxv     vs47,80(r4)
        lxv     vs48,96(r4)
        lxv     vs49,112(r4)
        addi    r4,r4,128
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v15,v14,v15         # zero where one of both is: the first is asked before
        vminub  v17,v16,v17
        vminub  v17,v15,v17
        vminub  v19,v18,v17
        vcmpequb. v19,v19,v0
        bdnzt   4*cr6+eq,memchr_pair
        beq     cr6,memchr_absent
        vcmpequb. v18,v18,v0
        beq     cr6,memchr_second_line
        addi    r4,r4,-128          # once more
        lxv     vs46,0(r4)
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        vxor    v14,v14,v1
        vxor    v15,v15,v1
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        b       memchr_line
memchr_second_line:
        addi    r4,r4,-64
memchr_line:                        # the differences in v14 to v17, from r4
        mr      r3,r4
        vcmpequb. v18,v14,v0
        bne     cr6,memchr_found
        addi    r3,r4,16
        vcmpequb. v18,v15,v0
        bne     cr6,memchr_found
        addi    r3,r4,32
        vcmpequb. v18,v16,v0
        bne     cr6,memchr_found
        addi    r3,r4,48
        vcmpequb v18,v17,v0
memchr_found:                       # it may be behind the last one
        vctzlsbb r5,v18
        add     r3,r3,r5
        cmpld   r3,r6
        blelr
memchr_absent:
        li      r3,0
        blr
memchr_fourth:
        addi    r3,r3,48
        addi    r5,r5,-48
        b       memchr_first
memchr_third:
        addi    r3,r3,32
        addi    r5,r5,-32
        b       memchr_first
memchr_second:
        addi    r3,r3,16
        addi    r5,r5,-16
memchr_first:
        vctzlsbb r6,v18
        cmpld   r6,r5
        add     r3,r3,r6
        bltlr
        li      r3,0
        blr
memchr_edge:                        # up to a multiple of 16, and single blocks to one of 64
        clrldi  r6,r3,60
        subfic  r6,r6,16
        sldi    r7,r6,56
        lxvl    vs46,r3,r7
        vcmpequb v18,v14,v1
        vctzlsbb r7,v18
        cmpld   r7,r6
        blt     memchr_first
memchr_single:
        cmpld   r5,r6
        add     r3,r3,r6
        ble     memchr_absent
        subf    r5,r6,r5
        andi.   r6,r3,63
        beq     memchr_begin
        lxv     vs46,0(r3)
        vcmpequb. v18,v14,v1
        li      r6,16
        bne     cr6,memchr_first
        b       memchr_single
