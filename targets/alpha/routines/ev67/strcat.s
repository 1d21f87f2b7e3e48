# strcat: a0 destination, a1 string; v0 destination.
#
# See shared/strcat; bits numbered by CTTZ.

strcat:
        .include strcat
