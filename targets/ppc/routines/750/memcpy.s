# memcpy: r3 destination, r4 source, r5 bytes; r3 the destination.
#
# See copy, of the 750 and of the 7450.

memcpy: mr      r6,r3
        .include copy
