// uint64_t mpn_add_n(uint64_t *r, const uint64_t *u, const uint64_t *v, int64_t n)
//
// A limb in two cycles: the sum of both, and one bit of carry, which goes on where it is and the sum is
// all ones.

        FIRST = 0x10000                 // the first stage
        STAGES = 3
        ROTATING = -0x10000
        .rotr   u[2], v[2], sum[2]
        .rotp   stage[3], carry[3]

mpn_add_n:
        alloc   r2=ar.pfs,4,4,0,8
        mov     r9=pr
        adds    r16=-1,in3
        mov     r14=in1
        mov     r15=in2 ;;
        mov     r3=ar.lc
        mov     r17=in0 ;;
        mov     ar.lc=r16 ;;
        mov     pr.rot=FIRST ;;
        mov     ar.ec=STAGES
        mov     r8=r0 ;;

        .align  32
next:
  (p16) ld8     u[0]=[r14],8
  (p16) ld8     v[0]=[r15],8
        add     sum[0]=u[1],v[1]
  (carry[2]) cmp.eq.or carry[1],p0=-1,sum[1]
  (carry[2]) adds sum[1]=1,sum[1] ;;
  (p17) cmp.ltu.unc carry[0],p0=sum[0],u[1]
  (p18) st8     [r17]=sum[1],8
        br.ctop.sptk next ;;

  (carry[2]) mov r8=1
        mov     pr=r9,ROTATING ;;
        mov     ar.lc=r3
        br.ret.sptk.many rp ;;
