// uint64_t mpn_sub_n(uint64_t *r, const uint64_t *u, const uint64_t *v, int64_t n)
//
// A limb in two cycles: what is left of one without the other, and one bit that is borrowed, and
// borrowed again where nothing is left.

        FIRST = 0x10000                 // the first stage
        STAGES = 3
        ROTATING = -0x10000
        .rotr   u[2], v[2], rest[2]
        .rotp   stage[3], borrow[3]

mpn_sub_n:
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
        sub     rest[0]=u[1],v[1]
  (borrow[2]) cmp.eq.or borrow[1],p0=0,rest[1]
  (borrow[2]) adds rest[1]=-1,rest[1] ;;
  (p17) cmp.ltu.unc borrow[0],p0=u[1],v[1]
  (p18) st8     [r17]=rest[1],8
        br.ctop.sptk next ;;

  (borrow[2]) mov r8=1
        mov     pr=r9,ROTATING ;;
        mov     ar.lc=r3
        br.ret.sptk.many rp ;;
