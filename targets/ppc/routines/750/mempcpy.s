# mempcpy: r3 destination, r4 source, r5 bytes; r3 the address behind the last byte written.
#
# See copy, of the 750 and of the 7450.

mempcpy:
        mr      r6,r3
        add     r3,r3,r5
        .include copy
