# memset: r3 destination, r4 byte, r5 bytes; r3 the destination.
#
# See fill, of the 750 and of the 7450.

memset: cmplwi  r5,4
        blt     fill_bytes
        rlwimi  r4,r4,8,16,23
        rlwimi  r4,r4,16,0,15
        beq     memset_word
        .include fill

memset_word:
        stw     r4,0(r3)
        blr
