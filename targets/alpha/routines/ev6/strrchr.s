# strrchr: a0 string, a1 byte; v0 address of the last or zero.
#
# See shared/strrchr; a bit is numbered without CTTZ and CTLZ (shared/ev6).

strrchr:
        .include strrchr
