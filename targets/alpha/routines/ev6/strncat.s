# strncat: a0 destination, a1 string, a2 limit; v0 destination.
#
# See shared/strncat; a bit is numbered without CTTZ (shared/ev6).

strncat:
        .include strncat
