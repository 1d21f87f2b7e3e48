// int32_t reml(int32_t a, int32_t b): a % b

reml:
        sxt4    r14=in0
        sxt4    r15=in1 ;;
        setf.sig f8=r14
        setf.sig f9=r15
        sub     r16=r0,r15 ;;
        setf.sig f14=r16                // -b and a, as integers
        setf.sig f15=r14
        fcvt.xf f8=f8
        fcvt.xf f9=f9 ;;
        .include remainder
