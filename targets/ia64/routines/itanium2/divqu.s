// uint64_t divqu(uint64_t a, uint64_t b): a / b

divqu:
        setf.sig f8=in0
        setf.sig f9=in1 ;;
        fnorm.s1 f8=f8
        fnorm.s1 f9=f9 ;;
        .include quotient
        fcvt.fxu.trunc.s1 f10=f10 ;;
        getf.sig r8=f10
        br.ret.sptk.many rp ;;
