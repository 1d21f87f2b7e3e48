# strlen: a0 string; v0 bytes in front of its end.
#
# See shared/strlen; bits numbered by CTTZ or CTLZ.

strlen:
        .include strlen
