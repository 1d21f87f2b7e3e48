# strchr: r3 string, r4 byte; r3 the address of the first such byte or of the end, or zero.
#
# The smaller of a byte and its difference from the one that is sought is zero at either.  As
# shared/power9/length, two blocks in a pass.

strchr: mtvsrws vs33,r4
        clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltisb v0,0
        clrldi  r4,r4,56
        vspltb  v1,v1,3
        bgt     strchr_edge
        lxv     vs34,0(r3)
        vxor    v3,v2,v1
        vminub  v3,v3,v2
        vcmpequb. v3,v3,v0
        bne     cr6,strchr_found
strchr_blocks:
        clrrdi  r3,r3,4
        lxv     vs34,16(r3)
        addi    r3,r3,16
        vxor    v3,v2,v1
        vminub  v3,v3,v2
        vcmpequb. v3,v3,v0
        bne     cr6,strchr_found
        lxv     vs34,16(r3)
        addi    r3,r3,16
        vxor    v3,v2,v1
        vminub  v3,v3,v2
        vcmpequb. v3,v3,v0
        bne     cr6,strchr_found
        addi    r3,r3,16
        clrrdi  r3,r3,5             # what was seen may be seen again
        addi    r3,r3,-32
        .p2align 5
strchr_pairs:
        lxv     vs34,32(r3)
        lxv     vs36,48(r3)
        addi    r3,r3,32
        vxor    v3,v2,v1
        vxor    v5,v4,v1
        vminub  v3,v3,v2
        vminub  v5,v5,v4
        vminub  v6,v3,v5
        vcmpequb. v6,v6,v0
        beq     cr6,strchr_pairs
        vcmpequb. v3,v3,v0
        bne     cr6,strchr_found
        addi    r3,r3,16
        vcmpequb v3,v5,v0
        b       strchr_found
strchr_edge:                        # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r6,r5,56
        lxvl    vs34,r3,r6
        vxor    v3,v2,v1
        vminub  v3,v3,v2
        vcmpequb v3,v3,v0
        vctzlsbb r6,v3
        cmpld   r6,r5
        bge     strchr_blocks
strchr_found:
        vctzlsbb r6,v3
        lbzux   r5,r3,r6
        cmpw    r5,r4
        beqlr
        li      r3,0
        blr
