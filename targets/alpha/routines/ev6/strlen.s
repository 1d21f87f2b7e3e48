# strlen: a0 string; v0 bytes in front of its end.
#
# See shared/strlen; a bit is numbered without CTTZ and CTLZ (shared/ev6).

strlen:
        .include strlen
