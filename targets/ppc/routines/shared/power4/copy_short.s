# Fewer than 16 bytes of shared/power4/copy: its registers, where it is when they are counted.

copy_short:
        cmpldi  cr1,r5,8
        cmpldi  cr6,r5,4
        cmpldi  cr7,r5,0
        blt     cr1,copy_few
        ld      r0,0(r4)
        ld      r9,-8(r9)
        std     r0,0(r6)
        std     r9,-8(r10)
        blr
copy_few:
        blt     cr6,copy_bytes
        lwz     r0,0(r4)
        lwz     r9,-4(r9)
        stw     r0,0(r6)
        stw     r9,-4(r10)
        blr
copy_bytes:                         # the first, the middle and the last one
        beqlr   cr7
        srdi    r7,r5,1
        lbz     r0,0(r4)
        lbzx    r8,r4,r7
        lbz     r9,-1(r9)
        stb     r0,0(r6)
        stbx    r8,r6,r7
        stb     r9,-1(r10)
        blr
