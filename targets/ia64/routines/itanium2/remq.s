// int64_t remq(int64_t a, int64_t b): a % b

remq:
        setf.sig f8=in0
        setf.sig f9=in1
        sub     r16=r0,in1 ;;
        setf.sig f14=r16                // -b and a, as integers
        setf.sig f15=in0
        fcvt.xf f8=f8
        fcvt.xf f9=f9 ;;
        .include remainder
