        // What a copy of 16 bytes or more begins with: r14, r26: bytes of the destination's first word
        // that are not its own, and where its first whole word is; r19: the source of that; r27: words
        // less one; r20, r23 and r24: how the source lies otherwise, in bytes and for shifts; r22, r31:
        // bytes behind the last whole word and in front of the first; r16, r17 and r28, r29: what they
        // are made of.
        or      r16=r16,in2
        mov     counter=ar.lc
        sub     r15=in1,r14             // source of the destination's first word
        add     r18=r14,in2             // bytes from that word to the end
  (p8)  br.cond.spnt bytes ;;
        mov     to=in0
        and     r16=7,r16
        and     r19=-8,r15
        and     r20=7,r15
        and     r21=-8,r18
        and     r22=7,r18 ;;            // bytes behind the last whole word
        cmp.eq  p15,p0=r0,r16           // all of it is whole words
        shladd  r23=r20,3,r0
        mov     pr.rot=FIRST
        and     r11=-8,in1
        and     r3=7,in1
  (p15) br.cond.sptk all_words ;;
        sub     r24=64,r23
        shr.u   r27=r21,3               // words up to the last whole one
        shladd  r3=r3,3,r0
        add     r2=r20,r22
        cmp.ne  p12,p0=r0,r14
        add     last=r19,r21 ;;

        // r16, r17: the words with the first byte and with what follows it; r28, r29: the same
        // for the bytes behind the last whole word
        ld8     r16=[r11],8
        mov     ar.ec=STAGES            // of the loop that shifts
        cmp.ne  p10,p0=r0,r22
        cmp.lt  p11,p0=8,r2
        sub     r18=64,r3
        sub     r26=to,r14 ;;
        ld8     r17=[r11]
        cmp.ne.or p10,p0=r0,r20
        add     r30=r26,r21             // behind the last whole word
        adds    r27=-1,r27
  (p12) adds    r26=8,r26               // the first whole word
  (p12) adds    r19=8,r19 ;;            // its source
        mov     r28=r0
        mov     r29=r0
        shr.u   r16=r16,r3
  (p12) adds    r27=-1,r27
        sub     r31=r0,to
        cmp.eq  p8,p0=r0,r20 ;;
  (p10) ld8     r28=[last],8
        lfetch  [ahead],128
        mov     ar.lc=r27
        and     r31=7,r31               // bytes in front of the first whole word
        shl     r17=r17,r18
        adds    r25=8,r19 ;;
  (p11) ld8     r29=[last]
        ld8     w[1]=[r19]
