        // The quotient of a by b, rounded to zero, and what it leaves: f14 and f15 are -b and a.
        .include quotient
        fcvt.fx.trunc.s1 f10=f10 ;;
        xma.l   f10=f10,f14,f15 ;;
        getf.sig r8=f10
        br.ret.sptk.many rp ;;
