# strcat: r3 a string, r4 what comes behind it; r3 the first.
#
# See shared/power4/length and shared/970/string.

strcat: mr      r12,r4
        .include length
        cntlzd  r8,r8
        srdi    r8,r8,3
        add     r6,r4,r8
        mr      r4,r12
        .include string
        blr
