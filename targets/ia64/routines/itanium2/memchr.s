// void *memchr(const void *s, int c, size_t n)
//
// What is in front of the start is shifted out of the first word.  Then one aligned word a cycle:
// the loop's loads are speculative and run three words ahead of the word that is looked at.  A word
// that was not there is read again plainly, if it is needed.

        .rotr   w[2], x[2], z[2]
        .rotp   more[4]                 // whether there is a word behind this one

memchr:
        and     r17=-8,in0
        mov     r9=pr
        mux1    r16=in1,@brcst
        cmp.eq  p7,p0=r0,in2
        mov     r8=r0
  (p7)  br.ret.spnt.many rp ;;
        alloc   r2=ar.pfs,3,5,0,8
        ld8     r19=[r17],8
        dep.z   r20=in0,3,3
        and     r18=7,in0
        add     r15=in0,in2 ;;          // behind the last byte
        psub1   r19=r19,r16
        ld8.s   r22=[r17],8
        cmp.ltu p6,p0=r15,in0           // it wraps: all memory
        sub     r21=8,r18 ;;
        shr.u   r19=r19,r20
        ld8.s   r23=[r17],8
        psub1   r22=r22,r16
        cmp.geu p8,p0=r21,in2           // all of it is in this word
  (p6)  mov     r15=-1 ;;
        ld8.s   w[1]=[r17],8
        czx1.r  r19=r19
        czx1.r  z[1]=r22
        xor     x[1]=r23,r16
  (p8)  mov     r21=in2
        adds    r18=-8,r15 ;;           // in front of the last word
        cmp.ltu p6,p0=r19,r21
        add     r8=in0,r19
        adds    r10=-24,r17
        adds    r11=-16,r17
        adds    r14=-8,r17
  (p6)  br.ret.dpnt.many rp ;;
        cmp.ltu more[3],p0=r10,r18
        cmp.ltu more[2],p0=r11,r18
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        cmp.ltu more[1],p0=r14,r18
  (p8)  br.cond.spnt nothing
        br.cond.sptk next ;;

start:                                  // r17: a word of the range
        cmp.ltu more[3],p0=r17,r18
        ld8     r19=[r17],8
        mov     ar.ec=0 ;;
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
  (p9)  br.cond.spnt nothing
  (p7)  br.cond.spnt start ;;
        cmp.geu p6,p0=r8,r15 ;;
  (p6)  mov     r8=r0
        mov     pr=r9,-2
        br.ret.sptk.many rp ;;
nothing:
        mov     r8=r0
        mov     pr=r9,-2
        br.ret.sptk.many rp ;;
