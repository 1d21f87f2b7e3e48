# strcat: r3 a string, r4 what comes behind it; r3 the first.
#
# See shared/power9/length and shared/power9/string.

strcat: mr      r8,r4
        .include length
        vctzlsbb r5,v2
        add     r6,r4,r5
        mr      r4,r8
        .include string
        blr
