        .align 4
huge:   lda     a2,-1(zero)
        srl     a2,1,a2             # U
        br      counted             # L
