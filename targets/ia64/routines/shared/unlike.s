        // The first words of the second operand, which lies otherwise than the first: r30, r31 and
        // b[2] are shifted by r24 and r27 bits to where those of the first are; r25 masks what is in
        // front of it.
        ld8.s   a[2]=[r19],8
        cmp.eq  p8,p0=r29,r23           // else nothing of that word is the string's
        adds    r26=8,r23
        shladd  r24=r24,3,r0 ;;
  (p8)  ld8.s   r30=[r23]
        ld8.s   r31=[r26],8
        shl     r25=r20,r22
        sub     r27=64,r24 ;;
        ld8.s   b[2]=[r26],8
        ld8.s   a[1]=[r19],8 ;;
        ld8.s   b[1]=[r26],8
        shr.u   lo[2]=r30,r24
        shr.u   lo[1]=r31,r24 ;;
        adds    r25=-1,r25
        shl     hi[2]=r31,r27
        shl     hi[1]=b[2],r27 ;;
