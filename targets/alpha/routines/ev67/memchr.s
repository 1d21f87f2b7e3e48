# memchr: a0 bytes, a1 byte, a2 count; v0 address of the first or zero.
#
# See shared/memchr; bits numbered by CTTZ or CTLZ.

memchr:
        .include memchr
