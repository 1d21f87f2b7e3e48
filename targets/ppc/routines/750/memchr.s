# memchr: r3 bytes, r4 byte, r5 how many; r3 the address of the first such byte, or zero.
#
# Fewer than four one by one.  See shared/750/find.

memchr: cmplwi  r5,4
        cmplwi  cr1,r5,0
        blt     memchr_few
        rlwimi  r4,r4,8,16,23
        addi    r5,r5,-1
        rlwimi  r4,r4,16,0,15
        .include limit
        .include find
        cntlzw  r10,r10
        srwi    r10,r10,3
        add     r3,r8,r10
        cmplw   r3,r6
        blelr
absent: li      r3,0
        blr

memchr_few:
        beq     cr1,absent
        lbz     r6,0(r3)
        clrlwi  r4,r4,24
        cmplwi  cr1,r5,2
        cmplw   r6,r4
        beqlr
        blt     cr1,absent
        lbzu    r6,1(r3)
        cmplw   r6,r4
        beqlr
        beq     cr1,absent
        lbzu    r6,1(r3)
        cmplw   r6,r4
        beqlr
        b       absent
