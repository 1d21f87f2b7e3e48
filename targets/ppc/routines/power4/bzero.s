# bzero: r3 destination, r4 bytes.
#
# See shared/power4/fill.

bzero:  mr      r5,r4
        li      r4,0
        .include fill_ends
        .include fill
