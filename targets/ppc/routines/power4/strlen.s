# strlen: r3 string; r3 bytes in front of its end.
#
# See shared/power4/length.

strlen: .include length
        cntlzd  r8,r8
        subf    r3,r3,r4
        srdi    r8,r8,3
        add     r3,r3,r8
        blr
