# strnlen: r3 string, r4 limit; r3 bytes in front of its end, or the limit.
#
# Limits below four byte by byte.  See shared/750/find.

strnlen:
        cmplwi  r4,4
        cmplwi  cr1,r4,0
        blt     strnlen_few
        mr      r12,r4
        addi    r5,r4,-1
        li      r4,0
        .include limit
        .include find
        cntlzw  r10,r10
        subf    r3,r3,r8
        srwi    r10,r10,3
        add     r3,r3,r10
        cmplw   r3,r12
        blelr
absent: mr      r3,r12
        blr

strnlen_few:
        beq     cr1,strnlen_zero
        lbz     r5,0(r3)
        mr      r8,r3
        cmplwi  cr1,r4,2
        cmpwi   r5,0
        beq     strnlen_zero
        li      r3,1
        bltlr   cr1
        lbz     r5,1(r8)
        cmpwi   r5,0
        beqlr
        li      r3,2
        beqlr   cr1
        lbz     r5,2(r8)
        cmpwi   r5,0
        beqlr
        li      r3,3
        blr
strnlen_zero:
        li      r3,0
        blr
