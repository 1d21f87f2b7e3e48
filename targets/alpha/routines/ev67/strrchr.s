# strrchr: a0 string, a1 byte; v0 address of the last or zero.
#
# See shared/strrchr; bits numbered by CTTZ or CTLZ.

strrchr:
        .include strrchr
