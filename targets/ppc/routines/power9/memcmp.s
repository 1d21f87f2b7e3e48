# memcmp: r3 and r4 bytes, r5 how many; r3 the difference of the first two that differ, or zero.
#
# 16 bytes or fewer by lxvl, zeros behind; else 16 from anywhere, and the last ones in front of
# the end.

memcmp: cmpldi  r5,16
        bgt     memcmp_long
        sldi    r5,r5,56
        lxvl    vs32,r3,r5
        lxvl    vs33,r4,r5
        vcmpneb. v2,v0,v1
        bne     cr6,memcmp_differ
        li      r3,0
        blr
memcmp_long:
        addi    r6,r5,-1
        add     r7,r3,r5            # ends
        srdi    r6,r6,4             # blocks in front of the last one
        add     r8,r4,r5
        srdi.   r0,r6,1
        beq     memcmp_one
        mtctr   r0
        .p2align 5
memcmp_pairs:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        lxv     vs35,16(r3)
        lxv     vs36,16(r4)
        vcmpneb. v2,v0,v1
        addi    r3,r3,32
        addi    r4,r4,32
        bne     cr6,memcmp_differ
        vcmpneb. v5,v3,v4
        bne     cr6,memcmp_second
        bdnz    memcmp_pairs
        andi.   r6,r6,1
        beq     memcmp_last
memcmp_one:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        vcmpneb. v2,v0,v1
        bne     cr6,memcmp_differ
memcmp_last:
        lxv     vs32,-16(r7)
        lxv     vs33,-16(r8)
        vcmpneb. v2,v0,v1
        bne     cr6,memcmp_differ
        li      r3,0
        blr
memcmp_second:
        vor     v0,v3,v3
        vor     v1,v4,v4
        vor     v2,v5,v5
memcmp_differ:
        vctzlsbb r5,v2
        vextubrx r3,r5,v0
        vextubrx r4,r5,v1
        subf    r3,r4,r3
        blr
