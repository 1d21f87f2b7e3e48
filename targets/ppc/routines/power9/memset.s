# memset: r3 destination, r4 byte, r5 bytes; r3 the destination.
#
# See shared/power9/fill.

memset: mtvsrws vs32,r4
        clrldi  r4,r4,56
        vspltb  v0,v0,3
        .include fill
