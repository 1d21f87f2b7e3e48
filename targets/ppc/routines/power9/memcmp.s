# memcmp: r3 and r4 bytes, r5 how many; r3 the difference of the first two that differ, or zero.
#
# Up to 16 bytes: the first, then 16 of each, of which those behind the end do not count; by lxvl, zeros behind,
# where that would leave a page.  Else 16 at a time, and the last ones in front of the end.  Of more
# than 128 bytes 64 at a time, at multiples of 16 of the first: one branch each, so that the end of
# a longer block is foreseen too; where they differ, 16 at a time.

memcmp: cmpldi  cr1,r5,1
        cmpldi  r5,16
        ble     cr1,memcmp_tiny
        addi    r9,r5,-16           # the last block
        clrldi  r6,r3,52
        bgt     memcmp_long
        lbz     r7,0(r3)
        lbz     r8,0(r4)
        cmpld   r7,r8
        bne     memcmp_first
        clrldi  r7,r4,52
        cmpldi  r6,4080
        cmpldi  cr1,r7,4080
        bgt     memcmp_edge
        bgt     cr1,memcmp_edge
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
memcmp_short:
        vcmpneb v14,v0,v1
        vctzlsbb r6,v14
        cmpld   r6,r5
        vextubrx r3,r6,v0
        vextubrx r4,r6,v1
        bge     memcmp_equal
        .include memcmp_few
memcmp_first:
        .include memcmp_first
memcmp_tiny:
        beq     cr1,memcmp_one
        li      r3,0
        blr
memcmp_one:
        lbz     r3,0(r3)
        lbz     r4,0(r4)
        subf    r3,r4,r3
        blr
memcmp_edge:
        sldi    r6,r5,56
        lxvl    vs32,r3,r6
        lxvl    vs33,r4,r6
        b       memcmp_short
memcmp_equal:
        li      r3,0
        blr
memcmp_long:
        cmpldi  cr1,r5,32
        addi    r6,r5,-1
        bgt     cr1,memcmp_more
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        vcmpneb. v14,v0,v1
        bne     cr6,memcmp_differ
        lxvx    vs32,r3,r9
        lxvx    vs33,r4,r9
        vcmpneb. v14,v0,v1
        bne     cr6,memcmp_differ
        li      r3,0
        blr
memcmp_more:
        cmpldi  cr1,r5,128
        add     r7,r3,r5            # ends
        add     r8,r4,r5
        srdi    r0,r6,5             # pairs of blocks in front of the last one
        mtctr   r0
        bgt     cr1,memcmp_lines
memcmp_pairs:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        lxv     vs47,16(r3)
        lxv     vs48,16(r4)
        vcmpneb. v14,v0,v1
        addi    r3,r3,32
        bne     cr6,memcmp_differ
        vcmpneb. v14,v15,v16
        addi    r4,r4,32
        bne     cr6,memcmp_second
        bdnz    memcmp_pairs
memcmp_last:
        lxv     vs32,-32(r7)
        lxv     vs33,-32(r8)
        lxv     vs47,-16(r7)
        lxv     vs48,-16(r8)
        vcmpneb. v14,v0,v1
        bne     cr6,memcmp_differ
        vcmpneb. v14,v15,v16
        li      r3,0
        beqlr   cr6
memcmp_second:
        vctzlsbb r5,v14
        vextubrx r3,r5,v15
        vextubrx r4,r5,v16
        .include memcmp_difference
memcmp_differ:
        vctzlsbb r5,v14
        vextubrx r3,r5,v0
        vextubrx r4,r5,v1
        .include memcmp_difference
memcmp_lines:
        lxv     vs32,0(r3)          # up to a multiple of 16 of the first
        lxv     vs33,0(r4)
        neg     r0,r3
        clrldi  r0,r0,60
        vcmpneb. v14,v0,v1
        subf    r6,r0,r6
        add     r3,r3,r0
        add     r4,r4,r0
        srdi    r0,r6,6
        bne     cr6,memcmp_differ
        mtctr   r0
memcmp_line:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        lxv     vs46,16(r3)
        lxv     vs47,16(r4)
        lxv     vs48,32(r3)
        lxv     vs49,32(r4)
        lxv     vs50,48(r3)
        lxv     vs51,48(r4)
        vcmpneb v0,v0,v1
        vcmpneb v14,v14,v15
        vcmpneb v16,v16,v17
        vcmpneb v18,v18,v19
        vnor    v0,v0,v14
        vor     v16,v16,v18
        vcmpgtub. v0,v0,v16         # everywhere, if nothing differs
        bge     cr6,memcmp_unlike
        addi    r3,r3,64
        addi    r4,r4,64
        bdnz    memcmp_line
        andi.   r0,r6,32
        beq     memcmp_last
        li      r0,1
        b       memcmp_again
memcmp_unlike:
        li      r0,2
memcmp_again:
        mtctr   r0
        b       memcmp_pairs
