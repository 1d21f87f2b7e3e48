// uint64_t mpn_mul_1(uint64_t *r, const uint64_t *u, int64_t n, uint64_t v)
//
// A limb in four cycles, the time from one high half to the next: it is added to the product of the
// limb above, which cannot go beyond two limbs.

        FIRST = 0x10000                 // the first stage
        STAGES = 5
        ROTATING = -0x10000
        .rotf   u[3], low[3], none[1], high[4]

mpn_mul_1:
        setf.sig f6=in3
        mov     r9=pr
        mov     none[0]=f0              // high[1] of the first product, after two turns
        adds    r16=-1,in2 ;;
        mov     r2=ar.lc ;;
        mov     ar.lc=r16 ;;
        mov     pr.rot=FIRST ;;
        mov     ar.ec=STAGES ;;

        .align  32
next:
  (p16) ldf8    u[0]=[in1],8
  (p18) xma.l   low[0]=u[2],f6,high[1]
  (p20) stf8    [in0]=low[2],8
  (p18) xma.hu  high[0]=u[2],f6,high[1]
        br.ctop.sptk next ;;

        getf.sig r8=high[3]
        mov     pr=r9,ROTATING ;;
        mov     ar.lc=r2
        br.ret.sptk.many rp ;;
