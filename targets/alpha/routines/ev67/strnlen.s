# strnlen: a0 string, a1 limit; v0 bytes in front of its end, or the limit.
#
# See shared/strnlen; bits numbered by CTTZ or CTLZ.

strnlen:
        .include strnlen
