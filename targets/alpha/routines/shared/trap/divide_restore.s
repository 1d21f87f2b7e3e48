        ldq     t0,0(sp)            # L
        ldq     t1,8(sp)            # L
        unop
        unop

        ldq     t2,16(sp)           # L
        ldq     t3,24(sp)           # L
        lda     sp,32(sp)
        unop

        ret     (t9)                # L

# GENTRAP with GEN_INTDIV (Linux arch/alpha/include/uapi/asm/gentrap.h) is SIGFPE; who comes back from
# that gets zero.
        .align 4
by_zero:
        mov     a0,pv
        lda     a0,-2(zero)
        gentrap
        mov     pv,a0

        clr     pv
        ret     (t9)                # L
