# strcpy: r3 destination, r4 string; r3 the destination.
#
# See shared/power4/string.

strcpy: mr      r6,r3
        .include string
        blr
