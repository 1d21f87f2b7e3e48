# udiv_qrnnd: a1:a2 dividend of 128 bits, a3 divisor, greater than a1; v0 quotient, remainder to (a0).
#
# See shared/udiv_qrnnd; leading zeros of the divisor counted without CTLZ.

udiv_qrnnd:
        .include leading
        .include udiv_qrnnd
