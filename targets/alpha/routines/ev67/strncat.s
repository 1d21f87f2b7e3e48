# strncat: a0 destination, a1 string, a2 limit; v0 destination.
#
# See shared/strncat; bits numbered by CTTZ.

strncat:
        .include strncat
