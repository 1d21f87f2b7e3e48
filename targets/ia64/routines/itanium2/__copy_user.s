// unsigned long __copy_user(void *to, const void *from, unsigned long n)
//
// As memmove where nothing overlaps; gives the number of bytes that are left.  Where an access
// faults the words that are copied are forgotten: bytes are copied from the start on, up to the
// one that faults.  r8 and r9 hold nothing while an access may fault: the kernel writes them.

        ahead = r15                     // for the lines behind the first
        to = r81
        from = r82
        size = r83
        predicates = r84
        counter = r85
        last = r80                      // address of the word at the end of the source
        ALL = -2                        // all predicates
        FIRST = 0x10000                 // the first stage of a loop
        STAGES = 7
        DEEP = 17
        LONG = 127                      // passes
        .rotr   even[21], odd[21]
        .rotr   w[22], low[4], high[4], both[2]

__copy_user:
        alloc   r2=ar.pfs,3,51,0,48
        mov     predicates=pr
        mov     from=in1
        or      r16=in0,in1
        and     r14=7,in0
        cmp.gtu p8,p0=16,in2 ;;
        mov     size=in2
        .include move
        shladd  r22=r22,3,r31
  (p8)  br.cond.dptk words ;;
        lfetch  [ahead],128
        shr.u   r11=r28,r23
        cmp.lt  p7,p0=LONG,r27 ;;
        lfetch  [ahead],128
        dep.z   r22=r22,8,6             // predicates for stores of bytes: 8 to 10, 11 to 13
        shl     r29=r29,r24
  (p7)  br.cond.spnt shifted_far ;;

        .align  32
shifted_up:
  (p16) ld8     w[0]=[r25],8
  (p22) st8     [r26]=both[1],8
  (p18) shr.u   low[0]=w[3],r23
  (p21) or      both[0]=low[3],high[3]
  (p18) shl     high[0]=w[2],r24
        br.ctop.sptk shifted_up ;;

edges:
        or      r16=r16,r17
        mov     pr=r22,0x3f00
        or      r29=r11,r29
        mov     r3=to ;;
  (p8)  st1     [r3]=r16,1
  (p13) st4     [r30]=r29,4
  (p8)  shr.u   r16=r16,8 ;;
  (p13) shr.u   r29=r29,32 ;;
  (p9)  st2     [r3]=r16,2
  (p12) st2     [r30]=r29,2
  (p9)  shr.u   r16=r16,16 ;;
  (p12) shr.u   r29=r29,16 ;;
  (p10) st4     [r3]=r16
  (p11) st1     [r30]=r29
        mov     ar.lc=counter ;;
        mov     r8=r0
        mov     pr=predicates,ALL
        br.ret.sptk.many rp ;;

shifted_far:
        mov     ar.ec=STAGES+DEEP ;;
        .align  32
shifted_far_up:
  (p16) ld8     w[0]=[r25],8
  (p39) st8     [r26]=both[1],8
  (p35) shr.u   low[0]=w[3+DEEP],r23
  (p38) or      both[0]=low[3],high[3]
  (p35) shl     high[0]=w[2+DEEP],r24
        br.ctop.sptk shifted_far_up ;;
        br.cond.sptk edges ;;

        // From r19 to r26, r27 bytes, all words.
words:
        dep.z   r22=r22,8,6
        sub     r27=r30,r26
        shr.u   r11=r28,r23 ;;
        tbit.nz p12,p0=r27,3
        shl     r29=r29,r24
        add     r25=r19,r27
        br.cond.sptk words_more ;;
        .align  32
all_words:
        lfetch  [ahead],128
        mov     r27=in2
        tbit.nz p12,p0=in2,3
        mov     r26=in0
        add     r25=r19,in2 ;;
words_more:
  (p12) ld8     r18=[r19],8
        lfetch  [ahead],128
        shr.u   r3=r27,4 ;;
  (p12) st8     [r26]=r18,8
        lfetch  [ahead],128
        mov     ar.ec=4
        cmp.eq  p8,p0=r0,r3
        adds    r3=-1,r3
        adds    r25=8,r19 ;;
        lfetch  [ahead],128
        cmp.lt  p7,p0=LONG,r3
        mov     ar.lc=r3
        adds    r2=8,r26
  (p8)  br.cond.spnt copied
  (p7)  br.cond.spnt words_far_up ;;
        .align  32
words_up:
  (p16) ld8     even[0]=[r19],16
  (p16) ld8     odd[0]=[r25],16
  (p19) st8     [r26]=even[3],16
  (p19) st8     [r2]=odd[3],16
        br.ctop.sptk words_up ;;
copied:
  (p15) mov     ar.lc=counter
  (p15) br.cond.sptk done
        br.cond.sptk edges ;;

words_far_up:
        mov     ar.ec=4+DEEP ;;
        .align  32
words_far_up_next:
  (p16) ld8     even[0]=[r19],16
  (p16) ld8     odd[0]=[r25],16
  (p36) st8     [r26]=even[3+DEEP],16
  (p36) st8     [r2]=odd[3+DEEP],16
        br.ctop.sptk words_far_up_next ;;
        br.cond.sptk copied ;;

        // Fewer than 16 bytes: each is stored while the next is loaded.
bytes:
        mov     r8=r0
        cmp.eq  p8,p0=r0,in2
        adds    r28=-1,in2
        mov     r19=in1
        mov     to=in0
        mov     r26=in0
  (p8)  br.ret.spnt.many rp ;;
        ld1     r16=[r19],1
        add     r28=in1,r28             // of the byte that is loaded last
        cmp.eq  p8,p0=1,in2
  (p8)  br.cond.dpnt byte ;;
        .align  32
bytes_next:
        st1     [r26]=r16,1
        cmp.ne  p7,p0=r19,r28
        ld1     r16=[r19],1
  (p7)  br.cond.dptk bytes_next ;;
byte:
        st1     [r26]=r16
done:
        mov     r8=r0
        mov     pr=predicates,ALL
        br.ret.sptk.many rp ;;

        // An access above has faulted.
fault:
        mov     r16=to
        mov     r17=from
        mov     r21=size ;;
fault_next:
        ld1     r18=[r17],1 ;;
        st1     [r16]=r18,1 ;;
        adds    r21=-1,r21 ;;
        cmp.ne  p6,p0=r0,r21
  (p6)  br.cond.sptk fault_next ;;
        // One of these two has.
stopped:
        mov     ar.lc=counter ;;
        mov     r8=r21
        mov     pr=predicates,ALL
        br.ret.sptk.many rp ;;
