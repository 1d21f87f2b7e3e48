# strlen: r3 string; r3 bytes in front of its end.
#
# See shared/750/length.

strlen: .include length
        cntlzw  r8,r8
        subf    r3,r3,r4
        srwi    r8,r8,3
        add     r3,r3,r8
        blr
