// uint32_t remlu(uint32_t a, uint32_t b): a % b

remlu:
        zxt4    r14=in0
        zxt4    r15=in1 ;;
        setf.sig f8=r14
        setf.sig f9=r15
        sub     r16=r0,r15 ;;
        setf.sig f14=r16                // -b and a, as integers
        setf.sig f15=r14
        fnorm.s1 f8=f8
        fnorm.s1 f9=f9 ;;
        .include remainder_unsigned
