# r5 becomes the address of the first 16 bytes behind those at r4 that have a zero byte, v14 their
# marks; r4 is a multiple of 16, v1 is zero.  Changes r4, v0, v14 to v19.
#
# Four single blocks, a line of 64 bytes from a multiple of 64, then two lines in a pass.

        lxv     vs46,16(r4)
        addi    r5,r4,16
        vcmpequb. v14,v14,v1
        bne     cr6,scan_found
        lxv     vs46,32(r4)
        addi    r5,r4,32
        vcmpequb. v14,v14,v1
        bne     cr6,scan_found
        lxv     vs46,48(r4)
        addi    r5,r4,48
        vcmpequb. v14,v14,v1
        bne     cr6,scan_found
        lxv     vs46,64(r4)
        addi    r5,r4,64
        vcmpequb. v14,v14,v1
        bne     cr6,scan_found
        addi    r4,r4,80
        clrrdi  r4,r4,6             # what was seen may be seen again
        lxv     vs46,0(r4)
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v1
        bne     cr6,scan_line
        addi    r4,r4,-64
        clrrdi  r4,r4,7
        lxv     vs46,128(r4)
        lxv     vs47,144(r4)
        lxv     vs48,160(r4)
        lxv     vs49,176(r4)
        addi    r4,r4,128
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v1
        bne     cr6,scan_line
        lxv     vs46,64(r4)
        lxv     vs47,80(r4)
        lxv     vs48,96(r4)
        lxv     vs49,112(r4)
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v1
        bne     cr6,scan_second
        .p2align 5
scan_lines:
        lxv     vs46,128(r4)
        lxv     vs47,144(r4)
        lxv     vs48,160(r4)
        lxv     vs49,176(r4)
        addi    r4,r4,128
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        lxv     vs46,64(r4)
        lxv     vs47,80(r4)
        lxv     vs48,96(r4)
        lxv     vs49,112(r4)
        vminub  v18,v18,v19
        vminub  v0,v14,v15
        vminub  v19,v16,v17
        vminub  v19,v0,v19
        vminub  v19,v18,v19
        vcmpequb. v19,v19,v1
        beq     cr6,scan_lines
        vcmpequb. v18,v18,v1
        beq     cr6,scan_second
        lxv     vs46,0(r4)          # once more
        lxv     vs47,16(r4)
        lxv     vs48,32(r4)
        lxv     vs49,48(r4)
        b       scan_line
scan_second:
        addi    r4,r4,64
scan_line:                          # in v14 to v17, from r4
        mr      r5,r4
        vcmpequb. v14,v14,v1
        bne     cr6,scan_found
        addi    r5,r4,16
        vcmpequb. v14,v15,v1
        bne     cr6,scan_found
        addi    r5,r4,32
        vcmpequb. v14,v16,v1
        bne     cr6,scan_found
        addi    r5,r4,48
        vcmpequb v14,v17,v1
scan_found:
