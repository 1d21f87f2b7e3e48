// int memcmp(const void *a, const void *b, size_t n)
//
// Eight bytes of each in two cycles, as strncmp, but no byte ends it early; in one cycle where
// the words of both lie alike.
// Returns the difference of the first bytes that differ.

        .rotr   a[4], b[3], hi[3], lo[3]
        .rotp   more[3]                 // whether there is a word behind this one

memcmp:
        alloc   r2=ar.pfs,3,13,0,16
        mov     r9=pr
        mov     r8=r0
        cmp.eq  p7,p8=r0,in2
        and     r18=7,in0 ;;
  (p8)  ld1     r16=[in0]
  (p8)  ld1     r17=[in1]
        shr.u   r28=in2,62              // no two blocks are longer
        shladd  r22=r18,3,r0
        mov     r20=1
  (p7)  br.ret.spnt.many rp ;;
        cmp.ne  p6,p0=r16,r17           // many differ in their first byte
        cmp.ne  p7,p8=r0,r28
        sub     r8=r16,r17
        and     r19=-8,in0
  (p6)  br.ret.spnt.many rp ;;
        mov     r14=in0
        mov     r15=in1
  (p7)  dep.z   r28=-1,0,62
  (p8)  mov     r28=in2
        sub     r21=in1,r18 ;;
        add     r28=r28,r18             // bytes from the word's start to the end
        and     r24=7,r21
        and     r29=-8,r15 ;;
        cmp.eq  p6,p0=r0,r24
        mov     ar.ec=0                 // so that wtop leaves without a rotation
        adds    r27=-8,r28
  (p6)  br.cond.dptk alike ;;

        // r19: the word of the first block, r21 what stands there in the second, r29 its first
        // word; r22: bits in front of the first block's start, r20: 1
        // r28: bytes from that word's start to the end
start:
        ld8.s   a[3]=[r19],8
        and     r23=-8,r21
        mov     ar.ec=0
        and     r24=7,r21
        mov     r30=r0
        adds    r28=-8,r28 ;;
        .include unlike
        or      a[3]=a[3],r25 ;;
        or      lo[2]=lo[2],r25 ;;

        .align  32
next:
        ld8.s   a[0]=[r19],8
        ld8.s   b[0]=[r26],8
        shl     hi[0]=b[1],r27
        or      r16=lo[2],hi[2]
        cmp.eq  p6,p0=r0,r0 ;;
        cmp.eq.and p6,p0=r16,a[3]
        cmp.lt.and p6,p0=r0,r28
        shr.u   lo[0]=b[2],r24
        adds    r28=-8,r28
  (p6)  br.wtop.dptk next ;;

        // The word at r19 - 32 differs, or is the last, or was not there.
        adds    r28=16,r28              // how much of it counts
        adds    r19=-32,r19
        mov     r26=a[3] ;;
judge:
        xor     r3=r16,r26
        pcmp1.eq r17=r16,r26
        mux1    r10=r26,@rev
        mux1    r11=r16,@rev ;;
        tnat.nz p7,p0=r3
  (p7)  br.cond.spnt bytes ;;
        mov     pr=r9,-2 ;;
        czx1.r  r18=r17 ;;
        .include differ

bytes:
        .include from_byte
byte:
        ld1     r16=[r14],1
        ld1     r17=[r15],1
        adds    r28=-1,r28
        cmp.eq  p0,p6=r0,r0 ;;
        cmp.ne.or p6,p0=r16,r17
        cmp.eq.or p6,p0=r0,r28
        and     r18=7,r14
        sub     r8=r16,r17
  (p6)  br.cond.spnt done ;;
        .include next_byte

        // r19 and r21: words that lie alike, r27 bytes from there to the last word.
alike:
        ld8.s   a[2]=[r19]
        ld8.s   b[2]=[r21],8
        shl     r25=r20,r22
        add     r11=r19,r27 ;;
        cmp.ltu more[2],p0=r19,r11
        adds    r19=8,r19 ;;
        cmp.ltu more[1],p0=r19,r11
        ld8.s   a[1]=[r19],8
        ld8.s   b[1]=[r21],8 ;;
        adds    r25=-1,r25 ;;
        or      a[2]=a[2],r25
        or      b[2]=b[2],r25 ;;

        .align  32
alike_next:
        cmp.ltu more[0],p0=r19,r11
        ld8.s   a[0]=[r19],8
  (more[2]) cmp.eq.unc p6,p0=a[2],b[2]
        ld8.s   b[0]=[r21],8
  (p6)  br.wtop.dptk alike_next ;;
        adds    r19=-24,r19
        mov     r26=a[2]
        mov     r16=b[2]
        adds    r11=8,r11 ;;
        sub     r28=r11,r19
        br.cond.sptk judge ;;
