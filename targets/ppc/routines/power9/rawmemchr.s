# rawmemchr: r3 bytes, r4 byte; r3 the address of the first such byte, which is there.
#
# The block from the first byte on where its page has 16, twelve by themselves from a multiple
# of 16, then from multiples of 32 two by themselves and two at once, by turns.

rawmemchr:
        clrldi  r5,r3,52
        cmpldi  r5,4080
        mtvsrws vs33,r4
        bgt     raw_edge
        lxv     vs46,0(r3)
        vspltb  v1,v1,3
        vcmpequb. v15,v14,v1
        bne     cr6,raw_first
raw_aligned:
        clrrdi  r3,r3,4
        lxv     vs46,16(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_second
        lxv     vs46,32(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_third
        lxv     vs46,48(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_fourth
        lxv     vs46,64(r3)
        addi    r3,r3,64
        vcmpequb. v15,v14,v1
        bne     cr6,raw_first
        lxv     vs46,16(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_second
        lxv     vs46,32(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_third
        lxv     vs46,48(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_fourth
        lxv     vs46,64(r3)
        addi    r3,r3,64
        vcmpequb. v15,v14,v1
        bne     cr6,raw_first
        lxv     vs46,16(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_second
        lxv     vs46,32(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_third
        lxv     vs46,48(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_fourth
        lxv     vs46,64(r3)
        addi    r3,r3,64
        vcmpequb. v15,v14,v1
        bne     cr6,raw_first
        vspltisb v0,0
        addi    r3,r3,16
        clrrdi  r3,r3,5             # what was seen may be seen again
        .p2align 5
raw_lines:
        lxv     vs46,0(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_first
        lxv     vs46,16(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_second
        lxv     vs48,32(r3)
        lxv     vs49,48(r3)
        vxor    v18,v16,v1
        vxor    v19,v17,v1
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bne     cr6,raw_early
        lxv     vs46,64(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_fifth
        lxv     vs46,80(r3)
        vcmpequb. v15,v14,v1
        bne     cr6,raw_sixth
        lxv     vs48,96(r3)
        lxv     vs49,112(r3)
        addi    r3,r3,128
        vxor    v18,v16,v1
        vxor    v19,v17,v1
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        beq     cr6,raw_lines
        addi    r3,r3,-64
raw_early:                          # in v16 or in v17
        vcmpequb. v15,v16,v1
        bne     cr6,raw_third
        vcmpequb v15,v17,v1
        b       raw_fourth
raw_sixth:
        addi    r3,r3,16
raw_fifth:
        addi    r3,r3,64
raw_first:
        vctzlsbb r5,v15
        add     r3,r3,r5
        blr
raw_second:
        vctzlsbb r5,v15
        addi    r3,r3,16
        add     r3,r3,r5
        blr
raw_third:
        vctzlsbb r5,v15
        addi    r3,r3,32
        add     r3,r3,r5
        blr
raw_fourth:
        vctzlsbb r5,v15
        addi    r3,r3,48
        add     r3,r3,r5
        blr
raw_edge:                           # what is in the first page
        clrldi  r8,r3,60
        subfic  r8,r8,16
        sldi    r5,r8,56
        lxvl    vs46,r3,r5
        vspltb  v1,v1,3
        vcmpequb v15,v14,v1
        vctzlsbb r5,v15
        cmpld   r5,r8
        bge     raw_aligned
        add     r3,r3,r5
        blr
