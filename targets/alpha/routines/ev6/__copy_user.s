# __copy_user: a0 destination, a1 source, a2 count; v0 bytes not copied.
#
# Written for the 14 entries that Linux's own routine has in the kernel's exception table, because
# the table cannot grow.  Head, tail and few bytes share one piece of code: up to 8 bytes from
# anywhere, made of two quadwords, stored as one quadword, or as a longword where it fits and bytes.
# No WH64: a fault would leave a line with lost bytes.  a0 moves only behind the stores of a step,
# and the source is found from it (pv).  Pages end on quadwords: where an access faults whose first
# byte is the next to copy, nothing more can be; else pieces are single bytes from then on, until
# the fault comes again.  So what is left is exact, and what was stored twice is the same.

__copy_user:
        subq    a1,a0,pv
        addq    a0,a2,a5            # the end
        cmpult  a2,8,t0
        clr     v0

        and     a0,7,t1
        clr     t11                 # one byte at a time, after a fault
        lda     t3,8(zero)
        bne     t0,few              # U

        subq    t3,t1,t3            # bytes of the head
        bne     t1,piece            # U
        unop
        unop

quads:  srl     a2,4,t4             # U pairs of quadwords
        and     a1,7,t1
        lda     t3,8(zero)
        beq     t4,more             # U

        and     a2,15,a2            # bytes behind them
        bne     t1,skew             # U
        unop
        unop

pair:
EX1$left:
        ldq     t0,0(a1)            # L
EX2$fault:
        ldq     t2,8(a1)            # L
        subq    t4,1,t4
        lda     a1,16(a1)

EX3$left:
        stq     t0,0(a0)            # L
EX4$left_8:
        stq     t2,8(a0)            # L
        lda     a0,16(a0)
        bne     t4,pair             # U

more:   cmpult  a2,8,t0
        unop
        unop
        beq     t0,piece            # U

few:    mov     a2,t3
        unop
        bne     a2,piece            # U
        ret                         # L

piece:                              # t3 bytes
EX5$left:
        ldq_u   t0,0(a1)            # L
        addq    a1,t3,t5
        and     t3,8,t6
        unop

EX6$fault:
        ldq_u   t2,-1(t5)           # L
        and     a0,3,at
        xor     t3,4,t8
        extql   t0,a1,t0            # U

        and     t8,4,t8             # not four or more
        extqh   t2,a1,t2            # U
        or      t0,t2,t0
        bne     t6,whole            # U

        or      at,t8,at
        bne     at,each             # U
        unop
        unop

EX7$left:
        stl     t0,0(a0)            # L
        lda     a0,4(a0)
        and     t3,3,t3
        unop

        srl     t0,32,t0            # U
        beq     t3,done             # U
        unop
        unop

each:
EX8$left:
        stb     t0,0(a0)            # L
        lda     a0,1(a0)
        srl     t0,8,t0             # U
        subq    t3,1,t3

        bne     t3,each             # U
        unop
        unop
        unop

done:   subq    a5,a0,a2
        addq    a0,pv,a1
        unop
        beq     a2,all              # U

        lda     t3,1(zero)
        unop
        unop
        beq     t11,quads           # U

        br      piece               # L
        unop
        unop
        unop

all:    ret                         # L
        unop
        unop
        unop

whole:
EX9$left:
        stq     t0,0(a0)            # L
        lda     a0,8(a0)
        br      done                # L
        unop

skew:
EX10$left:
        ldq_u   t0,0(a1)            # L the first of the two that make a quadword
        unop
        unop
        unop

shift:
EX11$fault:
        ldq_u   t2,8(a1)            # L
        extql   t0,a1,t5            # U
        subq    t4,1,t4
        unop

EX12$fault:
        ldq_u   t0,16(a1)           # L
        extqh   t2,a1,t6            # U
        extql   t2,a1,t2            # U
        lda     a1,16(a1)

        or      t5,t6,t5
        extqh   t0,a1,at            # U
EX13$left:
        stq     t5,0(a0)            # L
        unop

        or      t2,at,t2
EX14$left_8:
        stq     t2,8(a0)            # L
        lda     a0,16(a0)
        bne     t4,shift            # U

        br      more                # L
        unop
        unop
        unop

fault:  addq    a0,pv,a1            # some bytes may be there: one by one
        lda     t3,1(zero)
        lda     t11,1(zero)
        br      piece               # L

left_8: lda     a0,8(a0)
        unop
        unop
        unop

left:   subq    a5,a0,v0
        ret                         # L
