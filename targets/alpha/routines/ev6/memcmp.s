# memcmp: a0, a1 bytes, a2 count; v0 less than, equal to or greater than zero.
#
# The first 8 bytes are compared wherever they lie, so that the first operand can go on at its next
# quadword; the last 8 again wherever they lie, some of them a second time.  Two fetch blocks for a
# quadword when both are aligned, three when the second is made of two quadwords, of which one is
# kept.  Fewer than 8 bytes are two quadwords and a mask.  The first difference is isolated as a
# bit of CMPBGE's mask and ZAPNOT keeps that byte of both: no bit need be numbered.

        .include memcmp
