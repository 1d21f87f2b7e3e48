        // Byte by byte from the word at r14 - 32 on: to its end, or to r28 if that comes first.
again:
        adds    in0=-32,r14
        mov     pr=r9,-2 ;;
        add     in1=in0,r21
        sub     r25=r28,in0
        adds    r22=8,in0 ;;
        cmp.ltu p9,p8=8,r25
        ld1.s   r16=[in0],1
        cmp.eq  p7,p0=r0,r0
        ld1.s   r17=[in1],1 ;;
  (p8)  mov     r22=r28
        br.cond.sptk odd ;;
