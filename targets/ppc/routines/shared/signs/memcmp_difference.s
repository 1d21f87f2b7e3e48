# As shared/power9/memcmp_difference, but -1 or 1.

        cmpld   r3,r4
        setb    r3,cr0
        blr
