        // No difference in this byte: the next, or at a word's end words again.
        cmp.ne  p7,p0=r0,r18
  (p7)  br.cond.dptk byte ;;
        mov     r19=r14
        mov     r21=r15
        and     r29=-8,r15
        mov     r22=r0
        br.cond.sptk start ;;
done:
        mov     pr=r9,-2
        br.ret.sptk.many rp ;;
