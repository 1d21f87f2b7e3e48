# r5 becomes the address of the first 16 bytes behind those at r4 that have a zero byte, v2 their
# marks; r4 is a multiple of 16, v1 is zero.  Changes r4, v2 to v13.
#
# Four single blocks, a line of 64 bytes from a multiple of 64, then two lines in a pass.

        lxv     vs34,16(r4)
        addi    r5,r4,16
        vcmpequb. v2,v2,v1
        bne     cr6,scan_found
        lxv     vs34,32(r4)
        addi    r5,r4,32
        vcmpequb. v2,v2,v1
        bne     cr6,scan_found
        lxv     vs34,48(r4)
        addi    r5,r4,48
        vcmpequb. v2,v2,v1
        bne     cr6,scan_found
        lxv     vs34,64(r4)
        addi    r5,r4,64
        vcmpequb. v2,v2,v1
        bne     cr6,scan_found
        addi    r4,r4,80
        clrrdi  r4,r4,6             # what was seen may be seen again
        lxv     vs34,0(r4)
        lxv     vs35,16(r4)
        lxv     vs36,32(r4)
        lxv     vs37,48(r4)
        vminub  v10,v2,v3
        vminub  v11,v4,v5
        vminub  v10,v10,v11
        vcmpequb. v10,v10,v1
        bne     cr6,scan_line
        addi    r4,r4,-64
        clrrdi  r4,r4,7
        .p2align 5
scan_lines:
        lxv     vs34,128(r4)
        lxv     vs35,144(r4)
        lxv     vs36,160(r4)
        lxv     vs37,176(r4)
        lxv     vs38,192(r4)
        lxv     vs39,208(r4)
        lxv     vs40,224(r4)
        lxv     vs41,240(r4)
        addi    r4,r4,128
        vminub  v10,v2,v3
        vminub  v11,v4,v5
        vminub  v12,v6,v7
        vminub  v13,v8,v9
        vminub  v10,v10,v11
        vminub  v12,v12,v13
        vminub  v12,v10,v12
        vcmpequb. v12,v12,v1
        beq     cr6,scan_lines
        vcmpequb. v10,v10,v1
        bne     cr6,scan_line
        addi    r4,r4,64
        vor     v2,v6,v6
        vor     v3,v7,v7
        vor     v4,v8,v8
        vor     v5,v9,v9
scan_line:                          # in v2 to v5, from r4
        mr      r5,r4
        vcmpequb. v2,v2,v1
        bne     cr6,scan_found
        addi    r5,r4,16
        vcmpequb. v2,v3,v1
        bne     cr6,scan_found
        addi    r5,r4,32
        vcmpequb. v2,v4,v1
        bne     cr6,scan_found
        addi    r5,r4,48
        vcmpequb v2,v5,v1
scan_found:
