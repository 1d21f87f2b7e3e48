# strchr: a0 string, a1 byte; v0 address of the first or zero.
#
# See shared/strchr; bits numbered by CTTZ or CTLZ.

strchr:
        .include strchr
