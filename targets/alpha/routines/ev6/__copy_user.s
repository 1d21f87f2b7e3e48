# __copy_user: a0 destination, a1 source, a2 count; v0 bytes not copied.
#
# As shared/upwards without WH64 (a fault would leave a line with lost bytes), and every access may
# fault.  After a fault bytes are copied one by one from the place that a0 has come to, until all
# are or the fault comes again: what is left is exact, and what was stored twice is the same.  The
# destination pointer moves only behind the stores of a step, and the source is found from it (pv).

__copy_user:
        clr     v0
        subq    a1,a0,pv
        cmpult  a2,8,t0
        bne     t0,small            # U

        addq    a0,a2,a5            # the end
        lda     t4,8(zero)
        and     a0,7,t1
        beq     t1,aligned          # U

EX1$bytes:
        ldq_u   t2,0(a1)            # L
EX2$bytes:
        ldq_u   t3,7(a1)            # L
        subq    t4,t1,t4            # bytes of the head
        unop

        extql   t2,a1,t2            # U
        extqh   t3,a1,t3            # U
        and     t4,2,t5
        and     t4,4,t6

        addq    a1,t4,a1
        or      t2,t3,t2
        subq    a2,t4,a2
        blbc    t4,head_2           # U

EX3$bytes:
        stb     t2,0(a0)            # L
        srl     t2,8,t2             # U
        lda     a0,1(a0)
        unop
head_2: beq     t5,head_4           # U
EX4$bytes:
        stw     t2,0(a0)            # L
        srl     t2,16,t2            # U
        lda     a0,2(a0)
head_4: beq     t6,aligned          # U
EX5$bytes:
        stl     t2,0(a0)            # L
        lda     a0,4(a0)
        unop

aligned:
        and     a1,7,t1
        srl     a2,3,t3             # U quadwords
        and     a2,7,t2             # bytes behind them
        bne     t1,shift            # U

        subq    t3,4,t4
        and     t3,2,t5
        and     t3,1,t6
        blt     t4,few              # U

four:
EX6$bytes:
        ldq     t0,0(a1)            # L
EX7$bytes:
        ldq     t1,8(a1)            # L
        subq    t4,4,t4
        unop

EX8$bytes:
        ldq     t8,16(a1)           # L
EX9$bytes:
        ldq     t9,24(a1)           # L
        unop
        lda     a1,32(a1)

EX10$bytes:
        stq     t0,0(a0)            # L
EX11$bytes:
        stq     t1,8(a0)            # L
        unop
        unop

EX12$bytes:
        stq     t8,16(a0)           # L
EX13$bytes:
        stq     t9,24(a0)           # L
        lda     a0,32(a0)
        bge     t4,four             # U

few:    beq     t5,one              # U
EX14$bytes:
        ldq     t0,0(a1)            # L
EX15$bytes:
        ldq     t1,8(a1)            # L
        lda     a1,16(a1)

EX16$bytes:
        stq     t0,0(a0)            # L
EX17$bytes:
        stq     t1,8(a0)            # L
        lda     a0,16(a0)
        unop
one:    beq     t6,rest             # U
EX18$bytes:
        ldq     t0,0(a1)            # L
        lda     a1,8(a1)
        unop

EX19$bytes:
        stq     t0,0(a0)            # L
        lda     a0,8(a0)
        unop
        unop
rest:   beq     t2,all              # U
EX20$bytes:
        ldq     t0,0(a1)            # L
        unop
        unop

tail:   and     t2,4,t5
        and     t2,2,t6
        beq     t5,tail_2           # U
        unop

EX21$bytes:
        stl     t0,0(a0)            # L
        srl     t0,32,t0            # U
        lda     a0,4(a0)
        unop
tail_2: beq     t6,tail_1           # U
EX22$bytes:
        stw     t0,0(a0)            # L
        srl     t0,16,t0            # U
        lda     a0,2(a0)
tail_1: blbc    t2,all              # U
EX23$bytes:
        stb     t0,0(a0)            # L
        ret                         # L
        unop

all:    ret                         # L
        unop
        unop
        unop

shift:
EX24$bytes:
        ldq_u   t0,0(a1)            # L the first of the two that make a quadword
        subq    t3,4,t4
        and     t3,3,t3
        blt     t4,shift_few        # U

shift_four:
EX25$bytes:
        ldq_u   t1,8(a1)            # L
EX26$bytes:
        ldq_u   t8,16(a1)           # L
        extql   t0,a1,t7            # U
        subq    t4,4,t4

EX27$bytes:
        ldq_u   t9,24(a1)           # L
EX28$bytes:
        ldq_u   t0,32(a1)           # L
        extqh   t1,a1,t11           # U
        extql   t1,a1,t1            # U

        or      t7,t11,t7
        unop
        extqh   t8,a1,a3            # U
        extql   t8,a1,t8            # U

EX29$bytes:
        stq     t7,0(a0)            # L
        or      t1,a3,t1
        extqh   t9,a1,a4            # U
        extql   t9,a1,t9            # U

EX30$bytes:
        stq     t1,8(a0)            # L
        or      t8,a4,t8
        extqh   t0,a1,t10           # U
        lda     a1,32(a1)

EX31$bytes:
        stq     t8,16(a0)           # L
        or      t9,t10,t9
        unop
        unop

EX32$bytes:
        stq     t9,24(a0)           # L
        lda     a0,32(a0)
        unop
        bge     t4,shift_four       # U

shift_few:
        beq     t3,shift_rest       # U
EX33$bytes:
        ldq_u   t1,8(a1)            # L
        extql   t0,a1,t7            # U
        subq    t3,1,t3

        extqh   t1,a1,t8            # U
        mov     t1,t0
        lda     a1,8(a1)
        or      t7,t8,t7

EX34$bytes:
        stq     t7,0(a0)            # L
        lda     a0,8(a0)
        br      shift_few           # L
        unop

shift_rest:
        addq    a1,t2,t3
        extql   t0,a1,t0            # U
        beq     t2,all              # U
        unop

EX35$bytes:
        ldq_u   t1,-1(t3)           # L
        extqh   t1,a1,t1            # U
        or      t0,t1,t0
        br      tail                # L

small:  addq    a0,a2,a5
        unop
        bne     a2,some             # U
        ret                         # L

some:
EX38$bytes:
        ldbu    t5,0(a1)            # L
        and     a2,4,t0
        and     a2,2,t1
        bne     t0,several          # U

        beq     t1,single           # U
        addq    a1,a2,t3
EX39$bytes:
        ldbu    t6,1(a1)            # L
EX40$bytes:
        ldbu    t7,-1(t3)           # L

EX41$bytes:
        stb     t5,0(a0)            # L
EX42$bytes:
        stb     t6,1(a0)            # L
EX43$bytes:
        stb     t7,-1(a5)           # L
        ret                         # L

single:
EX44$bytes:
        stb     t5,0(a0)            # L
        ret                         # L
        unop
        unop

several:                            # 4 to 7: the first four and the last three
EX45$bytes:
        ldbu    t6,1(a1)            # L
EX46$bytes:
        ldbu    t7,2(a1)            # L
EX47$bytes:
        ldbu    t8,3(a1)            # L
        addq    a1,a2,t3

EX48$bytes:
        ldbu    t0,-3(t3)           # L
EX49$bytes:
        ldbu    t1,-2(t3)           # L
EX50$bytes:
        ldbu    t2,-1(t3)           # L
        unop

EX51$bytes:
        stb     t5,0(a0)            # L
EX52$bytes:
        stb     t6,1(a0)            # L
EX53$bytes:
        stb     t7,2(a0)            # L
EX54$bytes:
        stb     t8,3(a0)            # L

EX55$bytes:
        stb     t0,-3(a5)           # L
EX56$bytes:
        stb     t1,-2(a5)           # L
EX57$bytes:
        stb     t2,-1(a5)           # L
        ret                         # L

bytes:  addq    a0,pv,a1
        subq    a5,a0,a2
        unop
        unop

each:
EX36$left:
        ldbu    t0,0(a1)            # L
        lda     a1,1(a1)
        subq    a2,1,a2
        unop

EX37$left:
        stb     t0,0(a0)            # L
        lda     a0,1(a0)
        unop
        bne     a2,each             # U

        ret                         # L
        unop
        unop
        unop

left:   subq    a5,a0,v0
        ret                         # L
