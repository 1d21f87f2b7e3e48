        // The same without signs.
        .include quotient
        fcvt.fxu.trunc.s1 f10=f10 ;;
        xma.l   f10=f10,f14,f15 ;;
        getf.sig r8=f10
        br.ret.sptk.many rp ;;
