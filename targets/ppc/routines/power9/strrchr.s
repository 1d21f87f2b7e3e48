# strrchr: r3 string, r4 byte; r3 the address of the last such byte or of the end, or zero.
#
# The block from the first byte on where its page has 16, four from multiples of 16, then lines of
# 64 bytes; the line with the end once more by single blocks.  Nothing branches on where the byte
# is: r8 is the last block that had it, or the last one of the line that had it.  Of the marks in
# the block of the end those count that the end's, less one, lets through.

strrchr:
        mtvsrws vs33,r4
        clrldi  r5,r3,52
        cmpldi  cr1,r5,4080
        andi.   r4,r4,255
        bgt     cr1,strrchr_edge
        lxv     vs46,0(r3)
        vspltb  v1,v1,3
        vspltisb v0,0
        addi    r7,r3,15
        li      r8,0
        vcmpequb. v16,v14,v0
        bne     cr6,strrchr_end
        vcmpequb. v15,v14,v1
        isel    r8,r8,r3,4*cr6+eq
        clrrdi  r3,r3,4
strrchr_blocks:
        lxv     vs46,16(r3)
        addi    r7,r3,31
        vcmpequb. v16,v14,v0
        bne     cr6,strrchr_end
        vcmpequb. v15,v14,v1
        addi    r5,r3,16
        isel    r8,r8,r5,4*cr6+eq
        lxv     vs46,32(r3)
        addi    r7,r3,47
        vcmpequb. v16,v14,v0
        bne     cr6,strrchr_end
        vcmpequb. v15,v14,v1
        addi    r5,r3,32
        isel    r8,r8,r5,4*cr6+eq
        lxv     vs46,48(r3)
        addi    r7,r3,63
        vcmpequb. v16,v14,v0
        bne     cr6,strrchr_end
        vcmpequb. v15,v14,v1
        addi    r5,r3,48
        isel    r8,r8,r5,4*cr6+eq
        lxv     vs46,64(r3)
        addi    r7,r3,79
        vcmpequb. v16,v14,v0
        bne     cr6,strrchr_end
        vcmpequb. v15,v14,v1
        addi    r5,r3,64
        isel    r8,r8,r5,4*cr6+eq
        addi    r3,r3,80
        clrrdi  r3,r3,6             # what was seen may be seen again
        lxv     vs46,0(r3)
        lxv     vs47,16(r3)
        lxv     vs48,32(r3)
        lxv     vs49,48(r3)
        addi    r3,r3,48            # the line's last block
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        bne     cr6,strrchr_line
        .p2align 5
strrchr_lines:
        vxor    v18,v14,v1
        vxor    v19,v15,v1
        lxv     vs46,16(r3)
        lxv     vs47,32(r3)
        vxor    v16,v16,v1
        vxor    v17,v17,v1
        vminub  v18,v18,v19
        vminub  v19,v16,v17
        lxv     vs48,48(r3)
        lxv     vs49,64(r3)
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        isel    r8,r8,r3,4*cr6+eq
        vminub  v18,v14,v15
        vminub  v19,v16,v17
        addi    r3,r3,64
        vminub  v18,v18,v19
        vcmpequb. v18,v18,v0
        beq     cr6,strrchr_lines
strrchr_line:                       # one of these four has the end
        addi    r3,r3,-64
        b       strrchr_blocks
strrchr_edge:                       # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r6,r5,56
        lxvl    vs46,r3,r6
        vspltb  v1,v1,3
        vspltisb v0,0
        addi    r7,r3,15
        li      r8,0
        vcmpequb v16,v14,v0
        vctzlsbb r6,v16
        cmpld   cr1,r6,r5
        blt     cr1,strrchr_end
        vcmpequb. v15,v14,v1
        clrrdi  r3,r3,4
        isel    r8,r8,r3,4*cr6+eq    # the zeros behind only mark where the end is sought
        b       strrchr_blocks

strrchr_end:                        # in v14, whose last byte is at r7; v16 are its marks
        vcmpequb. v15,v14,v1
        beq     cr6,strrchr_before
        beq     strrchr_at          # the end itself
        vspltisb v17,-1
        vadduqm v17,v16,v17
        vand    v17,v15,v17
        vclzlsbb r6,v17
        cmpldi  r6,15
        subf    r3,r6,r7
        blelr
strrchr_before:
        cmpldi  r8,0
        beq     strrchr_absent
strrchr_back:
        lxv     vs46,0(r8)
        addi    r8,r8,-16
        vcmpequb. v15,v14,v1
        beq     cr6,strrchr_back
        vclzlsbb r6,v15
        addi    r3,r8,31
        subf    r3,r6,r3
        blr
strrchr_at:
        vctzlsbb r6,v16
        addi    r3,r7,-15
        add     r3,r3,r6
        blr
strrchr_absent:
        li      r3,0
        blr
