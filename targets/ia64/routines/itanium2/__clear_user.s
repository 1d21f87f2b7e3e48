// unsigned long __clear_user(void *to, unsigned long n)
//
// As memset with zero; gives the number of bytes that are left.  Where a store faults the words
// that are cleared are forgotten: bytes are cleared from the start on, up to the one that faults.
// r8 and r9 hold nothing while a store may fault: the kernel writes them.

__clear_user:
        add     r15=in0,in1
        sub     r31=r0,in0
        adds    r17=7,in0
        mov     r22=in0
        mov     r23=in1
        cmp.gtu p6,p0=8,in1 ;;
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
        and     r21=8,r19 ;;
        dep.z   r31=r31,8,6             // predicates for stores of bytes: 8 to 10, 11 to 13
        cmp.ne  p7,p0=r0,r21
        cmp.eq  p6,p0=r0,r20
        adds    r20=-1,r20 ;;
  (p7)  st8     [r17]=r0,8
        mov     ar.lc=r20
  (p6)  br.cond.spnt edges ;;
        adds    r2=8,r17 ;;

        .align  32
words:
        st8     [r17]=r0,16
        st8     [r2]=r0,16
        br.cloop.sptk words ;;
edges:
        mov     pr=r31,0x3f00 ;;
  (p8)  st1     [r3]=r0,1
  (p13) st4     [r15]=r0,4
        mov     ar.lc=r10 ;;
  (p9)  st2     [r3]=r0,2
  (p12) st2     [r15]=r0,2 ;;
  (p10) st4     [r3]=r0
  (p11) st1     [r15]=r0
        mov     r8=r0
        br.ret.sptk.many rp ;;

        // Few bytes, or a store above has faulted.
bytes:
fault:
        cmp.eq  p6,p0=r0,r23
  (p6)  br.cond.spnt stopped ;;
byte:
        st1     [r22]=r0,1 ;;
        adds    r23=-1,r23 ;;
        cmp.ne  p6,p0=r0,r23
  (p6)  br.cond.sptk byte ;;
        // Nothing is left, or the store of a byte has faulted.
stopped:
        mov     ar.lc=r10
        mov     r8=r23
        br.ret.sptk.many rp ;;
