// size_t strlen(const char *s)
//
// One aligned word a cycle.  What is in front of the start is shifted out of the first word; the
// loop's loads are speculative and run two words ahead.  It goes on by a branch to what comes next
// where a word has no zero, since a compare with what is not there is never true.

        even = r19                      // words, in turn
        odd = r20
        even_zero = r21                 // where they have a zero; 8: nowhere
        odd_zero = r22
        beyond = r10                    // 24 bytes behind the start

strlen:
        ld1     r16=[in0]
        and     r14=-8,in0
        and     r15=7,in0
        mov     r8=r0
        dep.z   r17=in0,3,3 ;;
        cmp.eq  p6,p0=r0,r16
        ld8     r16=[r14],8
        sub     r18=8,r15
        adds    beyond=24,in0
  (p6)  br.ret.dpnt.many rp ;;
        ld8.s   even=[r14],8 ;;
        ld8.s   odd=[r14],8
        czx1.r  even_zero=even
        shr.u   r16=r16,r17 ;;
        czx1.r  r8=r16 ;;
        cmp.lt  p6,p0=r8,r18
  (p6)  br.ret.dptk.many rp ;;

        .align  32
next:
        ld8.s   even=[r14],8
        czx1.r  odd_zero=odd
        cmp.eq  p6,p0=8,even_zero
  (p6)  br.cond.dptk other ;;

        // The word at r14 - 24 has the zero, or was not there.
        sub     r8=r14,beyond
        tnat.nz p7,p0=even_zero
  (p7)  br.cond.spnt again ;;
        add     r8=r8,even_zero
        br.ret.sptk.many rp ;;

        .align  32
other:
        ld8.s   odd=[r14],8
        czx1.r  even_zero=even
        cmp.eq  p6,p0=8,odd_zero
  (p6)  br.cond.dptk next ;;
        sub     r8=r14,beyond
        tnat.nz p7,p0=odd_zero
  (p7)  br.cond.spnt again ;;
        add     r8=r8,odd_zero
        br.ret.sptk.many rp ;;

again:
        adds    r14=-24,r14 ;;
        ld8     odd=[r14],8 ;;
        ld8.s   even=[r14],8
        czx1.r  odd_zero=odd
        br.cond.sptk other ;;
