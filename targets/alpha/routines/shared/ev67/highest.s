# t3 becomes the number of the highest bit that is set in t2, one of 8; changes t4.

        ctlz    t2,t3               # U
        lda     t4,63(zero)
        subq    t4,t3,t3
