# The bytes in r5 and r6 differ, or the strings end there: r3 becomes their difference.

strcmp_difference:
        subf    r3,r6,r5
        blr
