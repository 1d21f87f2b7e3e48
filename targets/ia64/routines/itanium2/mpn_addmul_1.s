// uint64_t mpn_addmul_1(uint64_t *r, const uint64_t *u, int64_t n, uint64_t v)
//
// A limb in four cycles: products as in mpn_mul_1, and behind them the sum of each with the old
// limb, with one bit of carry, which goes on where it is and the sum is all ones.

        FIRST = 0x10000                 // the first stage
        STAGES = 4
        ROTATING = -0x10000
        .rotf   u[2], low[2], high[4]
        .rotr   old[5], product[3]
        .rotp   stage[5], carry[2]
        sum = r18

mpn_addmul_1:
        alloc   r2=ar.pfs,4,4,0,8
        setf.sig f6=in3
        mov     high[0]=f0              // high[1] of the first product, after a turn
        mov     r9=pr
        adds    r16=-1,in2 ;;
        mov     r3=ar.lc
        mov     r15=in1
        mov     r14=in0
        mov     r17=in0 ;;
        mov     ar.lc=r16 ;;
        mov     pr.rot=FIRST ;;
        mov     ar.ec=STAGES ;;

        .align  32
next:
  (p16) ldf8    u[0]=[r15],8
  (p16) ld8     old[0]=[r14],8
        add     sum=old[4],product[2] ;;
  (p20) cmp.ltu.unc carry[0],p0=sum,product[2] ;;
  (carry[1]) cmp.eq.or carry[0],p0=-1,sum
  (p17) xma.l   low[0]=u[1],f6,high[1]
  (carry[1]) adds sum=1,sum
  (p17) xma.hu  high[0]=u[1],f6,high[1] ;;
  (p18) getf.sig product[0]=low[1]
  (p20) st8     [r17]=sum,8
        br.ctop.sptk next ;;

        // The last limb.
        getf.sig r8=high[3]
        add     sum=old[4],product[2] ;;
        cmp.ltu.unc carry[0],p0=sum,product[2] ;;
  (carry[1]) cmp.eq.or carry[0],p0=-1,sum
  (carry[1]) adds sum=1,sum ;;
        st8     [r17]=sum
        mov     ar.lc=r3
  (carry[0]) adds r8=1,r8
        mov     pr=r9,ROTATING
        br.ret.sptk.many rp ;;
