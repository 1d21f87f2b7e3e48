// void *memmove(void *d, const void *s, size_t n)
//
// Whole words of the destination are copied first, up or down, and then the bytes in front of and
// behind them, which are loaded before the first store.  Words of the source that lie as those of
// the destination do go two a cycle; others are put together from two by shifts, one a cycle.
// A long move's loads run DEEP passes ahead of what waits for them, so that several misses are
// under way at once; in a short one that would take longer than the misses.

        ahead = r15                     // for the lines behind the first
        last = r80                      // address of the word at the end of the source
        to = r8
        counter = r10
        step = r31                      // from one word of the destination to the next
        ALL = -2                        // all predicates
        BESIDE = 0x3f00                 // those for stores of bytes
        EXIT = 0x4000                   // p14: there are none
        ROTATING = -0x10000
        STAGES = 3                      // of loops that shift; they leave before their last stores,
        DRAINED = 7                     // for which there is time while that is found out
        FIRST = 0x10000                 // the first stage of a loop
        DEEP = 17
        LONG = 127                      // passes
        .rotr   even[21], odd[21]
        .rotr   w[22], low[4], high[4], both[2]

memmove:
        alloc   r2=ar.pfs,3,49,0,48
        mov     r9=pr
        sub     r17=in0,in1
        or      r16=in0,in1
        and     r14=7,in0
        cmp.gtu p8,p0=16,in2 ;;
        cmp.ltu p6,p7=r17,in2           // down, since d is inside the source
        .include move
        tbit.z  p12,p0=r27,0            // an odd number of words
        shladd  r22=r22,3,r31
        adds    r3=1,r27
  (p8)  br.cond.dptk words ;;
        lfetch  [ahead],128
        cmp.eq  p14,p0=r0,r22           // there are no bytes beside whole words
        dep.z   r22=r22,8,6             // predicates for their stores: 8 to 10, 11 to 13
        mov     step=8
        shr.u   r11=r28,r23
        cmp.lt  p7,p8=LONG,r27 ;;
        lfetch  [ahead],128
  (p7)  mov     ar.ec=DRAINED+DEEP
        shl     r29=r29,r24
  (p6)  mov     step=-8
  (p6)  br.cond.spnt shifted_down
  (p8)  br.cond.dptk shifted_up ;;

        // A loop that has ended does nothing where it comes to the next.
        .align  32
shifted_far_up:
  (p16) ld8     w[0]=[r25],8
  (p39) st8     [r26]=both[1],8
  (p35) shr.u   low[0]=w[3+DEEP],r23
  (p38) or      both[0]=low[3],high[3]
  (p35) shl     high[0]=w[2+DEEP],r24
        br.ctop.sptk shifted_far_up ;;
        .align  32
shifted_up:
  (p16) ld8     w[0]=[r25],8
  (p22) st8     [r26]=both[1],8
  (p18) shr.u   low[0]=w[3],r23
  (p21) or      both[0]=low[3],high[3]
  (p18) shl     high[0]=w[2],r24
        br.ctop.sptk shifted_up ;;

        // Four words are not stored yet; their shifts are done.
edges:
  (p22) st8     [r26]=both[1]
  (p22) add     r26=step,r26
        mov     ar.lc=r10
        or      r19=low[3],high[3]
        or      r16=r16,r17
        or      r29=r11,r29 ;;
  (p21) st8     [r26]=r19
  (p21) add     r26=step,r26
        mov     pr=r22,BESIDE
        or      r20=low[2],high[2]
        mov     r3=r8 ;;
beside:
  (p20) st8     [r26]=r20
  (p8)  st1     [r3]=r16,1
  (p8)  shr.u   r16=r16,8
  (p20) add     r26=step,r26
        or      r21=low[1],high[1]
  (p14) br.cond.dpnt done ;;
  (p19) st8     [r26]=r21
  (p13) st4     [r30]=r29,4
  (p13) shr.u   r29=r29,32 ;;
  (p9)  st2     [r3]=r16,2
  (p12) st2     [r30]=r29,2
  (p9)  shr.u   r16=r16,16 ;;
  (p10) st4     [r3]=r16
  (p12) shr.u   r29=r29,16 ;;
  (p11) st1     [r30]=r29
        mov     pr=r9,ALL
        br.ret.sptk.many rp ;;

        // Fewer than 16 bytes: each is stored while the next is loaded.
bytes:
        adds    r27=-1,in2
        mov     r18=1
        mov     r19=in1
        cmp.eq  p8,p0=r0,in2
        mov     r8=in0
  (p8)  br.ret.spnt.many rp ;;
        mov     r26=in0
  (p6)  mov     r18=-1
  (p6)  add     r19=r19,r27
  (p7)  add     r28=in1,r27 ;;          // of the byte that is loaded last
        ld1     r16=[r19]
        add     r19=r19,r18
        cmp.eq  p8,p0=1,in2
  (p6)  add     r26=r26,r27
  (p6)  mov     r28=in1
  (p8)  br.cond.dpnt byte ;;
        .align  32
bytes_next:
        st1     [r26]=r16
        ld1     r16=[r19]
        cmp.ne  p7,p0=r19,r28
        add     r26=r26,r18
        add     r19=r19,r18
  (p7)  br.cond.dptk bytes_next ;;
byte:
        st1     [r26]=r16
        br.ret.sptk.many rp ;;

        // From r19 to r26, r3 words.
words:
        shladd  r27=r3,3,r0
        shr.u   r11=r28,r23
        shl     r29=r29,r24
        shladd  r25=r3,3,r19
  (p6)  br.cond.spnt words_down
        br.cond.sptk words_more ;;

        // r27 bytes, all of them words: a word first where their number is odd.
all_words:
        lfetch  [ahead],128
        mov     r27=in2
        tbit.nz p12,p0=in2,3
        mov     r26=in0
        add     r25=r19,in2
  (p6)  br.cond.spnt words_down ;;
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
  (p7)  br.cond.spnt words_far ;;
        .align  32
words_up:
  (p16) ld8     even[0]=[r19],16
  (p16) ld8     odd[0]=[r25],16
  (p19) st8     [r26]=even[3],16
  (p19) st8     [r2]=odd[3],16
        br.ctop.sptk words_up ;;
copied:
        mov     ar.lc=r10
  (p15) br.cond.dptk done ;;
not_all:
        or      r16=r16,r17
        dep.z   r22=r22,8,6 ;;
        mov     pr=r22,ROTATING+EXIT+BESIDE
        or      r29=r11,r29
        mov     r3=r8
        br.cond.sptk beside ;;

words_far:
        mov     ar.ec=4+DEEP
  (p6)  br.cond.spnt words_far_down_next ;;
        .align  32
words_far_up_next:
  (p16) ld8     even[0]=[r19],16
  (p16) ld8     odd[0]=[r25],16
  (p36) st8     [r26]=even[3+DEEP],16
  (p36) st8     [r2]=odd[3+DEEP],16
        br.ctop.sptk words_far_up_next ;;
words_far_down_next:
  (p16) ld8     even[0]=[r19],-16
  (p16) ld8     odd[0]=[r25],-16
  (p36) st8     [r26]=even[3+DEEP],-16
  (p36) st8     [r2]=odd[3+DEEP],-16
        br.ctop.sptk words_far_down_next ;;
        mov     ar.lc=r10
  (p15) br.cond.dptk done ;;
        br.cond.sptk not_all ;;

words_down:
        add     r26=r26,r27
        shr.u   r3=r27,4
        adds    r19=-8,r25 ;;
  (p12) ld8     r18=[r19],-8
        adds    r26=-8,r26
        mov     ar.ec=4
        cmp.eq  p8,p0=r0,r3
        adds    r3=-1,r3 ;;
  (p12) st8     [r26]=r18,-8
        mov     ar.lc=r3
        adds    r25=-8,r19
        cmp.lt  p7,p0=LONG,r3
  (p8)  br.cond.spnt copied ;;
        adds    r2=-8,r26
  (p7)  br.cond.spnt words_far ;;
        .align  32
words_down_next:
  (p16) ld8     even[0]=[r19],-16
  (p16) ld8     odd[0]=[r25],-16
  (p19) st8     [r26]=even[3],-16
  (p19) st8     [r2]=odd[3],-16
        br.ctop.sptk words_down_next ;;
        br.cond.sptk copied ;;

done:
  (p19) st8     [r26]=r21
        mov     pr=r9,ALL
        br.ret.sptk.many rp ;;

        .align  32
shifted_down:
        mov     w[1]=r28
        adds    r25=-16,last
        adds    r26=-8,r30
  (p8)  br.cond.dptk shifted_down_next ;;
shifted_far_down:
  (p16) ld8     w[0]=[r25],-8
  (p39) st8     [r26]=both[1],-8
  (p35) shr.u   low[0]=w[2+DEEP],r23
  (p38) or      both[0]=low[3],high[3]
  (p35) shl     high[0]=w[3+DEEP],r24
        br.ctop.sptk shifted_far_down ;;
shifted_down_next:
  (p16) ld8     w[0]=[r25],-8
  (p22) st8     [r26]=both[1],-8
  (p18) shr.u   low[0]=w[2],r23
  (p21) or      both[0]=low[3],high[3]
  (p18) shl     high[0]=w[3],r24
        br.ctop.sptk shifted_down_next ;;
        br.cond.sptk edges ;;
