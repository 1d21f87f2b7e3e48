# bzero: r3 destination, r4 bytes.
#
# See fill, of the 750 and of the 7450.

bzero:  cmplwi  r4,4
        mr      r5,r4
        li      r4,0
        blt     fill_bytes
        .include fill
