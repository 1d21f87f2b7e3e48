# As shared/ended, but returns the difference.

ended:  subq    at,t0,v0
        ret                         # L
        unop
        unop
