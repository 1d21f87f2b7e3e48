# Comes to `found` with the difference v0 of two bytes.  Returns -1, 0 or 1.

found:  cmplt   zero,v0,t0
        cmplt   v0,zero,t1
        subq    t0,t1,v0
        ret                         # L
