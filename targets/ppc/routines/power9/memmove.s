# memmove: r3 destination, r4 source, r5 bytes, which may overlap; r3 the destination.
#
# As memcpy (shared/power9/copy_few, copy_blocks), unless more than 64 bytes overlap: then 64 in a
# pass, from the end where the destination is behind the source; the bytes at the other end are
# loaded before anything is stored.

memmove:
        mr      r6,r3
        .include copy_few
copy_many:
        cmpldi  cr6,r5,64
        subf    r0,r4,r3
        cmpld   cr1,r0,r5           # the destination begins inside the source
        ble     cr6,copy_blocks
        subf    r7,r3,r4
        cmpld   cr5,r7,r5           # the source begins inside the destination
        blt     cr1,down
        blt     cr5,up
        b       copy_long
        .include copy_blocks

up:     add     r9,r4,r5
        add     r10,r6,r5
        addi    r0,r5,-1
        lxv     vs48,-64(r9)
        lxv     vs49,-48(r9)
        lxv     vs50,-32(r9)
        lxv     vs51,-16(r9)
        srdi    r0,r0,6             # the last pass is what has been loaded
        mtctr   r0
        .p2align 5
up_lines:
        lxv     vs32,0(r4)
        lxv     vs33,16(r4)
        lxv     vs46,32(r4)
        lxv     vs47,48(r4)
        addi    r4,r4,64
        stxv    vs32,0(r6)
        stxv    vs33,16(r6)
        stxv    vs46,32(r6)
        stxv    vs47,48(r6)
        addi    r6,r6,64
        bdnz    up_lines
        stxv    vs48,-64(r10)
        stxv    vs49,-48(r10)
        stxv    vs50,-32(r10)
        stxv    vs51,-16(r10)
        blr

down:   add     r9,r4,r5
        add     r10,r6,r5
        addi    r0,r5,-1
        lxv     vs48,0(r4)
        lxv     vs49,16(r4)
        lxv     vs50,32(r4)
        lxv     vs51,48(r4)
        srdi    r0,r0,6             # the last pass is what has been loaded
        mtctr   r0
        .p2align 5
down_lines:
        lxv     vs32,-64(r9)
        lxv     vs33,-48(r9)
        lxv     vs46,-32(r9)
        lxv     vs47,-16(r9)
        addi    r9,r9,-64
        stxv    vs32,-64(r10)
        stxv    vs33,-48(r10)
        stxv    vs46,-32(r10)
        stxv    vs47,-16(r10)
        addi    r10,r10,-64
        bdnz    down_lines
        stxv    vs48,0(r6)
        stxv    vs49,16(r6)
        stxv    vs50,32(r6)
        stxv    vs51,48(r6)
        blr
