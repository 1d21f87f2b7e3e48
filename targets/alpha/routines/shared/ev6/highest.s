# t3 becomes the number of the highest bit that is set in t2, one of 8; changes t2, t4, t5.
# Without CTLZ: halves the bits that are left, three times.

        cmpult  t2,16,t3
        xor     t3,1,t3
        sll     t3,2,t3             # U
        srl     t2,t3,t2            # U

        cmpult  t2,4,t4
        xor     t4,1,t4
        addq    t4,t4,t4
        srl     t2,t4,t2            # U

        srl     t2,1,t5             # U
        addq    t3,t4,t3
        addq    t3,t5,t3
