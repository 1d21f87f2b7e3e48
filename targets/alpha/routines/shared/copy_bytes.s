# Copies a2 bytes, less than 8, from a1 to a0: all are loaded before the first is stored.
#
# 4 to 7 are the first four and the last three, 2 and 3 the first two and the last, so that only
# few branches depend on the count.

copy_bytes:
        and     a2,4,t0
        unop
        bne     a2,bytes_some       # U
        ret                         # L

bytes_some:
        ldbu    t5,0(a1)            # L
        and     a2,2,t1
        bne     t0,bytes_4          # U
        beq     t1,bytes_1          # U

        addq    a1,a2,t3
        ldbu    t6,1(a1)            # L
        ldbu    at,-1(t3)           # L
        addq    a0,a2,t4

        stb     t5,0(a0)            # L
        stb     t6,1(a0)            # L
        stb     at,-1(t4)           # L
        ret                         # L

bytes_1:
        stb     t5,0(a0)            # L
        ret                         # L
        unop
        unop

bytes_4:
        ldbu    t6,1(a1)            # L
        ldbu    at,2(a1)            # L
        ldbu    t8,3(a1)            # L
        addq    a1,a2,t3

        ldbu    t0,-3(t3)           # L
        ldbu    t1,-2(t3)           # L
        ldbu    t2,-1(t3)           # L
        addq    a0,a2,t4

        stb     t5,0(a0)            # L
        stb     t6,1(a0)            # L
        stb     at,2(a0)            # L
        stb     t8,3(a0)            # L

        stb     t0,-3(t4)           # L
        stb     t1,-2(t4)           # L
        stb     t2,-1(t4)           # L
        ret                         # L
