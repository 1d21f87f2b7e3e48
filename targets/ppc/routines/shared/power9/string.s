# Copies the string at r4 with its end to r6, which becomes the address of the end there.
#
# 16 bytes from where the string begins, unless they are in two pages; then from multiples of 16. 
# The last ones by stxvl.  Changes r0, r5, r7, v0 to v2.

        clrldi  r5,r4,52
        cmpldi  r5,4080
        clrldi  r0,r4,60
        vspltisb v0,0
        bgt     string_edge
        lxv     vs33,0(r4)
        vcmpequb. v2,v1,v0
        clrrdi  r4,r4,4
        bne     cr6,string_last
        stxv    vs33,0(r6)
        subf    r6,r0,r6
string_aligned:
        lxv     vs33,16(r4)
        vcmpequb. v2,v1,v0
        addi    r4,r4,16
        addi    r6,r6,16
        bne     cr6,string_last
        .p2align 4
string_blocks:
        stxv    vs33,0(r6)
        lxv     vs33,16(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,string_second
        stxv    vs33,16(r6)
        lxv     vs33,32(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,string_third
        stxv    vs33,32(r6)
        lxv     vs33,48(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,string_fourth
        stxv    vs33,48(r6)
        lxv     vs33,64(r4)
        addi    r4,r4,64
        addi    r6,r6,64
        vcmpequb. v2,v1,v0
        beq     cr6,string_blocks
        b       string_last
string_second:
        addi    r6,r6,16
        b       string_last
string_third:
        addi    r6,r6,32
        b       string_last
string_fourth:
        addi    r6,r6,48
        b       string_last
string_edge:                        # what is in the first page; zeros behind
        subfic  r0,r0,16
        sldi    r5,r0,56
        lxvl    vs33,r4,r5
        vcmpequb v2,v1,v0
        vctzlsbb r7,v2
        cmpld   r7,r0
        blt     string_last
        stxvl   vs33,r6,r5
        add     r6,r6,r0
        clrrdi  r4,r4,4
        addi    r6,r6,-16
        b       string_aligned
string_last:
        vctzlsbb r7,v2
        addi    r5,r7,1
        sldi    r5,r5,56
        stxvl   vs33,r6,r5
        add     r6,r6,r7
