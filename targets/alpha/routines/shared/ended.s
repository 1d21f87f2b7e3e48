# Comes to `ended` with the bytes at and t0, which end or differ.  Returns -1, 0 or 1.

ended:  cmpult  t0,at,t1
        cmpult  at,t0,t2
        subq    t1,t2,v0
        ret                         # L
