# strchr: r3 string, r4 byte; r3 the address of the first such byte or of the end, or zero.
#
# Blocks by themselves: the first one, where its page has 16, and two from a multiple of 16.  Then
# two in a pass from multiples of 32: the smaller of a byte and its difference from the one that is
# sought is zero at either.

strchr: mtvsrws vs33,r4
        clrldi  r5,r3,52
        cmpldi  r5,4080
        bgt     strchr_edge
        lxv     vs46,0(r3)
        vspltb  v1,v1,3
        vspltisb v0,0
        vcmpequb. v15,v14,v1
        vcmpequb v16,v14,v0
        bne     cr6,strchr_found
        vcmpequb. v17,v14,v0
        bne     cr6,strchr_absent
strchr_blocks:
        clrrdi  r3,r3,4
        lxv     vs46,16(r3)
        addi    r3,r3,16
        vcmpequb. v15,v14,v1
        vcmpequb v16,v14,v0
        bne     cr6,strchr_found
        vcmpequb. v17,v14,v0
        bne     cr6,strchr_absent
        lxv     vs46,16(r3)
        addi    r3,r3,16
        vcmpequb. v15,v14,v1
        vcmpequb v16,v14,v0
        bne     cr6,strchr_found
        vcmpequb. v17,v14,v0
        bne     cr6,strchr_absent
        addi    r3,r3,16
        clrrdi  r3,r3,5             # what was seen may be seen again
        .p2align 5
strchr_pairs:
        lxv     vs46,0(r3)
        lxv     vs48,16(r3)
        addi    r3,r3,32
        vxor    v15,v14,v1
        vxor    v17,v16,v1
        vminub  v18,v14,v16
        vminub  v19,v15,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        beq     cr6,strchr_pairs
        addi    r3,r3,-32
        vminub  v18,v14,v15         # in the first one or in the second
        vcmpequb. v18,v18,v0
        vcmpequb v15,v14,v1
        bne     cr6,strchr_either
        vcmpequb v15,v16,v1
        vor     v14,v16,v16
        addi    r3,r3,16
strchr_either:
        vcmpequb v16,v14,v0
strchr_found:                       # v15: where the byte is, v16: where the end is
        vctzlsbb r5,v15
        vctzlsbb r6,v16
        cmpld   r5,r6
        cmpldi  cr1,r5,16
        add     r3,r3,r5
        bgt     strchr_absent
        bltlr   cr1
strchr_absent:
        li      r3,0
        blr
strchr_edge:                        # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r6,r5,56
        lxvl    vs46,r3,r6
        vspltb  v1,v1,3
        vspltisb v0,0
        vcmpequb v15,v14,v1
        vcmpequb v16,v14,v0
        vctzlsbb r6,v15
        vctzlsbb r7,v16
        cmpld   r6,r5
        cmpld   cr1,r7,r5
        blt     strchr_found
        bge     cr1,strchr_blocks
        b       strchr_absent
