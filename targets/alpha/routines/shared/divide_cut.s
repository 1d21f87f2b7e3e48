        addl    pv,zero,pv          # cut to 32 bits, which matters for -2**31 / -1 only
