# Fills a2 bytes (8 or more; `fill_bytes` is the entry for fewer) at a0 with the quadword a1.
# t2 is zero only where a0 is a multiple of 8.  Changes a0, t0-at.
#
# No byte outside is touched.  Up to the first quadword a byte, a word and a longword are stored,
# each at the first place of its size; behind the last quadword likewise downwards.  They overlap
# where fewer would do, but nothing has to be decided and no branch can be mispredicted.  So for 1
# to 3 quadwords, and for 4 to 8.  From 24 quadwords on, lines are allocated by WH64 two ahead; the
# pointer of the hint stops at the last line, and the hint is the first thing that an iteration
# does, so that no line is given up after a store to it: the first one's comes before any quadword,
# so that it is not read either.

        addq    a0,a2,at            # the end
        lda     t0,1(a0)
        lda     t1,3(a0)
        beq     t2,fill_aligned     # U

        stb     a1,0(a0)            # L
        andnot  t0,1,t0
        andnot  t1,3,t1
        lda     a0,7(a0)

        stw     a1,0(t0)            # L
        stl     a1,0(t1)            # L
        andnot  a0,7,a0             # the first quadword
        lda     t4,-2(at)

        stb     a1,-1(at)           # L
        lda     t5,-4(at)
        andnot  t4,1,t4
        subq    at,a0,t3

        stw     a1,0(t4)            # L
        andnot  t5,3,t5
        srl     t3,3,t3             # U quadwords
        stl     a1,0(t5)            # L

        cmpule  t3,8,t0
        beq     t3,fill_end         # U
        unop
        unop

fill_sized:
        cmpule  t3,3,t1
        srl     t3,1,t4             # U
        s8addq  t3,a0,t5            # behind the last one
        beq     t0,fill_many        # U

        stq     a1,0(a0)            # L
        s8addq  t4,a0,t4
        beq     t1,fill_8           # U
        unop

        stq     a1,0(t4)            # L 1 to 3
        stq     a1,-8(t5)           # L
        ret                         # L
        unop

fill_8: stq     a1,8(a0)            # L 4 to 8
        stq     a1,16(a0)           # L
        stq     a1,24(a0)           # L
        unop

        stq     a1,-32(t5)          # L
        stq     a1,-24(t5)          # L
        unop
        unop

        stq     a1,-16(t5)          # L
        stq     a1,-8(t5)           # L
        unop
        unop
fill_end:
fill_bytes_end:
        ret                         # L
        unop
        unop
        unop

fill_many:
        lda     t4,-24(t3)
        lda     t1,63(a0)
        andnot  t1,63,t1            # the first line
        blt     t4,fill_short       # U

        wh64    (t1)                # L
        stq     a1,0(a0)            # L eight, of which some are stored again as a line
        subq    t1,a0,t2
        unop

        stq     a1,8(a0)            # L
        stq     a1,16(a0)           # L
        srl     t2,3,t2             # U
        unop

        stq     a1,24(a0)           # L
        stq     a1,32(a0)           # L
        subq    t3,t2,t3
        unop

        stq     a1,40(a0)           # L
        stq     a1,48(a0)           # L
        srl     t3,3,t4             # U lines
        sll     t3,3,t5             # U

        stq     a1,56(a0)           # L
        mov     t1,a0
        lda     t6,64(t1)
        unop

        addq    a0,t5,t5
        and     t3,7,t3             # quadwords behind the lines
        lda     t5,-64(t5)
        bic     t5,63,t5            # the last line

fill_64:
        wh64    (t6)                # L
        cmpult  t6,t5,t0
        subq    t4,1,t4
        stq     a1,0(a0)            # L

        sll     t0,6,t0             # U
        stq     a1,8(a0)            # L
        stq     a1,16(a0)           # L
        addq    t6,t0,t6

        stq     a1,24(a0)           # L
        stq     a1,32(a0)           # L
        lda     a0,64(a0)
        unop

        stq     a1,-24(a0)          # L
        stq     a1,-16(a0)          # L
        unop
        unop

        stq     a1,-8(a0)           # L
        bne     t4,fill_64          # U
        unop
        unop

fill_short:
        subq    t3,4,t4
        and     t3,2,t5
        and     t3,1,t6
        blt     t4,fill_few         # U

fill_32:
        stq     a1,0(a0)            # L
        stq     a1,8(a0)            # L
        subq    t4,4,t4
        lda     a0,32(a0)

        stq     a1,-16(a0)          # L
        stq     a1,-8(a0)           # L
        unop
        bge     t4,fill_32          # U

fill_few:
        beq     t5,fill_one         # U
        stq     a1,0(a0)            # L
        stq     a1,8(a0)            # L
        lda     a0,16(a0)
fill_one:
        beq     t6,fill_end         # U
        stq     a1,0(a0)            # L
        unop
        unop

        ret                         # L
        unop
        unop
        unop

fill_aligned:                       # one quadword at least
        srl     a2,3,t3             # U
        cmpule  a2,71,t0
        and     a2,7,t2
        beq     t2,fill_sized       # U

        lda     t4,-2(at)
        lda     t5,-4(at)
        andnot  t4,1,t4
        andnot  t5,3,t5

        stb     a1,-1(at)           # L
        stw     a1,0(t4)            # L
        stl     a1,0(t5)            # L
        br      fill_sized          # L

fill_bytes:                         # less than 8
        and     a2,4,t0
        unop
        bne     a2,fill_some        # U
        ret                         # L

fill_some:
        stb     a1,0(a0)            # L
        addq    a0,a2,t3
        srl     a2,1,t1             # U
        bne     t0,fill_4           # U

        addq    a0,t1,t1
        stb     a1,0(t1)            # L
        stb     a1,-1(t3)           # L
        ret                         # L

fill_4: stb     a1,1(a0)            # L 4 to 7
        stb     a1,2(a0)            # L
        stb     a1,3(a0)            # L
        unop

        stb     a1,-3(t3)           # L
        stb     a1,-2(t3)           # L
        stb     a1,-1(t3)           # L
        ret                         # L
