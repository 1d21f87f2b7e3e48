// int memcmp(const void *a, const void *b, size_t n)
//
// A byte a cycle first, then eight bytes of each in two cycles, as strncmp, but no byte ends it
// early; in one cycle where the words of both lie alike.
// Returns the difference of the first bytes that differ.

        .rotr   a[4], b[3], hi[3], lo[3]
        .rotp   more[3]                 // whether there is a word behind this one

memcmp:
        .include counted
        cmp.ne.or p6,p0=r20,r21         // many differ in their first byte
        sub     r8=r20,r21
        ld1.s   r16=[in0],1
        ld1.s   r17=[in1],1
  (p6)  br.ret.spnt.many rp ;;
        .align  32
odd:
        cmp.eq.and p7,p0=r16,r17
        cmp.ne.and p7,p0=in0,r22
        ld1.s   r18=[in0],1
        ld1.s   r19=[in1],1
  (p7)  br.cond.dptk even ;;
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
byte:
        ld1     r16=[r14],1
        ld1     r17=[r15],1
        cmp.eq  p0,p6=r0,r0 ;;
        cmp.ne.or p6,p0=r16,r17
        cmp.eq.or p6,p0=r14,r28
        and     r18=7,r14
        sub     r8=r16,r17
  (p6)  br.ret.spnt.many rp ;;
        cmp.ne  p7,p0=r0,r18
  (p7)  br.cond.dptk byte ;;

        alloc   r2=ar.pfs,3,13,0,16
        .include left
        and     r24=7,r15 ;;
        cmp.eq  p6,p0=r0,r24
  (p6)  br.cond.dptk alike ;;
        .include unlike
        shr.u   lo[1]=r31,r24 ;;
        ld8.s   b[1]=[r23],8
        shl     hi[2]=r31,r27
        shl     hi[1]=b[2],r27 ;;

        .align  32
next:
        ld8.s   a[0]=[r14],8
        ld8.s   b[0]=[r23],8
        shl     hi[0]=b[1],r27
        or      r16=lo[2],hi[2]
        cmp.eq  p6,p0=r0,r0 ;;
        cmp.eq.and p6,p0=r16,a[3]
        cmp.lt.and p6,p0=r0,r25
        shr.u   lo[0]=b[2],r24
        adds    r25=-8,r25
  (p6)  br.wtop.dptk next ;;

        // The word at r14 - 32 differs, or is the last, or was not there.
        .include again

        // Both at words; a whole one begins at r14, and another behind it if r25 is positive.
alike:
        sub     r21=r15,r14
        add     r11=r14,r25             // no word behind that is the last one
        ld8.s   a[2]=[r14],8
        ld8.s   b[2]=[r15],8
        cmp.lt  more[2],p0=r0,r25 ;;
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        cmp.ltu more[1],p0=r14,r11
        ld8.s   a[1]=[r14],8
        ld8.s   b[1]=[r15],8 ;;

        .align  32
alike_next:
        cmp.ltu more[0],p0=r14,r11
        ld8.s   a[0]=[r14],8
  (more[2]) cmp.eq.unc p6,p0=a[2],b[2]
        ld8.s   b[0]=[r15],8
  (p6)  br.wtop.dptk alike_next ;;
        adds    r14=8,r14
        br.cond.sptk again ;;
