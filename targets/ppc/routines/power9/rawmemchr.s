# rawmemchr: r3 bytes, r4 byte; r3 the address of the first such byte, which is there.
#
# The block from the first byte on where its page has 16, then one by one from a multiple of 16.

rawmemchr:
        mtvsrws vs33,r4
        clrldi  r5,r3,52
        cmpldi  r5,4080
        vspltb  v1,v1,3
        bgt     raw_edge
        lxv     vs34,0(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
raw_aligned:
        clrrdi  r3,r3,4
        .p2align 4
raw_blocks:
        lxv     vs34,16(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_second
        lxv     vs34,32(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_third
        lxv     vs34,48(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_fourth
        lxv     vs34,64(r3)
        vcmpequb. v3,v2,v1
        addi    r3,r3,64
        beq     cr6,raw_blocks
raw_first:
        vctzlsbb r5,v3
        add     r3,r3,r5
        blr
raw_second:
        vctzlsbb r5,v3
        addi    r3,r3,16
        add     r3,r3,r5
        blr
raw_third:
        vctzlsbb r5,v3
        addi    r3,r3,32
        add     r3,r3,r5
        blr
raw_fourth:
        vctzlsbb r5,v3
        addi    r3,r3,48
        add     r3,r3,r5
        blr
raw_edge:                           # what is in the first page
        clrldi  r8,r3,60
        subfic  r8,r8,16
        sldi    r5,r8,56
        lxvl    vs34,r3,r5
        vcmpequb v3,v2,v1
        vctzlsbb r5,v3
        cmpld   r5,r8
        bge     raw_aligned
        add     r3,r3,r5
        blr
