# strncmp: a0, a1 strings, a2 limit; v0 less than, equal to or greater than zero.
#
# As strcmp, behind nine bytes, with the limit counted in quadwords; what is left of it, less than 8
# bytes, is a mask on the last two quadwords.  A limit below nine is counted in bytes.

        .include strncmp
