# The first word of the string at r3 for either: bytes in front of it are zero in neither word.

        clrrwi  r8,r3,2
        rlwinm  r10,r3,3,27,28      # bits in front of the string
        lwz     r5,0(r8)
        li      r0,-1
        lis     r7,0x7f7f
        srw     r0,r0,r10
        xor     r6,r5,r4
        ori     r7,r7,0x7f7f
        orc     r5,r5,r0
        orc     r6,r6,r0
        lis     r9,-257             # 0xfefefeff
        addi    r9,r9,-257
