# strchr: a0 string, a1 byte; v0 address of the first or zero.
#
# See shared/strchr; a bit is numbered without CTTZ and CTLZ (shared/ev6).

strchr:
        .include strchr
