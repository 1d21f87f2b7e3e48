# rawmemchr: a0 bytes, a1 byte that is among them; v0 address of the first.
#
# See shared/rawmemchr; bits numbered by CTTZ or CTLZ.

rawmemchr:
        .include rawmemchr
