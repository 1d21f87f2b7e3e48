# r6 becomes the address of the last of r5 bytes at r3, or of the last byte of all; r5 is not
# zero. Changes r0 and r5.

        addi    r5,r5,-1
        addc    r6,r3,r5
        subfe   r0,r0,r0            # zero where there was a carry
        orc     r6,r6,r0
