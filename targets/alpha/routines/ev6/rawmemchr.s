# rawmemchr: a0 bytes, a1 byte that is among them; v0 address of the first.
#
# See shared/rawmemchr; a bit is numbered without CTTZ and CTLZ (shared/ev6).

rawmemchr:
        .include rawmemchr
