// int strncmp(const char *a, const char *b, size_t n)
//
// As strcmp, with the bytes that are left counted along.

        .rotr   a[4], b[3], hi[3], lo[3], z[3]  // z: where a word of the first string has a zero

strncmp:
        alloc   r2=ar.pfs,3,13,0,16
        mov     r9=pr
        mov     r8=r0
        cmp.eq  p7,p8=r0,in2
        and     r18=7,in0 ;;
  (p8)  ld1     r16=[in0]
  (p8)  ld1     r17=[in1]
        shr.u   r28=in2,62              // no two strings are longer
        cmp.eq  p0,p6=r0,r0
        mov     r20=1
  (p7)  br.ret.spnt.many rp ;;
        cmp.ne.or p6,p0=r16,r17         // most strings differ in their first byte
        cmp.eq.or p6,p0=r16,r0
        cmp.ne  p7,p8=r0,r28
        sub     r8=r16,r17
        and     r19=-8,in0
  (p6)  br.ret.spnt.many rp ;;
        mov     r14=in0
        mov     r15=in1
  (p7)  dep.z   r28=-1,0,62
  (p8)  mov     r28=in2
        shladd  r22=r18,3,r0
        sub     r21=in1,r18 ;;
        add     r28=r28,r18             // bytes from the word's start to the limit
        and     r29=-8,r15 ;;

        // r19: the word of the first string, r21 what stands there in the second, r29 its first
        // word; r22: bits in front of the first string's start, r20: 1
        // r28: bytes from that word's start to the limit
start:
        ld8.s   a[3]=[r19],8
        and     r23=-8,r21
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        and     r24=7,r21
        mov     r30=r0
        adds    r28=-8,r28 ;;
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
        cmp.lt.and p6,p0=r0,r28
        adds    r28=-8,r28
  (p6)  br.wtop.dptk next ;;

        // The word at r19 - 32 ends the strings, or differs, or is the last, or was not there.
        xor     r3=r16,a[3]
        pcmp1.eq r17=r16,a[3]
        mux1    r10=a[3],@rev
        adds    r28=16,r28              // how much of it counts
        adds    r26=1,z[2]
        mux1    r11=r16,@rev ;;
        cmp.lt  p6,p0=r26,r28
        tnat.nz p7,p0=r3
  (p7)  br.cond.spnt bytes ;;
  (p6)  mov     r28=r26                 // where they are known to be equal
        mov     pr=r9,-2 ;;
        czx1.r  r18=r17 ;;
        .include differ

bytes:
        adds    r19=-32,r19
        .include from_byte
byte:
        ld1     r16=[r14],1
        ld1     r17=[r15],1
        adds    r28=-1,r28
        cmp.eq  p0,p6=r0,r0 ;;
        cmp.ne.or p6,p0=r16,r17
        cmp.eq.or p6,p0=r16,r0
        cmp.eq.or p6,p0=r0,r28
        and     r18=7,r14
        sub     r8=r16,r17
  (p6)  br.cond.spnt done ;;
        .include next_byte
