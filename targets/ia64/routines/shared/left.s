        // r25: bytes from r14 to r28, less those of a word; no two blocks are longer than 2 to the
        // 62nd.
        sub     r25=r28,r14 ;;
        cmp.lt  p7,p0=r25,r0 ;;
  (p7)  dep.z   r25=-1,0,62 ;;
        adds    r25=-8,r25
