// void copy_page(void *to, void *from)
//
// A page of 16 KiB: 64 bytes in five cycles, two of each load and store in four of them and a
// prefetch of either side in the fifth, 1 KiB ahead.

        PAGE = 0x4000
        AHEAD = 1024
        ALL = -2                        // all predicates
        FIRST = 0x10000                 // the first stage of the loop
        .rotr   a[3], b[3], c[3], d[3], e[3], f[3], g[3], h[3]

copy_page:
        alloc   r2=ar.pfs,2,22,0,24
        mov     r9=pr
        mov     r14=in1
        adds    r15=8,in1
        mov     r16=in0
        adds    r17=8,in0 ;;
        mov     r10=ar.lc
        mov     r20=PAGE
        adds    r18=AHEAD,in1
        adds    r19=AHEAD,in0 ;;
        shr.u   r20=r20,6 ;;
        adds    r20=-1,r20
        mov     ar.ec=3 ;;
        mov     ar.lc=r20 ;;
        mov     pr.rot=FIRST ;;

        .align  32
next:
  (p16) ld8     a[0]=[r14],16
  (p16) ld8     b[0]=[r15],16
  (p18) st8     [r16]=a[2],16
  (p18) st8     [r17]=b[2],16 ;;
  (p16) ld8     c[0]=[r14],16
  (p16) ld8     d[0]=[r15],16
  (p18) st8     [r16]=c[2],16
  (p18) st8     [r17]=d[2],16 ;;
  (p16) ld8     e[0]=[r14],16
  (p16) ld8     f[0]=[r15],16
  (p18) st8     [r16]=e[2],16
  (p18) st8     [r17]=f[2],16 ;;
  (p16) ld8     g[0]=[r14],16
  (p16) ld8     h[0]=[r15],16
  (p18) st8     [r16]=g[2],16
  (p18) st8     [r17]=h[2],16 ;;
  (p16) lfetch  [r18],64
  (p16) lfetch.excl [r19],64
        br.ctop.sptk next ;;
        mov     ar.lc=r10 ;;
        mov     pr=r9,ALL
        br.ret.sptk.many rp ;;
