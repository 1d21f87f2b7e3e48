        // r8: the difference of the first bytes that differ, number r18 of words that r10 and r11 have
        // from their last byte on; 0 if r28 bytes end before it.
        sub     r3=7,r18
        cmp.le  p9,p0=r28,r18 ;;        // no difference in front of that
        shladd  r3=r3,3,r0 ;;
        shr.u   r10=r10,r3
        shr.u   r11=r11,r3 ;;
        zxt1    r10=r10
        zxt1    r11=r11 ;;
        sub     r8=r10,r11 ;;
  (p9)  mov     r8=r0
        br.ret.sptk.many rp ;;
