# stpcpy: r3 destination, r4 string; r3 the address of the end that was copied.
#
# See shared/power4/string.

stpcpy: mr      r6,r3
        .include string
        mr      r3,r6
        blr
