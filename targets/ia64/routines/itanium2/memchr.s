// void *memchr(const void *s, int c, size_t n)
//
// One aligned word a cycle.  The loop's loads are speculative: they run three words ahead of the
// word that is looked at.  A word that was not there is read again plainly, if it is needed.

        .rotr   w[2], x[2], z[2]
        .rotp   more[4]                 // whether there is a word behind this one

memchr:
        alloc   r2=ar.pfs,3,5,0,8
        mov     r9=pr
        mov     r14=in0                 // where to start
        add     r15=in0,in2 ;;          // behind the last byte
        cmp.ltu p6,p0=r15,in0           // it wraps: all memory
        mux1    r16=in1,@brcst
        cmp.eq  p7,p0=r0,in2 ;;
  (p6)  mov     r15=-1
        mov     r8=r0
  (p7)  br.ret.spnt.many rp ;;

start:                                  // r14: not behind the range
        and     r17=-8,r14
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        adds    r18=-8,r15 ;;           // in front of the last word
        cmp.ltu more[3],p0=r17,r18
        ld8     r19=[r17],8 ;;
        cmp.ltu more[2],p0=r17,r18
        ld8.s   r20=[r17],8
        xor     r19=r19,r16 ;;
        cmp.ltu more[1],p0=r17,r18
        ld8.s   w[1]=[r17],8
        czx1.r  z[1]=r19
        xor     x[1]=r20,r16 ;;

        .align  32
next:
        cmp.ltu more[0],p0=r17,r18
        ld8.s   w[0]=[r17],8
        czx1.r  z[0]=x[1]
        xor     x[0]=w[1],r16
  (more[3]) cmp.eq.unc p6,p0=8,z[1]
  (p6)  br.wtop.dptk next ;;

        // The word at r17 - 32 has the byte, or is the last one, or was not there.
        adds    r17=-32,r17
        tnat.nz p7,p0=z[1]
        cmp.eq  p9,p0=8,z[1] ;;
        add     r8=r17,z[1]
  (p7)  mov     r14=r17
  (p7)  br.cond.spnt start ;;
        cmp.ltu p8,p0=r8,r14
  (p9)  mov     r8=r0
  (p9)  br.cond.spnt done ;;
        cmp.geu p9,p0=r8,r15
  (p8)  br.cond.spnt masked ;;
found:
  (p9)  mov     r8=r0
        mov     pr=r9,-2
        br.ret.sptk.many rp ;;
done:
        mov     pr=r9,-2
        br.ret.sptk.many rp ;;

        // A byte in front of the start: look at the first word without what is in front.
masked:
        and     r20=7,r14
        ld8     r19=[r17],8
        mov     r21=1 ;;
        shladd  r20=r20,3,r0
        xor     r19=r19,r16
        mov     r14=r17 ;;
        shl     r21=r21,r20 ;;
        adds    r21=-1,r21 ;;
        or      r19=r19,r21 ;;
        czx1.r  r20=r19
        adds    r17=-8,r17 ;;
        cmp.eq  p7,p8=8,r20
        add     r8=r17,r20 ;;
  (p7)  cmp.ltu p9,p0=r14,r15
  (p8)  br.cond.sptk last ;;
        mov     r8=r0
  (p9)  br.cond.sptk start
        br.cond.sptk done ;;
last:
        cmp.geu p9,p0=r8,r15
        br.cond.sptk found ;;
