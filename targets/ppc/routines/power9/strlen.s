# strlen: r3 string; r3 bytes in front of its end.
#
# See shared/power9/length.

strlen: .include length
        vctzlsbb r5,v2
        subf    r3,r3,r4
        add     r3,r3,r5
        blr
