# memmove: r3 destination, r4 source, r5 bytes, which may overlap; r3 the destination.
#
# Fewer than 32 bytes, and what does not overlap, as memcpy (copy, of the 750 and of the 7450). 
# Else words, from the end where the destination is behind the source, and bytes up to the first
# word.

memmove:
        cmplwi  r5,32
        subf    r0,r4,r3
        subf    r7,r3,r4
        cmplw   cr1,r0,r5           # the destination begins inside the source
        cmplw   cr6,r7,r5           # the source begins inside the destination
        mr      r6,r3
        blt     copy
        blt     cr1,down
        blt     cr6,up
copy:   .include copy

up:     andi.   r0,r6,3
        beq     up_aligned
        subfic  r0,r0,4
        mtctr   r0
        subf    r5,r0,r5
up_head:
        lbz     r0,0(r4)
        addi    r4,r4,1
        stb     r0,0(r6)
        addi    r6,r6,1
        bdnz    up_head
up_aligned:
        srwi    r0,r5,4
        mtctr   r0
        andi.   r5,r5,15
        addi    r4,r4,-4
        addi    r6,r6,-4
up_words:
        lwz     r7,4(r4)
        lwz     r8,8(r4)
        lwz     r9,12(r4)
        lwzu    r10,16(r4)
        stw     r7,4(r6)
        stw     r8,8(r6)
        stw     r9,12(r6)
        stwu    r10,16(r6)
        bdnz    up_words
        beqlr
        mtctr   r5
        addi    r4,r4,3
        addi    r6,r6,3
up_tail:
        lbzu    r0,1(r4)
        stbu    r0,1(r6)
        bdnz    up_tail
        blr

down:   add     r4,r4,r5
        add     r6,r6,r5
        andi.   r0,r6,3
        beq     down_aligned
        mtctr   r0
        subf    r5,r0,r5
down_head:
        lbzu    r0,-1(r4)
        stbu    r0,-1(r6)
        bdnz    down_head
down_aligned:
        srwi    r0,r5,4
        mtctr   r0
        andi.   r5,r5,15
down_words:
        lwz     r7,-4(r4)
        lwz     r8,-8(r4)
        lwz     r9,-12(r4)
        lwzu    r10,-16(r4)
        stw     r7,-4(r6)
        stw     r8,-8(r6)
        stw     r9,-12(r6)
        stwu    r10,-16(r6)
        bdnz    down_words
        beqlr
        mtctr   r5
down_tail:
        lbzu    r0,-1(r4)
        stbu    r0,-1(r6)
        bdnz    down_tail
        blr
