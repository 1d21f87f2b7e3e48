# memset: r3 destination, r4 byte, r5 bytes; r3 the destination.
#
# See shared/power4/fill.

memset:
        rlwimi  r4,r4,8,16,23
        .include fill_ends
        rlwimi  r4,r4,16,0,15
        rldimi  r4,r4,32,0
        .include fill
