# strncpy: r3 destination, r4 string, r5 bytes to write, zeros behind the string; r3 the
# destination.
#
# Blocks up to a multiple of 16 of the source by lxvl and stxvl; the one with the end is loaded
# again as far as the end, zeros behind.

strncpy:
        cmpldi  r5,0
        clrldi  r0,r4,60
        mr      r6,r3
        vspltisb v0,0
        beqlr
        subfic  r0,r0,16            # bytes up to a multiple of 16
        cmpld   r0,r5
        bgt     strncpy_last
        sldi    r7,r0,56
        lxvl    vs33,r4,r7
        vcmpequb v2,v1,v0
        vctzlsbb r8,v2
        cmpld   r8,r0
        blt     strncpy_end
        stxvl   vs33,r6,r7
        subf    r5,r0,r5
        add     r4,r4,r0
        add     r6,r6,r0
        srdi.   r0,r5,4
        clrldi  r5,r5,60
        beq     strncpy_some
        mtctr   r0
        .p2align 4
strncpy_blocks:
        lxv     vs33,0(r4)
        vcmpequb. v2,v1,v0
        bne     cr6,strncpy_found
        stxv    vs33,0(r6)
        addi    r4,r4,16
        addi    r6,r6,16
        bdnz    strncpy_blocks
strncpy_some:
        cmpldi  r5,0
        beqlr
strncpy_last:                       # the r5 bytes that are left
        sldi    r7,r5,56
        lxvl    vs33,r4,r7
        vcmpequb v2,v1,v0
        vctzlsbb r8,v2
        cmpld   r8,r5
        blt     strncpy_end
        stxvl   vs33,r6,r7
        blr
strncpy_found:
        mfctr   r0
        vctzlsbb r8,v2
        sldi    r0,r0,4
        add     r5,r5,r0
strncpy_end:                        # r8 bytes, and zeros up to r5
        sldi    r7,r8,56
        lxvl    vs33,r4,r7
        cmpldi  r5,16
        ble     strncpy_short
        stxv    vs33,0(r6)
        srdi    r0,r5,4
        clrldi  r5,r5,60
        mtctr   r0
        vspltisb v1,0
        b       strncpy_zero
strncpy_zeros:
        stxv    vs33,0(r6)
strncpy_zero:
        addi    r6,r6,16
        bdnz    strncpy_zeros
strncpy_short:
        sldi    r7,r5,56
        stxvl   vs33,r6,r7
        blr
