// int strcmp(const char *a, const char *b)
//
// Eight bytes of each string in two cycles.  Words are aligned to the first string; those of the
// second are put together from two aligned ones.  Loads are speculative and run three words ahead;
// where one was deferred and is needed, bytes are compared until the next word begins.
// Returns the difference of the first bytes that differ.

        .rotr   a[4], b[3], hi[3], lo[3], z[3]  // z: where a word of the first string has a zero

strcmp:
        alloc   r2=ar.pfs,2,14,0,16
        ld1     r16=[in0]
        and     r18=7,in0
        ld1     r17=[in1]
        cmp.eq  p0,p6=r0,r0
        mov     r20=1 ;;
        mov     r9=pr
        cmp.ne.or p6,p0=r16,r17         // most strings differ in their first byte
        cmp.eq.or p6,p0=r16,r0
        sub     r8=r16,r17
  (p6)  br.ret.spnt.many rp ;;
        mov     r14=in0
        mov     r15=in1
        shladd  r22=r18,3,r0
        and     r19=-8,in0
        sub     r21=in1,r18
        and     r29=-8,in1 ;;

        // r19: the word of the first string, r21 what stands there in the second, r29 its first
        // word; r22: bits in front of the first string's start, r20: 1
start:
        ld8.s   a[3]=[r19],8
        and     r23=-8,r21
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        and     r24=7,r21
        mov     r30=r0 ;;
        .include unlike
        or      a[3]=a[3],r25
        czx1.r  z[1]=a[2] ;;
        or      lo[2]=lo[2],r25
        czx1.r  z[2]=a[3] ;;

        .align  32
next:
        ld8.s   a[0]=[r19],8
        ld8.s   b[0]=[r26],8
        czx1.r  z[0]=a[1]
        or      r16=lo[2],hi[2]
        cmp.eq  p6,p0=r0,r0
        shl     hi[0]=b[1],r27 ;;
        cmp.eq.and p6,p0=r16,a[3]
        cmp.eq.and p6,p0=8,z[2]
        shr.u   lo[0]=b[2],r24
  (p6)  br.wtop.dptk next ;;

        // The word at r19 - 32 ends the strings, or differs, or was not there.
        pcmp1.eq r17=r16,a[3]
        xor     r3=r16,a[3]
        mux1    r10=a[3],@rev
        mux1    r11=r16,@rev ;;
        tnat.nz p7,p0=r3
  (p7)  br.cond.spnt bytes ;;
        mov     pr=r9,-2 ;;
        czx1.r  r18=r17
        adds    r28=1,z[2] ;;           // a difference behind the end is none
        .include differ

bytes:
        adds    r19=-32,r19
        sub     r17=r15,r14 ;;
        cmp.ltu p7,p0=r19,r14 ;;
  (p7)  mov     r19=r14 ;;
        mov     r14=r19
        add     r15=r19,r17 ;;
byte:
        ld1     r16=[r14],1
        ld1     r17=[r15],1
        cmp.eq  p0,p6=r0,r0 ;;
        cmp.ne.or p6,p0=r16,r17
        cmp.eq.or p6,p0=r16,r0
        and     r18=7,r14
        sub     r8=r16,r17
  (p6)  br.cond.spnt done ;;
        .include next_byte
