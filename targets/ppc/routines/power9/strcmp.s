# strcmp: r3 and r4 strings; r3 the difference of the first two bytes that differ, or zero.
#
# 16 bytes of both from anywhere as long as neither leaves its page of 4096 bytes; there the bytes
# up to the nearer page's end by lxvl, zeros behind.

strcmp: clrldi  r5,r3,52
        clrldi  r6,r4,52
        cmpldi  r5,4080
        cmpldi  cr1,r6,4080
        bgt     strcmp_page
        bgt     cr1,strcmp_page
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        vcmpnezb. v14,v0,v1
        bne     cr6,strcmp_found
        addi    r3,r3,16
        addi    r4,r4,16
strcmp_page:                        # to the nearer page's end
        clrldi  r5,r3,52
        clrldi  r6,r4,52
        cmpld   r5,r6
        bge     strcmp_nearer
        mr      r5,r6
strcmp_nearer:
        subfic  r5,r5,4096
        srdi.   r6,r5,4
        clrldi  r5,r5,60
        beq     strcmp_edge
        mtctr   r6
        .p2align 5
strcmp_blocks:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        addi    r3,r3,16
        addi    r4,r4,16
        vcmpnezb. v14,v0,v1
        bdnzt   4*cr6+eq,strcmp_blocks
        bne     cr6,strcmp_found
        cmpldi  r5,0
        beq     strcmp_page
strcmp_edge:
        sldi    r6,r5,56
        lxvl    vs32,r3,r6
        lxvl    vs33,r4,r6
        vcmpnezb v14,v0,v1
        vctzlsbb r6,v14
        add     r3,r3,r5
        cmpld   r6,r5
        add     r4,r4,r5
        bge     strcmp_page
strcmp_found:
        vctzlsbb r6,v14
        vextubrx r3,r6,v0
        vextubrx r4,r6,v1
        subf    r3,r4,r3
        blr
