        // No bytes are equal.  The first bytes: r20 and r21; r28: behind the last byte of the first
        // operand; r22: there, or where a word of it begins that has 16 bytes in front of it.
        adds    r22=24,in0
        mov     r9=pr
        cmp.eq  p6,p7=r0,in2
        cmp.ltu p9,p8=24,in2
        mov     r8=r0
  (p6)  br.ret.spnt.many rp ;;
        add     r28=in0,in2
  (p9)  and     r22=-8,r22
  (p8)  add     r22=in0,in2
        ld1     r20=[in0],1
        ld1     r21=[in1],1
        cmp.eq  p6,p0=1,in2 ;;
