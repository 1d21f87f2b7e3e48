# r4 becomes the address of 16 bytes with the string's end, v2 the marks of their zero bytes, v0
# zero; the string begins at r3, which stays.  Changes r5, r6, v1 to v5.
#
# The first 16 bytes from where the string begins, unless they are in two pages; then from a
# multiple of 16, four single blocks and after those four in a pass from a multiple of 64.

        clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltisb v0,0
        mr      r4,r3
        bgt     length_edge
        lxv     vs33,0(r3)
        vcmpequb. v2,v1,v0
        bne     cr6,length_found
length_blocks:
        clrrdi  r4,r4,4
        lxv     vs33,16(r4)
        addi    r4,r4,16
        vcmpequb. v2,v1,v0
        bne     cr6,length_found
        lxv     vs33,16(r4)
        addi    r4,r4,16
        vcmpequb. v2,v1,v0
        bne     cr6,length_found
        lxv     vs33,16(r4)
        addi    r4,r4,16
        vcmpequb. v2,v1,v0
        bne     cr6,length_found
        lxv     vs33,16(r4)
        addi    r4,r4,16
        vcmpequb. v2,v1,v0
        bne     cr6,length_found
        addi    r4,r4,16
        clrrdi  r4,r4,6             # what was seen may be seen again
        addi    r4,r4,-64
        .p2align 5
length_lines:
        lxv     vs33,64(r4)
        lxv     vs34,80(r4)
        lxv     vs35,96(r4)
        lxv     vs36,112(r4)
        addi    r4,r4,64
        vminub  v1,v1,v2
        vminub  v5,v3,v4
        vminub  v5,v1,v5
        vcmpequb. v5,v5,v0
        beq     cr6,length_lines
        vcmpequb. v5,v1,v0          # in the first two blocks or in the others
        lxv     vs33,0(r4)
        bne     cr6,length_first
        addi    r4,r4,32
        vor     v1,v3,v3
        vor     v2,v4,v4
length_first:
        vcmpequb. v3,v1,v0
        bne     cr6,length_early
        vcmpequb v2,v2,v0
        addi    r4,r4,16
        b       length_found
length_early:
        vor     v2,v3,v3
        b       length_found
length_edge:                        # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r6,r5,56
        lxvl    vs33,r3,r6
        vcmpequb v2,v1,v0
        vctzlsbb r6,v2
        cmpld   r6,r5
        bge     length_blocks
length_found:
