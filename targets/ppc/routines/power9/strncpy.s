# strncpy: r3 destination, r4 string, r5 bytes to write, zeros behind the string; r3 the
# destination.
#
# 64 bytes from where the string begins, if its page has as many, then lines of 64 from multiples
# of 64 of the source, of which some bytes may be copied again, and the last 64 again in front of
# the end.  Where a string ends there are zeros first, then the bytes in front of its end by stxvl.

strncpy:
        cmpldi  r5,0
        vspltisb v0,0
        mr      r6,r3
        beqlr
strncpy_begin:                      # r5 bytes from r4 to r6
        clrldi  r7,r4,52
        cmpldi  cr1,r7,4032
        cmpldi  r5,16
        bgt     cr1,strncpy_edge
        lxv     vs33,0(r4)
        blt     strncpy_short
        vcmpequb. v17,v1,v0
        cmpldi  cr5,r5,32
        bne     cr6,strncpy_found
        cmpldi  r5,64
        add     r9,r4,r5            # ends
        add     r10,r6,r5
        bgt     cr5,strncpy_more
        lxv     vs46,-16(r9)
        vcmpequb. v17,v14,v0
        stxv    vs33,0(r6)
        bne     cr6,strncpy_next
        stxv    vs46,-16(r10)
        blr
strncpy_more:
        lxv     vs46,16(r4)
        bgt     strncpy_long
        lxv     vs47,-32(r9)
        lxv     vs48,-16(r9)
        vminub  v17,v14,v15
        vminub  v17,v17,v16
        vcmpequb. v17,v17,v0
        stxv    vs33,0(r6)
        bne     cr6,strncpy_next
        stxv    vs46,16(r6)
        stxv    vs47,-32(r10)
        stxv    vs48,-16(r10)
        blr
strncpy_long:
        lxv     vs47,32(r4)
        lxv     vs48,48(r4)
        clrldi  r7,r4,58
        subfic  r7,r7,64
        vminub  v17,v14,v15
        vminub  v17,v17,v16
        subf    r8,r7,r5            # more than 64, or some
        vcmpequb. v17,v17,v0
        srdi.   r0,r8,6
        stxv    vs33,0(r6)
        bne     cr6,strncpy_next
        mr      r5,r8
        stxv    vs46,16(r6)
        stxv    vs47,32(r6)
        add     r4,r4,r7
        stxv    vs48,48(r6)
        add     r6,r6,r7
        beq     strncpy_last
        mtctr   r0
        .p2align 4
strncpy_lines:
        lxv     vs33,0(r4)
        lxv     vs46,16(r4)
        lxv     vs47,32(r4)
        lxv     vs48,48(r4)
        addi    r4,r4,64
        vminub  v17,v1,v14
        vminub  v18,v15,v16
        vminub  v17,v17,v18
        vcmpequb. v17,v17,v0
        bne     cr6,strncpy_inside
        stxv    vs33,0(r6)
        stxv    vs46,16(r6)
        stxv    vs47,32(r6)
        stxv    vs48,48(r6)
        addi    r6,r6,64
        addi    r5,r5,-64
        bdnz    strncpy_lines
strncpy_last:                       # fewer than 64 bytes of a line
        lxv     vs33,-64(r9)
        lxv     vs46,-48(r9)
        lxv     vs47,-32(r9)
        lxv     vs48,-16(r9)
        vminub  v17,v1,v14
        vminub  v18,v15,v16
        vminub  v17,v17,v18
        vcmpequb. v17,v17,v0
        bne     cr6,strncpy_block
        stxv    vs33,-64(r10)
        stxv    vs46,-48(r10)
        stxv    vs47,-32(r10)
        stxv    vs48,-16(r10)
        blr
strncpy_inside:
        addi    r4,r4,-64
        b       strncpy_block
strncpy_next:
        addi    r4,r4,16
        addi    r6,r6,16
        addi    r5,r5,-16
strncpy_block:                      # block by block up to a multiple of 64
        lxv     vs33,0(r4)
        cmpldi  r5,16
        vcmpequb. v17,v1,v0
        blt     strncpy_short
        bne     cr6,strncpy_found
        stxv    vs33,0(r6)
        addi    r4,r4,16
        addi    r6,r6,16
        addi    r5,r5,-16
        b       strncpy_block
strncpy_found:                      # at least 16 bytes are left
        vctzlsbb r7,v17
        cmpldi  r5,32
        add     r10,r6,r5
        sldi    r8,r7,56
        cmpldi  cr1,r5,64
        stxv    vs32,0(r6)
        bgt     strncpy_zeros
        stxv    vs32,-16(r10)
        stxvl   vs33,r6,r8
        blr
strncpy_zeros:
        stxv    vs32,16(r6)
        bgt     cr1,strncpy_many
        stxv    vs32,-32(r10)
        stxv    vs32,-16(r10)
        stxvl   vs33,r6,r8
        blr
strncpy_many:
        addi    r0,r5,-1
        mr      r9,r6
        srdi    r0,r0,6
        mtctr   r0
strncpy_fill:
        stxv    vs32,0(r9)
        stxv    vs32,16(r9)
        stxv    vs32,32(r9)
        stxv    vs32,48(r9)
        addi    r9,r9,64
        bdnz    strncpy_fill
        stxv    vs32,-64(r10)
        stxv    vs32,-48(r10)
        stxv    vs32,-32(r10)
        stxv    vs32,-16(r10)
        stxvl   vs33,r6,r8
        blr
strncpy_short:                      # v1: the block with the r5 bytes that are left
        vcmpequb v17,v1,v0
        sldi    r8,r5,56
        vctzlsbb r7,v17
        cmpld   r7,r5
        blt     strncpy_zero
        stxvl   vs33,r6,r8
        blr
strncpy_zero:
        stxvl   vs32,r6,r8
        sldi    r7,r7,56
        stxvl   vs33,r6,r7
        blr
strncpy_edge:                       # up to a multiple of 16, and single blocks to one of 64
        clrldi  r7,r4,60
        subfic  r7,r7,16
        sldi    r8,r7,56
        lxvl    vs33,r4,r8
        cmpld   r5,r7
        ble     strncpy_short
        vcmpequb v17,v1,v0
        cmpldi  cr1,r5,16
        vctzlsbb r0,v17
        cmpld   r0,r7
        blt     strncpy_early
        stxvl   vs33,r6,r8
strncpy_single:
        add     r4,r4,r7
        add     r6,r6,r7
        subf    r5,r7,r5
        andi.   r7,r4,63
        beq     strncpy_begin
        lxv     vs33,0(r4)
        cmpldi  r5,16
        li      r7,16
        ble     strncpy_short
        vcmpequb. v17,v1,v0
        bne     cr6,strncpy_found
        stxv    vs33,0(r6)
        b       strncpy_single
strncpy_early:
        blt     cr1,strncpy_short
        b       strncpy_found
