# memcpy: r3 destination, r4 source, r5 bytes; r3 the destination.
#
# See shared/power4/copy.

memcpy: mr      r6,r3
        .include copy
