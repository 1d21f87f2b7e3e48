# csum_ipv6_magic: a0, a1 addresses of 16 bytes anywhere, a2 length, a3 protocol, a4 partial
# checksum; v0 the checksum, 16 bits.
#
# The two addresses are four quadwords, each made of two.  Length and protocol are added in network
# order: that turns their bytes round, which for a ones'-complement sum is a shift by 8.

csum_ipv6_magic:
        ldq_u   t0,0(a0)            # L
        ldq_u   t1,7(a0)            # L
        zapnot  a2,15,a2            # U
        zapnot  a4,15,a4            # U

        ldq_u   t2,8(a0)            # L
        ldq_u   t3,15(a0)           # L
        sll     a2,8,a2             # U
        and     a3,255,a3

        ldq_u   t4,0(a1)            # L
        ldq_u   t5,7(a1)            # L
        extql   t0,a0,t0            # U
        extqh   t1,a0,t1            # U

        ldq_u   t6,8(a1)            # L
        ldq_u   at,15(a1)           # L
        extql   t2,a0,t2            # U
        extqh   t3,a0,t3            # U

        or      t0,t1,t0
        or      t2,t3,t2
        extql   t4,a1,t4            # U
        extqh   t5,a1,t5            # U

        addq    a2,a4,a4
        or      t4,t5,t4
        extql   t6,a1,t6            # U
        extqh   at,a1,at            # U

        or      t6,at,t6
        sll     a3,8,a3             # U
        addq    t0,t2,t0
        unop

        addq    a4,a3,a4            # 41 bits
        cmpult  t0,t2,t2
        addq    t4,t6,t4
        unop

        cmpult  t4,t6,t6
        addq    t0,t4,t0
        addq    a4,t2,a4
        unop

        cmpult  t0,t4,t4
        addq    a4,t6,a4
        zapnot  t0,15,t1            # U
        srl     t0,32,t0            # U

        addq    a4,t4,a4
        addq    t0,t1,t0
        addq    t0,a4,t0            # 42 bits
        unop

        zapnot  t0,3,t1             # U
        extwl   t0,2,t2             # U
        addq    t1,t2,t1
        srl     t0,32,t0            # U

        addq    t0,t1,t0
        unop
        zapnot  t0,3,t1             # U
        srl     t0,16,t0            # U

        addq    t0,t1,t0
        unop
        zapnot  t0,3,t1             # U
        srl     t0,16,t0            # U

        addq    t0,t1,t0
        not     t0,t0
        zapnot  t0,3,v0             # U
        ret                         # L
