        // The first words of two operands, the first at r14, the second at r15, r21 bytes further:
        // r30, r31 and b[2] are shifted by r24 and r27 bits to where those of the first are. The loop
        // that follows leaves without a rotation.
        and     r23=-8,r15
        dep.z   r24=r15,3,3
        sub     r21=r15,r14
        ld8.s   a[3]=[r14],8 ;;
        ld8.s   r30=[r23],8
        ld8.s   a[2]=[r14],8
        mov     ar.ec=0 ;;
        ld8.s   r31=[r23],8
        ld8.s   a[1]=[r14],8
        sub     r27=64,r24 ;;
        ld8.s   b[2]=[r23],8
        shr.u   lo[2]=r30,r24
