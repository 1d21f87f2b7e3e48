# r7 and r8 the first bytes of r5, which differ; r3 their difference.

        subf    r3,r8,r7
        blr
