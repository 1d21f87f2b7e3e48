# Copies the string at r4 with its end to r6; r6 + r7 becomes the address of the end there.
#
# 64 bytes from where the string begins, if its page has as many, then lines from multiples of 64
# of the source, of which some bytes may be copied again.  A line is stored while the next is
# loaded, as soon as nothing in it is an end.  Five lines are asked in two parts, the first block
# and the rest, so that the branch waits for no more than the block's number does.  Then there is
# one branch a line, for twelve lines: as many the history of branches tells apart, so that the last
# one is foreseen.  The end of a longer string is not, and lines are asked in two parts again, which
# shows it soonest.
#
# An end in the first 16 bytes is found by words, which takes less time.  What is in front of the
# end in its block goes by stxvl, the end by itself.  Changes r0, r4, r5, r7 to r12, CTR, v0, v1,
# v14 to v19.

string_start:
        nor     r5,r4,r4            # how many bytes the page has behind the first
        andi.   r5,r5,4032
        beq     string_edge
        lxv     vs46,16(r4)
        ld      r8,0(r4)
        ld      r11,8(r4)
        clrrdi  r9,r4,6             # the line
        lxv     vs47,32(r4)
        li      r0,0
        cmpb    r7,r8,r0
        mtvsrdd vs32,0,r0
        lxv     vs33,0(r4)
        cmpb    r10,r11,r0
        cmpdi   r7,0
        bne     string_short
        li      r12,5
        cmpdi   r10,0
        lxv     vs48,48(r4)
        bne     string_eight
        subf    r5,r6,r4            # from the destination to the source
        li      r7,16
        vcmpequb. v17,v14,v0
        bne     cr6,string_second
        vminub  v18,v15,v16
        vcmpequb. v18,v18,v0
        mtctr   r12
        bne     cr6,string_half
string_next:
        stxv    vs33,0(r6)
        lxv     vs33,64(r9)
        stxv    vs46,16(r6)
        lxv     vs46,80(r9)
        stxv    vs47,32(r6)
        lxv     vs47,96(r9)
        stxv    vs48,48(r6)
        lxv     vs48,112(r9)
        addi    r9,r9,64
        subf    r6,r5,r9
string_line:                        # at r9, in v1, v14 to v16
        vcmpequb. v17,v1,v0
        bne     cr6,string_last
        vminub  v19,v15,v16
        vcmpequb v18,v14,v0
        vcmpgtub. v18,v19,v18       # everywhere, if no byte of the three is zero
        bdnzt   4*cr6+lt,string_next
        bge     cr6,string_rest
        li      r7,12
        mtctr   r7
string_lines:
        stxv    vs33,0(r6)
        stxv    vs46,16(r6)
        stxv    vs47,32(r6)
        lxv     vs33,64(r9)
        lxv     vs46,80(r9)
        stxv    vs48,48(r6)
        lxv     vs47,96(r9)
        lxv     vs48,112(r9)
        addi    r9,r9,64
        subf    r6,r5,r9
        vminub  v18,v1,v14
        vminub  v19,v15,v16
        vcmpequb v18,v18,v0
        vcmpgtub. v18,v19,v18
        bdnzt   4*cr6+lt,string_lines
        b       string_line
string_eight:                       # 8 to 15 bytes
        std     r8,0(r6)
        vsldoi  v1,v1,v1,8
        addi    r6,r6,8
        cnttzd  r7,r10
        b       string_bits
string_short:
        cnttzd  r7,r7
string_bits:
        sldi    r5,r7,53
        srdi    r7,r7,3
        b       string_end
string_edge:                        # to a multiple of 16 in the first page; zeros behind
        clrldi  r5,r4,60
        subfic  r5,r5,16
        sldi    r7,r5,56
        li      r0,0
        lxvl    vs33,r4,r7
        vspltisb v0,0
        vcmpequb v17,v1,v0
        vctzlsbb r8,v17
        cmpld   r8,r5
        blt     string_last
        stxvl   vs33,r6,r7
        add     r4,r4,r5
        add     r6,r6,r5
        b       string_start
string_rest:
        vcmpequb. v17,v14,v0
        li      r7,16
        bne     cr6,string_second
string_half:
        vcmpequb. v17,v15,v0
        li      r7,32
        bne     cr6,string_third
        vcmpequb v17,v16,v0
        li      r7,48
        stxv    vs47,32(r6)
string_third:
        stxv    vs46,16(r6)
string_second:
        stxv    vs33,0(r6)
        add     r6,r6,r7
        lxvx    vs33,r6,r5
string_last:                        # marks of the end in v17, its block in v1 and at r6
        vctzlsbb r7,v17
        sldi    r5,r7,56
string_end:
        stbx    r0,r6,r7
        stxvl   vs33,r6,r5
