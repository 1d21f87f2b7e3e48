# strcat: r3 a string, r4 what comes behind it; r3 the first.
#
# See shared/750/length and shared/750/string.

strcat: mr      r12,r4
        .include length
        cntlzw  r8,r8
        srwi    r8,r8,3
        add     r6,r4,r8
        mr      r4,r12
        .include string_kept
