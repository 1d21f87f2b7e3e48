# rawmemchr: r3 bytes, r4 byte; r3 the address of the first such byte, which is there.
#
# The block from the first byte on where its page has 16, twelve by themselves from a multiple
# of 16, then from multiples of 32 two by themselves and two at once, by turns.

rawmemchr:
        clrldi  r5,r3,52
        cmpldi  r5,4080
        mtvsrws vs33,r4
        bgt     raw_edge
        lxv     vs34,0(r3)
        vspltb  v1,v1,3
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
raw_aligned:
        clrrdi  r3,r3,4
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
        addi    r3,r3,64
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
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
        addi    r3,r3,64
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
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
        addi    r3,r3,64
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
        vspltisb v0,0
        addi    r3,r3,16
        clrrdi  r3,r3,5             # what was seen may be seen again
        .p2align 5
raw_lines:
        lxv     vs34,0(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_first
        lxv     vs34,16(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_second
        lxv     vs36,32(r3)
        lxv     vs37,48(r3)
        vxor    v8,v4,v1
        vxor    v9,v5,v1
        vminub  v6,v8,v9
        vcmpequb. v6,v6,v0
        bne     cr6,raw_early
        lxv     vs34,64(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_fifth
        lxv     vs34,80(r3)
        vcmpequb. v3,v2,v1
        bne     cr6,raw_sixth
        lxv     vs36,96(r3)
        lxv     vs37,112(r3)
        addi    r3,r3,128
        vxor    v8,v4,v1
        vxor    v9,v5,v1
        vminub  v6,v8,v9
        vcmpequb. v6,v6,v0
        beq     cr6,raw_lines
        addi    r3,r3,-64
raw_early:                          # in v4 or in v5
        vcmpequb. v3,v4,v1
        bne     cr6,raw_third
        vcmpequb v3,v5,v1
        b       raw_fourth
raw_sixth:
        addi    r3,r3,16
raw_fifth:
        addi    r3,r3,64
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
        vspltb  v1,v1,3
        vcmpequb v3,v2,v1
        vctzlsbb r5,v3
        cmpld   r5,r8
        bge     raw_aligned
        add     r3,r3,r5
        blr
