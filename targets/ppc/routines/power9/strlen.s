# strlen: r3 string; r3 its length.
#
# The block from the first byte on where its page has 16, then shared/power9/scan.

strlen: clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltisb v1,0
        bgt     length_edge
        lxv     vs46,0(r3)
        clrrdi  r4,r3,4
        vcmpequb. v14,v14,v1
        bne     cr6,length_first
length_on:
        .include scan
        subf    r5,r3,r5
        vctzlsbb r4,v14
        add     r3,r5,r4
        blr
length_first:
        vctzlsbb r3,v14
        blr
length_edge:                        # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r0,r5,56
        lxvl    vs46,r3,r0
        vcmpequb v14,v14,v1
        vctzlsbb r0,v14
        cmpld   r0,r5
        clrrdi  r4,r3,4
        bge     length_on
        mr      r3,r0
        blr
