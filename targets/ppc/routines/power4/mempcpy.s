# mempcpy: r3 destination, r4 source, r5 bytes; r3 the address behind the last byte written.
#
# See shared/power4/copy.

mempcpy:
        mr      r6,r3
        add     r3,r3,r5
        .include copy
