# memchr: a0 bytes, a1 byte, a2 count; v0 address of the first or zero.
#
# See shared/memchr; a bit is numbered without CTTZ and CTLZ (shared/ev6).

memchr:
        .include memchr
