        // Bytes in turn: r16 and r17, r18 and r19; p7 holds while they are equal, no string ends, and
        // the byte is not the last in front of r22; p9: a word begins there, nothing ends.
        // The byte in r16 and r17 decides, or was not there, or a word begins behind it.
odd_out:
        chk.s.m r16,leave
        chk.s.m r17,leave
  (p9)  cmp.ltu.unc p8,p0=r22,in0
        sub     r8=r16,r17
  (p8)  br.cond.dpnt leave
        br.ret.sptk.many rp ;;
        .align  32
even:
        cmp.eq.and p7,p0=r18,r19
        cmp.ne.and p7,p0=r18,r0
        cmp.ne.and p7,p0=in0,r22
        ld1.s   r16=[in0],1
        ld1.s   r17=[in1],1
  (p7)  br.cond.dptk odd ;;
        chk.s.m r18,leave
        chk.s.m r19,leave
  (p9)  cmp.ltu.unc p8,p0=r22,in0
        sub     r8=r18,r19
  (p8)  br.cond.dpnt leave
        br.ret.sptk.many rp ;;
        // Plainly, from the byte that was looked at last.
leave:
        adds    r14=-2,in0
        adds    r15=-2,in1 ;;
