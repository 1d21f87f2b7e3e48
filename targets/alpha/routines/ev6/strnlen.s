# strnlen: a0 string, a1 limit; v0 bytes in front of its end, or the limit.
#
# See shared/strnlen; a bit is numbered without CTTZ and CTLZ (shared/ev6).

strnlen:
        .include strnlen
