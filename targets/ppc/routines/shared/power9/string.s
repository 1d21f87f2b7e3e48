# Copies the string at r4 with its end to r6; r6 + r7 becomes the address of the end there.
#
# 64 bytes from where the string begins, if its page has as many, then from multiples of 64 of the
# source, of which some bytes may be copied again: four blocks, and lines of 64.  A line is stored
# while the next is loaded.  The bytes in front of the end go by stxvl, the end by itself.  Changes
# r0, r4, r5, r7, v0 to v6.

        clrldi  r5,r4,52
        cmpldi  r5,4032
        bgt     string_edge
string_head:                        # from a multiple of 16, or with 64 bytes in its page
        lxv     vs33,0(r4)
        addi    r7,r4,64
        vspltisb v0,0
        vcmpequb. v5,v1,v0
        bne     cr6,string_last
        lxv     vs34,16(r4)
        vcmpequb. v5,v2,v0
        bne     cr6,string_second
        lxv     vs35,32(r4)
        clrrdi  r7,r7,6             # the next line
        vcmpequb. v5,v3,v0
        bne     cr6,string_third
        lxv     vs36,48(r4)
        subf    r5,r4,r7
        vcmpequb. v5,v4,v0
        bne     cr6,string_fourth
        stxv    vs33,0(r6)
        lxv     vs33,0(r7)
        stxv    vs34,16(r6)
        lxv     vs34,16(r7)
        stxv    vs35,32(r6)
        lxv     vs35,32(r7)
        stxv    vs36,48(r6)
        lxv     vs36,48(r7)
        mr      r4,r7
        add     r6,r6,r5
string_inside:                      # a line at r4, in v1 to v4
        vcmpequb. v5,v1,v0
        bne     cr6,string_last
        vcmpequb. v5,v2,v0
        bne     cr6,string_second
        vcmpequb. v5,v3,v0
        bne     cr6,string_third
        vcmpequb. v5,v4,v0
        bne     cr6,string_fourth
string_lines:
        stxv    vs33,0(r6)
        lxv     vs33,64(r4)
        stxv    vs34,16(r6)
        lxv     vs34,80(r4)
        stxv    vs35,32(r6)
        lxv     vs35,96(r4)
        stxv    vs36,48(r6)
        lxv     vs36,112(r4)
        addi    r6,r6,64
        addi    r4,r4,64
        vminub  v5,v1,v2
        vminub  v6,v3,v4
        vminub  v5,v5,v6
        vcmpequb. v5,v5,v0
        beq     cr6,string_lines
        b       string_inside
string_edge:                        # what is in the first page; zeros behind
        clrldi  r5,r4,60
        subfic  r5,r5,16
        sldi    r0,r5,56
        lxvl    vs33,r4,r0
        vspltisb v0,0
        vcmpequb v5,v1,v0
        vctzlsbb r7,v5
        cmpld   r7,r5
        blt     string_end
        stxvl   vs33,r6,r0
        add     r4,r4,r5
        add     r6,r6,r5
        b       string_head
string_fourth:
        vctzlsbb r7,v5
        stxv    vs33,0(r6)
        stxv    vs34,16(r6)
        stxv    vs35,32(r6)
        addi    r6,r6,48
        vor     v1,v4,v4
        b       string_end
string_third:
        vctzlsbb r7,v5
        stxv    vs33,0(r6)
        stxv    vs34,16(r6)
        addi    r6,r6,32
        vor     v1,v3,v3
        b       string_end
string_second:
        vctzlsbb r7,v5
        stxv    vs33,0(r6)
        addi    r6,r6,16
        vor     v1,v2,v2
        b       string_end
string_last:
        vctzlsbb r7,v5
string_end:
        li      r0,0
        sldi    r5,r7,56
        stbx    r0,r6,r7
        stxvl   vs33,r6,r5
