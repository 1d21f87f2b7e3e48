# strncmp: r3 and r4 strings, r5 how many bytes at most; r3 as strcmp.
#
# As strcmp; the last bytes also by lxvl.

strncmp:
        cmpldi  r5,0
        beq     strncmp_equal
strncmp_page:                       # r6: to the nearer page's end, and no more than the limit
        clrldi  r6,r3,52
        clrldi  r7,r4,52
        cmpld   r6,r7
        bge     strncmp_nearer
        mr      r6,r7
strncmp_nearer:
        subfic  r6,r6,4096
        cmpld   r6,r5
        ble     strncmp_inside
        mr      r6,r5
strncmp_inside:
        srdi.   r7,r6,4
        subf    r5,r6,r5
        clrldi  r6,r6,60
        beq     strncmp_edge
        mtctr   r7
        .p2align 5
strncmp_blocks:
        lxv     vs32,0(r3)
        lxv     vs33,0(r4)
        addi    r3,r3,16
        addi    r4,r4,16
        vcmpnezb. v14,v0,v1
        bdnzt   4*cr6+eq,strncmp_blocks
        bne     cr6,strncmp_found
        cmpldi  r6,0
        beq     strncmp_next
strncmp_edge:
        sldi    r7,r6,56
        lxvl    vs32,r3,r7
        lxvl    vs33,r4,r7
        vcmpnezb v14,v0,v1
        vctzlsbb r7,v14
        add     r3,r3,r6
        cmpld   r7,r6
        add     r4,r4,r6
        blt     strncmp_found
strncmp_next:
        cmpldi  r5,0
        bne     strncmp_page
strncmp_equal:
        li      r3,0
        blr
strncmp_found:
        vctzlsbb r6,v14
        vextubrx r3,r6,v0
        vextubrx r4,r6,v1
        subf    r3,r4,r3
        blr
