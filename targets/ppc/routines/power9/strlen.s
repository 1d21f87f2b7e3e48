# strlen: r3 string; r3 its length.
#
# The block from the first byte on where its page has 16, then one by one from a multiple of 16.

strlen: clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltisb v0,0
        clrrdi  r4,r3,4
        bgt     length_edge
        lxv     vs33,0(r3)
        vcmpequb. v2,v1,v0
        bne     cr6,length_first
        .p2align 4
length_blocks:
        lxv     vs33,16(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,length_second
        lxv     vs33,32(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,length_third
        lxv     vs33,48(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,length_fourth
        lxv     vs33,64(r4)
        vcmpequb. v2,v1,v0
        addi    r4,r4,64
        beq     cr6,length_blocks
length_found:
        subf    r4,r3,r4
        vctzlsbb r5,v2
        add     r3,r4,r5
        blr
length_first:
        vctzlsbb r3,v2
        blr
length_second:
        addi    r4,r4,16
        b       length_found
length_third:
        addi    r4,r4,32
        b       length_found
length_fourth:
        addi    r4,r4,48
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
        mr      r3,r6
        blr
