# As shared/power4/strcmp_difference, but -1 or 1 where both strings begin at a doubleword.

strcmp_difference:
        subf    r3,r6,r5
        andi.   r8,r8,7
        bnelr
        cmpdi   r3,0
        beqlr
        sradi   r3,r3,63
        ori     r3,r3,1
        blr
