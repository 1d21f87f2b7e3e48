        // r8: by the first byte that differs, r17 has it; 0 if r28 bytes end before it.
        cmp.le  p9,p0=r28,r18           // no difference in front of that
  (p7)  mov     r8=-1
  (p8)  mov     r8=1 ;;
  (p9)  mov     r8=r0
        br.ret.sptk.many rp ;;
