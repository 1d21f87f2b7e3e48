# bzero: r3 destination, r4 bytes.
#
# See shared/power9/fill.

bzero:  mr      r5,r4
        vspltisb v0,0
        li      r4,0
        .include fill
