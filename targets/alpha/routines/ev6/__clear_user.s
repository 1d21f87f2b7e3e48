# __clear_user: a0 destination, a1 count; v0 bytes not cleared.
#
# As shared/fill with zero, but every store may fault.  Stores go upwards and each lies in one page,
# so what a fault leaves begins with the store that faulted; where stores share a base, the code
# that control resumes at steps over those in front of it.  WH64 is for the line at hand, never for
# one ahead: a fault between would leave that line with lost bytes.

__clear_user:
        addq    a0,a1,v0            # the end
        and     a0,7,t2
        cmpult  a1,8,t0
        lda     t3,8(zero)

        bne     t0,tail_bytes       # U
        subq    t3,t2,t3            # bytes to the boundary
        unop
        unop

        beq     t2,aligned          # U
        subq    a1,t3,a1
        and     t3,2,t4
        and     t3,4,t5

        blbc    t3,head_2           # U
EX1$fault_0:
        stb     zero,0(a0)          # L
        lda     a0,1(a0)
        unop
head_2: beq     t4,head_4           # U
EX2$fault_0:
        stw     zero,0(a0)          # L
        lda     a0,2(a0)
        unop
head_4: beq     t5,aligned          # U
EX3$fault_0:
        stl     zero,0(a0)          # L
        lda     a0,4(a0)
        unop

aligned:
        srl     a1,3,t3             # U quadwords
        and     a1,7,a1             # bytes behind them
        lda     t4,-24(t3)
        blt     t4,short            # U

        and     a0,56,t1
        beq     t1,lines            # U
        unop
        unop

line:
EX4$fault_0:
        stq     zero,0(a0)          # L
        lda     a0,8(a0)
        subq    t3,1,t3
        unop

        and     a0,56,t1
        bne     t1,line             # U
        unop
        unop

lines:  srl     t3,3,t4             # U lines
        and     t3,7,t3             # quadwords behind them
        unop
        unop

whole:  wh64    (a0)                # L
        subq    t4,1,t4
EX5$fault_0:
        stq     zero,0(a0)          # L
        unop

EX15$fault_8:
        stq     zero,8(a0)          # L
EX16$fault_16:
        stq     zero,16(a0)         # L
        unop
        unop

EX17$fault_24:
        stq     zero,24(a0)         # L
EX18$fault_32:
        stq     zero,32(a0)         # L
        unop
        unop

EX19$fault_40:
        stq     zero,40(a0)         # L
EX20$fault_48:
        stq     zero,48(a0)         # L
        unop
        unop

EX21$fault_56:
        stq     zero,56(a0)         # L
        lda     a0,64(a0)
        unop
        bne     t4,whole            # U

short:  subq    t3,4,t4
        and     t3,3,t3
        blt     t4,few              # U
        unop

four:
EX6$fault_0:
        stq     zero,0(a0)          # L
EX7$fault_8:
        stq     zero,8(a0)          # L
        subq    t4,4,t4
        unop

EX8$fault_16:
        stq     zero,16(a0)         # L
EX9$fault_24:
        stq     zero,24(a0)         # L
        lda     a0,32(a0)
        bge     t4,four             # U

few:    beq     t3,tail             # U
EX10$fault_0:
        stq     zero,0(a0)          # L
        lda     a0,8(a0)
        subq    t3,1,t3

        bne     t3,few              # U
        unop
        unop
        unop

tail:   and     a1,4,t0
        and     a1,2,t1
        beq     t0,tail_2           # U
        unop

EX11$fault_0:
        stl     zero,0(a0)          # L
        lda     a0,4(a0)
        unop
        unop
tail_2: beq     t1,tail_1           # U
EX12$fault_0:
        stw     zero,0(a0)          # L
        lda     a0,2(a0)
        unop
tail_1: blbc    a1,all              # U
EX13$fault_0:
        stb     zero,0(a0)          # L
        unop
        unop

all:    clr     v0
        ret                         # L
        unop
        unop

tail_bytes:
        beq     a1,all              # U
EX14$fault_0:
        stb     zero,0(a0)          # L
        lda     a0,1(a0)
        subq    a1,1,a1

        br      tail_bytes          # L
        unop
        unop
        unop

fault_56:
        lda     a0,8(a0)
fault_48:
        lda     a0,8(a0)
fault_40:
        lda     a0,8(a0)
fault_32:
        lda     a0,8(a0)
fault_24:
        lda     a0,8(a0)
fault_16:
        lda     a0,8(a0)
fault_8:
        lda     a0,8(a0)
fault_0:
        subq    v0,a0,v0
        ret                         # L
