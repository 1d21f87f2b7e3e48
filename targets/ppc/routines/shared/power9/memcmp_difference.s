# r3 and r4 bytes that differ; r3 their difference.

        subf    r3,r4,r3
        blr
