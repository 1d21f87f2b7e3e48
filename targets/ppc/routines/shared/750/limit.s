# r6 becomes the address of the last byte at r3, r5 bytes behind the first, or of the last byte of
# all.  Changes r0.

        addc    r6,r3,r5
        subfe   r0,r0,r0            # zero where there was a carry
        orc     r6,r6,r0
