// size_t strlen(const char *s)
//
// One aligned word a cycle.  What is in front of the start is shifted out of the first word; the
// loop's loads are speculative and run two words ahead.

        .rotr   w[2], z[2]              // z: where a word has a zero

strlen:
        alloc   r2=ar.pfs,1,7,0,8
        and     r14=-8,in0
        and     r15=7,in0
        mov     r9=pr
        mov     r10=in0 ;;
        ld8     r16=[r14],8
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        shladd  r17=r15,3,r0
        sub     r18=8,r15 ;;
        ld8.s   r19=[r14],8 ;;
        ld8.s   w[1]=[r14],8
        czx1.r  z[1]=r19 ;;
        shr.u   r16=r16,r17 ;;
        czx1.r  r8=r16 ;;
        cmp.lt  p6,p0=r8,r18
  (p6)  br.ret.sptk.many rp ;;

        .align  32
next:
        ld8.s   w[0]=[r14],8
        czx1.r  z[0]=w[1]
        cmp.eq  p6,p0=8,z[1]
  (p6)  br.wtop.dptk next ;;

        // The word at r14 - 24 has the zero, or was not there.
        adds    r14=-24,r14
        tnat.nz p7,p0=z[1]
  (p7)  br.cond.spnt again ;;
        add     r8=r14,z[1]
        mov     pr=r9,-2 ;;
        sub     r8=r8,r10
        br.ret.sptk.many rp ;;

again:
        ld8     r16=[r14],8 ;;
        ld8.s   r19=[r14],8
        czx1.r  r16=r16 ;;
        ld8.s   w[1]=[r14],8
        cmp.eq  p6,p0=8,r16
        czx1.r  z[1]=r19
  (p6)  br.cond.sptk next ;;
        adds    r14=-24,r14 ;;
        add     r8=r14,r16
        mov     pr=r9,-2 ;;
        sub     r8=r8,r10
        br.ret.sptk.many rp ;;
