# Copies a2 bytes, less than 8, from a1 to a0: all are loaded before the first is stored.

copy_bytes:                         # a2 is less than 8
        addq    a1,a2,t3
        and     a2,4,t5
        and     a2,2,t6
        beq     a2,copy_end         # U

        ldq_u   t0,0(a1)            # L
        ldq_u   t1,-1(t3)           # L
        extql   t0,a1,t0            # U
        extqh   t1,a1,t1            # U

        or      t0,t1,t0
        unop
        beq     t5,bytes_2          # U
        unop

        stb     t0,0(a0)            # L
        srl     t0,8,t1             # U
        srl     t0,16,t7            # U
        lda     a0,4(a0)

        stb     t1,-3(a0)           # L
        stb     t7,-2(a0)           # L
        srl     t0,24,t1            # U
        srl     t0,32,t0            # U

        stb     t1,-1(a0)           # L
        unop
        unop
        unop
bytes_2:
        beq     t6,bytes_1          # U
        stb     t0,0(a0)            # L
        srl     t0,8,t1             # U
        lda     a0,2(a0)

        stb     t1,-1(a0)           # L
        srl     t0,16,t0            # U
        unop
        unop
bytes_1:
        blbc    a2,bytes_end        # U
        stb     t0,0(a0)            # L
        unop
        unop
bytes_end:
        ret                         # L
        unop
        unop
        unop
