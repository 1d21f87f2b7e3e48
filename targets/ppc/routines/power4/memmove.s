# memmove: r3 destination, r4 source, r5 bytes, which may overlap; r3 the destination.
#
# Fewer than 64 bytes, and what does not overlap, as memcpy (shared/power4/copy).  Else doublewords,
# from the end where the destination is behind the source, and bytes up to the first doubleword.

memmove:
        cmpldi  r5,64
        subf    r0,r4,r3
        subf    r7,r3,r4
        cmpld   cr1,r0,r5           # the destination begins inside the source
        cmpld   cr6,r7,r5           # the source begins inside the destination
        mr      r6,r3
        blt     copy
        blt     cr1,down
        blt     cr6,up
copy:   .include copy

up:     andi.   r0,r6,7
        beq     up_aligned
        subfic  r0,r0,8
        mtctr   r0
        subf    r5,r0,r5
up_head:
        lbz     r0,0(r4)
        addi    r4,r4,1
        stb     r0,0(r6)
        addi    r6,r6,1
        bdnz    up_head
up_aligned:
        srdi    r0,r5,5
        mtctr   r0
        andi.   r5,r5,31
        addi    r4,r4,-8
        addi    r6,r6,-8
up_words:
        ld      r7,8(r4)
        ld      r8,16(r4)
        ld      r9,24(r4)
        ldu     r10,32(r4)
        std     r7,8(r6)
        std     r8,16(r6)
        std     r9,24(r6)
        stdu    r10,32(r6)
        bdnz    up_words
        beqlr
        mtctr   r5
        addi    r4,r4,7
        addi    r6,r6,7
up_tail:
        lbzu    r0,1(r4)
        stbu    r0,1(r6)
        bdnz    up_tail
        blr

down:   add     r4,r4,r5
        add     r6,r6,r5
        andi.   r0,r6,7
        beq     down_aligned
        mtctr   r0
        subf    r5,r0,r5
down_head:
        lbzu    r0,-1(r4)
        stbu    r0,-1(r6)
        bdnz    down_head
down_aligned:
        srdi    r0,r5,5
        mtctr   r0
        andi.   r5,r5,31
down_words:
        ld      r7,-8(r4)
        ld      r8,-16(r4)
        ld      r9,-24(r4)
        ldu     r10,-32(r4)
        std     r7,-8(r6)
        std     r8,-16(r6)
        std     r9,-24(r6)
        stdu    r10,-32(r6)
        bdnz    down_words
        beqlr
        mtctr   r5
down_tail:
        lbzu    r0,-1(r4)
        stbu    r0,-1(r6)
        bdnz    down_tail
        blr
