// int strcmp(const char *a, const char *b)
//
// First a byte a cycle, at least 16 and up to where the first string has a word; then eight bytes
// of each string in two cycles.  Words of the second string are put together from two aligned ones.
// Speculative loads run ahead; where one was deferred and is needed, bytes are compared until the
// next word begins.  Returns the difference of the first bytes that differ.

        .rotr   a[4], b[3], hi[3], lo[3], z[3]  // z: where a word of the first string has a zero

strcmp:
        and     r22=-8,in0
        mov     r9=pr
        cmp.eq  p7,p6=r0,r0
        ld1     r20=[in0],1
        ld1     r21=[in1],1
        cmp.eq  p9,p0=r0,r0 ;;
        cmp.ne.or p6,p0=r20,r21         // most strings differ in their first byte
        cmp.eq.or p6,p0=r20,r0
        sub     r8=r20,r21
        ld1.s   r16=[in0],1
        ld1.s   r17=[in1],1
  (p6)  br.ret.spnt.many rp ;;
        cmp.eq.and p7,p0=r16,r17
        cmp.ne.and p7,p0=r16,r0
        adds    r22=24,r22              // a word begins there
        ld1.s   r18=[in0],1
        ld1.s   r19=[in1],1
  (p7)  br.cond.dptk even ;;
        .include turns
byte:
        ld1     r16=[r14],1
        ld1     r17=[r15],1
        cmp.eq  p0,p6=r0,r0 ;;
        cmp.ne.or p6,p0=r16,r17
        cmp.eq.or p6,p0=r16,r0
        and     r18=7,r14
        sub     r8=r16,r17
  (p6)  br.ret.spnt.many rp ;;
        cmp.ne  p7,p0=r0,r18
  (p7)  br.cond.dptk byte ;;

        alloc   r2=ar.pfs,2,14,0,16
        .include unlike
        czx1.r  z[2]=a[3] ;;
        ld8.s   b[1]=[r23],8
        shr.u   lo[1]=r31,r24
        shl     hi[2]=r31,r27 ;;
        shl     hi[1]=b[2],r27
        czx1.r  z[1]=a[2] ;;

        .align  32
next:
        ld8.s   a[0]=[r14],8
        ld8.s   b[0]=[r23],8
        czx1.r  z[0]=a[1]
        or      r16=lo[2],hi[2]
        cmp.eq  p6,p0=r0,r0
        shl     hi[0]=b[1],r27 ;;
        cmp.eq.and p6,p0=r16,a[3]
        cmp.eq.and p6,p0=8,z[2]
        shr.u   lo[0]=b[2],r24
  (p6)  br.wtop.dptk next ;;

        // The word at r14 - 32 ends the strings, or differs, or was not there: byte by byte.
        adds    in0=-32,r14
        mov     pr=r9,-2 ;;
        add     in1=in0,r21
        adds    r22=8,in0
        cmp.eq  p7,p0=r0,r0
        cmp.eq  p9,p0=r0,r0 ;;
        ld1.s   r16=[in0],1
        ld1.s   r17=[in1],1 ;;

        .align  32
odd:
        cmp.eq.and p7,p0=r16,r17
        cmp.ne.and p7,p0=r16,r0
        cmp.ne.and p7,p0=in0,r22
        ld1.s   r18=[in0],1
        ld1.s   r19=[in1],1
  (p7)  br.cond.dptk even ;;
        br.cond.sptk odd_out ;;
