# Copies the string at r4 with its end to r6; r6 + r7 becomes the address of the end there.
#
# 64 bytes from where the string begins, if its page has as many, then from multiples of 64 of the
# source, of which some bytes may be copied again: four blocks, and lines of 64.  The bytes in front
# of the end go by stxvl, the end by itself.  Changes r0, r4, r5, r7, v0 to v6.

        clrldi  r5,r4,52
        cmpldi  r5,4032
        vspltisb v0,0
        bgt     string_edge
        lxv     vs33,0(r4)
        clrldi  r7,r4,58
        li      r0,0
        subfic  r7,r7,64
        vcmpequb. v5,v1,v0
        bne     cr6,string_last
        lxv     vs34,16(r4)
        vcmpequb. v5,v2,v0
        bne     cr6,string_second
        lxv     vs35,32(r4)
        vcmpequb. v5,v3,v0
        bne     cr6,string_third
        lxv     vs36,48(r4)
        add     r4,r4,r7
        vcmpequb. v5,v4,v0
        bne     cr6,string_fourth
        stxv    vs33,0(r6)
        stxv    vs34,16(r6)
        stxv    vs35,32(r6)
        stxv    vs36,48(r6)
        add     r6,r6,r7
string_line:                        # r4 is a multiple of 64
        lxv     vs33,0(r4)
        lxv     vs34,16(r4)
        lxv     vs35,32(r4)
        lxv     vs36,48(r4)
string_inside:
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
        stxv    vs34,16(r6)
        stxv    vs35,32(r6)
        stxv    vs36,48(r6)
string_next:
        lxv     vs33,64(r4)
        lxv     vs34,80(r4)
        lxv     vs35,96(r4)
        lxv     vs36,112(r4)
        addi    r6,r6,64
        addi    r4,r4,64
        vminub  v5,v1,v2
        vminub  v6,v3,v4
        vminub  v5,v5,v6
        vcmpequb. v5,v5,v0
        beq     cr6,string_lines
        b       string_inside
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
string_edge:                        # up to a multiple of 16, and single blocks to one of 64
        li      r0,0
        clrldi  r5,r4,60
        subfic  r5,r5,16
        sldi    r7,r5,56
        lxvl    vs33,r4,r7
        vcmpequb v5,v1,v0
        vctzlsbb r7,v5
        cmpld   r7,r5
        blt     string_last
        sldi    r7,r5,56
        stxvl   vs33,r6,r7
        add     r4,r4,r5
        add     r6,r6,r5
string_single:
        andi.   r5,r4,63
        beq     string_line
        lxv     vs33,0(r4)
        vcmpequb. v5,v1,v0
        bne     cr6,string_last
        stxv    vs33,0(r6)
        addi    r4,r4,16
        addi    r6,r6,16
        b       string_single
string_last:
        vctzlsbb r7,v5
string_end:
        sldi    r5,r7,56
        stbx    r0,r6,r7
        stxvl   vs33,r6,r5
