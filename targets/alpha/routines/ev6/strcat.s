# strcat: a0 destination, a1 string; v0 destination.
#
# See shared/strcat; a bit is numbered without CTTZ (shared/ev6).

strcat:
        .include strcat
