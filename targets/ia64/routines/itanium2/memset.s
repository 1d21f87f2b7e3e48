// void *memset(void *d, int c, size_t n)
//
// Whole words, two a cycle, then the bytes in front of and behind them; many words of zero as the
// register f0, two of them in each store.

        FEW = 7                         // stores of 16 bytes

memset:
        add     r15=in0,in2
        mux1    r16=in1,@brcst
        mov     r8=in0
        sub     r31=r0,in0
        adds    r17=7,in0
        cmp.gtu p6,p0=8,in2 ;;
        and     r18=7,r15               // bytes behind the last whole word
        mov     r10=ar.lc
        and     r15=-8,r15              // behind the last whole word
        and     r31=7,r31               // bytes in front of the first
        and     r17=-8,r17              // the first
  (p6)  br.cond.spnt bytes ;;
        sub     r19=r15,r17
        shladd  r31=r18,3,r31
        mov     r3=in0 ;;
        shr.u   r20=r19,4
        cmp.eq  p15,p0=r0,r16
        and     r21=8,r19 ;;
        dep.z   r31=r31,8,6             // predicates for stores of bytes: 8 to 10, 11 to 13
        cmp.ne  p7,p0=r0,r21
        cmp.eq  p6,p0=r0,r20
  (p15) cmp.lt.unc p14,p0=FEW,r20
        adds    r20=-1,r20 ;;
  (p7)  st8     [r17]=r16,8
        mov     ar.lc=r20
  (p14) br.cond.spnt zero
  (p6)  br.cond.spnt edges ;;
        adds    r2=8,r17 ;;

        .align  32
words:
        st8     [r17]=r16,16
        st8     [r2]=r16,16
        br.cloop.sptk words ;;
edges:
        mov     pr=r31,0x3f00 ;;
  (p8)  st1     [r3]=r16,1
  (p13) st4     [r15]=r16,4
        mov     ar.lc=r10 ;;
  (p9)  st2     [r3]=r16,2
  (p12) st2     [r15]=r16,2 ;;
  (p10) st4     [r3]=r16
  (p11) st1     [r15]=r16
        br.ret.sptk.many rp ;;

zero:
        tbit.nz p15,p0=r17,3
        adds    r20=1,r20 ;;
  (p15) st8     [r17]=r0,8              // and another at the end
  (p15) adds    r20=-1,r20 ;;
        and     r21=1,r20
        shr.u   r18=r20,1 ;;
        cmp.ne  p7,p0=r0,r21
        adds    r2=16,r17
        adds    r18=-1,r18 ;;
        mov     ar.lc=r18 ;;
        .align  32
zero_next:
        stf.spill [r17]=f0,32
        stf.spill [r2]=f0,32
        br.cloop.sptk zero_next ;;
  (p7)  stf.spill [r17]=f0,16 ;;
  (p15) st8     [r17]=r0
        br.cond.sptk edges ;;

        // Fewer than 8: from both ends.
bytes:
        add     r2=in2,in0
        adds    r20=1,in2
        cmp.eq  p6,p0=r0,in2
        mov     r3=in0
  (p6)  br.ret.spnt.many rp ;;
        adds    r2=-1,r2
        shr.u   r20=r20,1 ;;
        adds    r20=-1,r20 ;;
        mov     ar.lc=r20 ;;
byte:
        st1     [r3]=r16,1
        st1     [r2]=r16,-1
        br.cloop.sptk byte ;;
        mov     ar.lc=r10
        br.ret.sptk.many rp ;;
