# r3 and r4 bytes that differ, the byte r6 of r5, which are 16 at most; r3 their difference.

        .include memcmp_difference
