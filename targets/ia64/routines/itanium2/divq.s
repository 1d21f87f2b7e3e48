// int64_t divq(int64_t a, int64_t b): a / b

divq:
        setf.sig f8=in0
        setf.sig f9=in1 ;;
        fcvt.xf f8=f8
        fcvt.xf f9=f9 ;;
        .include quotient
        fcvt.fx.trunc.s1 f10=f10 ;;
        getf.sig r8=f10
        br.ret.sptk.many rp ;;
