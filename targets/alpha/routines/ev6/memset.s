# memset: a0 destination, a1 byte, a2 count; v0 destination.
#
# The byte is spread over a quadword while the count is looked at; shared/fill does the rest.

memset: insbl   a1,1,t1             # U
        and     a1,255,a1
        mov     a0,v0
        beq     a2,fill_bytes_end   # U

        or      a1,t1,a1
        inswl   a1,2,t1             # U
        cmpult  a2,8,t0
        bne     t0,fill_bytes       # U

        or      a1,t1,a1
        insll   a1,4,t1             # U
        and     a0,7,t2
        or      a1,t1,a1

        .include fill
