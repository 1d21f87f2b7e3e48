# As shared/found, but returns the difference.

found:  ret                         # L
        unop
        unop
        unop
