# strrchr: r3 string, r4 byte; r3 the address of the last such byte or of the end, or zero.
#
# r8 is the address of the last 16 bytes so far that had the byte, v5 its marks.

strrchr:
        mtvsrws vs33,r4
        clrldi  r5,r3,52
        cmpldi  cr1,r5,4080
        vspltisb v0,0
        clrldi. r4,r4,56
        vspltb  v1,v1,3
        vspltisb v5,0
        mr      r8,r3
        bgt     cr1,strrchr_edge
        lxv     vs34,0(r3)
        vcmpequb. v4,v2,v0
        bne     cr6,strrchr_end
        vcmpequb v5,v2,v1
        clrrdi  r3,r3,4
        .p2align 4
strrchr_blocks:
        lxv     vs34,16(r3)
        addi    r3,r3,16
        vcmpequb. v4,v2,v0
        bne     cr6,strrchr_end
        vcmpequb. v3,v2,v1
        beq     cr6,strrchr_blocks
        vor     v5,v3,v3
        mr      r8,r3
        b       strrchr_blocks
strrchr_edge:                       # what is in the first page; zeros behind
        clrldi  r5,r3,60
        subfic  r5,r5,16
        sldi    r6,r5,56
        lxvl    vs34,r3,r6
        vcmpequb v4,v2,v0
        vctzlsbb r6,v4
        cmpld   cr1,r6,r5
        blt     cr1,strrchr_end
        cmpldi  r4,0
        clrrdi  r3,r3,4
        beq     strrchr_blocks      # the zeros behind are no marks
        vcmpequb v5,v2,v1
        b       strrchr_blocks

strrchr_end:                        # what is in front of the end counts
        vctzlsbb r6,v4
        beq     strrchr_at          # the end itself
        sldi    r7,r6,56
        lxvl    vs34,r3,r7
        vcmpequb. v3,v2,v1
        beq     cr6,strrchr_before
        vor     v5,v3,v3
        mr      r8,r3
strrchr_before:
        vclzlsbb r6,v5
        cmpldi  r6,15
        subfic  r6,r6,15
        add     r3,r8,r6
        blelr
        li      r3,0
        blr
strrchr_at:
        add     r3,r3,r6
        blr
