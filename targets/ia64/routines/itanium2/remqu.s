// uint64_t remqu(uint64_t a, uint64_t b): a % b

remqu:
        setf.sig f8=in0
        setf.sig f9=in1
        sub     r16=r0,in1 ;;
        setf.sig f14=r16                // -b and a, as integers
        setf.sig f15=in0
        fnorm.s1 f8=f8
        fnorm.s1 f9=f9 ;;
        .include remainder_unsigned
