# bzero: r3 destination, r4 bytes.
#
# See fill, of the 750 and of the 7450.

bzero:  mr      r5,r4
        li      r4,0
        .include fill
