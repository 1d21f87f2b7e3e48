# Quotient v0 and remainder at (a0) of a1:a2 / a3, unsigned; at leading zeros of a3.  Changes at,
# t1-t5, a1, a2, a4.
#
# d is the divisor shifted to the top over 2**64, 1/2 <= d < 1; n:m the dividend shifted as much.
# c = 2.9282, and x = c - 2d is 1/d but for e = 1 - dx: |e| <= 3 - c < 0.0719 at d = 1, and between
# at d = c/4.  1/d = x(1 + e)(1 + e**2)(1 + e**4)(1 + e**8) / (1 - e**16), so
#
#       q = n x (1 + e)(1 + e**2)(1 + e**4)(1 + e**8)
#
# is short by a factor of e**16 < 2**-60.7.  dx and 1 + e are in units of 2**-63, powers of e from
# e**2 on in units of u = 2**-64.  The q of these is short by less than 64 and never too large:
#
# - dx is cut off, which makes 1/(dx) larger by 2.2u; 1 - e**2 is cut off at 4u, and with it all
#   is larger by less than 6.3u; n is multiplied by x less 8 units of 2**-63, which is smaller by
#   8.2u to 17.3u: together never larger, and smaller by 17.3u at most;
# - e**16 is less than 9.5u, and e**4 and e**8 are cut off at u; of q, which is less than 2**64, the
#   products are cut off at 2.4 (n x is q/2), 4.1 (n x (1 + e) is q/4) and three times 1; m/d, left
#   out, is less than 2.
#
# So what is left of the dividend, r = n:m - qd, is from 0 to 64d.  r/d by x (1 + e), which is
# short by a factor of e**2 < 0.0052 and never too large, is short by less than 0.34.  Where its
# fraction is less than 1/2 the integer before is right; else the integer behind, or one less where
# the remainder is negative: it is then from -d/2 to 0.34d, so that its top bit is its sign.

        ldah    t2,0x76cf(zero)
        srl     a2,1,t3             # U
        sll     t2,32,t2            # U

        sll     a3,at,t1            # U  d
        not     at,t4
        sll     a1,at,a1            # U
        subq    t2,t1,t2            #    x, modulo 2**64

        umulh   t1,t2,t5            # U  dx
        srl     t3,t4,t3            # U  for no zeros, too
        lda     t4,-8(t2)
        or      a1,t3,a1            #    n

        umulh   a1,t4,v0            # U
        negq    t5,t3               #    1 + e = 2 - dx
        sll     a2,at,a2            # U  m
        umulh   t5,t3,t5            # U  (1 - e**2) / 4

        umulh   v0,t3,v0            # U
        umulh   t4,t3,a4            # U  x (1 + e) / 2
        sll     t5,2,t5             # U
        negq    t5,t5               #    e**2

        sll     v0,2,v0             # U
        umulh   t5,t5,t4            # U  e**4
        umulh   v0,t5,t2            # U
        umulh   t4,t4,t5            # U  e**8

        addq    v0,t2,v0
        umulh   v0,t4,t2            # U
        addq    v0,t2,v0
        umulh   v0,t5,t2            # U

        addq    v0,t2,v0            #    q
        mulq    v0,t1,t2            # U
        umulh   v0,t1,t3            # U
        cmpult  a2,t2,t4

        subq    a2,t2,a2            #    r, low
        subq    a1,t3,a1
        subq    a1,t4,a1            #    r, high
        srl     a2,6,t2             # U

        sll     a1,58,a1            # U
        or      a1,t2,t2
        umulh   t2,a4,t2            # U  r/d in units of 2**-56
        srl     t2,55,t2            # U

        addq    t2,1,t3
        srl     t3,1,t3             # U  to the nearest
        mulq    t3,t1,t4            # U
        addq    v0,t3,v0

        subq    a2,t4,a2            #    remainder
        srl     a2,63,t3            # U
        and     t2,t3,t2            #    1 where upwards was too far
        addq    a2,t1,t3

        subq    v0,t2,v0
        cmovne  t2,t3,a2
        srl     a2,at,a2            # U
        stq     a2,0(a0)            # L

        ret                         # L
