# __clear_user: a0 destination, a1 count; v0 bytes not cleared.
#
# As shared/fill with zero, but every store may fault.  Stores go upwards, but for bytes that are
# zero already, each lies in one page, and a0 moves only behind the stores of a step.  So after a
# fault bytes are cleared one by one from a0 on until the fault comes again: what is left is exact.
# WH64 is for the line at hand, never for one ahead: a fault between would leave that line with lost
# bytes.

__clear_user:
        clr     v0
        cmpult  a1,8,t0
        and     a0,7,t2
        bne     t0,few              # U

        addq    a0,a1,at            # the end
        srl     a1,3,t1             # U quadwords
        subq    zero,a0,t5
        beq     t2,quads            # U

EX7$bytes:
        stb     zero,0(a0)          # L the first byte, word and longword
        and     a0,1,t0
        and     t5,3,t3
        and     t5,7,t5             # bytes in front of the first quadword

        addq    a0,t0,t0
        addq    a0,t3,t3
        subq    a1,t5,a1
        addq    a0,t5,t5

EX8$bytes:
        stw     zero,0(t0)          # L
EX9$bytes:
        stl     zero,0(t3)          # L
        srl     a1,3,t1             # U
        mov     t5,a0

quads:  beq     t1,ends             # U
EX1$bytes:
        stq     zero,0(a0)          # L
        cmpult  t1,4,t0
        s8addq  t1,a0,t5            # behind the quadwords

        and     a1,7,t3             # bytes behind them
        lda     t6,-4(at)
        srl     t1,1,t4             # U
        beq     t0,many             # U

        lda     t2,-2(at)
        s8addq  t4,a0,t4
        andnot  t6,3,t6
        andnot  t2,1,t2

EX2$bytes:
        stq     zero,0(t4)          # L
EX3$bytes:
        stq     zero,-8(t5)         # L
        bne     t3,tail             # U
        ret                         # L

tail:                               # the last longword, word and byte
EX4$bytes:
        stl     zero,0(t6)          # L
EX5$bytes:
        stw     zero,0(t2)          # L
EX6$bytes:
        stb     zero,-1(at)         # L
        ret                         # L

ends:   lda     t6,-4(at)           # less than a quadword behind the head
        lda     t2,-2(at)
        andnot  t6,3,t6
        andnot  t2,1,t2

        br      tail                # L
        unop
        unop
        unop

few:    and     a1,4,t0
        unop
        bne     a1,some             # U
        ret                         # L

some:   addq    a0,a1,at
        srl     a1,1,t1             # U
EX10$bytes:
        stb     zero,0(a0)          # L
        bne     t0,four             # U

        addq    a0,t1,t1
EX11$bytes:
        stb     zero,0(t1)          # L
EX12$bytes:
        stb     zero,-1(at)         # L
        ret                         # L

four:                               # 4 to 7
EX13$bytes:
        stb     zero,1(a0)          # L
EX14$bytes:
        stb     zero,2(a0)          # L
EX15$bytes:
        stb     zero,3(a0)          # L
        unop

EX16$bytes:
        stb     zero,-3(at)         # L
EX17$bytes:
        stb     zero,-2(at)         # L
EX18$bytes:
        stb     zero,-1(at)         # L
        ret                         # L

many:   lda     t4,-40(t1)
        lda     t2,-2(at)
        andnot  t6,3,t6
        bge     t4,long             # U

short:  and     t1,3,t0
        subq    t1,4,t4
        andnot  t2,1,t2
        blt     t4,rest             # U

fours:
EX19$bytes:
        stq     zero,0(a0)          # L
EX20$bytes:
        stq     zero,8(a0)          # L
        subq    t4,4,t4
        unop

EX21$bytes:
        stq     zero,16(a0)         # L
EX22$bytes:
        stq     zero,24(a0)         # L
        lda     a0,32(a0)
        bge     t4,fours            # U

rest:   beq     t0,last             # U
EX23$bytes:
        stq     zero,-24(t5)        # L three, which may be clear already
EX24$bytes:
        stq     zero,-16(t5)        # L
        unop

EX25$bytes:
        stq     zero,-8(t5)         # L
        bne     t3,tail             # U
        ret                         # L
        unop

last:   bne     t3,tail             # U
        ret                         # L
        unop
        unop

long:   and     a0,56,t0
        lda     t4,63(a0)
        andnot  t4,63,t4            # the first line
        beq     t0,lines            # U

EX26$bytes:
        stq     zero,0(a0)          # L eight, of which some are stored again as a line
EX27$bytes:
        stq     zero,8(a0)          # L
        subq    t4,a0,t0
        unop

EX28$bytes:
        stq     zero,16(a0)         # L
EX29$bytes:
        stq     zero,24(a0)         # L
        srl     t0,3,t0             # U
        unop

EX30$bytes:
        stq     zero,32(a0)         # L
EX31$bytes:
        stq     zero,40(a0)         # L
        subq    t1,t0,t1
        unop

EX32$bytes:
        stq     zero,48(a0)         # L
EX33$bytes:
        stq     zero,56(a0)         # L
        mov     t4,a0
        unop

lines:  srl     t1,3,t4             # U lines
        and     t1,7,t1             # quadwords behind them
        unop
        unop

whole:  wh64    (a0)                # L
        subq    t4,1,t4
EX34$bytes:
        stq     zero,0(a0)          # L
        unop

EX35$bytes:
        stq     zero,8(a0)          # L
EX36$bytes:
        stq     zero,16(a0)         # L
        unop
        unop

EX37$bytes:
        stq     zero,24(a0)         # L
EX38$bytes:
        stq     zero,32(a0)         # L
        unop
        unop

EX39$bytes:
        stq     zero,40(a0)         # L
EX40$bytes:
        stq     zero,48(a0)         # L
        unop
        unop

EX41$bytes:
        stq     zero,56(a0)         # L
        lda     a0,64(a0)
        unop
        bne     t4,whole            # U

        br      short               # L
        unop
        unop
        unop

bytes:  subq    at,a0,v0
        unop
        unop
        unop

each:
EX42$left:
        stb     zero,0(a0)          # L
        lda     a0,1(a0)
        subq    v0,1,v0
        bne     v0,each             # U

left:   ret                         # L
