# strncpy: a0 destination, a1 string, a2 count; v0 destination.
#
# See shared/strncpy; a bit is numbered without CTTZ (shared/ev6).

strncpy:
        .include strncpy
