# __copy_user: a0 destination, a1 source, a2 count; v0 bytes not copied.
#
# Written for the 14 entries that Linux's own routine has in the kernel's exception table, because
# the table cannot grow.  Bytes up to the first quadword of the destination and behind the last one
# go singly, in two blocks each; so do all where no quadword lies between.  An odd quadword comes
# first: its load is the one that a source which is not aligned begins with, and there it enters the
# loop half-way.  No WH64: a fault would leave a line with lost bytes.  v0 counts single bytes; for
# quadwords what is left is found from the end (a5).  Pages end on quadwords: where an access faults
# whose first byte is the next to copy, nothing more can be; else single bytes are copied until the
# fault comes again.  So what is left is exact.

__copy_user:
        subq    zero,a0,t0
        addq    a0,a2,a5            # the end
        mov     a2,v0
        beq     a2,done             # U

        and     t0,7,t0             # bytes of the head
        subq    a2,t0,t1            # bytes behind it
        subq    t1,8,t2
        blt     t2,each             # U no quadword among them

        srl     t1,4,t4             # U pairs of quadwords
        and     t1,8,t3             # one before them
        beq     t0,quads            # U
        unop

head:
EX1$done:
        ldbu    t2,0(a1)            # L
        lda     a0,1(a0)
        subq    t0,1,t0
EX2$done:
        stb     t2,-1(a0)           # L

        lda     a1,1(a1)
        subq    v0,1,v0
        bne     t0,head             # U
        unop

quads:
EX3$left:
        ldq_u   t0,0(a1)            # L
        and     a1,7,t1
        and     v0,7,v0             # bytes behind them
        bne     t1,skew             # U

        beq     t3,pair             # U
EX4$left:
        stq     t0,0(a0)            # L
        lda     a1,8(a1)
        lda     a0,8(a0)

        beq     t4,tail             # U
        unop
        unop
        unop

pair:
EX5$left:
        ldq     t0,0(a1)            # L
EX6$fault:
        ldq     t2,8(a1)            # L
        subq    t4,1,t4
        lda     a1,16(a1)

EX7$left:
        stq     t0,0(a0)            # L
EX8$left_8:
        stq     t2,8(a0)            # L
        lda     a0,16(a0)
        bne     t4,pair             # U

tail:   beq     v0,done             # U
        unop
        unop
        unop

each:
EX9$done:
        ldbu    t2,0(a1)            # L
        lda     a0,1(a0)
        lda     a1,1(a1)
EX10$done:
        stb     t2,-1(a0)           # L

        subq    v0,1,v0
        bne     v0,each             # U
        unop
        unop

done:   ret                         # L
        unop
        unop
        unop

skew:   mov     t0,t2               # the first of the two that make a quadword
        unop
        unop
        bne     t3,odd              # U

shift:
EX11$fault:
        ldq_u   t0,8(a1)            # L
        extql   t2,a1,t5            # U
        lda     a0,16(a0)
        lda     a1,16(a1)

        extqh   t0,a1,t6            # U
        or      t5,t6,t5
EX12$left_16:
        stq     t5,-16(a0)          # L
        subq    t4,1,t4

half:
EX13$fault_8:
        ldq_u   t2,0(a1)            # L
        extql   t0,a1,t5            # U
        extqh   t2,a1,t6            # U
        or      t5,t6,t5

EX14$left_m8:
        stq     t5,-8(a0)           # L
        bne     t4,shift            # U
        unop
        unop

        bne     v0,each             # U
        ret                         # L
        unop
        unop

odd:    lda     a0,8(a0)
        lda     a1,8(a1)
        br      half                # L
        unop

fault_8:                            # some bytes may be there: one by one
        lda     a0,-8(a0)
        lda     a1,-8(a1)
        unop
        unop

fault:  subq    a5,a0,v0
        br      each                # L
        unop
        unop

left_8: lda     a0,16(a0)
        unop
        unop
        unop

left_m8:
        lda     a0,8(a0)
        unop
        unop
        unop

left_16:
        lda     a0,-16(a0)
        unop
        unop
        unop

left:   subq    a5,a0,v0
        ret                         # L
