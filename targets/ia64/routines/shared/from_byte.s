        // From where bytes are compared: r14 and r15, of which r28 bytes count.
        sub     r17=r15,r14 ;;
        cmp.ltu p7,p8=r19,r14 ;;
  (p7)  sub     r3=r14,r19
  (p8)  mov     r3=r0
  (p8)  mov     r14=r19 ;;
        add     r15=r14,r17
        sub     r28=r28,r3 ;;
