# Copies r5 bytes, more than 32, from r4 to r6; r3 is the result and stays.  v0 has the first 16; r9
# and r10 are the ends; cr6 has r5 beside 64.
#
# 64 bytes or fewer may overlap: all are loaded, then stored.  More: 16 bytes bring the destination
# to a multiple of 16, then 64 in a pass, and the last 64 again in front of the end.  Changes r0, r6
# to r8, v0, v1, v14 to v19.

copy_blocks:
        lxv     vs33,16(r4)
        bgt     cr6,copy_long
        lxv     vs46,-32(r9)
        lxv     vs47,-16(r9)
        stxv    vs32,0(r6)
        stxv    vs33,16(r6)
        stxv    vs46,-32(r10)
        stxv    vs47,-16(r10)
        blr

copy_long:
        clrldi  r0,r6,60
        lxv     vs48,-64(r9)        # the last ones, before anything is stored
        lxv     vs49,-48(r9)
        subfic  r0,r0,16
        lxv     vs50,-32(r9)
        lxv     vs51,-16(r9)
        stxv    vs32,0(r6)
        subf    r7,r0,r5
        add     r8,r4,r0
        add     r6,r6,r0
        srdi.   r0,r7,6
        beq     copy_last
        mtctr   r0
        .p2align 5
copy_lines:
        lxv     vs32,0(r8)
        lxv     vs33,16(r8)
        lxv     vs46,32(r8)
        lxv     vs47,48(r8)
        addi    r8,r8,64
        stxv    vs32,0(r6)
        stxv    vs33,16(r6)
        stxv    vs46,32(r6)
        stxv    vs47,48(r6)
        addi    r6,r6,64
        bdnz    copy_lines
copy_last:
        stxv    vs48,-64(r10)
        stxv    vs49,-48(r10)
        stxv    vs50,-32(r10)
        stxv    vs51,-16(r10)
        blr
